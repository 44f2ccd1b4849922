#include "server/tokens.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/names.h"
#include "base/sha256.h"
#include "base/uid.h"

namespace headway::server {
namespace {

constexpr std::size_t kTokensMost = 100'000;
constexpr std::size_t kIdDigits = 12;
constexpr std::int64_t kForever = std::int64_t{100} * 365 * 24 * 3600 * kNanosPerSecond;

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }
Status Denied(const std::string& what) { return {Code::kPermissionDenied, what}; }

v1::Token ToProto(const store::TokenRow& row) {
  v1::Token token;
  token.set_id(row.id);
  token.set_name(row.name);
  token.set_role(row.role);
  token.set_project(row.project);
  token.set_run(row.run);
  token.set_created(row.created);
  token.set_expires(row.expires);
  token.set_revoked(row.revoked);
  return token;
}

store::AuditRow Done(const Caller& caller, Permission permission, const store::TokenRow& token,
                     std::int64_t when) {
  std::string what = "token " + token.id + ", " + token.role;
  if (!token.name.empty()) what += " \"" + token.name + "\"";
  if (!token.run.empty()) what += ", run \"" + token.run + "\"";
  return {.number = 0,
          .time = when,
          .who = caller.name,
          .action = std::string(PermissionName(permission)),
          .what = std::move(what),
          .project = token.project};
}

}  // namespace

std::string MakeSecret(std::string_view prefix) {
  // Each has 122 random bits.
  using Random = BasicUid<struct TokenTag>;
  return std::string(prefix) + ToHex(RandomUid<Random>()) + ToHex(RandomUid<Random>());
}

std::string MakeId() {
  return ToHex(RandomUid<BasicUid<struct TokenIdTag>>()).substr(0, kIdDigits);
}

Result<std::unique_ptr<Tokens>> Tokens::Load(store::Registry* registry, const Roles* roles,
                                             const Clock* clock) {
  Result<std::vector<store::TokenRow>> rows = registry->ListTokens();
  if (!rows.ok()) return rows.status();
  std::unique_ptr<Tokens> tokens(new Tokens(registry, roles, clock));
  for (store::TokenRow& row : *rows) tokens->by_hash_.emplace(row.hash, std::move(row));
  return tokens;
}

void Tokens::AddTo(ConnectRouter* router) {
  router->Add<v1::CreateTokenRequest, v1::CreateTokenResponse>(
      "headway.v1.TokenService.CreateToken", Permission::kTokensCreate, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return Create(caller, request); });
  router->Add<v1::ListTokensRequest, v1::ListTokensResponse>(
      "headway.v1.TokenService.ListTokens", Permission::kTokensList, Scope::kByMethod,
      [this](const Caller& caller, const auto&) { return List(caller); });
  router->Add<v1::RevokeTokenRequest, v1::RevokeTokenResponse>(
      "headway.v1.TokenService.RevokeToken", Permission::kTokensRevoke, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return Revoke(caller, request); });
  router->Add<v1::ListAuditEventsRequest, v1::ListAuditEventsResponse>(
      "headway.v1.TokenService.ListAuditEvents", Permission::kAuditList, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return ListAudit(caller, request); });
}

Result<std::optional<Caller>> Tokens::Find(const std::array<std::uint8_t, 32>& hash) const {
  store::TokenRow row;
  {
    const std::shared_lock lock(mutex_);
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) return std::optional<Caller>();
    row = found->second;
  }
  if (row.revoked != 0) return Status(Code::kUnauthenticated, "this token was revoked");
  if (row.expires != 0 && clock_->Wall().ns >= row.expires) {
    return Status(Code::kUnauthenticated, "this token has expired");
  }
  Caller caller;
  caller.name = "token " + row.id;
  caller.role = row.role;
  // One of a newer headway's roles, in a store that an older one opened: nothing is allowed.
  caller.permissions = roles_->Hold().PermissionsOf(row.role).value_or(Permissions());
  caller.project = row.project;
  caller.run = row.run;
  caller.expires = row.expires;
  return std::optional(std::move(caller));
}

Result<v1::CreateTokenResponse> Tokens::Create(const Caller& caller,
                                               const v1::CreateTokenRequest& request) {
  // Until the token is there nobody deletes its role.
  const Roles::Held roles = roles_->Hold();
  const std::optional<Permissions> permissions = roles.PermissionsOf(request.role());
  if (!permissions) return Bad("a token has one of the roles " + roles.Names());
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the token's name", request.name()));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the project", request.project()));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the run", request.run()));
  if (!request.run().empty() && request.project().empty()) {
    return Bad("a token for one run needs the project that it is of");
  }
  if (request.lifetime_ns() < 0 || request.lifetime_ns() > kForever) {
    return Bad("lifetime_ns is above 0 and at most a hundred years, or 0");
  }
  if (!caller.permissions.Include(*permissions)) {
    return Denied("the role " + request.role() + " may do more than yours");
  }
  if (!caller.Covers(request.project(), request.run())) {
    return Denied("a token is at most for the project and the run that your own is for");
  }
  const std::string secret = MakeSecret();
  store::TokenRow row;
  row.hash = Sha256(secret);
  row.id = MakeId();
  row.name = request.name();
  row.role = request.role();
  row.project = request.project();
  row.run = request.run();
  row.created = clock_->Wall().ns;
  if (request.lifetime_ns() > 0) row.expires = row.created + request.lifetime_ns();
  if (caller.expires != 0 && (row.expires == 0 || row.expires > caller.expires)) {
    row.expires = caller.expires;
  }
  const std::unique_lock lock(mutex_);
  if (by_hash_.size() >= kTokensMost) {
    return Status(Code::kResourceExhausted,
                  "there are " + std::to_string(kTokensMost) + " tokens already");
  }
  HEADWAY_RETURN_IF_ERROR(
      registry_->AddToken(row, Done(caller, Permission::kTokensCreate, row, row.created)));
  by_hash_.emplace(row.hash, row);
  v1::CreateTokenResponse response;
  *response.mutable_token() = ToProto(row);
  response.set_secret(secret);
  return response;
}

Result<v1::ListTokensResponse> Tokens::List(const Caller& caller) const {
  std::vector<store::TokenRow> rows;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [hash, row] : by_hash_) {
      if (caller.Covers(row.project, row.run)) rows.push_back(row);
    }
  }
  std::ranges::sort(rows, {}, [](const store::TokenRow& row) {
    return std::pair<std::int64_t, std::string_view>(row.created, row.id);
  });
  v1::ListTokensResponse response;
  for (const store::TokenRow& row : rows) *response.add_tokens() = ToProto(row);
  return response;
}

Result<v1::ListAuditEventsResponse> Tokens::ListAudit(
    const Caller& caller, const v1::ListAuditEventsRequest& request) const {
  // What is told of a project tells of its runs.
  if (!caller.run.empty()) return OnlyItsRun(caller);
  if (request.page_size() < 0) return Bad("page_size is below 0");
  constexpr int kUsual = 100;
  const int size =
      request.page_size() == 0 ? kUsual : std::min(request.page_size(), limits::kAuditPage);
  std::int64_t before = 0;
  if (const std::string& token = request.page_token(); !token.empty()) {
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, before);
    if (error != std::errc() || stop != end || before < 1) {
      return Bad("the page_token is none of an answer to this question");
    }
  }
  const auto count = static_cast<std::size_t>(size);
  const auto rows = registry_->ListAudit(before, count + 1, caller.project);
  if (!rows.ok()) return rows.status();
  v1::ListAuditEventsResponse response;
  for (std::size_t i = 0; i < std::min(rows->size(), count); ++i) {
    const store::AuditRow& row = (*rows)[i];
    v1::AuditEvent* const event = response.add_events();
    event->set_number(row.number);
    event->set_time(row.time);
    event->set_who(row.who);
    event->set_action(row.action);
    event->set_what(row.what);
    event->set_project(row.project);
  }
  if (rows->size() > count) {
    response.set_next_page_token(std::to_string((*rows)[count - 1].number));
  }
  return response;
}

Result<v1::RevokeTokenResponse> Tokens::Revoke(const Caller& caller,
                                               const v1::RevokeTokenRequest& request) {
  const std::unique_lock lock(mutex_);
  const auto found = std::ranges::find_if(by_hash_, [&](const auto& entry) {
    return entry.second.id == request.id() && caller.Covers(entry.second.project, entry.second.run);
  });
  if (found == by_hash_.end()) {
    return Status(Code::kNotFound, "there is no token \"" + request.id() + "\"");
  }
  store::TokenRow& row = found->second;
  const std::int64_t now = clock_->Wall().ns;
  HEADWAY_RETURN_IF_ERROR(
      registry_->RevokeToken(row.id, now, Done(caller, Permission::kTokensRevoke, row, now)));
  if (row.revoked == 0) row.revoked = now;
  v1::RevokeTokenResponse response;
  *response.mutable_token() = ToProto(row);
  return response;
}

}  // namespace headway::server
