#include "server/event_service.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/item_limits.h"
#include "base/names.h"
#include "server/item_check.h"

namespace headway::server {
namespace {

constexpr std::string_view kSettable[] = {
    "attempt",    "type",     "custom_type", "severity", "display_name",
    "start_time", "end_time", "scope",       "evidence", "analyzer_reports"};

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

// "hang".
std::string TypeName(const v1::Event& event) {
  switch (event.type()) {
    case v1::EVENT_TYPE_PERFORMANCE_DEGRADATION: return "performance_degradation";
    case v1::EVENT_TYPE_HANG: return "hang";
    case v1::EVENT_TYPE_INTERRUPTION: return "interruption";
    case v1::EVENT_TYPE_TERMINATION: return "termination";
    case v1::EVENT_TYPE_OTHER: return event.custom_type();
    default: return {};
  }
}

// "Performance degradation".
std::string UsualName(const v1::Event& event) {
  std::string name = TypeName(event);
  if (event.type() == v1::EVENT_TYPE_OTHER) return name;
  std::ranges::replace(name, '_', ' ');
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name;
}

Status CheckSpan(const std::string& path, bool has_start, std::int64_t start, bool has_end,
                 std::int64_t end) {
  if (!has_start || !has_end || start <= end) return OkStatus();
  return Bad(path + ".end_time is before its start_time");
}

Status CheckEvidence(const std::string& path, const v1::Evidence& evidence) {
  return CheckSpan(path, evidence.has_start_time(), evidence.start_time(), evidence.has_end_time(),
                   evidence.end_time());
}

Status CheckAction(const std::string& path, const v1::RecommendedAction& action) {
  if (action.description().empty()) return Bad(path + ".description is missing");
  // Of valid UTF-8: a character is what does not go on with the one before.
  const auto characters = static_cast<std::size_t>(std::ranges::count_if(
      action.description(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  if (characters <= limits::kItemActionCharacters) return OkStatus();
  return Bad(path + ".description has " + std::to_string(characters) +
             " characters, and may have " + std::to_string(limits::kItemActionCharacters));
}

std::string At(const std::string& path, std::string_view list, int i) {
  return path + "." + std::string(list) + "[" + std::to_string(i) + "]";
}

Status CheckReport(const std::string& path, std::int64_t now, v1::AnalyzerReport* report) {
  HEADWAY_RETURN_IF_ERROR(CheckGivenName(path + ".analyzer", report->analyzer()));
  if (report->state() == v1::DETECTION_STATE_UNSPECIFIED) {
    return Bad(path +
               ".state is missing: DETECTION_STATE_DETECTED, DETECTION_STATE_NOT_DETECTED, "
               "DETECTION_STATE_NO_DATA or DETECTION_STATE_ERROR");
  }
  if (report->create_time() == 0) report->set_create_time(now);
  for (int i = 0; i < report->evidence_size(); ++i) {
    HEADWAY_RETURN_IF_ERROR(CheckEvidence(At(path, "evidence", i), report->evidence(i)));
  }
  for (int i = 0; i < report->recommended_actions_size(); ++i) {
    HEADWAY_RETURN_IF_ERROR(
        CheckAction(At(path, "recommended_actions", i), report->recommended_actions(i)));
  }
  return OkStatus();
}

// What may be set, as it is kept: checked, and with what nobody said.
Status Complete(std::int64_t now, v1::Event* event) {
  const std::string path = "event";
  if (event->type() == v1::EVENT_TYPE_UNSPECIFIED) {
    return Bad("event.type is missing: EVENT_TYPE_HANG, ..., or EVENT_TYPE_OTHER and custom_type");
  }
  HEADWAY_RETURN_IF_ERROR(CheckItem(path, event));
  if (event->type() == v1::EVENT_TYPE_OTHER) {
    HEADWAY_RETURN_IF_ERROR(CheckGivenName("event.custom_type", event->custom_type()));
  } else if (!event->custom_type().empty()) {
    return Bad("event.custom_type is given with EVENT_TYPE_OTHER only");
  }
  if (event->start_time() == 0) event->set_start_time(now);
  HEADWAY_RETURN_IF_ERROR(
      CheckSpan(path, true, event->start_time(), event->has_end_time(), event->end_time()));
  for (int i = 0; i < event->evidence_size(); ++i) {
    HEADWAY_RETURN_IF_ERROR(CheckEvidence(At(path, "evidence", i), event->evidence(i)));
  }
  for (int i = 0; i < event->analyzer_reports_size(); ++i) {
    HEADWAY_RETURN_IF_ERROR(
        CheckReport(At(path, "analyzer_reports", i), now, event->mutable_analyzer_reports(i)));
  }
  return OkStatus();
}

bool InsightFound(const v1::Event& event) {
  return std::ranges::any_of(event.analyzer_reports(), [](const v1::AnalyzerReport& report) {
    return report.state() == v1::DETECTION_STATE_DETECTED;
  });
}

// Sets what the event says of itself.
Status Fill(const v1::Event& event, store::ItemRow* item) {
  Result<std::string> bytes = ItemBytes("the event", event);
  if (!bytes.ok()) return bytes.status();
  item->bytes = *std::move(bytes);
  item->start = event.start_time();
  item->end = std::nullopt;
  if (event.has_end_time()) item->end = event.end_time();
  item->type = TypeName(event);
  item->level = std::nullopt;
  if (event.severity() != v1::SEVERITY_UNSPECIFIED) item->level = event.severity();
  item->name = event.display_name().empty() ? UsualName(event) : event.display_name();
  item->attempt = std::nullopt;
  if (event.has_attempt()) item->attempt = event.attempt();
  item->found = InsightFound(event);
  return OkStatus();
}

Result<v1::Event> Message(const store::ItemRow& item, const std::string& label) {
  Result<v1::Event> event = ItemMessage<v1::Event>(item, label);
  if (!event.ok()) return event;
  event->set_uid(ToHex(item.uid));
  if (event->display_name().empty()) event->set_display_name(UsualName(*event));
  event->set_insight_found(item.found);
  return event;
}

}  // namespace

EventService::EventService(store::Store* store, RunRegistry* registry, const Clock* clock)
    : items_({.kind = store::ItemKind::kEvent,
              .noun = "event",
              .field = "event",
              .create = Permission::kEventsCreate,
              .get = Permission::kEventsGet,
              .update = Permission::kEventsUpdate,
              .remove = Permission::kEventsDelete},
             store, registry, clock) {}

void EventService::AddTo(ConnectRouter* router) {
  router->Add<v1::CreateEventRequest, v1::CreateEventResponse>(
      "headway.v1.EventService.CreateEvent", Permission::kEventsCreate, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Create(caller, request); });
  router->Add<v1::UpdateEventRequest, v1::Event>(
      "headway.v1.EventService.UpdateEvent", Permission::kEventsUpdate, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Update(caller, request); });
  router->Add<v1::DeleteEventRequest, v1::DeleteEventResponse>(
      "headway.v1.EventService.DeleteEvent", Permission::kEventsDelete, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Delete(caller, request); });
  router->Add<v1::GetEventRequest, v1::Event>(
      "headway.v1.EventService.GetEvent", Permission::kEventsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Get(caller, request); });
  router->Add<v1::ListEventsRequest, v1::ListEventsResponse>(
      "headway.v1.EventService.ListEvents", Permission::kEventsList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return List(caller, request); });
}

Result<v1::Event> EventService::Show(const Result<store::ItemRow>& item) const {
  if (!item.ok()) return item.status();
  const Result<std::string> label = items_.LabelOf(*item);
  if (!label.ok()) return label.status();
  return Message(*item, *label);
}

Result<v1::CreateEventResponse> EventService::Create(const Caller& caller,
                                                     const v1::CreateEventRequest& request) {
  const Result<store::RunRow> run = items_.FindRun(caller, request.project(), request.run());
  if (!run.ok()) return run.status();
  const Result<store::ItemUid> uid =
      items_.UidFor(*run, request.event().uid(), request.request_id());
  if (!uid.ok()) return uid.status();
  v1::Event event;
  CopyFields(request.event(), kSettable, &event);
  HEADWAY_RETURN_IF_ERROR(Complete(items_.Now(), &event));
  store::ItemRow item;
  item.uid = *uid;
  HEADWAY_RETURN_IF_ERROR(Fill(event, &item));
  const Result<RunItems::Made> made = items_.Create(caller, *run, std::move(item));
  if (!made.ok()) return made.status();
  Result<v1::Event> shown = Message(made->item, run->label);
  if (!shown.ok()) return shown.status();
  v1::CreateEventResponse response;
  *response.mutable_event() = *std::move(shown);
  response.set_existed(made->existed);
  return response;
}

Result<v1::Event> EventService::Update(const Caller& caller,
                                       const v1::UpdateEventRequest& request) {
  Result<store::ItemRow> item = items_.Find(caller, request.project(), request.uid());
  if (!item.ok()) return item.status();
  return Show(items_.Update(
      caller, *std::move(item), request.etag(), [&](store::ItemRow* changed) -> Status {
        Result<v1::Event> event = ParseItem<v1::Event>(*changed);
        HEADWAY_RETURN_IF_ERROR(event.status());
        HEADWAY_RETURN_IF_ERROR(
            UpdateFields(request.values(), request.update_mask(), kSettable, &*event));
        HEADWAY_RETURN_IF_ERROR(Complete(items_.Now(), &*event));
        return Fill(*event, changed);
      }));
}

Result<v1::DeleteEventResponse> EventService::Delete(const Caller& caller,
                                                     const v1::DeleteEventRequest& request) {
  const Result<store::ItemRow> item = items_.Find(caller, request.project(), request.uid());
  if (!item.ok()) return item.status();
  HEADWAY_RETURN_IF_ERROR(items_.Remove(caller, *item, request.etag()));
  return v1::DeleteEventResponse();
}

Result<v1::Event> EventService::Get(const Caller& caller,
                                    const v1::GetEventRequest& request) const {
  return Show(items_.Find(caller, request.project(), request.uid()));
}

Result<v1::ListEventsResponse> EventService::List(const Caller& caller,
                                                  const v1::ListEventsRequest& request) const {
  v1::ListEventsResponse response;
  Result<std::string> next = items_.List(
      caller, request, [&](const store::ItemRow& item, const std::string& label) -> Status {
        Result<v1::Event> event = Message(item, label);
        if (!event.ok()) return event.status();
        *response.add_events() = *std::move(event);
        return OkStatus();
      });
  if (!next.ok()) return next.status();
  response.set_next_page_token(*std::move(next));
  return response;
}

}  // namespace headway::server
