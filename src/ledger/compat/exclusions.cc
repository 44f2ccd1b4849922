#include "ledger/compat/exclusions.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "ledger/compat/custom_events.h"

namespace headway::compat {
namespace {

class Walk {
 public:
  Walk(const EntryLog& log, std::size_t end, std::span<const Exclusion> exclusions)
      : log_(log), end_(end), exclusions_(exclusions) {
    for (std::size_t i = 0; i < end; ++i) {
      const Entry& entry = log.entries()[i];
      if (entry.kind != EntryKind::kCustomStart && entry.kind != EntryKind::kCustomEnd) continue;
      if (const CustomEvents::Event* event = custom_.Take(entry)) types_.insert(event->type);
    }
  }

  ExcludingAccount Run() {
    for (std::size_t i = 0; i < end_; ++i) Take(log_.entries()[i]);
    if (!steps_.empty()) {
      const StepTable::Item last = steps_.highest();
      account().last_step = last.step;
      CloseSegment(last.step);
      if (Said(job_end_)) {
        account().productive_s += Left(last.value, *job_end_);
        account().max_productive_step = last.step;
      }
    }
    Unproductive& unproductive = account().unproductive;
    unproductive.Set(Badput::kTpuInitialization, init_s_);
    unproductive.Set(Badput::kTrainingPrep, prep_s_);
    unproductive.Set(Badput::kDataLoadingAsync,
                     load_s_ - unproductive.Get(Badput::kDataLoadingSync));
    return std::move(result_);
  }

 private:
  Account& account() { return result_.account; }

  // A time of 0 is taken for none.
  static bool Said(const std::optional<double>& time) { return time && *time != 0; }

  double Excluded(double from, double to) const {
    double excluded = 0;
    auto at = std::ranges::lower_bound(exclusions_, from, {}, &Exclusion::to);
    for (; at != exclusions_.end() && at->from < to; ++at) {
      const double left = std::max(from, at->from);
      const double right = std::min(to, at->to);
      if (left < right) excluded += right - left;
    }
    return excluded;
  }

  /// What is left of [from, to); counts what is not.
  double Left(double from, double to) {
    const double excluded = Excluded(from, to);
    result_.excluded_s += excluded;
    return std::max(0.0, to - from - excluded);
  }

  void Take(const Entry& entry) {
    auto close = [&](std::optional<double>* start, double* sum) {
      if (!Said(*start)) return false;
      *sum += Left(**start, entry.time);
      start->reset();
      return true;
    };
    switch (entry.kind) {
      case EntryKind::kJobStart: job_start_ = entry.time; break;
      case EntryKind::kJobEnd: job_end_ = entry.time; break;
      case EntryKind::kStep: TakeStep(entry); break;
      case EntryKind::kInitStart: init_ = entry.time; break;
      case EntryKind::kInitEnd: close(&init_, &init_s_); break;
      case EntryKind::kPrepStart: prep_ = entry.time; break;
      case EntryKind::kPrepEnd: close(&prep_, &prep_s_); break;
      case EntryKind::kLoadStart: load_ = entry.time; break;
      case EntryKind::kLoadEnd: {
        double seconds = 0;
        if (!close(&load_, &seconds)) break;
        load_s_ += seconds;
        if (load_blocks_) account().unproductive.Add(Badput::kDataLoadingSync, seconds);
        load_blocks_ = false;
        break;
      }
      default: break;
    }
  }

  void TakeStep(const Entry& entry) {
    if (steps_.Find(entry.value) != StepTable::kNowhere) {
      const StepTable::Item last = steps_.items().back();
      const double wasted_s = CloseSegment(entry.value);
      account().restarts.push_back({last.step, last.value, entry.value, wasted_s});
      if (Said(job_start_) && last.value != 0 && *job_start_ > last.value) {
        account().unproductive.Add(Badput::kInfrastructureRecovery, Left(last.value, *job_start_));
      }
      steps_.Clear();
      load_blocks_ = true;
    }
    steps_.Append(entry.value, entry.time);
  }

  /// Returns the seconds that were wasted.
  double CloseSegment(std::int64_t last) {
    const std::vector<StepTable::Item>& items = steps_.items();
    StepTable times;
    double productive = 0;
    double first = 0;
    double rest = 0;
    double wasted = 0;
    std::int64_t max_step = 0;
    std::map<NameId, double> custom;
    for (std::size_t i = 1; i < items.size(); ++i) {
      const StepTable::Item& step = items[i - 1];
      const StepTable::Item& next = items[i];
      const double duration = next.value - step.value;
      const double excluded = Excluded(step.value, next.value);
      result_.excluded_s += excluded;
      if (next.step > last) {
        wasted += std::max(0.0, duration - excluded);
        continue;
      }
      if (step.step == std::numeric_limits<std::int64_t>::max() || next.step != step.step + 1) {
        continue;
      }
      double events = 0;
      custom_.Overlapping(step.value, next.value, [&](const CustomEvents::Event& event) {
        const double both = std::min(event.end, next.value) - std::max(event.start, step.value);
        events += both;
        custom[event.type] += both;
      });
      const double work = std::max(0.0, duration - events - excluded);
      productive += work;
      times.Append(step.step, work);
      if (step.step == steps_.lowest()) {
        first = work;
      } else {
        rest += work;
      }
      max_step = step.step;
    }
    Unproductive lost;
    lost.Set(Badput::kWastedProgress, wasted);
    if (times.empty()) {
      account().unproductive.Add(lost);
      return wasted;
    }
    for (const NameId type : types_) custom.try_emplace(type, 0);
    const auto others = static_cast<double>(times.items().size() - 1);
    const double usual = others > 0 ? rest / others : first;
    const double startup = std::max(0.0, first - usual);
    if (times.Find(steps_.lowest()) != StepTable::kNowhere) {
      times.Set(steps_.lowest(), std::min(first, usual));
    }
    for (const StepTable::Item& item : times.items()) {
      result_.step_times.Set(item.step, item.value);
    }
    lost.Set(Badput::kProgramStartup, startup);
    lost.custom = std::move(custom);
    account().unproductive.Add(lost);
    account().productive_s += productive - startup;
    account().max_productive_step = std::max(account().max_productive_step, max_step);
    return wasted;
  }

  const EntryLog& log_;
  const std::size_t end_;
  const std::span<const Exclusion> exclusions_;
  CustomEvents custom_;
  std::set<NameId> types_;  // of complete custom events
  ExcludingAccount result_;
  StepTable steps_;  // starts, of the open segment
  std::optional<double> job_start_, job_end_, init_, prep_, load_;
  double init_s_ = 0, prep_s_ = 0, load_s_ = 0;
  bool load_blocks_ = true;
};

}  // namespace

ExcludingAccount AccountWithout(const EntryLog& log, std::size_t end,
                                std::span<const Exclusion> exclusions) {
  return Walk(log, end, exclusions).Run();
}

}  // namespace headway::compat
