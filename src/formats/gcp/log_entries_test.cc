#include "formats/gcp/log_entries.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "formats/cloud_logging/reader.h"

namespace headway::gcp {
namespace {

using compat::EntryKind;

const JobLog kLog{"p1", "goodput_a/b", "a/b"};

std::vector<std::string> InsertIds(const std::string& body) {
  std::vector<std::string> ids;
  const std::string mark = R"("insertId":")";
  for (std::size_t at = body.find(mark); at != std::string::npos; at = body.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    ids.push_back(body.substr(begin, body.find('"', begin) - begin));
  }
  return ids;
}

// The entries array of a body, as `gcloud logging read` prints it.
std::string Entries(const std::string& body) {
  const std::size_t begin = body.find("\"entries\":") + 10;
  return body.substr(begin, body.size() - begin - 1);
}

std::string WriteOnce(const compat::EntryLog& log) {
  std::size_t from = 0;
  return EntryWriter(kLog).Write(log, &from);
}

void Fill(compat::EntryLog* log) {
  log->Add(EntryKind::kJobStart, 1'700'000'000.25);
  log->Add(EntryKind::kInitStart, 1'700'000'000.25);
  log->Add(EntryKind::kInitEnd, 1'700'000'001);
  log->AddStep(5, 1'700'000'002);
  log->AddNamed(EntryKind::kCustomStart, "EVAL \"1\"", 1'700'000'003);
  log->AddNamed(EntryKind::kWaitStart, "scale_up", 1'700'000'004);
  log->AddSlices({3, 4, 4}, 1'700'000'005);
  log->AddCheckpoint(EntryKind::kSave, "7", "gs://b/c", 0.5, 1'700'000'006);
  log->AddCheckpoint(EntryKind::kRestore, "x", "/local", 1.5, 1'700'000'007);
  log->Add(EntryKind::kJobEnd, 1'700'000'008);
}

TEST(LogEntriesTest, Payloads) {
  compat::EntryLog log;
  Fill(&log);
  const std::string body = WriteOnce(log);
  EXPECT_TRUE(body.starts_with(R"({"logName":"projects/p1/logs/goodput_a%2Fb","resource":)"))
      << body;
  for (const char* const payload : {
           R"({"job_name":"a/b","job_start_time":1700000000.25})",
           R"({"job_name":"a/b","tpu_init_end_time":1700000001})",
           R"({"job_name":"a/b","step_count":5,"step_start_time":1700000002})",
           R"({"job_name":"a/b","custom_badput_event_type":"EVAL \"1\"",)"
           R"("custom_badput_event_start_time":1700000003})",
           R"({"job_name":"a/b","elastic_wait_event_type":"scale_up",)"
           R"("elastic_wait_start_time":1700000004})",
           R"({"job_name":"a/b","active_slices":3,"total_slices":4,"available_slices":4,)"
           R"("elastic_slice_counts_timestamp":1700000005})",
           R"({"job_name":"a/b","step":7,"event_type":"save","directory":"gs://",)"
           R"("checkpoint_manager_blocking_start_time":1700000006,)"
           R"("checkpoint_manager_blocking_duration_secs":0.5})",
           R"({"job_name":"a/b","step":"x","event_type":"restore","directory":"/",)"
           R"("checkpoint_manager_start_time":1700000007,"checkpoint_manager_duration_secs":1.5})",
       }) {
    EXPECT_NE(body.find(payload), std::string::npos) << payload;
  }
  EXPECT_NE(body.find(R"("timestamp":"2023-11-14T22:13:20.250000000Z","severity":"INFO")"),
            std::string::npos);
}

TEST(LogEntriesTest, OurReaderReadsThem) {
  compat::EntryLog log;
  Fill(&log);
  const cloud_logging::Translation back = cloud_logging::Translate(Entries(WriteOnce(log)));
  EXPECT_EQ(back.problems_total, 0U);
  ASSERT_EQ(back.jobs.size(), 1U);
  EXPECT_EQ(back.jobs[0].name, "a/b");
  EXPECT_EQ(back.jobs[0].entries, log.entries().size());
}

// Three steps a second, all of the same number and time.
void AddThird(int i, compat::EntryLog* log) {
  const int second = i / 3;
  log->AddStep(second, 1'700'000'000.0 + second);
}

TEST(LogEntriesTest, IdsAreTheSameEachTimeAndKeepTheOrder) {
  compat::EntryLog log;
  for (int i = 0; i < 1200; ++i) AddThird(i, &log);
  EntryWriter writer(kLog);
  std::size_t from = 0;
  std::vector<std::string> ids;
  for (const std::size_t end : {500U, 1000U, 1200U}) {
    const std::vector<std::string> some = InsertIds(writer.Write(log, &from));
    EXPECT_EQ(from, end);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  EXPECT_EQ(writer.Write(log, &from), "");
  EXPECT_EQ(ids.size(), 1200U);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1200U);
  for (std::size_t i = 0; i + 2 < ids.size(); i += 3) {
    EXPECT_LT(ids[i], ids[i + 1]);
    EXPECT_LT(ids[i + 1], ids[i + 2]);
  }
  // In two calls, cut between entries of one time.
  compat::EntryLog half;
  EntryWriter other(kLog);
  from = 0;
  for (int i = 0; i < 100; ++i) AddThird(i, &half);
  std::vector<std::string> again = InsertIds(other.Write(half, &from));
  half.AddStep(33, 1'700'000'033);
  again.push_back(InsertIds(other.Write(half, &from))[0]);
  EXPECT_EQ(again, std::vector<std::string>(ids.begin(), ids.begin() + 101));
}

TEST(LogEntriesTest, TimesThatNoLogCanHold) {
  compat::EntryLog log;
  log.Add(EntryKind::kJobStart, std::numeric_limits<double>::quiet_NaN());
  log.Add(EntryKind::kJobStart, 1e300);
  EntryWriter writer(kLog);
  std::size_t from = 0;
  EXPECT_EQ(writer.Write(log, &from), "");
  EXPECT_EQ(writer.left_out(), 2U);
}

TEST(LogEntriesTest, Filters) {
  const WallNs end{1'700'000'000 * kNanosPerSecond};
  const std::string head =
      R"(logName="projects/p1/logs/goodput_a%2Fb" AND severity=INFO AND )"
      R"(jsonPayload.job_name="a/b" AND timestamp<="2023-11-14T22:13:20.000000000Z" AND )";
  EXPECT_EQ(EntryFilter(kLog, {.after = {}, .start = {}, .end = end}),
            head + R"(timestamp>"2023-11-07T22:13:20.000000000Z")");
  EXPECT_EQ(EntryFilter(kLog, {.after = {}, .start = end - kNanosPerSecond, .end = end}),
            head + R"(timestamp>"2023-11-14T22:13:19.000000000Z")");
  EXPECT_EQ(EntryFilter(
                kLog, {.after = std::pair(end - 1, std::string("id\"1")), .start = {}, .end = end}),
            head + R"((timestamp > "2023-11-14T22:13:19.999999999Z" OR )"
                   R"((timestamp = "2023-11-14T22:13:19.999999999Z" AND insertId > "id\"1")))");
}

TEST(LogEntriesTest, ANameCannotWidenAFilter) {
  const JobLog log{"", "l", "x\" OR severity>=DEFAULT OR \"\\\n"};
  EXPECT_TRUE(EntryFilter(log, {.after = {}, .start = {}, .end = {0}})
                  .starts_with(R"(severity=INFO AND jsonPayload.job_name=)"
                               R"("x\" OR severity>=DEFAULT OR \"\\\x0a" AND )"));
}

TEST(LogEntriesTest, Lists) {
  EXPECT_EQ(ListBody(kLog, "f", ""),
            R"({"resourceNames":["projects/p1"],"filter":"f","orderBy":"timestamp asc",)"
            R"("pageSize":1000})");
  EXPECT_NE(ListBody(kLog, "f", "t").find(R"("pageToken":"t")"), std::string::npos);
}

}  // namespace
}  // namespace headway::gcp
