#include "cli/difference.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "cli/palette.h"
#include "cli/table.h"
#include "model/text.h"

namespace headway::cli {
namespace {

/// A category and its name, with both answers.
struct Row {
  std::int64_t exact_ns = 0;
  std::int64_t compat_ns = 0;
};
using Rows = std::map<std::pair<Category, std::string>, Row>;

Rows RowsOf(const Report& exact, const Report& compat) {
  Rows rows;
  for (const CategoryTime& time : exact.categories) {
    rows[{time.category, time.name}].exact_ns += time.ns;
  }
  for (const CategoryTime& time : compat.categories) {
    rows[{time.category, time.name}].compat_ns += time.ns;
  }
  return rows;
}

std::int64_t Sum(const Report& report) {
  std::int64_t sum = 0;
  for (const CategoryTime& time : report.categories) sum += time.ns;
  return sum;
}

std::string Title(const std::pair<Category, std::string>& category) {
  std::string title(CategoryName(category.first));
  return category.second.empty() ? title : title + " " + category.second;
}

std::string Times(std::size_t count, const char* one, const char* many) {
  return ShowCount(static_cast<std::int64_t>(count)) + " " + (count == 1 ? one : many);
}

}  // namespace

std::vector<DifferenceReason> ExplainDifference(const Report& exact, const Report& compat) {
  std::vector<DifferenceReason> reasons;
  auto say = [&reasons](std::string code, std::int64_t ns, std::string message) {
    reasons.push_back({std::move(code), std::move(message), ns});
  };
  auto less = [&](Category category) { return exact.Ns(category) - compat.Ns(category); };

  std::int64_t hidden_ns = 0;
  std::size_t hidden = 0;
  std::int64_t from_zero_ns = 0;
  std::size_t from_zero = 0;
  for (const Disruption& disruption : exact.disruptions) {
    if (!disruption.resumed_from || !disruption.step_reached) continue;
    if (*disruption.resumed_from > *disruption.step_reached) {
      ++hidden;
      hidden_ns += disruption.downtime_ns.value_or(0) + disruption.reinit_ns.value_or(0);
    } else if (*disruption.resumed_from == 0) {
      ++from_zero;
      from_zero_ns += disruption.wasted_ns;
    }
  }
  if (hidden > 0) {
    say("outage_as_step", hidden_ns,
        Times(hidden, "restart", "restarts") +
            " went on after the last step: no step number came again, so compat sees no disruption "
            "and takes " +
            ShowDuration(hidden_ns) + " of standstill and start-up for one long step");
  }
  if (from_zero > 0) {
    say("restart_from_zero", from_zero_ns,
        Times(from_zero, "restart", "restarts") + " began at step 0: compat leaves the " +
            ShowDuration(from_zero_ns) + " that were lost to other, exact counts wasted_progress");
  }
  if (const std::int64_t stall = exact.Ns(Category::kStepStall); stall > 0) {
    say("stall", stall,
        ShowDuration(stall) + " in which steps hung are progress in compat: it knows no bound");
  }
  if (const std::int64_t cut = exact.elapsed_ns - compat.elapsed_ns - compat.excluded_ns; cut > 0) {
    say("elapsed", cut,
        "compat looks at " + ShowDuration(cut) +
            " less: its time begins with the first job start and stops at the last job end that "
            "was recorded" +
            (compat.window ? ", an interval's at its last record" : ""));
  }
  if (const std::int64_t over = Sum(compat) - compat.elapsed_ns; over > 0) {
    say("overlap", over,
        "compat's categories overlap: they add up to " + ShowDuration(over) +
            " more than the elapsed time");
  }
  if (const std::int64_t custom = less(Category::kCustom); custom != 0) {
    say("custom", std::max(custom, -custom),
        custom > 0 ? "compat counts a custom span only if it lies within one step: " +
                         ShowDuration(custom) + " are left out"
                   : "compat counts custom spans that overlap each in full: " +
                         ShowDuration(-custom) + " more");
  }
  if (const std::int64_t load = less(Category::kDataLoading); load != 0) {
    say("data_loading", std::max(load, -load),
        "compat takes the first load after a start as waiting and all others as overlapped; exact "
        "asks by how much each step was late");
  }
  if (const std::int64_t save = less(Category::kCheckpointSave); save != 0) {
    say("checkpoint_save", std::max(save, -save),
        "compat takes the mean of all saves of one step number, and subtracts saves from steps "
        "wherever they were");
  }
  if (const std::int64_t restore = less(Category::kCheckpointRestore); restore != 0) {
    say("checkpoint_restore", std::max(restore, -restore),
        "compat takes the mean of all restores of one step number");
  }
  if (const std::int64_t startup = less(Category::kProgramStartup); startup != 0) {
    say("program_startup", std::max(startup, -startup),
        "compat counts by how much the first step was longer than the mean of the others; exact "
        "also the time from the start of an attempt to its first step that nothing names");
  }
  const std::int64_t wasted = less(Category::kWastedProgress) - from_zero_ns;
  if (wasted != 0) {
    say("wasted_progress", std::max(wasted, -wasted),
        "compat counts what lies between steps that came again, not what the last step had got "
        "done, and does not take back what an earlier restart had kept");
  }
  const std::int64_t down = less(Category::kInfrastructureRecovery) - hidden_ns;
  if (down < 0) {
    say("infrastructure_recovery", -down,
        "compat's standstill reaches from the last step's start to the last job start, over all "
        "that was done in between");
  }
  std::ranges::stable_sort(reasons, std::greater<>(), &DifferenceReason::ns);
  return reasons;
}

std::string RenderDifference(const Report& exact, const Report& compat, const Terminal& terminal) {
  auto share = [](const Report& report) {
    return report.goodput ? ShowPercent(*report.goodput) : std::string("–");
  };
  std::string out = Paint(Tone::kStrong, share(exact), terminal) + " goodput exact, " +
                    Paint(Tone::kStrong, share(compat), terminal) + " compat  " +
                    PrintableLine(exact.run) + "\n\n";
  Table table({{"", false}, {"exact", true}, {"compat", true}, {"compat − exact", true}});
  for (const auto& [category, row] : RowsOf(exact, compat)) {
    const std::int64_t more = row.compat_ns - row.exact_ns;
    table.AddRow({Title(category), ShowDuration(row.exact_ns), ShowDuration(row.compat_ns),
                  more == 0 ? "" : (more < 0 ? "−" : "+") + ShowDuration(std::max(more, -more))});
  }
  table.AddRow({"sum", ShowDuration(Sum(exact)), ShowDuration(Sum(compat)), ""});
  table.AddRow({"elapsed", ShowDuration(exact.elapsed_ns), ShowDuration(compat.elapsed_ns), ""});
  table.AddRow({"disruptions", ShowCount(static_cast<std::int64_t>(exact.disruptions.size())),
                ShowCount(static_cast<std::int64_t>(compat.disruptions.size())), ""});
  out += table.Render(terminal);
  const std::vector<DifferenceReason> reasons = ExplainDifference(exact, compat);
  out += reasons.empty() ? "\nThe two agree.\n" : "\nWhy\n";
  for (const DifferenceReason& reason : reasons) {
    const auto width = static_cast<std::size_t>(terminal.width);
    out += "  • " + WrapBeside(reason.message + ".", width, 4) + "\n";
  }
  return out;
}

std::string DifferenceToJson(const Report& exact, const Report& compat,
                             const JsonOptions& options) {
  std::string out;
  JsonWriter json(&out, options.indent);
  json.BeginObject().Field("run", exact.run).Field("project", exact.project);
  auto goodput = [&json](const char* key, const Report& report) {
    json.Key(key);
    report.goodput ? json.Double(*report.goodput) : json.Null();
  };
  goodput("goodput_exact", exact);
  goodput("goodput_compat", compat);
  json.Field("elapsed_exact_ns", exact.elapsed_ns);
  json.Field("elapsed_compat_ns", compat.elapsed_ns);
  json.Field("disruptions_exact", exact.disruptions.size());
  json.Field("disruptions_compat", compat.disruptions.size());
  json.Key("categories").BeginArray();
  for (const auto& [category, row] : RowsOf(exact, compat)) {
    json.BeginObject()
        .Field("category", CategoryName(category.first))
        .Field("name", category.second)
        .Field("exact_ns", row.exact_ns)
        .Field("compat_ns", row.compat_ns)
        .EndObject();
  }
  json.EndArray().Key("reasons").BeginArray();
  for (const DifferenceReason& reason : ExplainDifference(exact, compat)) {
    json.BeginObject()
        .Field("code", reason.code)
        .Field("ns", reason.ns)
        .Field("message", reason.message)
        .EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace headway::cli
