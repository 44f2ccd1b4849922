#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::net {

/// The signature of `text` by RSASSA-PKCS1-v1_5 with SHA-256 (RS256 of JSON web tokens), as bytes.
/// `private_key` is PEM. Uses OpenSSL's libcrypto, which is loaded on first use. InvalidArgument:
/// no RSA key that could be read; an encrypted one can't. Unavailable: no libcrypto.
Result<std::string> SignRs256(const std::string& private_key, std::string_view text);

/// Base64 with the URL alphabet and no padding, as in JSON web tokens.
std::string Base64Url(std::string_view bytes);

}  // namespace headway::net
