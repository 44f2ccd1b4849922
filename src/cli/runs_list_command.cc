#include <algorithm>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/run_files.h"
#include "cli/shares.h"
#include "cli/table.h"
#include "cli/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kRunsShown = 50;

class RunsListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "A name that was used again stands for its newest run; the older ones are NAME@DATE.");
    description->Choice("--state", "STATE",
                        {"running", "restarting", "completed", "failed", "interrupted"}, &state_,
                        "only runs in this state");
    description->Count("--limit", "N", 1, &limit_, "how many runs (text: 50, JSON: all)");
    DescribePlace(description, &place_);
    description->Example("headway runs list", "the runs of the default project");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveToRead(&place_));
    std::vector<Status> problems;
    const Result<std::vector<runs::Run>> runs = runs::List(place_.dirs, place_.project, &problems);
    if (!runs.ok()) return runs.status();
    const WallNs now = SystemClock::WallNow();
    std::size_t limit = runs->size();
    if (limit_) {
      limit = static_cast<std::size_t>(*limit_);
    } else if (!place_.json) {
      limit = kRunsShown;
    }
    Progress progress(context.error_terminal, "reading runs");
    std::vector<RunFacts> facts;
    std::size_t looked_at = 0;
    for (; looked_at < runs->size() && facts.size() < limit; ++looked_at) {
      progress.Update(static_cast<double>(looked_at) / static_cast<double>(runs->size()));
      Result<RunFacts> one = LearnFacts((*runs)[looked_at], now);
      if (!one.ok()) {
        problems.push_back(one.status());
        continue;
      }
      if (state_.empty() || RunStateName(one->report.state) == state_) {
        facts.push_back(*std::move(one));
      }
    }
    progress.Clear();
    TellProblems(problems);
    if (place_.json) {
      *context.out << Json(facts);
      return 0;
    }
    if (facts.empty()) {
      *context.out << "no runs" << (state_.empty() ? "" : " in that state") << " in project "
                   << PrintableLine(place_.project) << " below " << place_.dirs.front() << "\n";
      return 0;
    }
    *context.out << Text(facts, context.terminal);
    if (looked_at < runs->size()) {
      *context.out << "  and up to "
                   << ShowCount(static_cast<std::int64_t>(runs->size() - looked_at))
                   << " older ones: --limit N\n";
    }
    return 0;
  }

 private:
  static std::string Text(const std::vector<RunFacts>& facts, const Terminal& terminal) {
    Table table({{"run", false},
                 {"state", false},
                 {"started (UTC)", false, 3},
                 {"elapsed", true, 1},
                 {"goodput", true},
                 {"last step", true, 2},
                 {"attempts", true, 4},
                 {"size", true, 5}});
    for (const RunFacts& one : facts) {
      const Report& report = one.report;
      table.AddRow({one.run.label, std::string(RunStateName(report.state)),
                    ShowTime(report.start.value_or(one.run.start)), ShowDuration(report.elapsed_ns),
                    ShowGoodput(report), ShowCount(report.steps.last_step),
                    std::to_string(report.attempts.size()), ShowBytes(one.bytes)});
    }
    return table.Render(terminal);
  }

  static std::string Json(const std::vector<RunFacts>& facts) {
    std::string out;
    JsonWriter json(&out, 1);
    json.BeginArray();
    for (const RunFacts& one : facts) {
      const Report& report = one.report;
      json.BeginObject()
          .Field("run", one.run.label)
          .Field("name", one.run.name)
          .Field("project", one.run.project)
          .Field("uid", ToHex(one.run.uid))
          .Field("state", RunStateName(report.state))
          .Field("live", one.live)
          .Field("imported", one.imported)
          .Field("start", FormatTime(WallNs{report.start.value_or(one.run.start)}))
          .Field("elapsed_ns", report.elapsed_ns);
      json.Key("goodput");
      report.goodput ? json.Double(*report.goodput) : json.Null();
      json.Key("last_step");
      report.steps.last_step ? json.Int(*report.steps.last_step) : json.Null();
      json.Field("attempts", report.attempts.size())
          .Field("journals", one.run.journals.size())
          .Field("bytes", one.bytes)
          .EndObject();
    }
    json.EndArray();
    return out + "\n";
  }

  std::string state_;
  std::optional<std::int64_t> limit_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeRunsList() { return std::make_unique<RunsListCommand>(); }

}  // namespace headway::cli
