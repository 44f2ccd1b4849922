#include "ledger/compat/accountant.h"

#include <algorithm>
#include <limits>

namespace headway::compat {
namespace {

bool Follows(std::int64_t next, std::int64_t step) {
  return step != std::numeric_limits<std::int64_t>::max() && next == step + 1;
}

using Interval = std::pair<double, double>;

double Overlap(const std::vector<Interval>& some, const std::vector<Interval>& others) {
  double overlap = 0;
  for (const Interval& a : some) {
    for (const Interval& b : others) {
      const double both = std::min(a.second, b.second) - std::max(a.first, b.first);
      if (both > 0) overlap += both;
    }
  }
  return overlap;
}

}  // namespace

void CheckpointTime::Add(const Checkpoint& checkpoint) {
  const auto [found, fresh] = index_.emplace(checkpoint.key, steps_.size());
  if (fresh) steps_.emplace_back();
  Step& step = steps_[found->second];
  step.sum += checkpoint.manager_s;
  step.reports += 1;
}

double CheckpointTime::seconds() const {
  double seconds = 0;
  for (const Step& step : steps_) seconds += step.sum / step.reports;
  return seconds;
}

void Accountant::Take(std::span<const Entry> entries) {
  bool again = false;
  for (; noted_ < entries.size(); ++noted_) {
    const Entry& entry = entries[noted_];
    if (entry.kind != EntryKind::kCustomStart && entry.kind != EntryKind::kCustomEnd) continue;
    const CustomEvents::Event* event = custom_.Take(entry);
    if (event != nullptr && sums_.latest_step) again |= event->end <= *sums_.latest_step;
  }
  if (again) {
    sums_ = Sums();
    more_ = Elastic();
    steps_.Clear();
    open_ = Tally();
    counted_ = 0;
    taken_ = 0;
  }
  for (; taken_ < entries.size(); ++taken_) {
    TakeOne(entries[taken_]);
    if (elastic_) TakeElastic(entries[taken_]);
  }
}

void Accountant::TakeOne(const Entry& entry) {
  auto close = [&entry](std::optional<double>* start, double* sum) {
    if (*start) *sum += entry.time - **start;
    start->reset();
  };
  switch (entry.kind) {
    case EntryKind::kJobStart: sums_.job_start = entry.time; break;
    case EntryKind::kJobEnd: sums_.job_end = entry.time; break;
    case EntryKind::kStep: TakeStep(entry); break;
    case EntryKind::kInitStart: sums_.init = entry.time; break;
    case EntryKind::kInitEnd: close(&sums_.init, &sums_.init_s); break;
    case EntryKind::kPrepStart: sums_.prep = entry.time; break;
    case EntryKind::kPrepEnd: close(&sums_.prep, &sums_.prep_s); break;
    case EntryKind::kLoadStart: sums_.load = entry.time; break;
    case EntryKind::kLoadEnd:
      if (!sums_.load) break;
      sums_.last_load_s = entry.time - *sums_.load;
      sums_.load_s += *sums_.last_load_s;
      // Only the first one after a start counts as waiting.
      if (sums_.load_blocks) {
        sums_.unproductive.Add(Badput::kDataLoadingSync, *sums_.last_load_s);
        sums_.load_blocks = false;
      }
      sums_.load.reset();
      break;
    case EntryKind::kSave: sums_.saves.Add(log_->checkpoint(entry)); break;
    case EntryKind::kRestore: sums_.restores.Add(log_->checkpoint(entry)); break;
    default: break;
  }
}

void Accountant::TakeStep(const Entry& entry) {
  const std::int64_t step = entry.value;
  if (steps_.Find(step) != StepTable::kNowhere) {
    // A number for the second time: that, and nothing else, is a disruption.
    const StepTable::Item last = steps_.items().back();
    Tally tally;
    Count(1, step, &tally);
    Unproductive lost;
    sums_.productive += Settle(tally, step, &lost);
    sums_.load_blocks = true;
    if (sums_.last_load_s) lost.Add(Badput::kDataLoadingSync, *sums_.last_load_s);
    sums_.last_load_s.reset();
    if (sums_.job_start && *sums_.job_start > last.value) {
      lost.Add(Badput::kInfrastructureRecovery, *sums_.job_start - last.value);
    }
    sums_.restarts.push_back({last.step, last.value, step, lost.Get(Badput::kWastedProgress)});
    sums_.unproductive.Add(lost);
    steps_.Clear();
    open_ = Tally();
    counted_ = 0;
  }
  steps_.Append(step, entry.time);
  if (!sums_.latest_step || entry.time > *sums_.latest_step) sums_.latest_step = entry.time;
}

// Adds the steps of the open segment from position `from` on. Those beyond `last` are lost.
void Accountant::Count(std::size_t from, std::int64_t last, Tally* tally) {
  const std::vector<StepTable::Item>& items = steps_.items();
  for (std::size_t i = std::max<std::size_t>(from, 1); i < items.size(); ++i) {
    const StepTable::Item& step = items[i - 1];
    const StepTable::Item& next = items[i];
    const double duration = next.value - step.value;
    if (next.step > last) {
      tally->wasted += duration;
      continue;
    }
    if (!Follows(next.step, step.step)) continue;
    double custom = 0;
    custom_.Within(step.value, next.value, [&](const CustomEvents::Event& event) {
      custom += event.end - event.start;
      tally->custom[event.type] += event.end - event.start;
    });
    const double work = std::max(0.0, duration - custom);
    tally->productive += work;
    if (step.step == steps_.lowest()) {
      tally->first = work;
    } else {
      tally->rest += 1;
    }
    tally->steps += 1;
    tally->max_step = step.step;
  }
}

// What a segment that ends with step `last` comes to: the productive time, and where the rest is.
double Accountant::Settle(const Tally& tally, std::int64_t last, Unproductive* unproductive) {
  if (last == 0) return 0;
  unproductive->Add(Badput::kWastedProgress, tally.wasted);
  if (tally.steps == 0) return 0;
  unproductive->custom = tally.custom;
  if (tally.rest == 0) {
    unproductive->Add(Badput::kProgramStartup, 0);
    return tally.first;
  }
  const double usual = (tally.productive - tally.first) / static_cast<double>(tally.rest);
  const double startup = std::max(0.0, tally.first - usual);
  unproductive->Add(Badput::kProgramStartup, startup);
  return tally.productive - startup;
}

Account Accountant::Now() {
  Account account;
  account.restarts = sums_.restarts;
  account.unproductive = sums_.unproductive;
  Unproductive& unproductive = account.unproductive;
  const double saves_s = sums_.saves.seconds();
  unproductive.Set(Badput::kTpuInitialization, sums_.init_s);
  unproductive.Set(Badput::kTrainingPrep, sums_.prep_s);
  unproductive.Set(Badput::kDataLoadingAsync,
                   sums_.load_s - unproductive.Get(Badput::kDataLoadingSync));
  unproductive.Set(Badput::kCheckpointSave, saves_s);
  unproductive.Set(Badput::kCheckpointRestore, sums_.restores.seconds());
  if (!steps_.empty()) {
    if (steps_.lowest() != lowest_ || counted_ == 0) {
      open_ = Tally();
      counted_ = 0;
      lowest_ = steps_.lowest();
    }
    const StepTable::Item last = steps_.highest();
    Count(counted_, last.step, &open_);
    counted_ = steps_.items().size();
    Unproductive lost;
    account.productive_s = sums_.productive + Settle(open_, last.step, &lost);
    unproductive.Add(lost);
    account.max_productive_step = last.step == 0 || open_.steps == 0 ? 0 : open_.max_step;
    account.last_step = last.step;
    if (sums_.job_end) {
      account.productive_s += *sums_.job_end - last.value;
      account.max_productive_step = last.step;
    }
    account.productive_s -= saves_s;
  }
  if (elastic_) AddElastic(&unproductive);
  return account;
}

void Accountant::TakeElastic(const Entry& entry) {
  auto close = [&entry](std::optional<double>* start, std::vector<Interval>* intervals) {
    if (*start && **start < entry.time) intervals->emplace_back(**start, entry.time);
    start->reset();
  };
  switch (entry.kind) {
    case EntryKind::kWaitStart: more_.waits[entry.name] = entry.time; break;
    case EntryKind::kWaitEnd: {
      const auto found = more_.waits.find(entry.name);
      if (found == more_.waits.end()) break;
      const double wait_s = entry.time - found->second;
      more_.waits.erase(found);
      if (!(wait_s > 0)) break;
      if (IsScaleUp(log_->names().Text(entry.name))) {
        more_.scale_up_s += wait_s;
        more_.any_scale_up = true;
      } else {
        more_.slice_down_s += wait_s;
        more_.any_slice_down = true;
      }
      break;
    }
    case EntryKind::kReinitStart: more_.reinit = entry.time; break;
    case EntryKind::kReinitEnd:
      if (more_.reinit && *more_.reinit < entry.time) more_.reinit_s += entry.time - *more_.reinit;
      close(&more_.reinit, &more_.reinits);
      break;
    case EntryKind::kInitStart: more_.init = entry.time; break;
    case EntryKind::kInitEnd: close(&more_.init, &more_.inits); break;
    case EntryKind::kPrepStart: more_.prep = entry.time; break;
    case EntryKind::kPrepEnd: close(&more_.prep, &more_.preps); break;
    default: break;
  }
}

void Accountant::AddElastic(Unproductive* unproductive) const {
  if (more_.any_slice_down) unproductive->Add(Badput::kElasticSliceDown, more_.slice_down_s);
  if (more_.any_scale_up) unproductive->Add(Badput::kElasticScaleUp, more_.scale_up_s);
  if (more_.reinits.empty()) return;
  unproductive->Add(Badput::kElasticReinitialization, more_.reinit_s);
  // What was initialised again counts once.
  auto subtract = [&](Badput badput, const std::vector<Interval>& intervals) {
    const double both = Overlap(intervals, more_.reinits);
    if (both > 0) unproductive->Set(badput, std::max(0.0, unproductive->Get(badput) - both));
  };
  subtract(Badput::kTpuInitialization, more_.inits);
  subtract(Badput::kTrainingPrep, more_.preps);
}

}  // namespace headway::compat
