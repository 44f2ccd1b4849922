#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::net {

/// Text by the path to it: "error.message".
using JsonFields = std::map<std::string, std::string, std::less<>>;

/// The strings, numbers and truth values of a JSON object and of the objects in it, four levels
/// deep; what else there is is left out. InvalidArgument: `text` is no JSON object.
Result<JsonFields> ReadJsonFields(std::string_view text);

/// The JSON text of the array `key` of a JSON object; "[]" if it has none. InvalidArgument: `text`
/// is no JSON object.
Result<std::string> ReadJsonArray(std::string_view text, std::string_view key);

/// The field of this path, or nothing.
std::string_view FieldOf(const JsonFields& fields, std::string_view path);

}  // namespace headway::net
