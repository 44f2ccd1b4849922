#pragma once

#include <string>
#include <string_view>

namespace headway {

/// `text` as a part of a URL (RFC 3986): every byte but letters, digits and `-._~` becomes %XX; a
/// slash stays if `keep_slashes`. Pure.
std::string PercentEncode(std::string_view text, bool keep_slashes = false);

}  // namespace headway
