#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/time_format.h"
#include "formats/jsonl/reader.h"
#include "formats/jsonl/schema.h"
#include "formats/jsonl/writer.h"
#include "ledger/ledger.h"
#include "model/report.h"
#include "model/run_records.h"

// What must hold for any set of records, however absurd: sums are exact, nothing is negative,
// windows add up, and neither order, batches, repeats nor snapshots change an answer.
//
// HEADWAY_PROPERTY_COUNT says how many random histories are tried (100,000; ten times as many when
// HEADWAY_FULL is 1), HEADWAY_PROPERTY_SEED with which one to begin (1). A history that fails is
// printed as small as it still fails.

namespace headway {
namespace {

using ledger::Ledger;
using ledger::PageId;
using ledger::Query;
using ledger::ReadPage;

__extension__ using Wide = __int128;

struct History {
  RunRecords run;
  bool supervised = false;
};

std::int64_t Setting(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::stoll(text) : otherwise;
}

// ------------------------------------------------------------------------------------------------
// Random histories
// ------------------------------------------------------------------------------------------------

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  History Make() {
    Writers();
    unit_ = Pick<std::int64_t>({1, 1'000, 1'000'000'000, 1'000'000'000, 1'000'000'000,
                                60'000'000'000, 1'000'000'000'000'000});
    if (Chance(3)) unit_ = 400'000'000'000'000'000;
    now_ = Chance(80) ? 0 : Moved(0, -5, 5);
    const std::int64_t count = Chance(95) ? Between(1, 16) : Between(17, 100);
    for (std::int64_t i = 0; i < count; ++i) {
      if (Chance(3)) {
        Loop();
      } else {
        Put();
      }
    }
    if (Chance(50)) now_ = Moved(now_, 0, 200);
    return std::move(history_);
  }

 private:
  struct Hand {  // what the generator remembers of a writer
    std::uint64_t seq = 0;
    std::int64_t step = -1;
    std::vector<std::pair<SpanKind, NameId>> open;
    std::vector<std::uint64_t> handles;
  };

  bool Chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// `time` and a random number of units, as far as 64 bits go.
  std::int64_t Moved(std::int64_t time, std::int64_t low, std::int64_t high) {
    const Wide moved = Wide{time} + Wide{Between(low, high)} * unit_;
    return static_cast<std::int64_t>(std::clamp<Wide>(moved, -2 * Wide{kFar}, 2 * Wide{kFar}));
  }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[random_() % choices.size()];
  }

  void Writers() {
    for (const char* name : {"", "eval", "Eval", "rollout", "scale_up", "torn_tail"}) {
      names_.push_back(history_.run.names.Intern(name));
    }
    const bool journals = Chance(45);
    const bool keyed = Chance(35);
    const std::int64_t count = Chance(50) ? 1 : Between(2, 4);
    for (std::int64_t i = 0; i < count; ++i) {
      Writer writer;
      writer.name = "w" + std::to_string(Between(0, 2));
      writer.rank = Pick<std::int64_t>({0, 0, 0, -1, 1, 2});
      writer.event_file = !journals;
      writer.monotonic = journals && Chance(80);
      writer.supervisor = journals && Chance(8);
      if (keyed && Chance(75)) writer.attempt_key = std::to_string(Between(0, 2));
      writer.uid = writer.attempt_key + "/" + writer.name + "/" + std::to_string(i);
      if (journals) {  // theirs are random, and decide nothing
        writer.uid = std::to_string(random_());
        writer.pid = i + 1;
        if (writer.attempt_key.empty() && Chance(20)) writer.attempt_index = Between(0, 2);
      }
      history_.run.writers.push_back(writer);
      history_.run.liveness.push_back(
          journals ? Pick({Liveness::kUnknown, Liveness::kAlive, Liveness::kDead})
                   : Liveness::kUnknown);
    }
    history_.supervised = journals && Chance(10);
    hands_.resize(history_.run.writers.size());
  }

  void Tick() {
    const int dice = static_cast<int>(Between(0, 99));
    if (dice < 35) return;
    if (dice < 80) {
      now_ = Moved(now_, 0, 20);
    } else if (dice < 92) {
      now_ = Moved(now_, 0, 400);
    } else {
      now_ = std::min(now_, kFar) + Between(0, 3);
    }
    now_ = std::clamp(now_, -kFar, kFar);
  }

  Record& Add(RecordType type, std::size_t writer) {
    Record& record = history_.run.records.emplace_back();
    record.type = type;
    record.writer = static_cast<WriterId>(writer);
    record.seq = hands_[writer].seq++;
    record.time_ns = now_;
    if (Chance(2)) record.time_ns = Moved(now_, -30, 0);
    if (Chance(1) && record.seq > 0) record.seq -= 1;  // a conflict
    if (Chance(4)) hands_[writer].seq += static_cast<std::uint64_t>(Between(1, 3));
    if (Chance(6)) record.thread = static_cast<std::uint16_t>(Between(1, 2));
    return record;
  }

  std::int64_t NextStep(Hand* hand) {
    const int dice = static_cast<int>(Between(0, 99));
    std::int64_t step = hand->step + 1;
    if (dice >= 72) {
      step = dice < 80   ? hand->step
             : dice < 85 ? 0
             : dice < 88 ? 1
             : dice < 94 ? hand->step - Between(1, 4)
             : dice < 98 ? hand->step + Between(1, 4)
                         : Pick<std::int64_t>({-7, 1'000'000'000'000, 4'000'000'000'000'000'000,
                                               -4'000'000'000'000'000'000});
    }
    // No recorder writes steps below 0, but others' journals may hold them.
    hand->step = std::clamp<std::int64_t>(step, Chance(1) ? -kFar : 0, kFar);
    return hand->step;
  }

  // Many steps of one length, as runs have them: baselines, shifts, cadences.
  void Loop() {
    const std::size_t writer = random_() % hands_.size();
    const std::int64_t length = std::min(Moved(0, 1, 12), kFar);
    const std::int64_t loading = Chance(40) ? std::min(Moved(0, 0, 12), kFar) : 0;
    const std::int64_t count = Chance(85) ? Between(2, 8) : Between(30, 70);
    for (std::int64_t i = 0; i < count && now_ < kFar; ++i) {
      Add(RecordType::kStepStart, writer).a = ++hands_[writer].step;
      if (loading > 0) {
        Span(RecordType::kSpanBegin, writer, SpanKind::kDataLoading, 0, Blocking::kDefault);
        now_ += std::min(length, loading);
        Span(RecordType::kSpanEnd, writer, SpanKind::kDataLoading, 0, Blocking::kDefault);
        now_ -= std::min(length, loading);
      }
      const Wide longer = Wide{length} * (Chance(95) ? 1 : Between(2, 30));
      now_ += static_cast<std::int64_t>(std::min<Wide>(longer, kFar));
    }
  }

  void Span(RecordType type, std::size_t writer, SpanKind kind, NameId name, Blocking blocking) {
    Hand& hand = hands_[writer];
    Record& record = Add(type, writer);
    record.span = kind;
    record.name = name;
    record.blocking = blocking;
    record.a = kNoStep;
    if (type == RecordType::kSpanBegin) {
      hand.handles.push_back(record.seq);
      return;
    }
    record.b = kNoHandle;
    if (!history_.run.writers[writer].event_file && Chance(85) && !hand.handles.empty()) {
      const std::size_t which =
          Chance(80) ? hand.handles.size() - 1 : random_() % hand.handles.size();
      record.b = static_cast<std::int64_t>(hand.handles[which]);
      hand.handles.erase(hand.handles.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  void Put() {
    Tick();
    const std::size_t writer = Chance(60) ? 0 : random_() % hands_.size();
    Hand& hand = hands_[writer];
    const int dice = static_cast<int>(Between(0, 99));
    if (dice < 34) {
      const std::int64_t step = NextStep(&hand);
      Add(RecordType::kStepStart, writer).a = step;
    } else if (dice < 38) {
      Add(RecordType::kStepEnd, writer).a =
          Chance(85) ? std::max<std::int64_t>(0, hand.step) : Between(0, 5);
    } else if (dice < 57) {
      const auto kind = static_cast<SpanKind>(Between(1, kSpanKindCount - 1));
      const NameId name = names_[random_() % names_.size()];
      hand.open.emplace_back(kind, name);
      Span(RecordType::kSpanBegin, writer, kind, name,
           Pick({Blocking::kDefault, Blocking::kDefault, Blocking::kYes, Blocking::kNo}));
    } else if (dice < 72) {
      auto kind = static_cast<SpanKind>(Between(1, kSpanKindCount - 1));
      NameId name = names_[random_() % names_.size()];
      if (!hand.open.empty() && Chance(90)) {
        const std::size_t which = random_() % hand.open.size();
        std::tie(kind, name) = hand.open[which];
        hand.open.erase(hand.open.begin() + static_cast<std::ptrdiff_t>(which));
      }
      Span(RecordType::kSpanEnd, writer, kind, name, Blocking::kDefault);
    } else if (dice < 79) {
      Add(RecordType::kHeartbeat, writer).a = Chance(70) ? kNoTime : Moved(now_, 0, 9);
    } else if (dice < 84) {
      Add(RecordType::kJobStart, writer);
    } else if (dice < 87) {
      Add(RecordType::kJobEnd, writer).a = Between(0, 1);
    } else if (dice < 90) {
      Record& record = Add(RecordType::kExit, writer);
      record.a = Between(-1, 1);
      record.b = Pick<std::int64_t>({0, 0, 9, 15});
      if (record.a < 0 && record.b == 0) record.a = 1;  // an event file has no word for it
    } else if (dice < 93) {
      Record& record = Add(RecordType::kExclude, writer);
      record.a = Moved(now_, -40, 10);
      record.b = Chance(90) ? Moved(record.a, -1, 40) : kNoTime;
    } else {
      Rare(writer);
    }
  }

  void Rare(std::size_t writer) {
    const RecordType type = Pick(
        {RecordType::kCheckpointSaved, RecordType::kCheckpointSaved, RecordType::kRollback,
         RecordType::kRollback, RecordType::kNotice, RecordType::kClock, RecordType::kDropped,
         RecordType::kStepSoftEnd, RecordType::kMetric, RecordType::kCapacity, RecordType::kQuery,
         RecordType::kNote, RecordType::kProcessEnd, RecordType::kProcessEnd});
    if (type == RecordType::kQuery && Chance(70)) return;
    Record& record = Add(type, writer);
    switch (type) {
      case RecordType::kCheckpointSaved:
      case RecordType::kRollback:
      case RecordType::kStepSoftEnd:
        record.a = std::max<std::int64_t>(0, hands_[writer].step);
        break;
      case RecordType::kClock: record.a = Moved(now_, -3, 3); break;
      case RecordType::kDropped: record.a = Between(1, 3); break;
      case RecordType::kProcessEnd:
        record.a = history_.run.writers[writer].supervisor ? Between(0, 4) : 0;
        break;
      case RecordType::kNote:
        record.name = names_.back();
        record.a = 1;
        break;
      default: break;
    }
  }

  static constexpr std::int64_t kFar = 4'500'000'000'000'000'000;

  std::mt19937_64 random_;
  History history_;
  std::vector<NameId> names_;
  std::vector<Hand> hands_;
  std::int64_t unit_ = 1;
  std::int64_t now_ = 0;
};

// ------------------------------------------------------------------------------------------------
// What must hold
// ------------------------------------------------------------------------------------------------

constexpr std::int64_t kTimeLimit = std::numeric_limits<std::int64_t>::max() / 2;

using Fault = std::optional<std::string>;
using CategorySums = std::map<std::pair<Category, std::string>, std::int64_t>;

Ledger Empty(const History& history) {
  Ledger ledger;
  ledger.SetSupervised(history.supervised);
  RunRecords nothing;
  nothing.names = history.run.names;
  nothing.writers = history.run.writers;
  nothing.liveness = history.run.liveness;
  ledger.Add(nothing);
  return ledger;
}

std::string Answer(Ledger* ledger, const Query& query = {}) {
  return ToJson(ledger->MakeReport(query));
}

std::string AnswerAll(Ledger* ledger, const Query& query = {}) {
  return ToJson(ledger->MakeReport(query)) + ToJson(ledger->Timeline(query)) +
         ToJson(ledger->Steps(query));
}

CategorySums SumsOf(const Report& report) {
  CategorySums sums;
  for (const CategoryTime& time : report.categories) {
    if (time.ns != 0) sums[{time.category, time.name}] += time.ns;
  }
  return sums;
}

CategorySums SumsOf(const std::vector<TimelineInterval>& timeline) {
  CategorySums sums;
  for (const TimelineInterval& interval : timeline) {
    sums[{interval.category, interval.name}] += interval.end - interval.begin;
  }
  return sums;
}

Fault CheckReport(const Report& report) {
  std::int64_t sum = 0;
  for (const CategoryTime& time : report.categories) {
    if (time.ns < 0) return "a category is negative";
    sum += time.ns;
  }
  if (report.elapsed_ns < 0) return "elapsed is negative";
  if (sum != report.elapsed_ns) {
    return "the categories add up to " + std::to_string(sum) + ", elapsed is " +
           std::to_string(report.elapsed_ns);
  }
  if (report.excluded_ns < 0) return "excluded is negative";
  if (report.goodput && !(*report.goodput >= 0 && *report.goodput <= 1)) return "goodput";
  if (report.data_loading_overlapped_ns < 0) return "overlapped is negative";
  if (report.data_loading_overlapped_ns > report.elapsed_ns) return "overlapped beyond elapsed";
  if (report.slow_steps_ns < 0) return "slow_steps is negative";
  if (report.unsaved_ns.value_or(0) < 0) return "unsaved is negative";
  if (report.steps.count < 0) return "count is negative";
  for (const Disruption& disruption : report.disruptions) {
    if (disruption.wasted_ns < 0) return "a disruption wasted less than nothing";
    if (disruption.downtime_ns.value_or(0) < 0) return "downtime is negative";
    if (disruption.reinit_ns.value_or(0) < 0) return "reinit is negative";
  }
  for (const Rollback& rollback : report.rollbacks) {
    if (rollback.wasted_ns < 0) return "a rollback wasted less than nothing";
  }
  if (report.mtbf_ns.value_or(0) < 0) return "mtbf is negative";
  if (report.mttr_ns.value_or(0) < 0) return "mttr is negative";
  for (const ReportNote& note : report.notes) {
    if (note.count <= 0) return "note " + note.code;
  }
  return std::nullopt;
}

bool Notes(const Report& report, std::string_view code) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [code](const ReportNote& note) { return note.code == code; });
}

Fault CheckTimeline(Ledger* ledger, const Query& query, const Report& report) {
  const std::vector<TimelineInterval> timeline = ledger->Timeline(query);
  std::optional<std::int64_t> last;
  for (const TimelineInterval& interval : timeline) {
    if (interval.begin >= interval.end) return "an interval is empty or inverted";
    if (last && interval.begin < *last) return "intervals overlap";
    last = interval.end;
  }
  if (SumsOf(timeline) != SumsOf(report)) return "the timeline sums up to something else";
  return std::nullopt;
}

Fault CheckSteps(Ledger* ledger) {
  for (const StepSummary& step : ledger->Steps()) {
    const std::int64_t parts = step.productive_ns + step.wasted_ns + step.data_loading_ns +
                               step.program_startup_ns + step.step_stall_ns +
                               step.infrastructure_recovery_ns;
    if (parts != step.work_ns) return "the parts of step " + std::to_string(step.step);
    if (std::min({step.productive_ns, step.wasted_ns, step.data_loading_ns, step.program_startup_ns,
                  step.step_stall_ns, step.infrastructure_recovery_ns, step.blocked_ns,
                  step.work_ns}) < 0) {
      return "a part of step " + std::to_string(step.step) + " is negative";
    }
  }
  return std::nullopt;
}

Fault CheckWindows(Ledger* ledger, const Report& whole, std::mt19937_64* random) {
  if (!whole.start || whole.elapsed_ns == 0) return std::nullopt;
  const std::int64_t begin = *whole.start;
  const auto length = static_cast<std::uint64_t>(*whole.end - begin);
  std::vector<std::int64_t> cuts = {begin - 1, *whole.end + 1};
  for (int i = 0; i < 2; ++i) {
    cuts.push_back(begin + static_cast<std::int64_t>((*random)() % (length + 1)));
  }
  std::sort(cuts.begin(), cuts.end());
  CategorySums sums;
  std::int64_t elapsed = 0;
  std::int64_t overlapped = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Query query{.as_of = {}, .window = {{cuts[i], cuts[i + 1]}}, .now = {}};
    const Report part = ledger->MakeReport(query);
    if (Fault fault = CheckReport(part)) return "in a window: " + *fault;
    if (Fault fault = CheckTimeline(ledger, query, part)) return "in a window: " + *fault;
    for (const auto& [key, ns] : SumsOf(part)) sums[key] += ns;
    elapsed += part.elapsed_ns;
    overlapped += part.data_loading_overlapped_ns;
  }
  if (elapsed != whole.elapsed_ns) return "the windows' elapsed times do not add up";
  if (sums != SumsOf(whole)) return "the windows' categories do not add up";
  if (overlapped != whole.data_loading_overlapped_ns) return "the windows' overlap does not add up";
  return std::nullopt;
}

// Reports after some of the records, and once against a fresh ledger that was told the same at
// once.
Fault CheckStreaming(const History& history, const std::string& wanted, std::mt19937_64* random) {
  const std::vector<Record>& records = history.run.records;
  Ledger streaming = Empty(history);
  const std::size_t sample = (*random)() % (2 * records.size());  // none in every second history
  const std::size_t every = records.size() / 4 + 1;
  for (std::size_t i = 0; i < records.size(); ++i) {
    streaming.Add(records[i]);
    if (i % every != 0 && i != sample) continue;
    const Report report = streaming.MakeReport();
    if (Fault fault = CheckReport(report)) {
      return "after record " + std::to_string(i) + ": " + *fault;
    }
    if (i != sample) continue;
    Ledger fresh = Empty(history);
    fresh.Add(std::span(records).subspan(0, i + 1));
    if (AnswerAll(&streaming) != AnswerAll(&fresh)) {
      return "after record " + std::to_string(i) + " a fresh ledger answers differently";
    }
  }
  if (AnswerAll(&streaming) != wanted) return "reports in between change the answer";
  return std::nullopt;
}

Fault CheckShuffles(const History& history, const std::string& wanted, std::mt19937_64* random) {
  std::vector<Record> records = history.run.records;
  const std::size_t repeats = (*random)() % (records.size() + 1);
  for (std::size_t i = 0; i < repeats; ++i) {
    records.push_back(history.run.records[(*random)() % history.run.records.size()]);
  }
  std::shuffle(records.begin(), records.end(), *random);
  Ledger shuffled = Empty(history);
  for (std::size_t at = 0; at < records.size();) {
    const std::size_t size = std::min<std::size_t>((*random)() % 9 + 1, records.size() - at);
    shuffled.Add(std::span(records).subspan(at, size));
    at += size;
    if ((*random)() % 4 == 0) shuffled.MakeReport();
  }
  if (AnswerAll(&shuffled) != wanted) return "another order changes the answer";
  return std::nullopt;
}

// Journals have random uids, and are found in any order.
Fault CheckUids(const History& history, std::mt19937_64* random) {
  History renamed = history;
  RunRecords& run = renamed.run;
  std::vector<WriterId> order(run.writers.size());
  for (WriterId w = 0; w < order.size(); ++w) order[w] = w;
  std::shuffle(order.begin(), order.end(), *random);
  std::vector<WriterId> place(order.size());
  for (WriterId at = 0; at < order.size(); ++at) {
    place[order[at]] = at;
    run.writers[at] = history.run.writers[order[at]];
    run.liveness[at] = history.run.liveness[order[at]];
    if (!run.writers[at].event_file) run.writers[at].uid = std::to_string((*random)());
  }
  for (Record& record : run.records) record.writer = place[record.writer];
  Ledger ledger = Empty(history);
  ledger.Add(std::span<const Record>(history.run.records));
  Ledger other = Empty(renamed);
  other.Add(std::span<const Record>(run.records));
  if (AnswerAll(&other) != AnswerAll(&ledger)) return "other uids change the answer";
  return std::nullopt;
}

Fault CheckSnapshot(const History& history, const std::string& wanted, std::mt19937_64* random) {
  const std::vector<Record>& records = history.run.records;
  const std::size_t cut = (*random)() % (records.size() + 1);
  Ledger before = Empty(history);
  before.Add(std::span(records).subspan(0, cut));
  if ((*random)() % 2 == 0) before.MakeReport();
  Result<Ledger> after = Ledger::Restore(before.Pack());
  if (!after.ok()) return "a snapshot does not read back: " + after.status().ToString();
  after->Add(std::span(records).subspan(cut));
  if (AnswerAll(&*after) != wanted) return "a snapshot changes the answer";
  return std::nullopt;
}

/// What the leads of all attempts recorded, and which attempts writers belong to.
std::string Others(Ledger* ledger) {
  std::string text;
  ledger->VisitLeads([&text](const Record& r) {
    text += std::to_string(r.writer) + " " + std::to_string(r.seq) + " " +
            std::to_string(static_cast<int>(r.type)) + " " + std::to_string(r.time_ns) + " " +
            std::to_string(r.a) + "\n";
  });
  for (const std::int64_t attempt : ledger->AttemptsOfWriters()) {
    text += std::to_string(attempt) + " ";
  }
  return text;
}

// A ledger that goes from snapshot to snapshot, its pages elsewhere, answers like one that stays in
// memory, whatever comes between, and late.
Fault CheckPages(const History& history, std::mt19937_64* random) {
  auto chance = [random](std::uint64_t one_in) { return (*random)() % one_in == 0; };
  std::vector<Record> records = history.run.records;
  for (std::size_t i = (*random)() % 4; i > 0; --i) {
    records.push_back(records[(*random)() % records.size()]);  // again
    std::swap(records.back(), records[(*random)() % records.size()]);
  }
  Ledger stays = Empty(history);
  Ledger moves = Empty(history);
  std::map<PageId, std::string> pages;
  PageId highest = 0;
  Fault fault;
  const ReadPage read = [&pages](PageId page) -> Result<std::string> {
    const auto found = pages.find(page);
    if (found == pages.end()) return Status(Code::kNotFound, "nobody has put it");
    return found->second;
  };
  auto move = [&] {
    const bool fails = chance(16);
    const Result<ledger::Snapshot> taken = moves.TakeSnapshot(
        [&](PageId page, std::string_view bytes) -> Status {
          if (page <= highest) fault = "a page id comes twice";
          highest = page;
          if (fails && chance(2)) return {Code::kUnavailable, "full"};
          pages.emplace(page, bytes);
          return OkStatus();
        },
        std::size_t{1} << (*random)() % 11);
    if (!taken.ok()) {
      if (taken.status().code() != Code::kUnavailable) fault = taken.status().ToString();
      return;
    }
    for (auto page = pages.begin(); page != pages.end();) {
      const bool used = std::ranges::binary_search(taken->pages, page->first);
      page = used ? std::next(page) : pages.erase(page);
    }
    if (pages.size() != taken->pages.size()) fault = "a snapshot refers to pages that were not put";
    if (chance(3)) {
      moves.SetReadPage(read);
      return;
    }
    const std::string before = chance(3) ? AnswerAll(&moves) : "";
    Result<Ledger> restored = Ledger::Restore(taken->head, read);
    if (!restored.ok()) {
      fault = "a snapshot with pages does not read back: " + restored.status().ToString();
      return;
    }
    moves = std::move(*restored);
    if (!before.empty() && AnswerAll(&moves) != before) fault = "restoring changes the answer";
  };
  auto compare = [&](const char* when) {
    Query query;
    if (chance(3)) query.as_of = records[(*random)() % records.size()].time_ns;
    if (chance(3)) {
      const std::int64_t a = records[(*random)() % records.size()].time_ns;
      const std::int64_t b = records[(*random)() % records.size()].time_ns;
      query.window = {std::min(a, b), std::max(a, b)};
    }
    if (AnswerAll(&moves, query) != AnswerAll(&stays, query) || Others(&moves) != Others(&stays)) {
      fault = std::string("a ledger with pages answers differently ") + when;
    }
  };
  for (std::size_t at = 0; at < records.size() && !fault;) {
    const std::size_t size = std::min<std::size_t>((*random)() % 20 + 1, records.size() - at);
    const auto some = std::span<const Record>(records).subspan(at, size);
    stays.Add(some);
    moves.Add(some);
    at += size;
    if (chance(3)) moves.MakeReport();
    if (chance(2)) move();
    if (chance(4)) moves.ReleasePages();
    if (chance(3) && !fault) compare("on the way");
  }
  if (!fault) compare("in the end");
  return fault;
}

// Looking back to an instant is the same as never having heard of what came later.
Fault CheckAsOf(const History& history, Ledger* ledger, std::mt19937_64* random) {
  const std::vector<Record>& records = history.run.records;
  // Times out of the ledger's range are taken at its end.
  auto clamp = [](std::int64_t time) { return std::clamp(time, -kTimeLimit, kTimeLimit); };
  const std::int64_t as_of = clamp(records[(*random)() % records.size()].time_ns) +
                             static_cast<std::int64_t>((*random)() % 3) - 1;
  std::map<WriterId, std::vector<const Record*>> by_writer;
  for (const Record& record : records) by_writer[record.writer].push_back(&record);
  History past = history;
  past.run.records.clear();
  bool more = false;
  using Supervisor = std::pair<std::string, std::int64_t>;  // it has a journal for each attempt
  std::set<Supervisor> heard;
  std::set<Supervisor> heard_later;
  std::vector<std::pair<const Record*, std::int64_t>> ends;  // of processes
  std::map<WriterId, std::int64_t> last;
  for (auto& [writer, own] : by_writer) {
    const Writer& facts = history.run.writers[writer];
    const Supervisor supervisor(facts.pid > 0 ? facts.host : facts.uid, facts.pid);
    std::stable_sort(own.begin(), own.end(), [](const Record* a, const Record* b) {
      return std::pair(a->seq, a->time_ns) < std::pair(b->seq, b->time_ns);
    });
    std::int64_t taken = kNoTime;
    for (const Record* record : own) {
      const bool ended = record->type == RecordType::kProcessEnd;
      const bool said = record->type == RecordType::kExclude ||
                        record->type == RecordType::kQuery || record->type == RecordType::kNote ||
                        (ended && record->a == 0);
      if (!said) taken = std::max(taken, clamp(record->time_ns));
      if (!said) last[writer] = taken;
      if (!said && facts.supervisor) (taken <= as_of ? heard : heard_later).insert(supervisor);
      if (ended) ends.emplace_back(record, taken);
      const bool note = record->type == RecordType::kNote;  // found at the import, not recorded
      if (note || (said ? clamp(record->time_ns) : taken) <= as_of) {
        past.run.records.push_back(*record);
      } else if (!said) {
        more = true;
        Liveness& liveness = past.run.liveness[writer];
        if (liveness == Liveness::kDead) liveness = Liveness::kAlive;
      }
    }
  }
  // One whose end was seen later, by its supervisor, had not ended.
  for (std::size_t i = 0; i < past.run.writers.size(); ++i) {
    const auto id = static_cast<WriterId>(i);
    const Writer& writer = past.run.writers[i];
    bool stopped = false;
    std::set<std::int64_t> seen;
    for (const auto& [end, time] : ends) {
      const Writer& said = past.run.writers[end->writer];
      stopped |= end->writer == id && end->a == 0;
      if (said.supervisor && end->a == writer.pid && said.host == writer.host &&
          said.attempt_key == writer.attempt_key && (!last.contains(id) || time >= last[id])) {
        seen.insert(time);
      }
    }
    const bool known = !writer.supervisor && writer.pid > 0 && !writer.attempt_key.empty();
    if (known && !stopped && !seen.empty() && *seen.begin() > as_of &&
        past.run.liveness[i] == Liveness::kDead) {
      past.run.liveness[i] = Liveness::kAlive;
    }
  }
  past.supervised = history.supervised && !more;
  // One that recorded later was alive then.
  for (const Supervisor& one : heard) past.supervised |= heard_later.contains(one);
  Ledger known = Empty(past);
  known.Add(std::span<const Record>(past.run.records));
  const Query query{.as_of = as_of, .window = {}, .now = {}};
  const Report report = ledger->MakeReport(query);
  const bool steps = (*random)() % 2 == 0;
  auto details = [&](Ledger* asked) {
    return steps ? ToJson(asked->Steps(query)) : ToJson(asked->Timeline(query));
  };
  if (ToJson(report) != Answer(&known, query) || details(ledger) != details(&known)) {
    return "as of " + std::to_string(as_of) + " it knows something else";
  }
  if (Fault fault = CheckReport(report)) return "as-of: " + *fault;
  return std::nullopt;
}

// Journals written as an event file and read again give the same account. Not as of an earlier time
// (`query`): which un-ranked processes belong together may not have been known then, the file says.
Fault CheckEventFile(const History& history, Ledger* ledger) {
  const RunRecords& run = history.run;
  if (history.supervised) return std::nullopt;  // no file says so
  for (const Writer& writer : run.writers) {
    if (writer.attempt_index >= 0) return std::nullopt;  // a file may number attempts otherwise
  }
  std::set<std::pair<WriterId, std::uint64_t>> keys;
  for (const Record& record : run.records) {
    if (run.writers[record.writer].event_file || record.type == RecordType::kQuery) {
      return std::nullopt;
    }
    if (!keys.emplace(record.writer, record.seq).second) return std::nullopt;
    // What is of no step is in no event file.
    const bool start = record.type == RecordType::kStepStart;
    if ((start || record.type == RecordType::kStepEnd) && record.a < 0) return std::nullopt;
  }
  std::string text;
  const Status written = jsonl::WriteEvents(run, [&text](std::string_view chunk) {
    text += chunk;
    return OkStatus();
  });
  if (!written.ok()) return "an event file can't be written: " + written.ToString();
  const Result<jsonl::Import> read = jsonl::ReadEvents(text, {.strict = true});
  if (!read.ok()) return "an event file does not read back: " + read.status().ToString();
  if (read->runs.size() != 1) return "an event file reads back as several runs";
  Ledger again;
  again.Add(read->runs.front());
  if (Answer(&again) != Answer(ledger)) {
    if (getenv("SHOW")) std::cerr << text << Answer(ledger) << Answer(&again);
    return "an event file changes the answer";
  }
  return std::nullopt;
}

CategorySums SumsOf(const ledger::TimeSplit& split, std::size_t span) {
  CategorySums sums;
  for (const ledger::TimeSplit::Series& series : split.series) {
    if (series.ns[span] != 0) sums[{series.category, series.name}] += series.ns[span];
  }
  return sums;
}

void Add(const CategorySums& more, CategorySums* sums) {
  for (const auto& [key, ns] : more) (*sums)[key] += ns;
}

// Many spans at once say what a window of each says; those of a partition add up to the whole, and
// so do those of each attempt.
Fault CheckSplit(const History& history, Ledger* ledger, const Query& query,
                 std::mt19937_64* random) {
  const Report whole = ledger->MakeReport(query);
  if (!whole.start) {
    const std::vector<ledger::WallSpan> any = {{-5, 5}, {3, 3}};
    if (ledger->Split(query, any).elapsed_ns != std::vector<std::int64_t>{0, 0}) {
      return "parts of nothing have time";
    }
    return std::nullopt;
  }
  const std::vector<Record>& records = history.run.records;
  auto instant = [&] {
    const auto some = static_cast<std::int64_t>((*random)() % 5) - 2;
    switch ((*random)() % 4) {
      case 0: return (*random)() % 2 == 0 ? *whole.start + some : *whole.end + some;
      case 1: {
        const auto& attempt = whole.attempts[(*random)() % whole.attempts.size()];
        return attempt.end && (*random)() % 2 == 0 ? *attempt.end : attempt.start;
      }
      default:
        return std::clamp(records[(*random)() % records.size()].time_ns, -kTimeLimit, kTimeLimit) +
               some;
    }
  };
  std::vector<ledger::WallSpan> spans;
  for (std::size_t i = (*random)() % 12; i > 0; --i) {
    std::int64_t a = instant();
    std::int64_t b = instant();
    if (a > b && (*random)() % 8 != 0) std::swap(a, b);  // some are inverted
    spans.emplace_back(a, b);
  }
  const std::size_t any = spans.size();
  std::vector<std::int64_t> cuts = {*whole.start, *whole.end};
  for (std::size_t i = (*random)() % 12; i > 0; --i) cuts.push_back(instant());
  for (std::int64_t& cut : cuts) cut = std::clamp(cut, *whole.start, *whole.end);
  std::ranges::sort(cuts);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) spans.emplace_back(cuts[i], cuts[i + 1]);
  const ledger::TimeSplit split = ledger->Split(query, spans);

  CategorySums sums;
  std::int64_t elapsed = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Query one = query;
    one.window = spans[i];
    const Report part = ledger->MakeReport(one);
    const std::string which =
        "part [" + std::to_string(spans[i].first) + ", " + std::to_string(spans[i].second) + ") ";
    if (split.elapsed_ns[i] != part.elapsed_ns) return which + "has another elapsed time";
    if (SumsOf(split, i) != SumsOf(part)) return which + "has other categories";
    if (i < any) continue;
    elapsed += split.elapsed_ns[i];
    Add(SumsOf(split, i), &sums);
  }
  if (elapsed != whole.elapsed_ns || sums != SumsOf(whole)) return "the parts do not add up";

  // What of each span lies in which attempt, and behind it.
  std::vector<ledger::WallSpan> lanes;
  for (std::size_t k = 0; k < whole.attempts.size(); ++k) {
    const std::int64_t begin = whole.attempts[k].start;
    const std::int64_t end =
        k + 1 < whole.attempts.size() ? whole.attempts[k + 1].start : *whole.end;
    for (const auto& [from, to] : spans) {
      lanes.emplace_back(std::max(from, begin), std::min(to, std::max(begin, end)));
    }
  }
  const ledger::TimeSplit by_attempt = ledger->Split(query, lanes);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    CategorySums together;
    for (std::size_t k = 0; k < whole.attempts.size(); ++k) {
      Add(SumsOf(by_attempt, k * spans.size() + i), &together);
    }
    if (together != SumsOf(split, i)) return "the attempts' parts do not add up";
  }

  // With fewer names each category has as much.
  const std::size_t names_most = (*random)() % 3;
  const ledger::TimeSplit fewer = ledger->Split(query, spans, names_most);
  std::size_t names = 0;
  for (const ledger::TimeSplit::Series& series : fewer.series) names += !series.name.empty();
  if (names > names_most) return "too many names are told apart";
  auto by_category = [](const ledger::TimeSplit& one, std::size_t i) {
    std::map<Category, std::int64_t> found;
    for (const auto& [key, ns] : SumsOf(one, i)) found[key.first] += ns;
    return found;
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (by_category(fewer, i) != by_category(split, i)) return "names taken together lose time";
  }

  // A timeline up to some length is the timeline, or it is longer.
  const std::vector<TimelineInterval> timeline = ledger->Timeline(query);
  const std::size_t most = (*random)() % (timeline.size() + 3);
  const auto limited = ledger->TimelineUpTo(query, most);
  const bool all = timeline.size() <= most && records.size() < 8 * most;
  if (limited ? ToJson(*limited) != ToJson(timeline) || timeline.size() > most : all) {
    return "a timeline up to a length differs";
  }
  return std::nullopt;
}

Fault CheckHistory(const History& history, std::uint64_t seed) {
  if (history.run.records.empty()) return std::nullopt;
  std::mt19937_64 random(seed);
  Ledger ledger = Empty(history);
  ledger.Add(std::span<const Record>(history.run.records));
  const Report report = ledger.MakeReport();
  if (Fault fault = CheckReport(report)) return fault;
  if (Fault fault = CheckTimeline(&ledger, {}, report)) return fault;
  // A step of an attempt that the next one cuts off counts as slow by its whole length.
  if (report.slow_steps_ns > report.Ns(Category::kProductive) && !Notes(report, "clock_overlap")) {
    return "slow_steps";
  }
  if (Fault fault = CheckSteps(&ledger)) return fault;
  if (Fault fault = CheckWindows(&ledger, report, &random)) return fault;
  if (Fault fault = CheckSplit(history, &ledger, {}, &random)) return fault;
  if (random() % 8 == 0) {
    Query earlier;
    earlier.as_of = history.run.records[random() % history.run.records.size()].time_ns;
    if (Fault fault = CheckSplit(history, &ledger, earlier, &random)) {
      return "as of an earlier time: " + *fault;
    }
  }
  const std::string wanted = AnswerAll(&ledger);
  if (Fault fault = CheckShuffles(history, wanted, &random)) return fault;
  if (Fault fault = CheckUids(history, &random)) return fault;
  if (Fault fault = CheckSnapshot(history, wanted, &random)) return fault;
  if (Fault fault = CheckAsOf(history, &ledger, &random)) return fault;
  if (random() % 8 == 0) {
    if (Fault fault = CheckPages(history, &random)) return fault;
  }
  if (Fault fault = CheckEventFile(history, &ledger)) return fault;
  if (random() % 2 == 0) {
    if (Fault fault = CheckStreaming(history, wanted, &random)) return fault;
  }
  if (Answer(&ledger) != ToJson(report)) return "asking changes the answer";
  return std::nullopt;
}

// ------------------------------------------------------------------------------------------------
// Telling people
// ------------------------------------------------------------------------------------------------

std::string ToText(const History& history) {
  std::string text = history.supervised ? "supervised\n" : "";
  for (std::size_t i = 0; i < history.run.writers.size(); ++i) {
    const Writer& writer = history.run.writers[i];
    text += "writer " + std::to_string(i) + ": " + writer.name + " uid=" + writer.uid +
            " rank=" + std::to_string(writer.rank) + " key=" + writer.attempt_key +
            " restarts=" + std::to_string(writer.attempt_index) +
            (writer.event_file ? " event_file" : "") + (writer.monotonic ? " monotonic" : "") +
            (writer.supervisor ? " supervisor" : "") +
            " liveness=" + std::to_string(static_cast<int>(history.run.liveness[i])) + "\n";
  }
  for (const Record& r : history.run.records) {
    text += FormatSeconds(r.time_ns) + " " + std::string(jsonl::EventTypeName(r)) +
            " writer=" + std::to_string(r.writer) + " seq=" + std::to_string(r.seq);
    if (r.a != 0 && r.a != kNoStep) text += " a=" + std::to_string(r.a);
    if (r.b == kNoTime) text += " b=none";
    if (r.b != 0 && r.b != kNoTime) text += " b=" + std::to_string(r.b);
    if (r.name != 0) text += " name=" + std::string(history.run.names.Text(r.name));
    if (r.blocking != Blocking::kDefault) {
      text += r.blocking == Blocking::kYes ? " blocking=yes" : " blocking=no";
    }
    if (r.thread != 0) text += " thread=" + std::to_string(r.thread);
    text += "\n";
  }
  return text;
}

/// The history with every record left out that the fault does not need.
History Minimised(History history, std::uint64_t seed) {
  for (std::size_t chunk = history.run.records.size() / 2; chunk > 0;) {
    bool smaller = false;
    for (std::size_t at = 0; at + chunk <= history.run.records.size();) {
      History less = history;
      const auto first = less.run.records.begin() + static_cast<std::ptrdiff_t>(at);
      less.run.records.erase(first, first + static_cast<std::ptrdiff_t>(chunk));
      bool fails = false;
      for (std::uint64_t i = 0; i < 20 && !fails; ++i)
        fails = CheckHistory(less, seed + i).has_value();
      if (fails) {
        history = std::move(less);
        smaller = true;
      } else {
        at += chunk;
      }
    }
    if (!smaller || chunk > 1) chunk /= 2;
  }
  return history;
}

/// The fault without its numbers.
std::string KindOf(std::string fault) {
  std::erase_if(fault, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
  return fault;
}

TEST(Invariants, HoldForRandomHistories) {
  const std::int64_t usual = Setting("HEADWAY_FULL", 0) == 1 ? 1'000'000 : 100'000;
  const std::int64_t count = Setting("HEADWAY_PROPERTY_COUNT", usual);
  const std::int64_t first = Setting("HEADWAY_PROPERTY_SEED", 1);
  std::map<std::string, int> faults;  // by kind, of which the first is shown
  for (std::int64_t i = first; i < first + count; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const History history = Generator(seed).Make();
    const Fault fault = CheckHistory(history, seed);
    if (!fault || ++faults[KindOf(*fault)] > 1) continue;
    const History small = Minimised(history, seed);
    Fault told;
    for (std::uint64_t k = 0; k < 20 && !told; ++k) told = CheckHistory(small, seed + k);
    Ledger ledger = Empty(small);
    ledger.Add(std::span<const Record>(small.run.records));
    ADD_FAILURE() << "seed " << seed << ": " << *fault << "\nagain: HEADWAY_PROPERTY_SEED=" << seed
                  << " HEADWAY_PROPERTY_COUNT=1\nsmallest history (" << told.value_or("?") << "):\n"
                  << ToText(small) << ToJson(ledger.MakeReport(), {.seconds = false, .indent = 0});
    if (faults.size() == 8) break;
  }
  for (const auto& [kind, times] : faults) std::cout << times << " times: " << kind << "\n";
}

}  // namespace
}  // namespace headway
