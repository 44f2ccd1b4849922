#pragma once

#include <headway/v1/token_service.pb.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/roles.h"
#include "store/registry.h"

namespace headway::server {

/// A token as nobody can guess one: `prefix` and 64 hexadecimal digits, so that scanners for
/// secrets know it.
std::string MakeSecret(std::string_view prefix = "hw_");
/// 12 hexadecimal digits, to tell tokens and links apart.
std::string MakeId();

/// TokenService of proto/: the tokens that a server knows, beside the administrator's. Any thread.
class Tokens {
 public:
  /// Reads those that are kept. All must outlive it.
  static Result<std::unique_ptr<Tokens>> Load(store::Registry* registry, const Roles* roles,
                                              const Clock* clock);

  void AddTo(ConnectRouter* router);

  /// Whose token has this SHA-256. Nothing: nobody's. Unauthenticated: it has expired or was
  /// revoked.
  Result<std::optional<Caller>> Find(const std::array<std::uint8_t, 32>& hash) const;

  Result<v1::CreateTokenResponse> Create(const Caller& caller,
                                         const v1::CreateTokenRequest& request);
  Result<v1::ListTokensResponse> List(const Caller& caller) const;
  Result<v1::RevokeTokenResponse> Revoke(const Caller& caller,
                                         const v1::RevokeTokenRequest& request);
  Result<v1::ListAuditEventsResponse> ListAudit(const Caller& caller,
                                                const v1::ListAuditEventsRequest& request) const;

 private:
  Tokens(store::Registry* registry, const Roles* roles, const Clock* clock)
      : registry_(registry), roles_(roles), clock_(clock) {}

  store::Registry* registry_;
  const Roles* roles_;
  const Clock* clock_;
  mutable std::shared_mutex mutex_;
  std::map<std::array<std::uint8_t, 32>, store::TokenRow> by_hash_;
};

}  // namespace headway::server
