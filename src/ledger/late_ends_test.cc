#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "base/limits.h"
#include "ledger/closed_spans.h"
#include "ledger/ledger.h"

/// Spans whose ends come steps after their begins: when the next step starts, nobody knows yet that
/// they go on.

namespace headway::ledger {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// A program that begins a span in each step, and ends it `lag` steps later, or at its end.
struct Program {
  int steps = 0;
  int lag = 0;
  bool event_file = false;
  Blocking blocking = Blocking::kYes;
};

class Recorded {
 public:
  Recorded(const Program& program, Ledger* ledger) : program_(program) {
    Writer writer;
    writer.uid = "w";
    writer.rank = 0;
    writer.event_file = program.event_file;
    writer.monotonic = !program.event_file;
    if (!program.event_file) writer.attempt_key = "job#0";
    writer_ = ledger->AddWriter(writer);
    Add(RecordType::kJobStart, 0);
    for (int i = 0; i < program.steps; ++i) {
      Add(RecordType::kStepStart, i * 10, i);
      Begin(ledger->InternName("late" + std::to_string(i)), i * 10 + 1);
      if (open_.size() > static_cast<std::size_t>(program.lag)) End(i * 10 + 5);
    }
    for (std::int64_t at = program.steps * 10; !open_.empty(); ++at) End(at);
    Add(RecordType::kJobEnd, records_.back().time_ns / kSecond + 1);
  }

  const std::vector<Record>& records() const { return records_; }

 private:
  Record& Add(RecordType type, std::int64_t at, std::int64_t a = 0) {
    Record record;
    record.type = type;
    record.writer = writer_;
    record.seq = records_.size();
    record.time_ns = at * kSecond;
    record.a = a;
    return records_.emplace_back(record);
  }

  void Begin(NameId name, std::int64_t at) {
    open_.push_back({name, records_.size()});
    Record& record = Add(RecordType::kSpanBegin, at, kNoStep);
    record.span = SpanKind::kCustom;
    record.name = name;
    record.blocking = program_.blocking;
  }

  void End(std::int64_t at) {
    Record& record = Add(RecordType::kSpanEnd, at);
    record.span = SpanKind::kCustom;
    record.name = open_.front().name;
    record.b = program_.event_file ? kNoHandle : static_cast<std::int64_t>(open_.front().seq);
    open_.pop_front();
  }

  struct Open {
    NameId name;
    std::uint64_t seq;
  };

  Program program_;
  WriterId writer_ = 0;
  std::vector<Record> records_;
  std::deque<Open> open_;
};

std::int64_t CustomNs(const Report& report) {
  std::int64_t ns = 0;
  for (const CategoryTime& time : report.categories) {
    if (time.category == Category::kCustom) ns += time.ns;
  }
  return ns;
}

std::int64_t NoteCount(const Report& report, std::string_view code) {
  for (const ReportNote& note : report.notes) {
    if (note.code == code) return note.count;
  }
  return 0;
}

TEST(LateEndsTest, CountFromBeginToEndHoweverManyThereAre) {
  for (const bool event_file : {false, true}) {
    for (const int lag : {1, 5, 63, 64, 65, 66, 200, 100'000}) {
      SCOPED_TRACE(lag);
      Ledger ledger;
      const Recorded recorded({.steps = 300, .lag = lag, .event_file = event_file}, &ledger);
      ledger.Add(recorded.records());
      const Report report = ledger.MakeReport();
      // From the first begin to the last end there is always one open.
      const std::int64_t last_end = recorded.records().back().time_ns - kSecond;
      EXPECT_EQ(CustomNs(report), last_end - kSecond);
      EXPECT_EQ(NoteCount(report, "span_unclosed"), 0);
      EXPECT_EQ(NoteCount(report, "span_unopened"), 0);
    }
  }
}

TEST(LateEndsTest, WithoutBlockingTheyTakeNoTime) {
  Ledger ledger;
  const Recorded recorded({.steps = 300, .lag = 100, .blocking = Blocking::kNo}, &ledger);
  ledger.Add(recorded.records());
  const Report report = ledger.MakeReport();
  EXPECT_EQ(CustomNs(report), 0);
  EXPECT_EQ(NoteCount(report, "span_unclosed"), 0);
}

TEST(LateEndsTest, SayTheSameInOnePieceInMany) {
  for (const Blocking blocking : {Blocking::kYes, Blocking::kNo}) {
    for (const int lag : {3, 150}) {
      Ledger whole;
      const Recorded recorded({.steps = 400, .lag = lag, .blocking = blocking}, &whole);
      whole.Add(recorded.records());
      const std::string expected = ToJson(whole.MakeReport(), {});
      for (const unsigned seed : {1U, 2U, 3U}) {
        std::mt19937 random(seed);
        Ledger pieces;
        const Recorded again({.steps = 400, .lag = lag, .blocking = blocking}, &pieces);
        std::span<const Record> rest = again.records();
        while (!rest.empty()) {
          const std::size_t count = std::min<std::size_t>(rest.size(), 1 + random() % 97);
          pieces.Add(rest.first(count));
          rest = rest.subspan(count);
          if (random() % 2 == 0) (void)pieces.MakeReport();
          if (random() % 8 == 0) pieces = Ledger::Restore(pieces.Pack()).value();
        }
        EXPECT_EQ(ToJson(pieces.MakeReport(), {}), expected) << "lag " << lag << " seed " << seed;
      }
    }
  }
}

// Records that were dropped nobody knows since when: since the last span record, though it was the
// end of a span that takes no time; whether somebody asks in between or not.
TEST(LateEndsTest, CountAsTheLastRecordBeforeDroppedOnes) {
  const auto report = [](bool ask_in_between, std::int64_t first_dropped) {
    Ledger ledger;
    Writer lead;
    lead.uid = "w";
    lead.rank = 0;
    lead.attempt_key = "job#0";
    const WriterId writer = ledger.AddWriter(lead);
    std::int64_t seq = 0;
    const auto add = [&](RecordType type, std::int64_t at, SpanKind span, const char* name,
                         Blocking blocking, std::int64_t b) {
      Record record;
      record.type = type;
      record.writer = writer;
      record.seq = static_cast<std::uint64_t>(seq++);
      record.time_ns = at * kSecond;
      record.span = span;
      record.name = ledger.InternName(name);
      record.blocking = blocking;
      record.a = span == SpanKind::kNone ? 0 : kNoStep;
      record.b = b;
      ledger.Add(record);
    };
    const auto plain = [&](RecordType type, std::int64_t at, std::int64_t b = 0) {
      add(type, at, SpanKind::kNone, "", Blocking::kDefault, b);
    };
    using enum RecordType;
    plain(kJobStart, 300);
    add(kSpanBegin, 379, SpanKind::kCustom, "eval", Blocking::kDefault, 0);
    add(kSpanBegin, 425, SpanKind::kCheckpointRestore, "Eval", Blocking::kNo, 0);
    plain(kStepStart, 429);
    add(kSpanEnd, 436, SpanKind::kCustom, "eval", Blocking::kDefault, 1);
    if (ask_in_between) (void)ledger.MakeReport();
    add(kSpanEnd, 444, SpanKind::kCheckpointRestore, "Eval", Blocking::kNo, 2);
    plain(kDropped, 460, first_dropped);
    return ledger.MakeReport();
  };
  for (const std::int64_t first : {kNoTime, 0 * kSecond, 440 * kSecond, 444 * kSecond}) {
    const Report whole = report(false, first);
    EXPECT_EQ(ToJson(report(true, first)), ToJson(whole));
    std::int64_t other = 0;
    for (const CategoryTime& time : whole.categories) {
      if (time.category == Category::kOther) other = time.ns;
    }
    EXPECT_EQ(other, (460 - 444) * kSecond) << first;
  }
}

TEST(LateEndsTest, BeyondTheLimitTheOldestAreForgotten) {
  constexpr int kSteps = static_cast<int>(limits::kClosedSpans) + 10;
  Ledger ledger;
  const Recorded recorded({.steps = kSteps, .lag = kSteps, .blocking = Blocking::kNo}, &ledger);
  ledger.Add(recorded.records());
  const Report report = ledger.MakeReport();
  // The last one is never closed: no step follows it.
  EXPECT_EQ(NoteCount(report, "span_unopened"), 9);
  EXPECT_EQ(NoteCount(report, "span_unclosed"), 9);
}

ClosedSpan Span(std::uint64_t seq, NameId name) {
  ClosedSpan span;
  span.record = span.seq = seq;
  span.begin = static_cast<std::int64_t>(seq) * 10;
  span.kind = SpanKind::kCustom;
  span.name = name;
  return span;
}

TEST(ClosedSpansTest, FindsThemByHandleAndTheLatestByName) {
  ClosedSpans closed;
  for (std::uint64_t seq = 0; seq < 1000; ++seq)
    closed.Add(Span(seq, static_cast<NameId>(seq % 10)));
  EXPECT_EQ(closed.BeginOf(SpanKind::kCustom, 3), 9930);
  EXPECT_EQ(closed.Take(kNoHandle, SpanKind::kCustom, 3)->seq, 993U);
  EXPECT_EQ(closed.Take(7, SpanKind::kCustom, 7)->seq, 7U);
  EXPECT_FALSE(closed.Take(7, SpanKind::kCustom, 7).has_value());
  EXPECT_FALSE(closed.Take(kNoHandle, SpanKind::kPhase, 3).has_value());
  for (int left = 99; left > 0; --left) {
    EXPECT_EQ(closed.Take(kNoHandle, SpanKind::kCustom, 3)->seq,
              static_cast<std::uint64_t>(10 * left - 7));
  }
  EXPECT_FALSE(closed.BeginOf(SpanKind::kCustom, 3).has_value());
  for (NameId name = 0; name < 10; ++name) closed.Drop(SpanKind::kCustom, name);
  EXPECT_TRUE(closed.empty());
}

}  // namespace
}  // namespace headway::ledger
