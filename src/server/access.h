#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "server/connect.h"
#include "server/links.h"
#include "server/tokens.h"

namespace headway::server {

/// Access: who may ask: the administrator, whose token lies in a file, and whoever has one of the
/// tokens or share links that are kept. Any thread.
class Access {
 public:
  /// Everybody may do everything. For servers that only this machine reaches.
  static Access Open();
  /// Reads the token from the file `path`, and makes it (0600) where there is none.
  /// PermissionDenied when others can read it.
  static Result<Access> WithTokenFile(const std::string& path);

  /// From now on these count, too; they must outlive it.
  void Use(const Tokens* tokens, const Links* links) {
    tokens_ = tokens;
    links_ = links;
  }

  /// By `Authorization: Bearer TOKEN`. Unauthenticated says no more than that. Takes as long for
  /// any wrong token.
  Result<Caller> Authenticate(const HttpRequest& head) const;

 private:
  std::optional<std::array<std::uint8_t, 32>> token_hash_;  // nothing: open
  const Tokens* tokens_ = nullptr;
  const Links* links_ = nullptr;
};

}  // namespace headway::server
