#include "scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <span>

#include "base/json_writer.h"
#include "check.h"
#include "formats/jsonl/reader.h"
#include "ledger/ledger.h"

// Runs every scenario of this folder: in order; shuffled, repeated and in batches; through
// snapshots; and as an event file.
//
//   scenario_test --list                  the names of all scenarios
//   scenario_test --print-events NAME     the scenario as an event file
//   scenario_test --print-report NAME     the ledger's report on it, as JSON
//   scenario_test --print-all             name, events and report of each, a JSON object a line

namespace headway::scenario {

// How GoogleTest shows a scenario.
void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.Name(); }

namespace {

const std::vector<Scenario>& All() {
  static const std::vector<Scenario> all = [] {
    Result<std::vector<Scenario>> loaded = LoadScenarios();
    if (!loaded.ok()) {
      std::cerr << "scenario_test: " << loaded.status().message() << "\n";
      std::exit(2);
    }
    return *std::move(loaded);
  }();
  return all;
}

/// A ledger that knows the scenario's writers and names, and no record yet.
ledger::Ledger Empty(const Scenario& scenario) {
  ledger::Ledger ledger;
  ledger.SetSupervised(scenario.supervised);
  RunRecords nothing = scenario.run;
  nothing.records.clear();
  ledger.Add(nothing);
  return ledger;
}

ledger::Ledger InOrder(const Scenario& scenario) {
  ledger::Ledger ledger = Empty(scenario);
  ledger.Add(std::span<const Record>(scenario.run.records));
  return ledger;
}

std::string TextOf(ledger::Ledger* ledger, const Look& look) { return ToText(Ask(ledger, look)); }

std::vector<std::string> TextsInOrder(const Scenario& scenario) {
  ledger::Ledger ledger = InOrder(scenario);
  std::vector<std::string> texts;
  for (const Look& look : scenario.looks) texts.push_back(TextOf(&ledger, look));
  return texts;
}

class ScenarioTest : public testing::TestWithParam<Scenario> {
 protected:
  const Scenario& scenario() const { return GetParam(); }

  void ExpectSame(ledger::Ledger* ledger, const std::vector<std::string>& wanted,
                  const std::string& how) {
    for (std::size_t i = 0; i < scenario().looks.size(); ++i) {
      const Look& look = scenario().looks[i];
      ASSERT_EQ(TextOf(ledger, look), wanted[i])
          << how << " gives another answer" << (look.label.empty() ? "" : " to " + look.label)
          << "\n"
          << scenario().text;
    }
  }
};

TEST_P(ScenarioTest, HoldsWhatIsWritten) {
  ledger::Ledger ledger = InOrder(scenario());
  for (const Look& look : scenario().looks) {
    const Answer answer = Ask(&ledger, look);
    const std::vector<std::string> faults = Check(look, answer);
    if (faults.empty()) continue;
    std::string all;
    for (const std::string& fault : faults) {
      all += "tests/scenario/" + scenario().file + ".txt, " + fault + "\n";
    }
    ADD_FAILURE() << all << "\n" << scenario().text << "\n" << ToText(answer);
  }
}

// What the steps are split into is what the partition has inside of steps.
TEST_P(ScenarioTest, StepsAddUpToTheTimeline) {
  ledger::Ledger ledger = InOrder(scenario());
  for (const Look& look : scenario().looks) {
    if (look.IsWindow()) continue;  // its steps are whole ones
    const Answer answer = Ask(&ledger, look);
    std::map<Category, std::int64_t> of_timeline;
    std::int64_t inside = 0;
    for (const TimelineInterval& interval : answer.timeline) {
      if (!interval.step) continue;
      of_timeline[interval.category] += interval.end - interval.begin;
      inside += interval.end - interval.begin;
    }
    std::map<Category, std::int64_t> of_steps;
    for (const StepSummary& step : answer.steps) {
      of_steps[Category::kProductive] += step.productive_ns;
      of_steps[Category::kWastedProgress] += step.wasted_ns;
      of_steps[Category::kProgramStartup] += step.program_startup_ns;
      of_steps[Category::kStepStall] += step.step_stall_ns;
      of_steps[Category::kInfrastructureRecovery] += step.infrastructure_recovery_ns;
      inside -= step.work_ns + step.blocked_ns;
      EXPECT_EQ(step.work_ns, step.productive_ns + step.wasted_ns + step.data_loading_ns +
                                  step.program_startup_ns + step.step_stall_ns +
                                  step.infrastructure_recovery_ns);
    }
    for (const auto& [category, ns] : of_steps) {
      EXPECT_EQ(ns, of_timeline[category]) << CategoryName(category) << "\n" << scenario().text;
    }
    EXPECT_EQ(inside, 0) << scenario().text;
  }
}

TEST_P(ScenarioTest, OrderBatchesAndRepeatsChangeNothing) {
  const std::vector<std::string> wanted = TextsInOrder(scenario());
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    std::vector<Record> records = scenario().run.records;
    records.insert(records.end(), scenario().run.records.begin(), scenario().run.records.end());
    if (seed == 4) {
      std::reverse(records.begin(), records.end());
    } else {
      std::shuffle(records.begin(), records.end(), random);
    }
    ledger::Ledger ledger = Empty(scenario());
    for (std::size_t at = 0; at < records.size();) {
      const std::size_t size = std::min<std::size_t>(random() % 7 + 1, records.size() - at);
      ledger.Add(std::span(records).subspan(at, size));
      at += size;
      ledger.MakeReport();
      if (random() % 4 == 0) ledger.Timeline();
    }
    ExpectSame(&ledger, wanted, "order " + std::to_string(seed));
  }
}

TEST_P(ScenarioTest, SnapshotsChangeNothing) {
  const std::vector<std::string> wanted = TextsInOrder(scenario());
  const std::vector<Record>& records = scenario().run.records;
  const std::size_t stride = records.size() / 24 + 1;
  for (std::size_t cut = 0; cut <= records.size(); cut += stride) {
    ledger::Ledger before = Empty(scenario());
    before.Add(std::span(records).subspan(0, cut));
    if (cut % 2 == 0) before.MakeReport();
    Result<ledger::Ledger> after = ledger::Ledger::Restore(before.Pack());
    ASSERT_TRUE(after.ok()) << after.status().ToString();
    after->Add(std::span(records).subspan(cut));
    ExpectSame(&*after, wanted, "a snapshot after " + std::to_string(cut) + " records");
  }
}

TEST_P(ScenarioTest, AnEventFileSaysTheSame) {
  if (scenario().events.empty()) GTEST_SKIP() << "event files cannot say who watches a process";
  const std::vector<std::string> wanted = TextsInOrder(scenario());
  Result<jsonl::Import> import = jsonl::ReadEvents(scenario().events, {.split_runs = false});
  ASSERT_TRUE(import.ok()) << import.status().ToString();
  ledger::Ledger ledger;
  ledger.Add(import->runs.front());
  ExpectSame(&ledger, wanted, "the event file");
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioTest, testing::ValuesIn(All()),
                         [](const auto& test) { return test.param.Name(); });

int PrintAll() {
  for (const Scenario& scenario : All()) {
    ledger::Ledger ledger = InOrder(scenario);
    std::string out;
    JsonWriter json(&out);
    json.BeginObject().Field("name", scenario.Name()).Field("events", scenario.events);
    json.Field("report", ToJson(ledger.MakeReport())).EndObject();
    std::cout << out << "\n";
  }
  return 0;
}

int Print(std::string_view what, std::string_view name) {
  for (const Scenario& scenario : All()) {
    if (what == "--list") std::cout << scenario.Name() << "\n";
    if (scenario.Name() != name) continue;
    if (what == "--print-events") {
      if (scenario.events.empty()) {
        std::cerr << "scenario_test: " << name << " is no event file\n";
        return 1;
      }
      std::cout << scenario.events;
    } else {
      ledger::Ledger ledger = InOrder(scenario);
      std::cout << ToJson(ledger.MakeReport(), {.seconds = false, .indent = 1});
    }
    return 0;
  }
  if (what == "--list") return 0;
  std::cerr << "scenario_test: no scenario is named " << name << "\n";
  return 1;
}

}  // namespace
}  // namespace headway::scenario

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--print-all") return headway::scenario::PrintAll();
  if (what == "--list" || what == "--print-events" || what == "--print-report") {
    return headway::scenario::Print(what, argc > 2 ? argv[2] : "");
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
