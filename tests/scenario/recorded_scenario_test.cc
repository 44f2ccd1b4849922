#include <gtest/gtest.h>
#include <headway/headway.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/test_scratch_dir.h"
#include "ledger/ledger.h"
#include "runs/runs.h"
#include "scenario.h"

// Records every scenario through the C interface, reads the journals back, and expects the report
// that the ledger gives on the scenario's own records. What headway.h can't say of another time
// than now is left out, with the reason.

namespace headway::scenario {

// How GoogleTest shows a scenario.
void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.Name(); }

namespace {

const std::vector<Scenario>& All() {
  static const std::vector<Scenario> all = [] {
    Result<std::vector<Scenario>> loaded = LoadScenarios();
    if (!loaded.ok()) {
      std::cerr << "recorded_scenario_test: " << loaded.status().message() << "\n";
      std::exit(2);
    }
    return *std::move(loaded);
  }();
  return all;
}

/// The records of one process, in its order.
using Part = std::vector<const Record*>;

/// A process for each attempt: where a stream has a job start, or as its lines name attempts.
std::vector<Part> PartsOf(const RunRecords& run) {
  std::vector<Part> parts;
  std::map<WriterId, std::size_t> of_writer;
  const bool stream = run.writers.size() == 1 && run.writers[0].event_file;
  for (const Record& record : run.records) {
    if (record.type == RecordType::kExclude) continue;
    const bool begins = stream && record.type == RecordType::kJobStart && !parts.empty();
    const auto [found, added] = of_writer.emplace(record.writer, parts.size());
    if (added || begins) {
      found->second = parts.size();
      parts.emplace_back();
    }
    parts[found->second].push_back(&record);
  }
  return parts;
}

/// Why a record can't be said by headway.h of another time; empty: it can.
std::string Obstacle(const Record& record) {
  if (record.thread != 0) return "another thread";
  switch (record.type) {
    case RecordType::kJobStart:
    case RecordType::kJobEnd:
    case RecordType::kStepStart:
    case RecordType::kSpanBegin:
    case RecordType::kSpanEnd:
    case RecordType::kCapacity:
    case RecordType::kExclude: return {};
    case RecordType::kNote: return "a finding of a reader";
    default: return std::string(RecordTypeName(record.type)) + ": said of now only";
  }
}

class RecordedScenario : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    for (const char* name : {"HEADWAY_RUN_UID", "HEADWAY_ATTEMPT_KEY", "HEADWAY_DISABLED"}) {
      ::unsetenv(name);
    }
    ::setenv("HEADWAY_FILE_SYSTEM", "local", 1);
  }

  /// Why it can't be recorded; empty: it was.
  std::string Record() {
    const RunRecords& run = GetParam().run;
    for (const headway::Record& record : run.records) {
      if (std::string why = Obstacle(record); !why.empty()) return why;
    }
    for (const Writer& writer : run.writers) {
      if (writer.supervisor) return "a supervisor";
      if (writer.rank > 0) return "several ranks";
      if (!writer.event_file && writer.rank < 0) return "processes without a rank";
    }
    for (const Liveness liveness : run.liveness) {
      if (liveness == Liveness::kAlive) return "a process that lives";
    }
    const std::vector<Part> parts = PartsOf(run);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      // Recorded one after the other, they know which one came first.
      if (parts[i].front()->time_ns == parts[i - 1].front()->time_ns) {
        return "attempts that begin in one instant";
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string why = RecordPart(i, parts[i], i + 1 == parts.size());
      if (!why.empty()) return why;
    }
    return {};
  }

  std::string RecordPart(std::size_t number, const Part& part, bool last) {
    const RunRecords& run = GetParam().run;
    headway_options options = HEADWAY_OPTIONS_INIT;
    const std::string key = "scenario/" + std::to_string(number);
    options.dir = dir_.c_str();
    options.run = "recorded";
    options.job_id = "scenario";
    options.attempt_key = key.c_str();
    options.attempt_index = static_cast<std::int64_t>(number);
    options.resume = number == 0 ? "never" : "must";
    options.rank = 0;
    options.hook_exit = 0;
    options.job_start = 0;
    headway_recorder* recorder = nullptr;
    char error[512];
    EXPECT_EQ(headway_open(&options, &recorder, error, sizeof error), 0) << error;
    std::string why;
    std::map<std::pair<SpanKind, NameId>, headway_span> by_name;
    std::map<std::uint64_t, headway_span> by_seq;
    std::int64_t before = kNoTime;
    std::uint64_t seq = 0;
    for (const headway::Record* record : part) {
      const std::int64_t at = record->time_ns;
      if (at < before || record->seq < seq) {
        why = "records that are stamped earlier than the ones before";
      }
      before = at;
      seq = record->seq;
      const std::string name(run.names.Text(record->name));
      switch (record->type) {
        case RecordType::kJobStart: headway_job_start_at(recorder, at); break;
        case RecordType::kJobEnd:
          headway_job_end_at(recorder, static_cast<std::int32_t>(record->a), at);
          break;
        case RecordType::kStepStart: headway_step_start_at(recorder, record->a, at); break;
        case RecordType::kCapacity: headway_capacity_at(recorder, -1, -1, -1, at); break;
        case RecordType::kSpanBegin: {
          const headway_name_id id = name.empty() ? 0 : headway_name(recorder, name.c_str());
          const headway_span span = headway_span_begin_at(
              recorder, static_cast<headway_span_kind>(record->span),
              static_cast<headway_blocking>(record->blocking), id, record->a, at);
          by_name[{record->span, record->name}] = span;
          by_seq[record->seq] = span;
          break;
        }
        case RecordType::kSpanEnd: {
          headway_span& span = record->b == kNoHandle
                                   ? by_name[{record->span, record->name}]
                                   : by_seq[static_cast<std::uint64_t>(record->b)];
          if (span == 0) why = "the end of a span that has not begun";
          headway_span_end_at(recorder, std::exchange(span, 0), at);
          break;
        }
        default: break;
      }
    }
    for (const headway::Record& record : run.records) {
      if (!last || record.type != RecordType::kExclude) continue;
      const std::string reason(run.names.Text(record.name));
      headway_exclude(recorder, record.a, record.b,
                      reason.empty() ? 0 : headway_name(recorder, reason.c_str()));
    }
    if (why.empty()) {
      EXPECT_EQ(headway_dropped(recorder), 0U);
    }
    headway_abandon(recorder);
    headway_close(recorder);
    return why;
  }

  const ScratchDir scratch_;
  const std::string& dir_ = scratch_.path();
};

TEST_P(RecordedScenario, TheJournalsSayTheSame) {
  const Scenario& scenario = GetParam();
  ledger::Ledger ledger;
  ledger.SetSupervised(scenario.supervised);
  ledger.Add(scenario.run);
  Report wanted = ledger.MakeReport();
  if (wanted.state == RunState::kRunning || wanted.state == RunState::kRestarting ||
      wanted.state == RunState::kNotStarted) {
    GTEST_SKIP() << "a run that goes on: of recorded ones the report is as of now";
  }
  const std::string why = Record();
  if (!why.empty()) GTEST_SKIP() << why;
  if (PartsOf(scenario.run).size() != wanted.attempts.size()) {
    GTEST_SKIP() << "attempts that only a stream of lines divides";
  }
  const Result<runs::Run> run = runs::Find({dir_}, "default", "recorded");
  ASSERT_TRUE(run.ok()) << run.status().message();
  Result<runs::Loaded> loaded = runs::Load(*run, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(loaded->problems.empty());
  EXPECT_EQ(ToJson(loaded->ledger.MakeReport(), {.seconds = false, .indent = 1}),
            ToJson(wanted, {.seconds = false, .indent = 1}))
      << scenario.text;
}

INSTANTIATE_TEST_SUITE_P(All, RecordedScenario, testing::ValuesIn(All()),
                         [](const auto& test) { return test.param.Name(); });

// So that "left out" does not creep over all of them.
TEST(RecordedScenarios, AreMostOfThoseWithoutOtherRecords) {
  const auto sayable = std::ranges::count_if(All(), [](const Scenario& scenario) {
    return std::ranges::all_of(scenario.run.records,
                               [](const Record& record) { return Obstacle(record).empty(); });
  });
  EXPECT_GT(sayable, 100);
}

}  // namespace
}  // namespace headway::scenario
