#include "ledger/compat/calculator.h"

#include <algorithm>
#include <utility>

namespace headway::compat {
namespace {

Status NoTotal() {
  return {Code::kFailedPrecondition,
          "the job's total time is 0, so there is no goodput: no job start was recorded, or the "
          "job ended when it began"};
}

Status Absurd(double productive_s, double total_s) {
  return {Code::kFailedPrecondition, "productive time of " + std::to_string(productive_s) +
                                         " s does not fit into a total of " +
                                         std::to_string(total_s) +
                                         " s; look at the recorded times, or use exact accounting"};
}

struct SliceRecord {
  double time = 0;
  Slices slices;
};

std::optional<SliceEfficiency> EfficiencyOf(std::vector<SliceRecord> records, double from,
                                            double to) {
  if (records.empty()) return std::nullopt;
  std::ranges::stable_sort(records, {}, &SliceRecord::time);
  SliceEfficiency efficiency;
  if (!(from < to)) return efficiency;
  for (std::size_t i = 0; i < records.size(); ++i) {
    // Of records at or before `from` the last one holds from there on.
    const bool before = records[i].time <= from;
    if (before && i + 1 < records.size() && records[i + 1].time <= from) continue;
    if (records[i].time >= to) break;
    const double begin = before ? from : records[i].time;
    const double end = i + 1 < records.size() ? std::min(records[i + 1].time, to) : to;
    const Slices& slices = records[i].slices;
    efficiency.stepping += slices.active / slices.total * (end - begin);
    efficiency.available += slices.available / slices.total * (end - begin);
  }
  efficiency.stepping /= to - from;
  efficiency.available /= to - from;
  return efficiency;
}

}  // namespace

std::optional<double> Calculator::JobStart() {
  const std::vector<Entry>& entries = log_.entries();
  for (; noted_ < entries.size(); ++noted_) {
    const Entry& entry = entries[noted_];
    if (entry.kind == EntryKind::kJobStart && !job_start_) {
      job_start_ = ThroughDatetime(entry.time);
    } else if (entry.kind == EntryKind::kJobEnd) {
      job_end_ = ThroughDatetime(entry.time);
    }
  }
  return job_start_;
}

// From the first job start to the last job end ever said; a job that goes on after its end has
// stopped for the incumbent.
double Calculator::Total(double now) {
  const std::optional<double> start = JobStart();
  return start ? job_end_.value_or(now) - *start : 0;
}

Result<Answer> Calculator::Cumulative(double now) {
  const double total_s = Total(now);
  if (total_s == 0) return NoTotal();
  accountant_.Take(log_.entries());
  Account account = accountant_.Now();
  const double productive_s = account.productive_s;
  if (productive_s < 0 || productive_s > total_s) return Absurd(productive_s, total_s);
  return HoldAgainst(std::move(account), total_s);
}

WindowAnswer Calculator::Window(double from, double to) const {
  // Entries are picked one by one: a log need not be in order of its times.
  std::vector<Entry> entries;
  std::vector<SliceRecord> slices;
  for (const Entry& entry : log_.entries()) {
    const double time = ThroughDatetime(entry.time);
    if (!(from < time && time <= to)) continue;
    entries.push_back(entry);
    if (entry.kind == EntryKind::kSlices) slices.push_back({entry.time, log_.slices(entry)});
  }
  WindowAnswer window = {Status(Code::kNotFound, "nothing was recorded within the interval"),
                         EfficiencyOf(std::move(slices), from, to)};
  if (entries.empty()) return window;
  const double begin = std::max(from, ThroughDatetime(entries.front().time));
  const double end = std::min(to, ThroughDatetime(entries.back().time));
  if (begin >= end) {
    window.answer = Status(Code::kFailedPrecondition,
                           "the records within the interval span no time, so there is no goodput");
    return window;
  }
  Accountant accountant(&log_, elastic_);
  accountant.Take(entries);
  Account account = accountant.Now();
  const double productive_s = account.productive_s;
  if (productive_s < 0 || productive_s > end - begin) {
    window.answer = Absurd(productive_s, end - begin);
  } else {
    window.answer = HoldAgainst(std::move(account), end - begin);
  }
  return window;
}

Answer Calculator::Without(std::span<const Exclusion> exclusions, double now,
                           StepTable* step_times) {
  ExcludingAccount without = AccountWithout(log_, log_.entries().size(), exclusions);
  const double total_s = std::max(0.0, Total(now) - without.excluded_s);
  Answer answer;
  if (total_s == 0) {
    answer.account.max_productive_step = without.account.max_productive_step;
  } else {
    answer = HoldAgainst(std::move(without.account), total_s);
  }
  answer.excluded_s = without.excluded_s;
  if (step_times != nullptr) *step_times = std::move(without.step_times);
  return answer;
}

const StepTable& Calculator::StepSeconds() {
  step_times_.TakeUpTo(log_.entries().size());
  return step_times_.seconds();
}

std::optional<SliceEfficiency> Calculator::Efficiency(double from, double to) const {
  std::vector<SliceRecord> records;
  for (const Entry& entry : log_.entries()) {
    if (entry.kind == EntryKind::kSlices) records.push_back({entry.time, log_.slices(entry)});
  }
  return EfficiencyOf(std::move(records), from, to);
}

}  // namespace headway::compat
