#include "formats/cloud_logging/reader.h"

#include <gtest/gtest.h>

#include <string>

namespace headway::cloud_logging {
namespace {

std::string Entry(const std::string& id, const std::string& payload) {
  return "{\"insertId\":\"" + id + "\",\"jsonPayload\":{\"job_name\":\"j\"," + payload +
         "},\"timestamp\":\"2026-01-01T00:00:00Z\"}";
}

TEST(TranslateTest, EveryKindOfEntryBecomesItsLine) {
  struct Case {
    std::string payload;
    std::string lines;
  };
  const Case cases[] = {
      {R"("job_start_time":1767225600.123456)",
       R"({"ts_ns":1767225600123456000,"type":"job_start","insert_id":"i/0"})"
       "\n"},
      {R"("job_end_time":5)", R"({"ts_ns":5000000000,"type":"job_end","insert_id":"i/0"})"
                              "\n"},
      {R"("step_count":7.0,"step_start_time":1.5)",
       R"({"ts_ns":1500000000,"type":"step_start","insert_id":"i/0","step":7})"
       "\n"},
      {R"("tpu_init_end_time":1)",
       R"({"ts_ns":1000000000,"type":"accelerator_init_end","insert_id":"i/0"})"
       "\n"},
      {R"("custom_badput_event_type":"a \"b\"","custom_badput_event_start_time":1)",
       R"({"ts_ns":1000000000,"type":"custom_start","insert_id":"i/0","name":"a \"b\""})"
       "\n"},
      {R"("elastic_wait_event_type":"my_Scale_Up","elastic_wait_end_time":1)",
       R"({"ts_ns":1000000000,"type":"elastic_wait_end","insert_id":"i/0","name":"scale_up"})"
       "\n"},
      {R"("active_slices":2,"total_slices":4,"available_slices":3,)"
       R"("elastic_slice_counts_timestamp":1)",
       R"({"ts_ns":1000000000,"type":"capacity","insert_id":"i/0","available":3,"active":2,)"
       R"("total":4})"
       "\n"},
      {R"("event_type":"save","step":5,"directory":"/local","wait_for_prev_start_time":null,)"
       R"("checkpoint_manager_blocking_start_time":10.25,)"
       R"("checkpoint_manager_blocking_duration_secs":0.5)",
       R"({"ts_ns":10250000000,"type":"checkpoint_save_start","insert_id":"i/0","step":5,)"
       R"("name":"local"})"
       "\n"
       R"({"ts_ns":10750000000,"type":"checkpoint_save_end","insert_id":"i/1","name":"local"})"
       "\n"},
      {R"("event_type":"emergency_restore","step":5,"directory":"gs://b",)"
       R"("checkpoint_manager_start_time":10,"checkpoint_manager_duration_secs":2)",
       R"({"ts_ns":10000000000,"type":"checkpoint_restore_start","insert_id":"i/0","step":5})"
       "\n"
       R"({"ts_ns":12000000000,"type":"checkpoint_restore_end","insert_id":"i/1"})"
       "\n"},
  };
  for (const Case& c : cases) {
    const Translation log = Translate(Entry("i", c.payload));
    EXPECT_EQ(log.problems_total, 0U) << c.payload;
    ASSERT_EQ(log.jobs.size(), 1U) << c.payload;
    EXPECT_EQ(log.jobs[0].events, c.lines);
    // What comes out is a file that reads without a problem.
    const auto read = jsonl::ReadEvents(log.jobs[0].events, {});
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->problems_total, 0U) << c.payload;
  }
}

TEST(TranslateTest, TakesArraysLinesAndPayloadsAlone) {
  const std::string one = Entry("1", R"("job_start_time":1)");
  const std::string two = Entry("2", R"("job_end_time":2)");
  const std::string alone = R"({"job_name": "j", "job_start_time": 1})";
  for (const std::string& text :
       {"[" + one + "," + two + "]", "[\n  " + one + ",\n  " + two + "\n]\n",
        "\xef\xbb\xbf" + one + "\r\n" + two + "\r\n", alone + "\n" + alone + "\n"}) {
    const Translation log = Translate(text);
    EXPECT_EQ(log.problems_total, 0U) << text;
    ASSERT_EQ(log.jobs.size(), 1U) << text;
    EXPECT_EQ(log.jobs[0].entries, 2U) << text;
  }
  EXPECT_TRUE(Translate("").jobs.empty());
  EXPECT_TRUE(Translate("[]").jobs.empty());
}

TEST(TranslateTest, TellsJobsApart) {
  const Translation log = Translate(R"({"job_name":"b","job_start_time":1})"
                                    R"({"job_name":"a","job_start_time":1})"
                                    R"({"job_name":"b","job_end_time":2})");
  ASSERT_EQ(log.jobs.size(), 2U);
  EXPECT_EQ(log.jobs[0].name, "b");
  EXPECT_EQ(log.jobs[0].entries, 2U);
}

TEST(TranslateTest, SaysWhatIsLeftOut) {
  struct Case {
    std::string text;
    std::string sentence;
  };
  const Case cases[] = {
      {"{\"job_name\":\"j\",\"job_start_time\":1", "the entry is cut off"},
      {"{\"job_name\":\"a\"x,\"job_start_time\":1}", "no valid JSON"},
      {"12 apples", "no JSON object"},
      {R"({"job_start_time":"soon"})", "\"job_start_time\" must be a time"},
      {R"({"job_start_time":1e300})", "\"job_start_time\" must be a time"},
      {R"({"step_count":1.5,"step_start_time":1})", "\"step_count\" must be an integer"},
      {R"({"step_start_time":1})", "\"step_count\" must be an integer"},
      {R"({"event_type":"save","step":1,"checkpoint_manager_blocking_start_time":1})",
       "\"checkpoint_manager_blocking_duration_secs\" must be"},
      {R"({"event_type":"save","checkpoint_manager_blocking_start_time":1,)"
       R"("checkpoint_manager_blocking_duration_secs":-1})",
       "ends before it begins"},
      {R"({"elastic_slice_counts_timestamp":1,"active_slices":1})", "must be an integer"},
      {R"({"job_name":"j","step_count":3,"step_start_time":null})", "job \"j\" has no time"},
  };
  for (const Case& c : cases) {
    const Translation log = Translate("\n " + c.text);
    ASSERT_EQ(log.problems_total, 1U) << c.text;
    EXPECT_NE(log.problems[0].sentence.find(c.sentence), std::string::npos)
        << c.text << ": " << log.problems[0].sentence;
    EXPECT_EQ(log.problems[0].line, 2U);
    EXPECT_EQ(log.problems[0].offset, 2U);
  }
  const Translation foreign = Translate(R"({"textPayload":"x"}{"jsonPayload":{"job_name":"j"}})");
  EXPECT_EQ(foreign.foreign, 2U);
  EXPECT_EQ(foreign.problems_total, 0U);
  EXPECT_TRUE(foreign.jobs.empty());
}

}  // namespace
}  // namespace headway::cloud_logging
