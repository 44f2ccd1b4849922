#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

/// Files of a server that only its owner may read: tokens, keys.

namespace headway::server {

/// Makes the file `path` (0600) with this content. It gets its name once it is whole and durable: a
/// start that was cut off leaves no half of it. AlreadyExists where there is one.
Status CreatePrivateFile(const std::string& path, std::string_view content);

/// PermissionDenied when others may read the open file `fd`; `holds` says what is in it: "holds the
/// administrator's token".
Status CheckPrivate(int fd, const std::string& path, std::string_view holds);

}  // namespace headway::server
