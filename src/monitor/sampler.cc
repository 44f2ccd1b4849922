#include "monitor/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ledger/compat/step_times.h"
#include "ledger/compat/to_ledger.h"

namespace headway::monitor {

Sampler::Sampler(runs::GrowingRun* reader, std::string project, std::string run,
                 const Accounting& accounting)
    : reader_(reader),
      project_(std::move(project)),
      run_(std::move(run)),
      accounting_(accounting) {}

// Their log, as far as it went at `until`.
void Sampler::Account(std::int64_t until, std::int64_t future) {
  const bool other = std::exchange(starts_, reader_->starts()) != reader_->starts();
  if (other) told_.clear();
  if (!other && calculator_ != nullptr && latest_ <= until && ReadOn(until, future)) return;
  calculator_ = std::make_unique<compat::Calculator>(accounting_.elastic);
  translator_.emplace(reader_->ledger()->names(), calculator_->log());
  place_ = {};
  latest_ = kNoTime;
  settled_ = 0;
  log_.reset();
  ++edition_;
  ReadOn(until, future);
}

bool Sampler::ReadOn(std::int64_t until, std::int64_t future) {
  return reader_->ledger()->VisitLeads(&place_, [&](const Record& record) {
    if (record.time_ns <= until) {
      latest_ = std::max(latest_, record.time_ns);
    } else if (record.time_ns <= future) {
      return false;
    }  // else it can't be true, and holds up nothing
    translator_->Take(record);
    if (reader_->MayLead(record.writer)) settled_ = calculator_->log()->entries().size();
    return true;
  });
}

Sample Sampler::Take(WallNs at, WallNs now, const Wanted& wanted, Status* problem) {
  Sample sample;
  sample.time_ns = at.ns;
  sample.project = project_;
  sample.run = run_;
  ledger::Query query;
  query.now = at.ns;
  if (reader_->live()) query.as_of = at.ns;
  Report whole = reader_->ledger()->MakeReport(query);
  if (!reader_->live() && at.ns < whole.as_of) {
    // The run has ended since.
    query.as_of = at.ns;
    whole = reader_->ledger()->MakeReport(query);
  }
  Account(query.as_of.value_or(std::numeric_limits<std::int64_t>::max()), now.ns + kClockErrorNs);
  sample.step = whole.steps.max_productive_step.value_or(whole.steps.last_step.value_or(0));
  if (wanted.whole || wanted.step_deviations) FindIdealStep(whole);
  Status ignored;
  if (wanted.whole) AddWhole(query, whole, &sample, problem == nullptr ? &ignored : problem);
  for (const std::int64_t seconds : wanted.windows) AddWindow(seconds, query, &sample);
  if (wanted.step_deviations) AddStepDeviations(&sample);
  if (wanted.log) AddLog(&sample);
  return sample;
}

// Who keeps entries can't take them back: what may still turn out to be another's waits.
void Sampler::AddLog(Sample* sample) {
  const compat::EntryLog& all = *calculator_->log();
  const std::size_t count = reader_->live() ? settled_ : all.entries().size();
  if (log_ == nullptr || log_->entries().size() != count) {
    auto log = std::make_shared<compat::EntryLog>(all);
    log->Keep(count);
    log_ = std::move(log);
  }
  sample->log = log_;
  sample->log_edition = edition_;
}

void Sampler::FindIdealStep(const Report& whole) {
  ideal_step_s_ = accounting_.ideal_step_s;
  if (ideal_step_s_) return;
  if (!accounting_.exact) {
    ideal_step_s_ = compat::IdealStepTime(calculator_->StepSeconds());
  } else if (whole.steps.ideal_ns) {
    ideal_step_s_ = static_cast<double>(*whole.steps.ideal_ns) / kNanosPerSecond;
  }
}

void Sampler::AddWhole(const ledger::Query& query, Report report, Sample* sample, Status* problem) {
  report.project = project_;
  report.run = run_;
  const double now = compat::SecondsOf(*query.now);
  Result<compat::Answer> answer =
      accounting_.exact ? compat::ToAnswer(report, calculator_->log()->mutable_names())
                        : calculator_->Cumulative(compat::ThroughDatetime(now));
  if (answer.ok()) {
    sample->figures = compat::FiguresOf(*answer, calculator_->log()->names());
    if (const auto start = calculator_->JobStart(); start && accounting_.elastic) {
      sample->efficiency = calculator_->Efficiency(*start, *start + answer->total_s);
    }
  } else {
    *problem = answer.status();
  }
  sample->ideal_step_s = ideal_step_s_;
  if (sample->ideal_step_s) {
    sample->deviation_s = compat::StepDeviation(calculator_->StepSeconds(), *sample->ideal_step_s);
  }
  sample->report = std::move(report);
}

void Sampler::AddWindow(std::int64_t seconds, const ledger::Query& query, Sample* sample) {
  WindowSample window;
  window.seconds = seconds;
  const std::int64_t to = *query.now;
  const std::int64_t from = to - seconds * kNanosPerSecond;
  ledger::Query within = query;
  within.window = {from, to};
  Report report = reader_->ledger()->MakeReport(within);
  report.project = project_;
  report.run = run_;
  compat::WindowAnswer said = calculator_->Window(compat::SecondsOf(from), compat::SecondsOf(to));
  if (accounting_.elastic) window.efficiency = said.efficiency;
  if (accounting_.exact && report.elapsed_ns > 0) {
    window.figures = compat::FiguresOf(
        compat::ToAnswer(report, calculator_->log()->mutable_names()), calculator_->log()->names());
  } else if (!accounting_.exact && said.answer.ok()) {
    window.figures = compat::FiguresOf(*said.answer, calculator_->log()->names());
  }
  if (report.elapsed_ns > 0) window.report = std::move(report);
  sample->windows.push_back(std::move(window));
}

void Sampler::AddStepDeviations(Sample* sample) {
  const std::optional<double> ideal = ideal_step_s_;
  if (!ideal) return;
  const std::vector<compat::StepTable::Item>& items = calculator_->StepSeconds().items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == told_.size()) {
      told_.push_back(items[i]);
    } else if (told_[i] == items[i]) {
      continue;
    }
    told_[i] = items[i];
    sample->step_deviations.emplace_back(items[i].step, std::abs(items[i].value - *ideal));
  }
}

}  // namespace headway::monitor
