#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "formats/jsonl/event_set.h"

// Finding where a file's run name was used again. What an attempt is belongs to the ledger; here
// only its first step and the kind of its end matter, so this knows of attempts no more than that.

namespace headway::jsonl {
namespace {

// Each cut holds one number a stream; a file that asks for more is not split further.
constexpr std::size_t kCutsLimit = 1000;
constexpr std::size_t kCutCellsLimit = std::size_t{1} << 24;

enum class End : std::uint8_t { kNone, kClean, kFailed };

End EndOf(const Record& record) {
  if (record.type == RecordType::kJobEnd) return record.a == 0 ? End::kClean : End::kFailed;
  if (record.type != RecordType::kExit) return End::kNone;
  return record.a == 0 && record.b == 0 ? End::kClean : End::kFailed;
}

bool IsWork(const Record& record) {
  return record.type == RecordType::kJobStart || record.type == RecordType::kStepStart ||
         record.type == RecordType::kSpanBegin;
}

bool IsRestore(const Record& record) {
  return record.span == SpanKind::kCheckpointRestore &&
         (record.type == RecordType::kSpanBegin || record.type == RecordType::kSpanEnd);
}

/// A record's place among all: `time_ns` never goes back within a stream.
struct Place {
  std::int64_t time_ns = 0;
  std::size_t stream = 0;
  std::size_t at = 0;  // in StreamOrder::order

  auto operator<=>(const Place&) const = default;
};

/// One attempt of the lead, as far as it matters here.
struct Attempt {
  bool started = false;  // has a job start
  bool stepped = false;
  bool restored = false;
  bool reinit = false;  // an elastic_reinit is going on
  End end = End::kNone;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t first_step = 0;
  std::int64_t first_step_ns = 0;

  bool RestartsFromScratch() const { return stepped && first_step <= 1 && !restored; }

  void Take(const Record& record, std::int64_t time_ns) {
    if (end != End::kNone) return;
    if (record.type == RecordType::kJobStart) started = true;
    if (IsRestore(record) && !stepped) restored = true;
    if (record.span == SpanKind::kElasticReinit) {
      reinit = record.type == RecordType::kSpanBegin;
    } else if (record.type == RecordType::kStepStart) {
      reinit = false;
    }
    if (record.type == RecordType::kStepStart && !stepped) {
      stepped = true;
      first_step = record.a;
      first_step_ns = time_ns;
    }
    end = EndOf(record);
    end_ns = time_ns;
  }
};

class CutFinder {
 public:
  CutFinder(const EventSet& events, const StreamOrder& order) : events_(events), order_(order) {
    FindLeads();
    next_.assign(order.first.begin(), order.first.end() - 1);
    times_.assign(next_.size(), kNoTime);
  }

  std::vector<RunCut> Find() {
    if (!MayHaveCuts()) return {};
    bool keyed = false;
    bool keyless = false;
    for (const std::size_t s : leads_) {
      if (!HasWork(s)) continue;
      (events_.streams[s].writer.attempt_index >= 0 ? keyed : keyless) = true;
    }
    if (keyed == keyless) return {};
    if (keyed) {
      FindKeyed(MergedLeads());
    } else {
      FindKeyless(MergedLeads());
    }
    return std::move(cuts_);
  }

 private:
  const Record& At(std::size_t at) const { return events_.records[order_.order[at]]; }
  std::size_t Begin(std::size_t s) const { return order_.first[s]; }
  std::size_t EndOfStream(std::size_t s) const { return order_.first[s + 1]; }
  std::int64_t AttemptIndex(std::size_t s) const { return events_.streams[s].writer.attempt_index; }
  bool IsLead(std::size_t s) const { return std::ranges::binary_search(leads_, s); }

  // Rank 0 leads, else a process without a rank, else the lowest rank: in each attempt that has a
  // number, and in what has none.
  void FindLeads() {
    auto standing = [this](std::size_t s) {
      const std::int64_t rank = events_.streams[s].writer.rank;
      return rank == 0 ? -2 : rank;
    };
    std::optional<std::int64_t> best;
    std::map<std::int64_t, std::int64_t> best_of;  // by attempt
    std::vector<std::size_t> speaking;
    for (std::size_t s = 0; s < events_.streams.size(); ++s) {
      if (!Speaks(s)) continue;
      speaking.push_back(s);
      best = std::min(best.value_or(standing(s)), standing(s));
      std::int64_t& of = best_of.try_emplace(AttemptIndex(s), standing(s)).first->second;
      of = std::min(of, standing(s));
    }
    for (const std::size_t s : speaking) {
      const std::int64_t index = AttemptIndex(s);
      if (standing(s) == (index >= 0 ? best_of.at(index) : *best)) leads_.push_back(s);
    }
    unranked_ = best == -1;
    if (unranked_) DropParallel();
  }

  /// Of processes without a rank or a number that ran beside each other the first one leads. Of the
  /// others only how they ended counts.
  void DropParallel() {
    auto first_time = [this](std::size_t s) { return At(Begin(s)).time_ns; };
    auto last_time = [this](std::size_t s) {
      std::int64_t last = kNoTime;
      for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
        last = std::max(last, At(at).time_ns);
      }
      return last;
    };
    std::vector<std::size_t> by_start = leads_;
    std::ranges::stable_sort(by_start, {}, first_time);
    std::int64_t until = kNoTime;
    std::size_t lead = 0;
    std::erase_if(by_start, [&](std::size_t s) {
      if (AttemptIndex(s) >= 0) return false;
      const bool beside = until != kNoTime && first_time(s) <= until;
      if (beside) {
        beside_.emplace(s, lead);
      } else {
        lead = s;
      }
      until = std::max(until, last_time(s));
      return beside;
    });
    std::ranges::sort(by_start);
    leads_ = std::move(by_start);
  }

  /// Whether a process stands behind the stream, and not only what people say about the run.
  bool Speaks(std::size_t s) const {
    for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
      const RecordType type = At(at).type;
      if (type != RecordType::kQuery && type != RecordType::kExclude) return true;
    }
    return false;
  }

  bool HasWork(std::size_t s) const {
    for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
      if (IsWork(At(at))) return true;
    }
    return false;
  }

  /// Cheap: whether a step <= 1 starts at or after the earliest clean end.
  bool MayHaveCuts() const {
    std::optional<std::int64_t> end;
    std::optional<std::int64_t> step;
    auto look = [&](std::size_t s, bool leads) {
      std::int64_t time = kNoTime;
      for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
        const Record& record = At(at);
        time = std::max(time, record.time_ns);
        const bool ends = leads || record.type == RecordType::kExit;
        if (ends && EndOf(record) == End::kClean) end = std::min(end.value_or(time), time);
        if (leads && record.type == RecordType::kStepStart && record.a <= 1) {
          step = std::max(step.value_or(time), time);
        }
      }
    };
    for (const std::size_t s : leads_) look(s, true);
    for (const auto& [s, lead] : beside_) look(s, false);
    return end && step && *step >= *end;
  }

  std::vector<Place> MergedLeads() const {
    std::vector<Place> merged;
    for (const std::size_t s : leads_) {
      std::int64_t time = kNoTime;
      for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
        time = std::max(time, At(at).time_ns);
        merged.push_back({time, s, at});
      }
    }
    for (const auto& [s, lead] : beside_) {
      std::int64_t time = kNoTime;
      for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
        time = std::max(time, At(at).time_ns);
        if (At(at).type == RecordType::kExit) merged.push_back({time, s, at});
      }
    }
    // Of attempts that begin at once the one of the lower number counts as the first.
    if (leads_.size() > 1 || !beside_.empty()) {
      std::ranges::sort(merged, {}, [this](const Place& place) {
        return std::tuple(place.time_ns, AttemptIndex(place.stream), place.stream, place.at);
      });
    }
    return merged;
  }

  /// Attempts are implicit: they open and end as the lead's records say.
  void FindKeyless(const std::vector<Place>& merged) {
    Attempt attempt;
    bool clean = false;         // the last attempt with a step ended cleanly,
    std::int64_t clean_ns = 0;  // then;
    bool opened = false;        // another has begun since,
    Place opener;               // here
    std::size_t lead = merged.front().stream;
    for (const Place& place : merged) {
      const Record& record = At(place.at);
      // Processes without a rank that follow each other are an attempt each.
      const auto beside = beside_.find(place.stream);
      const std::size_t led_by = beside == beside_.end() ? place.stream : beside->second;
      const bool next = unranked_ && led_by != lead;
      lead = led_by;
      const bool ended = attempt.end != End::kNone;
      const bool init = record.type == RecordType::kSpanBegin &&
                        record.span == SpanKind::kAcceleratorInit && attempt.stepped &&
                        !attempt.reinit;
      const bool opens = next || (record.type == RecordType::kJobStart
                                      ? ended || attempt.started || attempt.stepped
                                      : init || (ended && IsWork(record)));
      if (ended && !opens) continue;
      if (opens) {
        if (attempt.stepped && attempt.end != End::kClean) clean = false;
        attempt = Attempt();
        if (clean && !opened) opener = place;
        opened = clean;
      }
      const bool stepped = attempt.stepped;
      attempt.Take(record, place.time_ns);
      if (attempt.stepped && !stepped) {
        if (opened && attempt.RestartsFromScratch()) CutKeyless(opener, clean_ns);
        clean = opened = false;
      }
      if (attempt.stepped && attempt.end == End::kClean) {
        clean = true;
        clean_ns = attempt.end_ns;
      }
    }
  }

  /// Attempts are named; they count in order of their lead's first record.
  void FindKeyed(const std::vector<Place>& merged) {
    std::vector<Attempt> attempts;
    std::map<std::int64_t, std::size_t> by_index;
    for (const Place& place : merged) {
      const std::int64_t index = AttemptIndex(place.stream);
      std::size_t k = attempts.empty() ? 0 : attempts.size() - 1;  // the latest to start
      if (index >= 0) {
        const auto [found, fresh] = by_index.emplace(index, attempts.size());
        if (fresh) attempts.push_back({.start_ns = place.time_ns});
        k = found->second;
      }
      if (!attempts.empty()) attempts[k].Take(At(place.at), place.time_ns);
    }
    constexpr std::size_t kNobody = SIZE_MAX;
    std::size_t clean = kNobody;  // the last attempt with a step, if it ended cleanly
    for (std::size_t k = 0; k < attempts.size(); ++k) {
      if (!attempts[k].stepped) continue;
      // An attempt that worked before the clean end ran beside it: that is no new run.
      const bool after = clean != kNobody && attempts[k].first_step_ns >= attempts[clean].end_ns;
      if (after && attempts[k].RestartsFromScratch()) {
        CutKeyed(by_index, clean + 1, attempts[clean + 1].start_ns, attempts[clean].end_ns);
      }
      clean = attempts[k].end == End::kClean ? k : kNobody;
    }
  }

  bool Full() const {
    return cuts_.size() >= kCutsLimit || (cuts_.size() + 1) * next_.size() > kCutCellsLimit;
  }

  void CutKeyless(const Place& opener, std::int64_t end_ns) {
    if (Full()) return;
    RunCut cut{opener.time_ns, {}};
    for (std::size_t s = 0; s < next_.size(); ++s) {
      if (IsLead(s)) {
        Advance(s, [&](const Place& place) { return place >= opener; });
      } else {
        AdvanceByTime(s, opener.time_ns, end_ns);
      }
    }
    cut.first = next_;
    cuts_.push_back(std::move(cut));
  }

  void CutKeyed(const std::map<std::int64_t, std::size_t>& by_index, std::size_t from,
                std::int64_t start_ns, std::int64_t end_ns) {
    if (Full()) return;
    RunCut cut{start_ns, {}};
    for (std::size_t s = 0; s < next_.size(); ++s) {
      const std::int64_t index = AttemptIndex(s);
      if (index < 0) {
        AdvanceByTime(s, start_ns, end_ns);
        continue;
      }
      const auto found = by_index.find(index);
      const bool later = found != by_index.end()
                             ? found->second >= from
                             : Begin(s) < EndOfStream(s) && At(Begin(s)).time_ns >= start_ns;
      if (!later) next_[s] = EndOfStream(s);
    }
    cut.first = next_;
    cuts_.push_back(std::move(cut));
  }

  void AdvanceByTime(std::size_t s, std::int64_t start_ns, std::int64_t end_ns) {
    Advance(s, [&](const Place& place) {
      if (place.time_ns >= start_ns) return true;
      return place.time_ns >= end_ns && At(place.at).type == RecordType::kJobStart;
    });
  }

  /// Moves stream `s` on to its first record for which `stop` holds, or to its end.
  template <typename Stop>
  void Advance(std::size_t s, const Stop& stop) {
    for (; next_[s] < EndOfStream(s); ++next_[s]) {
      const std::int64_t time = std::max(times_[s], At(next_[s]).time_ns);
      if (stop(Place{time, s, next_[s]})) return;
      times_[s] = time;
    }
  }

  const EventSet& events_;
  const StreamOrder& order_;
  std::vector<std::size_t> leads_;  // streams, ascending
  bool unranked_ = false;           // no process of rank 0 is there
  // Streams beside a lead, and which one that is.
  std::map<std::size_t, std::size_t> beside_;
  std::vector<std::size_t> next_;    // [num_streams]: first record not yet in an earlier run
  std::vector<std::int64_t> times_;  // [num_streams]: latest time before it
  std::vector<RunCut> cuts_;
};

}  // namespace

std::vector<RunCut> FindRunCuts(const EventSet& events, const StreamOrder& order) {
  return CutFinder(events, order).Find();
}

}  // namespace headway::jsonl
