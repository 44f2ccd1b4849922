#include "net/google_metadata.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace headway::net {
namespace {

constexpr std::int64_t kPatienceNs = kNanosPerSecond;
constexpr std::int64_t kKnownPatienceNs = 5 * kNanosPerSecond;  // once it has answered
constexpr std::int64_t kAbsentNs = 300 * kNanosPerSecond;

// The last part of "projects/123/zones/us-central1-a".
std::string LastPart(std::string_view path) {
  path = path.substr(0, path.find_last_not_of(" \t\r\n") + 1);
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

Result<Response> GoogleMetadata::Get(const std::string& path, MonoNs deadline) {
  const MonoNs now = clock_->Mono();
  const Status absent(Code::kNotFound, "there is no metadata server of Google Cloud here");
  if (now < absent_until_) return absent;
  const char* const host = std::getenv("GCE_METADATA_HOST");
  Request request;
  request.url = std::string("http://") +
                (host != nullptr && *host != '\0' ? host : "169.254.169.254") +
                "/computeMetadata/v1/" + path;
  request.headers.emplace_back("Metadata-Flavor", "Google");
  request.direct = true;
  const std::int64_t patience = seen_ ? kKnownPatienceNs : kPatienceNs;
  Result<Response> response = http_->Send(request, std::min(deadline, now + patience));
  // Other clouds have servers at this address, too.
  if (response.ok() && response->Header("metadata-flavor") == "Google") {
    seen_ = true;
    return response;
  }
  if (seen_) {
    return Status(Code::kUnavailable, "the metadata server of Google Cloud doesn't answer");
  }
  if (response.ok() || deadline - now > kPatienceNs / 2) {  // else nothing is known
    absent_until_ = clock_->Mono() + kAbsentNs;
  }
  return absent;
}

Result<GoogleMachine> GoogleMetadata::Machine(MonoNs deadline) {
  GoogleMachine machine;
  const auto look_up = [&](const char* path, std::string* value) -> Status {
    const Result<Response> response = Get(path, deadline);
    HEADWAY_RETURN_IF_ERROR(response.status());
    if (response->status == 200) *value = LastPart(response->body);
    return OkStatus();
  };
  HEADWAY_RETURN_IF_ERROR(look_up("project/project-id", &machine.project_id));
  // What is missing from here on is unknown, no fault.
  look_up("instance/zone", &machine.zone).IgnoreError();
  look_up("instance/machine-type", &machine.machine_type).IgnoreError();
  look_up("instance/attributes/cluster-name", &machine.cluster_name).IgnoreError();
  return machine;
}

}  // namespace headway::net
