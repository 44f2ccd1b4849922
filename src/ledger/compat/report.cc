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

namespace headway::compat {
namespace {

/// Turns records into entries.
class Translator {
 public:
  Translator(const NameTable& names, EntryLog* log) : names_(names), log_(log) {}

  void Take(const Record& record) {
    const double time = SecondsOf(record.time_ns);
    switch (record.type) {
      case RecordType::kJobStart: log_->Add(EntryKind::kJobStart, time); break;
      case RecordType::kJobEnd:
        // A program that fails says no end there.
        if (record.a == 0) log_->Add(EntryKind::kJobEnd, time);
        break;
      case RecordType::kStepStart: log_->AddStep(record.a, time); break;
      case RecordType::kSpanBegin: TakeSpan(record, false, time); break;
      case RecordType::kSpanEnd: TakeSpan(record, true, time); break;
      case RecordType::kCapacity: TakeCapacity(record, time); break;
      default: break;
    }
  }

 private:
  struct Checkpoint {
    std::uint64_t seq = 0;
    std::int64_t begin_ns = 0;
    std::int64_t step = kNoStep;
  };
  using OpenCheckpoints = std::array<std::vector<Checkpoint>, 2>;  // where others see it; local

  void TakeSpan(const Record& record, bool end, double time) {
    auto pick = [end](EntryKind begins, EntryKind ends) { return end ? ends : begins; };
    switch (record.span) {
      case SpanKind::kAcceleratorInit:
        log_->Add(pick(EntryKind::kInitStart, EntryKind::kInitEnd), time);
        break;
      case SpanKind::kTrainingPrep:
        log_->Add(pick(EntryKind::kPrepStart, EntryKind::kPrepEnd), time);
        break;
      case SpanKind::kDataLoading:
      case SpanKind::kAsyncDataLoading:
        log_->Add(pick(EntryKind::kLoadStart, EntryKind::kLoadEnd), time);
        break;
      case SpanKind::kCustom: {
        std::string name(names_.Text(record.name));
        for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        log_->AddNamed(pick(EntryKind::kCustomStart, EntryKind::kCustomEnd), name, time);
        break;
      }
      case SpanKind::kElasticWait:
        log_->AddNamed(pick(EntryKind::kWaitStart, EntryKind::kWaitEnd), names_.Text(record.name),
                       time);
        break;
      case SpanKind::kElasticReinit:
        log_->Add(pick(EntryKind::kReinitStart, EntryKind::kReinitEnd), time);
        break;
      case SpanKind::kCheckpointSave: TakeCheckpoint(record, end, EntryKind::kSave, &saves_); break;
      case SpanKind::kCheckpointRestore:
        TakeCheckpoint(record, end, EntryKind::kRestore, &restores_);
        break;
      default: break;
    }
  }

  // Orbax reports a save once it is over; the report is of the time at which it began.
  void TakeCheckpoint(const Record& record, bool end, EntryKind kind, OpenCheckpoints* all) {
    const bool local = names_.Text(record.name) == "local";
    std::vector<Checkpoint>* const open = &(*all)[local ? 1 : 0];
    if (!end) {
      open->push_back({record.seq, record.time_ns, record.a});
      return;
    }
    // Several may be open, for several hosts report: the one it names, else the last.
    if (open->empty()) return;
    auto begun = std::find_if(open->rbegin(), open->rend(), [&record](const Checkpoint& one) {
      return record.b != kNoHandle && one.seq == static_cast<std::uint64_t>(record.b);
    });
    if (begun == open->rend()) begun = open->rbegin();
    const Checkpoint one = *begun;
    open->erase(std::next(begun).base());
    // Without a step it is like no other.
    const std::string step =
        one.step == kNoStep ? "#" + std::to_string(unnamed_++) : std::to_string(one.step);
    log_->AddCheckpoint(kind, step, local ? "/" : "gs://", SecondsOf(record.time_ns - one.begin_ns),
                        SecondsOf(one.begin_ns));
  }

  void TakeCapacity(const Record& record, double time) {
    constexpr std::uint64_t kUnknown = 0xffffffff;
    const auto both = static_cast<std::uint64_t>(record.a);
    auto count = [](std::uint64_t half) {
      return half == kUnknown ? 0 : static_cast<double>(half);
    };
    const double total = record.b < 0 ? 1 : static_cast<double>(record.b);
    log_->AddSlices({count(both >> 32), count(both & kUnknown), std::max(total, 1.0)}, time);
  }

  const NameTable& names_;
  EntryLog* log_;
  OpenCheckpoints saves_, restores_;
  std::int64_t unnamed_ = 0;
};

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
  Translator translator(*ledger->names(), log);
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
