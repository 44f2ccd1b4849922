#include "server/live_service.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/live_limits.h"
#include "base/time_format.h"
#include "server/query_string.h"

namespace headway::server {
namespace {

Status CheckPermission(const Caller& caller, Permission permission) {
  if (caller.permissions.Has(permission)) return OkStatus();
  return {Code::kPermissionDenied, "the role " + caller.role + " has no permission " +
                                       std::string(PermissionName(permission))};
}

Result<std::int64_t> EveryOf(const std::string& text) {
  if (text.empty()) return std::int64_t{0};
  const Result<std::int64_t> every = ParseDuration(text);
  if (!every.ok()) return Status(Code::kInvalidArgument, "every: " + every.status().message());
  if (*every < 0 || *every > limits::kLiveEveryMostNs) {
    return Status(Code::kInvalidArgument, "every is a duration of at most an hour, such as 5s");
  }
  return *every;
}

}  // namespace

HttpResponse LiveService::Answer(const HttpRequest& request) const {
  if (request.method != "GET") {
    HttpResponse refusal{.status = 405, .body = "only GET is answered\n"};
    refusal.headers.emplace_back("Allow", "GET");
    return refusal;
  }
  Result<std::shared_ptr<HttpStream>> stream = Open(request);
  if (!stream.ok()) {
    HttpResponse refusal = ErrorResponse(stream.status());
    if (refusal.status == 429) refusal.headers.emplace_back("Retry-After", "10");
    return refusal;
  }
  HttpResponse response{.type = "text/event-stream"};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Accel-Buffering", "no");  // proxies pass it on as it comes
  response.stream = *std::move(stream);
  return response;
}

Result<std::shared_ptr<HttpStream>> LiveService::Open(const HttpRequest& request) const {
  const Result<Caller> caller = authenticate_(request);
  if (!caller.ok()) return caller.status();
  Result<std::map<std::string, std::string>> parsed = ParseQueryString(request.query);
  if (!parsed.ok()) return parsed.status();
  std::map<std::string, std::string> values = *std::move(parsed);
  const auto take = [&values](const char* name) {
    const auto node = values.extract(name);
    return node.empty() ? std::string() : node.mapped();
  };
  std::string run = take("run");
  const bool one = !run.empty() || !caller->link.empty();
  const Permission permission = one ? Permission::kRunsGet : Permission::kRunsList;
  HEADWAY_RETURN_IF_ERROR(CheckPermission(*caller, permission));
  LiveHub::Asked asked;
  asked.project = ProjectOf(take("project"));
  const Result<std::int64_t> every = EveryOf(take("every"));
  if (!every.ok()) return every.status();
  if (!values.empty()) {
    return Status(Code::kInvalidArgument,
                  "/live takes project, run and every, not \"" + values.begin()->first + "\"");
  }
  if (!caller->link.empty() && run.empty()) {  // it is about that one
    run = ToHex(caller->run_uid);
    asked.project = caller->project;
  }
  if (!caller->project.empty() && asked.project != caller->project) {
    return OnlyItsProject(*caller);
  }
  if (one) {
    const Result<store::RunRow> found = registry_->Find(*caller, asked.project, run);
    if (!found.ok()) return found.status();
    asked.run = found->uid;
  }
  asked.who = caller->name;
  asked.name = caller->run;
  asked.shared = !caller->link.empty();
  asked.every_ns = *every;
  asked.last_id = request.Header("last-event-id");
  HttpRequest head;
  head.headers.emplace_back("authorization", request.Header("authorization"));
  asked.check = [this, head = std::move(head), permission] {
    const Result<Caller> now = authenticate_(head);
    return now.ok() ? CheckPermission(*now, permission) : now.status();
  };
  if (!caller->link.empty() && use_) HEADWAY_RETURN_IF_ERROR(use_(*caller));
  return hub_->Open(std::move(asked));
}

}  // namespace headway::server
