#include <algorithm>
#include <iterator>
#include <set>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/progress.h"
#include "cli/run_files.h"
#include "cli/server_runs.h"
#include "cli/table.h"
#include "journal/directory.h"
#include "model/filter.h"
#include "model/run_fields.h"
#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kRunsShown = 50;

class RunsListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "A name that was used again stands for its newest run; the older ones are NAME@DATE.\n"
        "A filter compares fields (name, project, state, start, elapsed, goodput, attempts) with "
        "= != < <= > >=, or a text with : for 'contains'; AND, OR, NOT and parentheses combine "
        "them, and OR binds tighter than AND. A server's runs have further fields: end, last_step, "
        "group, phase, orchestrator, workload, creator, uid, create_time, update_time, "
        "delete_time, accelerators, labels.KEY.");
    description->Choice(
        "--state", "STATE",
        {"not_started", "running", "restarting", "completed", "failed", "interrupted"}, &state_,
        "only runs in this state");
    description->Option("--filter", "EXPR", &filter_,
                        "only runs for which it holds, e.g. 'goodput < 90% AND elapsed > 1h'");
    description->Option("--order-by", "FIELDS", &order_by_,
                        "e.g. 'goodput desc, name'; the newest first without it");
    description->Count("--limit", "N", 1, &limit_, "how many runs (text: 50, JSON: all)");
    description->Flag("--all-projects", &all_projects_, "the runs of every project");
    description->Flag("--deleted", &deleted_, "the deleted ones of a server, too");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway runs list", "the runs of the default project");
    description->Example(
        "headway runs list --filter 'state = failed AND name:llama' --order-by 'goodput'",
        "failed runs of some names, the worst first");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServer(&place_));
    if (!place_.server.empty()) {
      ServerList wanted{.filter = filter_,
                        .order_by = order_by_,
                        .limit = limit_,
                        .all_projects = all_projects_,
                        .deleted = deleted_};
      if (!state_.empty()) {
        wanted.filter = "state = " + state_ + (filter_.empty() ? "" : " AND (" + filter_ + ")");
      }
      HEADWAY_RETURN_IF_ERROR(ListServerRuns(context, place_, wanted));
      return 0;
    }
    if (deleted_) {
      return Status(Code::kInvalidArgument, "--deleted asks a server: --server URL");
    }
    HEADWAY_RETURN_IF_ERROR(ResolveToRead(&place_));
    const Result<Filter> filter = Filter::Parse(filter_, RunFields());
    if (!filter.ok()) {
      return Status(filter.status().code(), "--filter: " + filter.status().message());
    }
    std::optional<RowOrder> order;
    if (!order_by_.empty()) {
      Result<RowOrder> parsed = RowOrder::Parse(order_by_, RunFields());
      if (!parsed.ok()) {
        return Status(parsed.status().code(), "--order-by: " + parsed.status().message());
      }
      order = *std::move(parsed);
    }
    std::vector<Status> problems;
    const Result<std::vector<runs::Run>> runs = List(&problems);
    if (!runs.ok()) return runs.status();
    std::size_t limit = runs->size();
    if (limit_) {
      limit = static_cast<std::size_t>(*limit_);
    } else if (!place_.json) {
      limit = kRunsShown;
    }
    Progress progress(context.error_terminal, "reading runs");
    std::vector<RunFacts> facts;
    std::size_t looked_at = 0;
    // Which come first in another order is known once all have been read.
    for (; looked_at < runs->size() && (order || facts.size() < limit); ++looked_at) {
      progress.Update(static_cast<double>(looked_at) / static_cast<double>(runs->size()));
      Result<RunFacts> one = LearnFacts((*runs)[looked_at]);
      if (!one.ok()) {
        problems.push_back(one.status());
        continue;
      }
      const bool in_state = state_.empty() || RunStateName(one->report.state) == state_;
      if (in_state && filter->Matches(RowOf(*one))) facts.push_back(*std::move(one));
    }
    std::size_t more = runs->size() - looked_at;
    if (order) {
      std::stable_sort(facts.begin(), facts.end(), [&order](const RunFacts& a, const RunFacts& b) {
        return order->Before(RowOf(a), RowOf(b));
      });
      if (facts.size() > limit) {
        more = facts.size() - limit;
        facts.resize(limit);
      }
    }
    progress.Clear();
    TellProblems(problems);
    if (place_.json) {
      *context.out << Json(facts);
      return 0;
    }
    if (facts.empty()) {
      *context.out << (state_.empty() && filter_.empty() ? "no runs" : "no such runs")
                   << (all_projects_ ? "" : " in project " + PrintableLine(place_.project))
                   << " below " << place_.dirs.front() << "\n";
      return 0;
    }
    *context.out << Text(facts, context.terminal);
    if (more > 0) {
      // Older ones than those shown are not read; which of them a filter takes is not known.
      const bool all = state_.empty() && filter_.empty();
      *context.out << (order || all ? "  and " : "  not looked at: ")
                   << ShowCount(static_cast<std::int64_t>(more))
                   << (order       ? " more: --limit N\n"
                       : more == 1 ? " older one: --limit N\n"
                                   : " older ones: --limit N\n");
    }
    return 0;
  }

 private:
  static FilterRow RowOf(const RunFacts& facts) {
    return [&facts](std::size_t field, std::string_view) {
      return RunFieldValue(facts.run.name, facts.report, field);
    };
  }

  /// The runs of the project, or of all of them, the newest first.
  Result<std::vector<runs::Run>> List(std::vector<Status>* problems) const {
    if (!all_projects_) return runs::List(place_.dirs, place_.project, problems);
    std::set<std::string> projects;
    for (const std::string& dir : place_.dirs) {
      const Result<std::vector<std::string>> found = journal::ListProjects(dir);
      if (!found.ok()) return found.status();
      projects.insert(found->begin(), found->end());
    }
    std::vector<runs::Run> all;
    for (const std::string& project : projects) {
      Result<std::vector<runs::Run>> found = runs::List(place_.dirs, project, problems);
      if (!found.ok()) return found.status();
      std::move(found->begin(), found->end(), std::back_inserter(all));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const runs::Run& a, const runs::Run& b) { return a.start > b.start; });
    return all;
  }

  std::string Text(const std::vector<RunFacts>& facts, const Terminal& terminal) const {
    Table table({{"project", false},
                 {"run", false},
                 {"state", false},
                 {"started (UTC)", false, 3},
                 {"elapsed", true, 1},
                 {"goodput", true},
                 {"last step", true, 2},
                 {"attempts", true, 4},
                 {"size", true, 5}});
    for (const RunFacts& one : facts) {
      const Report& report = one.report;
      table.AddRow({all_projects_ ? one.run.project : "", one.run.label,
                    std::string(RunStateName(report.state)),
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
      json.BeginObject();
      WriteRunFields(one, &json);
      json.Field("attempts", one.report.attempts.size())
          .Field("journals", one.run.journals.size())
          .Field("bytes", one.bytes)
          .EndObject();
    }
    json.EndArray();
    return out + "\n";
  }

  std::string state_;
  std::string filter_;
  std::string order_by_;
  bool all_projects_ = false;
  bool deleted_ = false;
  std::optional<std::int64_t> limit_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeRunsList() { return std::make_unique<RunsListCommand>(); }

}  // namespace headway::cli
