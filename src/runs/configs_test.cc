#include "runs/configs.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/clock.h"
#include "base/test_scratch_dir.h"
#include "journal/directory.h"
#include "journal/test_files.h"
#include "journal/writer.h"

namespace headway::runs {
namespace {

struct Said {
  std::string config_class, text;
};

// A member for each word "key=value"; "?" can't be read.
Result<ConfigValue> Words(std::string_view text) {
  if (text == "?") return Status(Code::kInvalidArgument, "it is a question");
  ConfigValue config;
  config.kind = ConfigValue::Kind::kObject;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::size_t sign = text.find('=');
    ConfigValue value;
    value.text = text.substr(sign + 1, end - sign - 1);
    config.keys.emplace_back(text.substr(0, sign));
    config.items.push_back(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return config;
}

class ConfigsTest : public testing::Test {
 protected:
  // Returns the path of the journal of a process that said that, and a step.
  std::string Record(std::int64_t rank, const std::string& host, std::int64_t attempt,
                     const std::vector<Said>& said) {
    journal::WriterOptions options;
    options.clock = &clock_;
    options.header.origin = journal::Origin::kImport;  // the host is as it is said
    options.header.anchor = {clock_.Wall(), clock_.Mono()};
    options.header.run_uid = run_;
    options.header.project = "default";
    options.header.run = "r";
    options.header.rank = rank;
    options.header.host = host;
    options.header.attempt_key = "job#" + std::to_string(attempt);
    options.header.attempt_index = attempt;
    EXPECT_TRUE(journal::MakeRunDirectory(dir_.path(), "default", "r").ok());
    auto writer =
        journal::JournalWriter::Create(journal::RunDirectory(dir_.path(), "default", "r"), options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    journal::JournalWriter& journal = **writer;
    journal.Append(journal::MetaHigh(RecordType::kJobStart, 0), journal.Now(), 0, 0);
    for (const Said& one : said) {
      clock_.Advance(kNanosPerSecond);
      journal.AppendPayload(RecordType::kConfig, journal.Intern(one.config_class), journal.Now(),
                            one.text);
    }
    journal.Append(journal::MetaHigh(RecordType::kStepStart, 0), journal.Now(), 0, 0);
    clock_.Advance(kNanosPerSecond);
    journal.Append(journal::MetaHigh(RecordType::kStepEnd, 0), journal.Now(), 0, 0);
    journal.Finish();
    return journal.path();
  }

  RunConfig Read() {
    auto run = Find({dir_.path()}, "default", "r");
    EXPECT_TRUE(run.ok()) << run.status().ToString();
    auto loaded = Load(*run);
    EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
    problems_.clear();
    auto config = ReadConfigs(*run, &loaded->ledger, Words, &problems_);
    EXPECT_TRUE(config.ok()) << config.status().ToString();
    return *std::move(config);
  }

  static std::string Rows(const ClassConfig& config) {
    std::string out = config.name;
    for (const ConfigRow& row : config.rows) {
      out += " " + row.path + ":";
      for (const ConfigVariant& variant : row.variants) {
        out += (variant.missing ? "-" : variant.value) + "x" +
               std::to_string(variant.processes.size());
      }
    }
    return out;
  }

  ScratchDir dir_;
  FakeClock clock_;
  RunUid run_ = RandomUid<RunUid>();
  std::vector<Status> problems_;
};

TEST_F(ConfigsTest, LaterWordsAreBroughtOverEarlierOnes) {
  Record(0, "a", 0, {{"user", "lr=1 n=2"}, {"software", "jax=4"}, {"user", "lr=3 m=5"}});
  const RunConfig config = Read();
  ASSERT_EQ(config.attempts.size(), 1U);
  EXPECT_EQ(config.run, "r");
  ASSERT_EQ(config.attempts[0].classes.size(), 2U);
  EXPECT_EQ(Rows(config.attempts[0].classes[0]), "software jax:4x1");
  EXPECT_EQ(Rows(config.attempts[0].classes[1]), "user lr:3x1 n:2x1 m:5x1");
  EXPECT_TRUE(problems_.empty());
}

TEST_F(ConfigsTest, AttemptsAreThoseOfTheReport) {
  Record(0, "a", 0, {{"user", "lr=1"}});
  Record(0, "a", 1, {});
  Record(0, "a", 2, {{"user", "lr=2"}});
  const RunConfig config = Read();
  ASSERT_EQ(config.attempts.size(), 2U);
  EXPECT_EQ(config.attempts[0].attempt, 0);
  EXPECT_EQ(config.attempts[1].attempt, 2);
  EXPECT_EQ(Rows(config.Find(2)->classes[0]), "user lr:2x1");
}

TEST_F(ConfigsTest, DriftBetweenHostsIsTold) {
  for (int rank = 0; rank < 4; ++rank) {
    Record(rank, rank < 2 ? "a" : "b", 0, {{"system", rank < 2 ? "kernel=6" : "kernel=7"}});
  }
  const RunConfig config = Read();
  ASSERT_EQ(config.attempts.size(), 1U);
  const ClassConfig& system = config.attempts[0].classes.at(0);
  EXPECT_EQ(Rows(system), "system kernel:6x27x2");
  EXPECT_EQ(system.rows[0].variants[1].processes, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(config.attempts[0].processes[3].host, "b");
}

TEST_F(ConfigsTest, EqualListsAreKeptOnce) {
  for (int rank = 0; rank < 3; ++rank) Record(rank, "a", 0, {{"user", "lr=1"}});
  const RunConfig config = Read();
  const std::vector<ConfigProcess>& processes = config.attempts.at(0).processes;
  EXPECT_EQ(processes[0].configs.at("user"), processes[2].configs.at("user"));
}

TEST_F(ConfigsTest, WhatCannotBeReadIsToldAndLosesNothingElse) {
  const std::string path =
      Record(0, "a", 0, {{"user", "lr=1"}, {"user", "?"}, {"user", "n=2"}, {"user", ""}});
  const RunConfig config = Read();
  EXPECT_EQ(Rows(config.attempts.at(0).classes.at(0)), "user lr:1x1 n:2x1");
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_TRUE(problems_[0].message().starts_with(path + ": the user configuration in record "));
  EXPECT_TRUE(problems_[0].message().ends_with(" is left out: it is a question"));
}

TEST_F(ConfigsTest, ADamagedPayloadIsTold) {
  const std::string path = Record(0, "a", 0, {{"user", "lr=1"}, {"user", "marked=12345"}});
  std::string bytes = journal::ReadBytes(path);
  const std::size_t at = bytes.find("marked=");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'M';
  journal::WriteBytes(path, bytes);
  const RunConfig config = Read();
  EXPECT_EQ(Rows(config.attempts.at(0).classes.at(0)), "user lr:1x1");
}

TEST_F(ConfigsTest, ARunWithoutAnyHasNoAttempts) {
  Record(0, "a", 0, {{"user", ""}});
  EXPECT_TRUE(Read().attempts.empty());
  EXPECT_TRUE(problems_.empty());
}

}  // namespace
}  // namespace headway::runs
