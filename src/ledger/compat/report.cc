#include "ledger/compat/report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/compat/calculator.h"
#include "ledger/compat/step_times.h"
#include "ledger/compat/translator.h"

namespace headway::compat {
namespace {

std::int64_t ToNs(double seconds) { return std::llround(seconds * 1e9); }

constexpr std::array<std::pair<Badput, Category>, 11> kCategories = {{
    {Badput::kTpuInitialization, Category::kAcceleratorInit},
    {Badput::kTrainingPrep, Category::kTrainingPrep},
    {Badput::kProgramStartup, Category::kProgramStartup},
    {Badput::kDataLoadingSync, Category::kDataLoading},
    {Badput::kCheckpointSave, Category::kCheckpointSave},
    {Badput::kCheckpointRestore, Category::kCheckpointRestore},
    {Badput::kWastedProgress, Category::kWastedProgress},
    {Badput::kInfrastructureRecovery, Category::kInfrastructureRecovery},
    {Badput::kElasticSliceDown, Category::kElasticSliceDown},
    {Badput::kElasticScaleUp, Category::kElasticScaleUp},
    {Badput::kElasticReinitialization, Category::kElasticReinit},
}};

void SetCategories(const Account& account, const NameTable& names, Report* report) {
  std::vector<CategoryTime> categories = {{Category::kProductive, "", ToNs(account.productive_s)}};
  const Unproductive& unproductive = account.unproductive;
  auto add = [&categories](Category category, std::string_view name, double seconds) {
    if (const std::int64_t ns = ToNs(seconds); ns != 0) {
      categories.push_back({category, std::string(name), ns});
    }
  };
  for (const auto& [badput, category] : kCategories) add(category, "", unproductive.Get(badput));
  add(Category::kOther, "", unproductive.Get(Badput::kOther));
  if (unproductive.custom) {
    for (const auto& [name, seconds] : *unproductive.custom) {
      add(Category::kCustom, names.Text(name), seconds);
    }
  }
  std::ranges::stable_sort(categories, std::greater<>(), &CategoryTime::ns);
  report->categories = std::move(categories);
  report->data_loading_overlapped_ns = ToNs(unproductive.Get(Badput::kDataLoadingAsync));
}

}  // namespace

void AppendEntries(ledger::Ledger* ledger, std::int64_t as_of, EntryLog* log) {
  Translator translator(ledger->names(), log);
  ledger->VisitLeads([&](const Record& record) {
    if (record.time_ns <= as_of) translator.Take(record);
  });
}

Result<Report> MakeReport(ledger::Ledger* ledger, const ledger::Query& query) {
  Report report = ledger->MakeReport(query);
  Calculator calculator(/*elastic=*/true);
  AppendEntries(ledger, report.as_of, calculator.log());
  const double now = ThroughDatetime(SecondsOf(report.as_of));
  Answer answer;
  StepTable times = calculator.StepSeconds();
  if (query.window) {
    WindowAnswer window =
        calculator.Window(SecondsOf(query.window->first), SecondsOf(query.window->second));
    if (!window.answer.ok()) return window.answer.status();
    answer = std::move(window.answer).value();
  } else if (const auto excluded = ledger->Exclusions(report.as_of); !excluded.empty()) {
    std::vector<Exclusion> exclusions;
    for (const auto& [from, to] : excluded) {
      exclusions.push_back({SecondsOf(from), SecondsOf(to)});
    }
    answer = calculator.Without(exclusions, now, &times);
  } else {
    Result<Answer> cumulative = calculator.Cumulative(now);
    if (!cumulative.ok()) return cumulative.status();
    answer = *std::move(cumulative);
  }

  report.accounting = "compat";
  report.elapsed_ns = ToNs(answer.total_s);
  report.excluded_ns = ToNs(answer.excluded_s);
  report.goodput = answer.goodput_percent / 100;
  SetCategories(answer.account, calculator.log()->names(), &report);
  report.goodput_if_loading_blocked.reset();
  report.slow_steps_ns = 0;
  report.unsaved_ns.reset();
  report.rollbacks.clear();
  report.mtbf_ns.reset();
  report.mttr_ns.reset();
  report.checkpointing = {};
  report.notes.clear();
  report.steps = {};
  report.steps.count = static_cast<std::int64_t>(times.items().size());
  report.steps.max_productive_step = answer.account.max_productive_step;
  report.steps.last_step = answer.account.last_step;
  if (const std::optional<double> ideal = IdealStepTime(times)) {
    report.steps.ideal_ns = ToNs(*ideal);
    if (const auto deviation = StepDeviation(times, *ideal)) {
      report.steps.deviation_ns = ToNs(*deviation);
    }
  }
  // There a disruption is a step number that comes again.
  report.disruptions.clear();
  for (const Restart& restart : answer.account.restarts) {
    Disruption disruption;
    disruption.time = ToNs(restart.last_start);
    disruption.step_reached = restart.last_step;
    disruption.resumed_from = restart.step;
    disruption.wasted_ns = ToNs(restart.wasted_s);
    report.disruptions.push_back(std::move(disruption));
  }
  return report;
}

}  // namespace headway::compat
