#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::server {

/// What stands behind the "?" of a URL, "a=b&c=d", as values by name: "%XX" and "+" stand for other
/// characters. InvalidArgument: a name stands twice, or a "%" is followed by no two hexadecimal
/// digits.
Result<std::map<std::string, std::string>> ParseQueryString(std::string_view text);

}  // namespace headway::server
