#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "formats/jsonl/event_set.h"
#include "ledger/sighting.h"

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

/// Whether a process recorded it; the rest people say about the run.
bool IsSaidByProcess(const Record& record) {
  return record.type != RecordType::kQuery && record.type != RecordType::kExclude;
}

bool IsRestore(const Record& record) {
  return record.span == SpanKind::kCheckpointRestore &&
         (record.type == RecordType::kSpanBegin || record.type == RecordType::kSpanEnd);
}

/// A record's place among all: `time_ns` never goes back within a stream.
struct Place {
  std::int64_t time_ns = 0;
  std::size_t turn = 0;  // of leads that follow each other: which one that is
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
  bool IsBesideLead(std::size_t s) const {
    const auto found = beside_.find(s);
    return found != beside_.end() && found->second != s;
  }
  std::size_t TurnOf(std::size_t s) const {
    const auto beside = beside_.find(s);
    const auto turn = turns_.find(beside == beside_.end() ? s : beside->second);
    return turn == turns_.end() ? 0 : turn->second;
  }

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
    std::map<std::int64_t, std::size_t> lead_of;  // by attempt: the first of its best
    for (const std::size_t s : speaking) {
      const std::int64_t index = AttemptIndex(s);
      if (standing(s) != (index >= 0 ? best_of.at(index) : *best)) continue;
      if (index < 0) {
        leads_.push_back(s);
        continue;
      }
      std::size_t& lead = lead_of.try_emplace(index, s).first->second;
      if (Sight(s).first_time < Sight(lead).first_time) lead = s;
    }
    for (const auto& [index, lead] : lead_of) leads_.push_back(lead);
    std::ranges::sort(leads_);
    unranked_ = best == -1;
    if (unranked_) DropParallel();
    for (const std::size_t s : speaking) {
      const bool may_end = events_.streams[s].writer.rank <= 0;
      if (may_end && !IsLead(s)) beside_.try_emplace(s, s);
    }
  }

  ledger::Sighting Sight(std::size_t s) const {
    ledger::Sighting sighting;
    std::int64_t time = kNoTime;
    for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
      if (!IsSaidByProcess(At(at))) continue;
      time = std::max(time, At(at).time_ns);
      sighting.See(At(at), time);
    }
    return sighting;
  }

  /// Of processes without a rank or a number that ran beside each other the first one leads. Of the
  /// others only how they ended counts.
  void DropParallel() {
    std::map<std::size_t, ledger::Sighting> sightings;
    for (const std::size_t s : leads_) sightings.emplace(s, Sight(s));
    std::vector<std::size_t> by_start = leads_;
    std::ranges::stable_sort(by_start, {},
                             [&](std::size_t s) { return sightings.at(s).first_time; });
    leads_.clear();
    std::erase_if(by_start, [this](std::size_t s) {
      if (AttemptIndex(s) >= 0) leads_.push_back(s);
      return AttemptIndex(s) >= 0;
    });
    const ledger::NetTime net;
    std::vector<const ledger::Sighting*> group;  // the lead and those beside it
    std::int64_t until = kNoTime;                // their last record
    const auto joins = [&](std::size_t s) {
      const ledger::Sighting& sighting = sightings.at(s);
      // One that begins in the very instant in which the others stop may as well follow them.
      const bool beside = sighting.first_time < until ||
                          std::ranges::any_of(group, [&](const ledger::Sighting* other) {
                            return ledger::AreParallel(*other, sighting, net);
                          });
      if (!beside) return false;
      beside_.emplace(s, leads_.back());
      group.push_back(&sighting);
      until = std::max(until, sighting.last_time);
      return true;
    };
    std::vector<std::size_t> held;  // they began in that instant, and are not beside
    for (std::size_t next = 0; next < by_start.size() || !held.empty();) {
      const std::size_t lead = held.empty() ? by_start[next++] : held.front();
      if (!held.empty()) held.erase(held.begin());
      leads_.push_back(lead);
      turns_.emplace(lead, turns_.size());
      group = {&sightings.at(lead)};
      until = group.front()->last_time;
      bool joined = true;
      while (joined) {
        joined = std::erase_if(held, joins) > 0;
        for (; next < by_start.size() && sightings.at(by_start[next]).first_time <= until; ++next) {
          if (joins(by_start[next])) {
            joined = true;
          } else {
            held.push_back(by_start[next]);
          }
        }
      }
    }
    std::ranges::sort(leads_);
  }

  /// Whether a process stands behind the stream, and not only what people say about the run.
  bool Speaks(std::size_t s) const {
    for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
      if (IsSaidByProcess(At(at))) return true;
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
        merged.push_back({time, TurnOf(s), s, at});
      }
    }
    for (const auto& [s, lead] : beside_) {
      std::int64_t time = kNoTime;
      for (std::size_t at = Begin(s); at < EndOfStream(s); ++at) {
        time = std::max(time, At(at).time_ns);
        if (At(at).type == RecordType::kExit) merged.push_back({time, TurnOf(s), s, at});
      }
    }
    // Of attempts that begin at once the one of the lower number counts as the first.
    if (leads_.size() > 1 || !beside_.empty()) {
      std::ranges::sort(merged, {}, [this](const Place& place) {
        return std::tuple(place.time_ns, AttemptIndex(place.stream), place.turn, place.stream,
                          place.at);
      });
    }
    return merged;
  }

  /// Attempts are implicit: they open and end as the lead's records say.
  void FindKeyless(const std::vector<Place>& merged) {
    Attempt attempt;
    bool clean = false;   // the last attempt with a step ended cleanly,
    Place end;            // here;
    bool begun = false;   // the lead has recorded
    bool opened = false;  // another has begun since,
    Place opener;         // here
    std::size_t lead = merged.front().stream;
    for (const Place& place : merged) {
      const Record& record = At(place.at);
      // Processes without a rank that follow each other are an attempt each.
      const auto beside = beside_.find(place.stream);
      const std::size_t led_by = beside == beside_.end() ? place.stream : beside->second;
      const bool by_lead = IsLead(led_by);
      if (!by_lead && !begun) continue;  // what the lead has not begun can't end
      begun = true;
      const bool next = unranked_ && by_lead && led_by != lead;
      if (by_lead) lead = led_by;
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
        if (opened && attempt.RestartsFromScratch()) CutKeyless(opener, end);
        clean = opened = false;
      }
      if (attempt.stepped && attempt.end == End::kClean) {
        clean = true;
        end = place;
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
        if (!IsLead(place.stream) && !by_index.contains(index)) continue;  // not begun yet
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

  void CutKeyless(const Place& opener, const Place& end) {
    if (Full()) return;
    RunCut cut{opener.time_ns, {}};
    for (std::size_t s = 0; s < next_.size(); ++s) {
      if (IsLead(s)) {
        Advance(s, [&](const Place& place) { return place >= opener; });
      } else if (IsBesideLead(s) && TurnOf(s) < opener.turn) {
        next_[s] = EndOfStream(s);  // its lead is gone
      } else {
        AdvanceByTime(s, opener, end);
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
        AdvanceByTime(s, {.time_ns = start_ns}, {.time_ns = end_ns});
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

  /// To the first record not before `start`, or job start not before `end`, in the ledger's order.
  void AdvanceByTime(std::size_t s, const Place& start, const Place& end) {
    const auto before = [](const Place& a, const Place& b) {
      return std::tie(a.time_ns, a.stream, a.at) < std::tie(b.time_ns, b.stream, b.at);
    };
    Advance(s, [&](const Place& place) {
      if (!before(place, start)) return true;
      return !before(place, end) && At(place.at).type == RecordType::kJobStart;
    });
  }

  /// Moves stream `s` on to its first record for which `stop` holds, or to its end.
  template <typename Stop>
  void Advance(std::size_t s, const Stop& stop) {
    for (; next_[s] < EndOfStream(s); ++next_[s]) {
      const std::int64_t time = std::max(times_[s], At(next_[s]).time_ns);
      if (stop(Place{time, TurnOf(s), s, next_[s]})) return;
      times_[s] = time;
    }
  }

  const EventSet& events_;
  const StreamOrder& order_;
  std::vector<std::size_t> leads_;  // streams, ascending
  bool unranked_ = false;           // no process of rank 0 is there
  // Streams beside the leads of which only exits count, and which lead that is, if one is known.
  std::map<std::size_t, std::size_t> beside_;
  std::map<std::size_t, std::size_t> turns_;  // of leads that others may be beside: in their order
  std::vector<std::size_t> next_;    // [num_streams]: first record not yet in an earlier run
  std::vector<std::int64_t> times_;  // [num_streams]: latest time before it
  std::vector<RunCut> cuts_;
};

}  // namespace

std::vector<RunCut> FindRunCuts(const EventSet& events, const StreamOrder& order) {
  return CutFinder(events, order).Find();
}

}  // namespace headway::jsonl
