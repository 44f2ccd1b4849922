#pragma once

#include <headway/v1/link_service.pb.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/run_registry.h"
#include "store/registry.h"

namespace headway::server {

/// LinkService of proto/: share links, by which whoever has one reads one run. Any thread.
class Links {
 public:
  /// Where they lead: this, and the secret.
  static constexpr std::string_view kPath = "/share/";

  /// Reads those that are kept. Both must outlive it.
  static Result<std::unique_ptr<Links>> Load(store::Registry* registry, const Clock* clock);

  /// `runs`, which must outlive it, finds the runs, and tells it of those that are deleted.
  void AddTo(ConnectRouter* router, RunRegistry* runs);

  /// Whose link has this SHA-256. Nothing: nobody's. Unauthenticated: it has expired or was
  /// revoked.
  Result<std::optional<Caller>> Find(const std::array<std::uint8_t, 32>& hash) const;

  Result<v1::CreateLinkResponse> Create(const Caller& caller, const v1::CreateLinkRequest& request);
  Result<v1::ListLinksResponse> List(const Caller& caller,
                                     const v1::ListLinksRequest& request) const;
  Result<v1::RevokeLinkResponse> Revoke(const Caller& caller, const v1::RevokeLinkRequest& request);

  /// Writes down that somebody uses the link that `caller` has, once a day.
  Status NoteUse(const Caller& caller);

  /// What a browser is shown for kPath and what is behind it.
  HttpResponse AnswerPage(const HttpRequest& request);

 private:
  Links(store::Registry* registry, const Clock* clock) : registry_(registry), clock_(clock) {}

  void Keep(store::LinkRow row);
  /// The links to it were revoked.
  void EndOf(const RunUid& run);
  Status ForgetOld(std::int64_t now);

  store::Registry* registry_;
  const Clock* clock_;
  RunRegistry* runs_ = nullptr;
  mutable std::shared_mutex mutex_;
  std::map<std::string, store::LinkRow, std::less<>> links_;  // by id
  std::map<std::array<std::uint8_t, 32>, std::string> ids_;   // by hash
};

}  // namespace headway::server
