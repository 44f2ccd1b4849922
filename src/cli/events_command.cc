#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/server_items.h"
#include "cli/server_runs.h"
#include "model/text.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/event_service.pb.h>

#include "cli/palette.h"
#include "cli/table.h"
#endif

/// `headway events ...`: what happened to runs of a server, and what analyzers say of that.

namespace headway::cli {
namespace {

#ifdef HEADWAY_REMOTE

std::string TypeOf(const v1::Event& event) {
  if (event.type() == v1::EVENT_TYPE_OTHER) return event.custom_type();
  return EnumText(*v1::EventType_descriptor(), event.type());
}

std::string SeverityOf(const v1::Event& event) {
  return EnumText(*v1::Severity_descriptor(), event.severity());
}

std::string Lasted(const v1::Event& event) {
  if (!event.has_end_time()) return "goes on";
  return ShowDuration(event.end_time() - event.start_time());
}

// What analyzers came to, of those that say the same together: "detected", "2 no_data".
std::string Findings(const v1::Event& event) {
  std::string text;
  for (int state = v1::DetectionState_MIN; state <= v1::DetectionState_MAX; ++state) {
    int count = 0;
    for (const v1::AnalyzerReport& report : event.analyzer_reports())
      count += report.state() == state;
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : std::string()) +
            EnumText(*v1::DetectionState_descriptor(), state);
  }
  return text;
}

Status List(const Context& context, const Place& place, const ItemList& wanted) {
  bool more = false;
  const auto events = FetchItems<v1::ListEventsRequest, v1::ListEventsResponse>(
      place, "EventService.ListEvents", wanted,
      [](v1::ListEventsResponse& response) { return response.mutable_events(); }, &more);
  if (!events.ok()) return events.status();
  if (place.json) {
    std::string text;
    JsonWriter json(&text, 1);
    json.BeginArray();
    for (const v1::Event& event : *events) WriteMessage(event, &json);
    json.EndArray();
    *context.out << text << "\n";
    return OkStatus();
  }
  if (events->empty()) {
    *context.out << (wanted.filter.empty() ? "no events " : "no such events ")
                 << PlaceOfList(place, wanted)
                 << (wanted.filter.empty()
                         ? ": nobody has told it of any. Programs do by EventService.CreateEvent\n"
                         : "\n");
    return OkStatus();
  }
  Table table({{"uid", false, 0, true},
               {"run"},
               {"type"},
               {"severity", false, 2},
               {"since (UTC)", false, 1},
               {"lasted", true, 3},
               {"name", false, 5},
               {"analyzers", false, 4}});
  for (const v1::Event& event : *events) {
    table.AddRow({event.uid(), wanted.run ? "" : event.run(), TypeOf(event), SeverityOf(event),
                  ShowTime(event.start_time()), Lasted(event), event.display_name(),
                  Findings(event)});
  }
  *context.out << table.Render(context.terminal);
  if (more) *context.out << "  and more: --limit N\n";
  return OkStatus();
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + PrintableLine(name);
  return text;
}

std::string Text(const v1::Evidence& evidence) {
  std::string text = evidence.what();
  if (!evidence.metric().empty()) text += (text.empty() ? "" : ", ") + evidence.metric();
  if (evidence.has_value()) {
    std::string value;
    JsonWriter(&value).Double(evidence.value());
    // What JSON has no word for.
    if (value == "null") value = std::to_string(evidence.value());
    text += (text.empty() ? "" : " = ") + value;
    if (!evidence.unit().empty() && evidence.unit() != "1") text += " " + evidence.unit();
  }
  if (evidence.has_start_time()) text += ", from " + ShowTime(evidence.start_time());
  if (evidence.has_end_time()) text += ", until " + ShowTime(evidence.end_time());
  if (!evidence.text().empty()) text += (text.empty() ? "" : ": ") + evidence.text();
  return text;
}

std::string ReportText(const v1::AnalyzerReport& report, const Terminal& terminal) {
  std::string heading = EnumText(*v1::DetectionState_descriptor(), report.state()) + " by " +
                        PrintableLine(report.analyzer());
  if (!report.version().empty()) heading += " " + PrintableLine(report.version());
  Facts facts("  ", terminal);
  facts.Add("layer", report.layer());
  if (report.has_confidence()) facts.Add("confidence", ShowPercent(report.confidence()));
  facts.Add("details", report.details());
  for (const v1::Evidence& evidence : report.evidence()) facts.Add("evidence", Text(evidence));
  for (const v1::RecommendedAction& action : report.recommended_actions()) {
    facts.Add("do", action.description() + (action.documentation_url().empty()
                                                ? std::string()
                                                : " (" + action.documentation_url() + ")"));
  }
  return "\n" + Paint(Tone::kStrong, heading, terminal) + "\n" + facts.text();
}

Status Show(const Context& context, const Place& place, const std::string& uid) {
  v1::GetEventRequest request;
  request.set_project(place.project);
  request.set_uid(uid);
  v1::Event event;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "EventService.GetEvent", request, &event));
  if (place.json) {
    *context.out << JsonOf(event);
    return OkStatus();
  }
  std::string out =
      Paint(Tone::kStrong, PrintableLine(event.display_name()), context.terminal) + "\n";
  Facts facts("", context.terminal);
  facts.Add("type", TypeOf(event));
  facts.Add("severity", SeverityOf(event));
  facts.Add("run", PrintableLine(event.run()) + ", uid " + event.run_uid() + ", project " +
                       PrintableLine(event.project()));
  if (event.has_attempt()) facts.Add("attempt", std::to_string(event.attempt()));
  facts.Add("time", "since " + ShowTime(event.start_time()) + " UTC, " +
                        (event.has_end_time() ? "lasted " + Lasted(event) : Lasted(event)));
  facts.Add("layer", event.scope().layer());
  facts.Add("hosts", Joined(event.scope().hosts()));
  facts.Add("devices", Joined(event.scope().devices()));
  for (const v1::Evidence& evidence : event.evidence()) facts.Add("evidence", Text(evidence));
  facts.Add("told by", event.creator() + ", " + ShowTime(event.create_time()) + " UTC");
  if (event.update_time() != event.create_time()) {
    facts.Add("changed", ShowTime(event.update_time()) + " UTC");
  }
  facts.Add("uid", event.uid() + ", etag " + event.etag());
  out += facts.text();
  for (const v1::AnalyzerReport& report : event.analyzer_reports()) {
    out += ReportText(report, context.terminal);
  }
  *context.out << out;
  return OkStatus();
}

#else

Status List(const Context&, const Place&, const ItemList&) { return NoServersBuilt(); }
Status Show(const Context&, const Place&, const std::string&) { return NoServersBuilt(); }

#endif

class EventsListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The events of a run of a server, or of all runs of a project: hangs, slow stretches, "
        "interruptions, and what people and programs told of besides; the newest first. Analyzers "
        "say of each whether they detected a cause, found none, or had no data.\n"
        "Filters and orders are as those of headway runs list; fields are type, severity, start, "
        "end, name, attempt, run, insight_found, create_time, update_time and uid. What goes on "
        "has no end: NOT end:*.");
    DescribeItemList(description, "events", &list_, &place_);
    description->Example("headway events list llama-7b", "what happened to a run");
    description->Example("headway events list --filter 'severity >= error AND NOT end:*'",
                         "what is wrong now");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "events are"));
    HEADWAY_RETURN_IF_ERROR(List(context, place_, list_));
    return 0;
  }

 private:
  ItemList list_;
  Place place_;
};

class EventsShowCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "One event: what it was, where, what was seen, and what analyzers say of it and "
        "recommend.");
    description->Positional("UID", &uid_, "as headway events list shows it");
    DescribeServerOnly(description, &place_);
    description->Example("headway events show 1f0c9d2a77b31f0c9d2a77b31f0c9d2a", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "events are"));
    HEADWAY_RETURN_IF_ERROR(Show(context, place_, uid_));
    return 0;
  }

 private:
  std::string uid_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeEventsList() { return std::make_unique<EventsListCommand>(); }
std::unique_ptr<Command> MakeEventsShow() { return std::make_unique<EventsShowCommand>(); }

}  // namespace headway::cli
