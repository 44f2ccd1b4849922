#include "server/profile_service.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/names.h"
#include "base/time_format.h"
#include "server/item_check.h"

namespace headway::server {
namespace {

constexpr std::string_view kOfTarget[] = {"id", "host", "index", "is_master", "rank", "address"};
constexpr std::string_view kOfSession[] = {"name",
                                           "kind",
                                           "trigger",
                                           "attempt",
                                           "start_time",
                                           "duration_ns",
                                           "storage_uri",
                                           "dashboard_uri",
                                           "host_tracer_level",
                                           "device_tracer_level",
                                           "python_tracer_level",
                                           "targets"};

constexpr RunItems::Kind kTargets = {.kind = store::ItemKind::kProfilerTarget,
                                     .noun = "profiler target",
                                     .field = "target",
                                     .create = Permission::kProfilesCreate,
                                     .get = Permission::kProfilesGet,
                                     .update = Permission::kProfilesUpdate,
                                     .remove = Permission::kProfilesDelete};
constexpr RunItems::Kind kSessions = {.kind = store::ItemKind::kProfileSession,
                                      .noun = "profile session",
                                      .field = "session",
                                      .create = Permission::kProfilesCreate,
                                      .get = Permission::kProfilesGet,
                                      .update = Permission::kProfilesUpdate,
                                      .remove = Permission::kProfilesDelete};

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

// --- Targets

// An id is one only within its run.
store::ItemUid UidOf(const RunUid& run, const std::string& id) {
  return DeriveUid<store::ItemUid>("target/" + ToHex(run) + "/" + id);
}

Status Complete(v1::ProfilerTarget* target) {
  HEADWAY_RETURN_IF_ERROR(CheckItem("target", target));
  HEADWAY_RETURN_IF_ERROR(CheckGivenName("target.host", target->host()));
  if (target->id().empty()) target->set_id(target->host() + "-" + std::to_string(target->index()));
  return CheckNewName("target.id", target->id());
}

Status Fill(const v1::ProfilerTarget& target, store::ItemRow* item) {
  Result<std::string> bytes = ItemBytes("the target", target);
  if (!bytes.ok()) return bytes.status();
  item->bytes = *std::move(bytes);
  item->type = target.host();
  item->level = target.index();
  item->name = target.id();
  return OkStatus();
}

// --- Sessions

std::string KindName(v1::ProfileKind kind) {
  switch (kind) {
    case v1::PROFILE_KIND_ON_DEMAND: return "on_demand";
    case v1::PROFILE_KIND_PROGRAMMATIC: return "programmatic";
    case v1::PROFILE_KIND_SCANNED: return "scanned";
    case v1::PROFILE_KIND_SNAPSHOT: return "snapshot";
    default: return {};
  }
}

Status CheckCaptured(const std::string& path, const v1::CapturedTarget& captured) {
  HEADWAY_RETURN_IF_ERROR(CheckGivenName(path + ".target", captured.target()));
  if (captured.phase() == v1::CAPTURE_PHASE_UNSPECIFIED) {
    return Bad(path +
               ".phase is missing: CAPTURE_PHASE_ACTIVE, CAPTURE_PHASE_SUCCEEDED or "
               "CAPTURE_PHASE_FAILED");
  }
  if (captured.has_end_time() && captured.end_time() < captured.start_time()) {
    return Bad(path + ".end_time is before its start_time");
  }
  for (int i = 0; i < captured.files_size(); ++i) {
    if (captured.files(i).path().empty()) {
      return Bad(path + ".files[" + std::to_string(i) + "].path is missing");
    }
  }
  return OkStatus();
}

// What may be set, as it is kept: checked, and with what nobody said.
Status Complete(std::int64_t now, v1::ProfileSession* session) {
  if (session->kind() == v1::PROFILE_KIND_UNSPECIFIED) {
    return Bad(
        "session.kind is missing: PROFILE_KIND_PROGRAMMATIC, PROFILE_KIND_SCANNED or "
        "PROFILE_KIND_SNAPSHOT");
  }
  HEADWAY_RETURN_IF_ERROR(CheckItem("session", session));
  if (session->kind() == v1::PROFILE_KIND_ON_DEMAND) {
    return {Code::kFailedPrecondition,
            "nobody here captures profiles yet: PROFILE_KIND_ON_DEMAND asks for that; have the "
            "program make one, and note it as PROFILE_KIND_PROGRAMMATIC"};
  }
  if (session->start_time() == 0) session->set_start_time(now);
  if (session->duration_ns() > kItemTimeMost - session->start_time()) {
    return Bad("session.duration_ns ends beyond " + std::to_string(kItemTimeMost) +
               " ns since the Unix epoch");
  }
  if (session->name().empty()) {
    session->set_name(FormatCompactTime(WallNs{session->start_time()}));
  }
  std::set<std::string_view> ids;
  for (int i = 0; i < session->targets_size(); ++i) {
    const std::string path = "session.targets[" + std::to_string(i) + "]";
    HEADWAY_RETURN_IF_ERROR(CheckCaptured(path, session->targets(i)));
    if (!ids.insert(session->targets(i).target()).second) {
      return Bad(path + ".target \"" + session->targets(i).target() + "\" is there twice");
    }
  }
  return OkStatus();
}

Status Fill(const v1::ProfileSession& session, store::ItemRow* item) {
  Result<std::string> bytes = ItemBytes("the session", session);
  if (!bytes.ok()) return bytes.status();
  item->bytes = *std::move(bytes);
  item->start = session.start_time();
  item->end = std::nullopt;
  if (session.has_duration_ns()) item->end = session.start_time() + session.duration_ns();
  item->type = KindName(session.kind());
  item->name = session.name();
  item->attempt = std::nullopt;
  if (session.has_attempt()) item->attempt = session.attempt();
  return OkStatus();
}

Result<v1::ProfileSession> SessionMessage(const store::ItemRow& item, const std::string& label) {
  Result<v1::ProfileSession> session = ItemMessage<v1::ProfileSession>(item, label);
  if (session.ok()) session->set_uid(ToHex(item.uid));
  return session;
}

}  // namespace

ProfileService::ProfileService(store::Store* store, RunRegistry* registry, const Clock* clock)
    : targets_(kTargets, store, registry, clock), sessions_(kSessions, store, registry, clock) {}

void ProfileService::AddTo(ConnectRouter* router) {
  router->Add<v1::CreateProfilerTargetRequest, v1::CreateProfilerTargetResponse>(
      "headway.v1.ProfileService.CreateProfilerTarget", Permission::kProfilesCreate,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return CreateTarget(caller, request); });
  router->Add<v1::GetProfilerTargetRequest, v1::ProfilerTarget>(
      "headway.v1.ProfileService.GetProfilerTarget", Permission::kProfilesGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetTarget(caller, request); });
  router->Add<v1::ListProfilerTargetsRequest, v1::ListProfilerTargetsResponse>(
      "headway.v1.ProfileService.ListProfilerTargets", Permission::kProfilesList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListTargets(caller, request); });
  router->Add<v1::DeleteProfilerTargetRequest, v1::DeleteProfilerTargetResponse>(
      "headway.v1.ProfileService.DeleteProfilerTarget", Permission::kProfilesDelete,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return DeleteTarget(caller, request); });
  router->Add<v1::CreateProfileSessionRequest, v1::CreateProfileSessionResponse>(
      "headway.v1.ProfileService.CreateProfileSession", Permission::kProfilesCreate,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return CreateSession(caller, request); });
  router->Add<v1::UpdateProfileSessionRequest, v1::ProfileSession>(
      "headway.v1.ProfileService.UpdateProfileSession", Permission::kProfilesUpdate,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return UpdateSession(caller, request); });
  router->Add<v1::GetProfileSessionRequest, v1::ProfileSession>(
      "headway.v1.ProfileService.GetProfileSession", Permission::kProfilesGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetSession(caller, request); });
  router->Add<v1::ListProfileSessionsRequest, v1::ListProfileSessionsResponse>(
      "headway.v1.ProfileService.ListProfileSessions", Permission::kProfilesList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListSessions(caller, request); });
  router->Add<v1::DeleteProfileSessionRequest, v1::DeleteProfileSessionResponse>(
      "headway.v1.ProfileService.DeleteProfileSession", Permission::kProfilesDelete,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return DeleteSession(caller, request); });
}

// --- Targets

Result<v1::CreateProfilerTargetResponse> ProfileService::CreateTarget(
    const Caller& caller, const v1::CreateProfilerTargetRequest& request) {
  const Result<store::RunRow> run = targets_.FindRun(caller, request.project(), request.run());
  if (!run.ok()) return run.status();
  v1::ProfilerTarget target;
  CopyFields(request.target(), kOfTarget, &target);
  HEADWAY_RETURN_IF_ERROR(Complete(&target));
  store::ItemRow item;
  item.uid = UidOf(run->uid, target.id());
  item.start = targets_.Now();
  HEADWAY_RETURN_IF_ERROR(Fill(target, &item));
  const Result<RunItems::Made> made = targets_.Put(caller, *run, std::move(item));
  if (!made.ok()) return made.status();
  Result<v1::ProfilerTarget> shown = ItemMessage<v1::ProfilerTarget>(made->item, run->label);
  if (!shown.ok()) return shown.status();
  v1::CreateProfilerTargetResponse response;
  *response.mutable_target() = *std::move(shown);
  response.set_existed(made->existed);
  return response;
}

template <typename Request>
Result<ProfileService::FoundTarget> ProfileService::FindTarget(const Caller& caller,
                                                               const Request& request) const {
  Result<store::RunRow> run = targets_.FindRun(caller, request.project(), request.run());
  if (!run.ok()) return run.status();
  Result<store::ItemRow> item =
      targets_.Find(caller, request.project(), UidOf(run->uid, request.id()), request.id());
  if (!item.ok()) return item.status();
  return FoundTarget{*std::move(item), std::move(run->label)};
}

Result<v1::ProfilerTarget> ProfileService::GetTarget(
    const Caller& caller, const v1::GetProfilerTargetRequest& request) const {
  const Result<FoundTarget> found = FindTarget(caller, request);
  if (!found.ok()) return found.status();
  return ItemMessage<v1::ProfilerTarget>(found->item, found->label);
}

Result<v1::ListProfilerTargetsResponse> ProfileService::ListTargets(
    const Caller& caller, const v1::ListProfilerTargetsRequest& request) const {
  v1::ListProfilerTargetsRequest asked = request;
  if (asked.order_by().empty()) asked.set_order_by("host, index");
  v1::ListProfilerTargetsResponse response;
  Result<std::string> next = targets_.List(
      caller, asked, [&](const store::ItemRow& item, const std::string& label) -> Status {
        Result<v1::ProfilerTarget> target = ItemMessage<v1::ProfilerTarget>(item, label);
        if (!target.ok()) return target.status();
        *response.add_targets() = *std::move(target);
        return OkStatus();
      });
  if (!next.ok()) return next.status();
  response.set_next_page_token(*std::move(next));
  return response;
}

Result<v1::DeleteProfilerTargetResponse> ProfileService::DeleteTarget(
    const Caller& caller, const v1::DeleteProfilerTargetRequest& request) {
  const Result<FoundTarget> found = FindTarget(caller, request);
  if (!found.ok()) return found.status();
  HEADWAY_RETURN_IF_ERROR(targets_.Remove(caller, found->item, request.etag()));
  return v1::DeleteProfilerTargetResponse();
}

// --- Sessions

Result<v1::ProfileSession> ProfileService::ShowSession(const Result<store::ItemRow>& item) const {
  if (!item.ok()) return item.status();
  const Result<std::string> label = sessions_.LabelOf(*item);
  if (!label.ok()) return label.status();
  return SessionMessage(*item, *label);
}

Result<v1::CreateProfileSessionResponse> ProfileService::CreateSession(
    const Caller& caller, const v1::CreateProfileSessionRequest& request) {
  const Result<store::RunRow> run = sessions_.FindRun(caller, request.project(), request.run());
  if (!run.ok()) return run.status();
  const Result<store::ItemUid> uid =
      sessions_.UidFor(*run, request.session().uid(), request.request_id());
  if (!uid.ok()) return uid.status();
  v1::ProfileSession session;
  CopyFields(request.session(), kOfSession, &session);
  HEADWAY_RETURN_IF_ERROR(Complete(sessions_.Now(), &session));
  store::ItemRow item;
  item.uid = *uid;
  HEADWAY_RETURN_IF_ERROR(Fill(session, &item));
  const Result<RunItems::Made> made = sessions_.Create(caller, *run, std::move(item));
  if (!made.ok()) return made.status();
  Result<v1::ProfileSession> shown = SessionMessage(made->item, run->label);
  if (!shown.ok()) return shown.status();
  v1::CreateProfileSessionResponse response;
  *response.mutable_session() = *std::move(shown);
  response.set_existed(made->existed);
  return response;
}

Result<v1::ProfileSession> ProfileService::UpdateSession(
    const Caller& caller, const v1::UpdateProfileSessionRequest& request) {
  Result<store::ItemRow> item = sessions_.Find(caller, request.project(), request.uid());
  if (!item.ok()) return item.status();
  return ShowSession(sessions_.Update(
      caller, *std::move(item), request.etag(), [&](store::ItemRow* changed) -> Status {
        Result<v1::ProfileSession> session = ParseItem<v1::ProfileSession>(*changed);
        HEADWAY_RETURN_IF_ERROR(session.status());
        HEADWAY_RETURN_IF_ERROR(
            UpdateFields(request.values(), request.update_mask(), kOfSession, &*session));
        HEADWAY_RETURN_IF_ERROR(Complete(sessions_.Now(), &*session));
        return Fill(*session, changed);
      }));
}

Result<v1::ProfileSession> ProfileService::GetSession(
    const Caller& caller, const v1::GetProfileSessionRequest& request) const {
  return ShowSession(sessions_.Find(caller, request.project(), request.uid()));
}

Result<v1::ListProfileSessionsResponse> ProfileService::ListSessions(
    const Caller& caller, const v1::ListProfileSessionsRequest& request) const {
  v1::ListProfileSessionsResponse response;
  Result<std::string> next = sessions_.List(
      caller, request, [&](const store::ItemRow& item, const std::string& label) -> Status {
        Result<v1::ProfileSession> session = SessionMessage(item, label);
        if (!session.ok()) return session.status();
        *response.add_sessions() = *std::move(session);
        return OkStatus();
      });
  if (!next.ok()) return next.status();
  response.set_next_page_token(*std::move(next));
  return response;
}

Result<v1::DeleteProfileSessionResponse> ProfileService::DeleteSession(
    const Caller& caller, const v1::DeleteProfileSessionRequest& request) {
  const Result<store::ItemRow> item = sessions_.Find(caller, request.project(), request.uid());
  if (!item.ok()) return item.status();
  HEADWAY_RETURN_IF_ERROR(sessions_.Remove(caller, *item, request.etag()));
  return v1::DeleteProfileSessionResponse();
}

}  // namespace headway::server
