#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/server_items.h"
#include "cli/server_runs.h"
#include "model/text.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/profile_service.pb.h>

#include <map>
#include <vector>

#include "cli/palette.h"
#include "cli/table.h"
#endif

/// `headway profiles ...`: profile sessions of runs of a server, and what can be profiled.

namespace headway::cli {
namespace {

#ifdef HEADWAY_REMOTE

std::string KindOf(const v1::ProfileSession& session) {
  return EnumText(*v1::ProfileKind_descriptor(), session.kind());
}

std::string Lasted(const v1::ProfileSession& session) {
  return session.has_duration_ns() ? ShowDuration(session.duration_ns()) : "";
}

// How it stands with its targets: "2 succeeded, failed".
std::string PhasesOf(const v1::ProfileSession& session) {
  std::map<int, int> counts;
  for (const v1::CapturedTarget& target : session.targets()) ++counts[target.phase()];
  std::string text;
  for (const auto& [phase, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
            EnumText(*v1::CapturePhase_descriptor(), phase);
  }
  return text;
}

std::uint64_t BytesOf(const v1::CapturedTarget& target) {
  std::uint64_t bytes = 0;
  for (const v1::ProfileFile& file : target.files()) {
    bytes += static_cast<std::uint64_t>(file.bytes());
  }
  return bytes;
}

Table SessionTable(const std::vector<v1::ProfileSession>& sessions, bool with_run) {
  Table table({{"uid", false, 0, true},
               {"run"},
               {"kind"},
               {"since (UTC)", false, 1},
               {"lasted", true, 3},
               {"name", false, 4},
               {"targets", false, 2},
               {"stored at", false, 5}});
  for (const v1::ProfileSession& session : sessions) {
    table.AddRow({session.uid(), with_run ? session.run() : "", KindOf(session),
                  ShowTime(session.start_time()), Lasted(session), session.name(),
                  PhasesOf(session), session.storage_uri()});
  }
  return table;
}

Table TargetTable(const std::vector<v1::ProfilerTarget>& targets, bool with_run) {
  Table table({{"target", false, 0, true},
               {"run"},
               {"host", false, 2},
               {"index", true, 2},
               {"rank", true, 3},
               {"address", false, 1},
               {"master", false, 4},
               {"since (UTC)", false, 5}});
  for (const v1::ProfilerTarget& target : targets) {
    table.AddRow({target.id(), with_run ? target.run() : "", target.host(),
                  std::to_string(target.index()),
                  target.has_rank() ? std::to_string(target.rank()) : "", target.address(),
                  target.is_master() ? "yes" : "", ShowTime(target.update_time())});
  }
  return table;
}

template <typename Message>
void WriteAll(const std::string& name, const std::vector<Message>& messages, JsonWriter* json) {
  json->Key(name).BeginArray();
  for (const Message& message : messages) WriteMessage(message, json);
  json->EndArray();
}

Status List(const Context& context, const Place& place, const ItemList& wanted) {
  bool more_sessions = false;
  const auto sessions = FetchItems<v1::ListProfileSessionsRequest, v1::ListProfileSessionsResponse>(
      place, "ProfileService.ListProfileSessions", wanted,
      [](v1::ListProfileSessionsResponse& response) { return response.mutable_sessions(); },
      &more_sessions);
  if (!sessions.ok()) return sessions.status();
  bool more_targets = false;
  ItemList all = wanted;
  all.filter.clear();
  all.order_by.clear();
  const auto targets = FetchItems<v1::ListProfilerTargetsRequest, v1::ListProfilerTargetsResponse>(
      place, "ProfileService.ListProfilerTargets", all,
      [](v1::ListProfilerTargetsResponse& response) { return response.mutable_targets(); },
      &more_targets);
  if (!targets.ok()) return targets.status();
  if (place.json) {
    std::string text;
    JsonWriter json(&text, 1);
    json.BeginObject();
    WriteAll("sessions", *sessions, &json);
    WriteAll("targets", *targets, &json);
    json.EndObject();
    *context.out << text << "\n";
    return OkStatus();
  }
  std::string out;
  if (sessions->empty()) {
    out +=
        (wanted.filter.empty() ? "no profile sessions " : "no such profile sessions ") +
        PlaceOfList(place, wanted) +
        (wanted.filter.empty()
             ? ": nobody has told it of any. Programs do by ProfileService.CreateProfileSession\n"
             : "\n");
  } else {
    out += SessionTable(*sessions, !wanted.run).Render(context.terminal);
    if (more_sessions) out += "  and more: --limit N\n";
  }
  if (targets->empty()) {
    out += "no process has said that it can be profiled\n";
  } else {
    out += "\n" + TargetTable(*targets, !wanted.run).Render(context.terminal);
    if (more_targets) out += "  and more: --limit N\n";
  }
  *context.out << out;
  return OkStatus();
}

std::string TargetText(const v1::CapturedTarget& target, const Terminal& terminal) {
  const std::string heading = EnumText(*v1::CapturePhase_descriptor(), target.phase()) + " on " +
                              PrintableLine(target.target());
  Facts facts("  ", terminal);
  if (target.start_time() != 0) {
    facts.Add("time", "since " + ShowTime(target.start_time()) + " UTC" +
                          (target.has_end_time()
                               ? ", lasted " + ShowDuration(target.end_time() - target.start_time())
                               : std::string()));
  }
  facts.Add("error", target.error());
  for (const v1::ProfileFile& file : target.files()) {
    facts.Add("file", PrintableLine(file.path()) + ", " +
                          ShowBytes(static_cast<std::uint64_t>(file.bytes())));
  }
  if (target.files_size() > 1) facts.Add("all files", ShowBytes(BytesOf(target)));
  return "\n" + Paint(Tone::kStrong, heading, terminal) + "\n" + facts.text();
}

Status Show(const Context& context, const Place& place, const std::string& uid) {
  v1::GetProfileSessionRequest request;
  request.set_project(place.project);
  request.set_uid(uid);
  v1::ProfileSession session;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "ProfileService.GetProfileSession", request, &session));
  if (place.json) {
    *context.out << JsonOf(session);
    return OkStatus();
  }
  std::string out = Paint(Tone::kStrong, PrintableLine(session.name()), context.terminal) + "\n";
  Facts facts("", context.terminal);
  facts.Add("kind", KindOf(session));
  facts.Add("trigger", session.trigger());
  facts.Add("run", PrintableLine(session.run()) + ", uid " + session.run_uid() + ", project " +
                       PrintableLine(session.project()));
  if (session.has_attempt()) facts.Add("attempt", std::to_string(session.attempt()));
  facts.Add("time", "since " + ShowTime(session.start_time()) + " UTC" +
                        (session.has_duration_ns() ? ", lasted " + Lasted(session) : ""));
  facts.Add("stored at", session.storage_uri());
  facts.Add("look at", session.dashboard_uri());
  facts.Add("host tracer",
            EnumText(*v1::HostTracerLevel_descriptor(), session.host_tracer_level()));
  facts.Add("device tracer",
            EnumText(*v1::TracerLevel_descriptor(), session.device_tracer_level()));
  facts.Add("python tracer",
            EnumText(*v1::TracerLevel_descriptor(), session.python_tracer_level()));
  facts.Add("told by", session.creator() + ", " + ShowTime(session.create_time()) + " UTC");
  if (session.update_time() != session.create_time()) {
    facts.Add("changed", ShowTime(session.update_time()) + " UTC");
  }
  facts.Add("uid", session.uid() + ", etag " + session.etag());
  out += facts.text();
  for (const v1::CapturedTarget& target : session.targets()) {
    out += TargetText(target, context.terminal);
  }
  *context.out << out;
  return OkStatus();
}

#else

Status List(const Context&, const Place&, const ItemList&) { return NoServersBuilt(); }
Status Show(const Context&, const Place&, const std::string&) { return NoServersBuilt(); }

#endif

class ProfilesListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The profile sessions of a run of a server, or of all runs of a project, the newest first; "
        "and the processes that can be profiled, by host. The profiles themselves lie elsewhere.\n"
        "Filters and orders are of sessions, and as those of headway runs list; fields are kind, "
        "start, end, name, attempt, run, create_time, update_time and uid.");
    DescribeItemList(description, "sessions", &list_, &place_);
    description->Example("headway profiles list llama-7b", "what was profiled of a run");
    description->Example("headway profiles list --filter 'kind = scanned' --order-by 'run, start'",
                         "those that were found where profiles are stored");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "profile sessions are"));
    HEADWAY_RETURN_IF_ERROR(List(context, place_, list_));
    return 0;
  }

 private:
  ItemList list_;
  Place place_;
};

class ProfilesShowCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "One profile session: how it came to be, where it lies, and how each of its targets "
        "fared.");
    description->Positional("UID", &uid_, "as headway profiles list shows it");
    DescribeServerOnly(description, &place_);
    description->Example("headway profiles show 1f0c9d2a77b31f0c9d2a77b31f0c9d2a", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "profile sessions are"));
    HEADWAY_RETURN_IF_ERROR(Show(context, place_, uid_));
    return 0;
  }

 private:
  std::string uid_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeProfilesList() { return std::make_unique<ProfilesListCommand>(); }
std::unique_ptr<Command> MakeProfilesShow() { return std::make_unique<ProfilesShowCommand>(); }

}  // namespace headway::cli
