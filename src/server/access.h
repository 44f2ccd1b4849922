#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "server/connect.h"

namespace headway::server {

/// Access: who may ask. For now there is one token, the administrator's, which may do everything.
/// Any thread.
class Access {
 public:
  /// Everybody may do everything. For servers that only this machine reaches.
  static Access Open();
  /// Reads the token from the file `path`, and makes it (0600) where there is none.
  /// PermissionDenied when others can read it.
  static Result<Access> WithTokenFile(const std::string& path);

  /// By `Authorization: Bearer TOKEN`. Unauthenticated says no more than that. Takes as long for
  /// any wrong token.
  Result<Caller> Authenticate(const HttpRequest& head) const;

 private:
  std::optional<std::array<std::uint8_t, 32>> token_hash_;  // nothing: open
};

}  // namespace headway::server
