#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

/// URLs, as far as they are needed here. Pure.

namespace headway::net {

/// Of "https://host:1/path?query": "https".
std::string_view SchemeOf(std::string_view url);
/// Of "https://user@host:1/path?query": "host:1".
std::string_view AuthorityOf(std::string_view url);
/// Of "https://host:1/path?query": "/path?query", or nothing.
std::string_view TargetOf(std::string_view url);

/// Whether the URL leads to this machine: localhost, 127.0.0.0/8 or [::1].
bool IsLoopback(std::string_view url);

/// A service's base URL as people give it, without a slash at its end. One without a scheme gets
/// http if it leads to this machine, else https. InvalidArgument: neither http nor https, no host,
/// user and password in it, or a query; `what` begins the message.
Result<std::string> MakeBaseUrl(std::string_view what, std::string_view given);

}  // namespace headway::net
