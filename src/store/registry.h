#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

/// Registry: what a server knows beside records. Any thread may call; calls that write take turns,
/// and return once it is durable.

namespace headway::store {

/// A token of a program or a person. The token itself is nowhere, but its hash.
struct TokenRow {
  std::string id;                       ///< tells it apart from others; no secret
  std::array<std::uint8_t, 32> hash{};  ///< SHA-256 of the token
  std::string name;                     ///< for people
  std::string role;
  std::string project;       ///< the only one that it is good for; empty: all
  std::string run;           ///< the only run of it, by name; empty: all
  std::int64_t created = 0;  ///< wall times
  std::int64_t expires = 0;  ///< 0: never
  std::int64_t revoked = 0;  ///< 0: it is not

  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// Something that was done, and by whom. What is written down stays.
struct AuditRow {
  std::int64_t number = 0;  ///< given by the registry: 1, 2, ...
  std::int64_t time = 0;    ///< wall time
  std::string who;          ///< "admin", "token 1f0c9d2a77b3"
  std::string action;       ///< "tokens.create"
  std::string what;         ///< to what: for people
  std::string project;      ///< what it was about; empty: all

  friend bool operator==(const AuditRow&, const AuditRow&) = default;
};

class Registry {
 public:
  virtual ~Registry() = default;

  // What changes something writes down at once that it was done: both or neither is there.

  /// AlreadyExists: there is one with that id or hash.
  virtual Status AddToken(const TokenRow& token, const AuditRow& audit) = 0;
  /// By the time at which they were made, then by id.
  virtual Result<std::vector<TokenRow>> ListTokens() = 0;
  /// NotFound: no such id. One that was revoked before stays as it is, and nothing is written down.
  virtual Status RevokeToken(std::string_view id, std::int64_t when, const AuditRow& audit) = 0;

  /// The newest first: those with a number below `before` (0: all), `count` at most; of one project
  /// only where one is given.
  virtual Result<std::vector<AuditRow>> ListAudit(std::int64_t before, std::size_t count,
                                                  std::string_view project) = 0;
};

}  // namespace headway::store
