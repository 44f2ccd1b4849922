#include "monitor/tensorboard_sink.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/tensorboard/reader.h"
#include "journal/test_files.h"

namespace headway::monitor {
namespace {

TensorBoardSink::Options Options(const std::string& directory) {
  TensorBoardSink::Options options;
  options.directory = directory;
  options.incumbent = true;
  return options;
}

Sample MakeSample(std::int64_t step, double percent) {
  Sample sample;
  sample.time_ns = (1'700'000'000 + step) * kNanosPerSecond;
  compat::Figures figures;
  figures.goodput_percent = percent;
  figures.productive_s = percent;
  figures.total_s = 100;
  figures.badput = {{"TPU_INITIALIZATION", 100}, {"OTHER", 25}};
  figures.custom = {{"EVAL_STEP", 5}};
  figures.max_productive_step = step;
  sample.figures = std::move(figures);
  return sample;
}

/// What the file holds: "tag@step=value".
std::vector<std::string> Read(const std::string& path) {
  const auto mapped = MappedFile::Open(path);
  EXPECT_TRUE(mapped.ok()) << mapped.status().ToString();
  const tensorboard::EventFile file = tensorboard::ReadEventFile(mapped->data());
  EXPECT_TRUE(file.problems.empty());
  std::vector<std::string> points;
  for (const tensorboard::Scalar& scalar : file.scalars) {
    points.push_back(file.tags[scalar.tag] + "@" + std::to_string(scalar.step) + "=" +
                     std::to_string(static_cast<int>(scalar.value)));
  }
  return points;
}

TEST(TensorBoardSinkTest, TheFirstSampleOfALongRunIsWrittenWhole) {
  const ScratchDir dir;
  TensorBoardSink sink(Options(dir.path()));
  Sample sample = MakeSample(200'000, 70);
  for (int step = 0; step < 200'000; ++step) sample.step_deviations.emplace_back(step, 0.5);
  ASSERT_TRUE(sink.Put(sample).ok());
  EXPECT_EQ(Read(sink.path()).size(), 200'012U);
}

TEST(TensorBoardSinkTest, WritesTheIncumbentsTags) {
  const ScratchDir dir;
  TensorBoardSink sink(Options(dir.path() + "/tb/goodput"));
  ASSERT_TRUE(sink.Put(MakeSample(7, 70)).ok());
  const std::vector<std::string> points = Read(sink.path());
  ASSERT_EQ(points.size(), 12U);
  EXPECT_EQ(points.front(), "goodput/goodput@7=70");
  EXPECT_EQ(points[1], "badput/tpu_initialization@7=0");  // all of the time is none, there
  EXPECT_EQ(points[10], "badput/other@7=25");
  EXPECT_EQ(points.back(), "badput/custom_badput_events/eval_step@7=5");
}

TEST(TensorBoardSinkTest, ASampleThatFindsNoRoomIsWrittenOnceThereIs) {
  const ScratchDir dir;
  TensorBoardSink::Options options = Options(dir.path());
  options.badput = false;
  TensorBoardSink sink(options);
  ASSERT_TRUE(sink.Put(MakeSample(1, 10)).ok());
  const std::vector<std::string> before = Read(sink.path());
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 150, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = sink.Put(MakeSample(2, 20));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_FALSE(full.ok());
  EXPECT_NE(full.message().find(sink.path()), std::string::npos);
  EXPECT_EQ(Read(sink.path()), before);  // no half of it
  ASSERT_TRUE(sink.Put(MakeSample(3, 30)).ok());
  EXPECT_EQ(Read(sink.path()),
            (std::vector<std::string>{"goodput/goodput@1=10", "goodput/goodput@2=20",
                                      "goodput/goodput@3=30"}));
}

TEST(TensorBoardSinkTest, ADirectoryThatIsRemovedComesBackWithAllThatWasInIt) {
  const ScratchDir dir;
  TensorBoardSink::Options options = Options(dir.path() + "/tb/goodput");
  options.badput = false;
  TensorBoardSink sink(options);
  std::vector<std::string> expected;
  for (int step = 1; step <= 2000; ++step) {  // more than is copied at a time
    ASSERT_TRUE(sink.Put(MakeSample(step, 10)).ok());
    expected.push_back("goodput/goodput@" + std::to_string(step) + "=10");
  }
  std::filesystem::remove_all(dir.path() + "/tb");
  ASSERT_TRUE(sink.Put(MakeSample(2001, 20)).ok());
  expected.emplace_back("goodput/goodput@2001=20");
  EXPECT_EQ(Read(sink.path()), expected);

  // Moved out of the way: the old file has what it had.
  const std::string moved = dir.path() + "/moved";
  std::filesystem::rename(sink.path(), moved);
  ASSERT_TRUE(sink.Put(MakeSample(2002, 30)).ok());
  EXPECT_EQ(Read(moved), expected);
  expected.emplace_back("goodput/goodput@2002=30");
  EXPECT_EQ(Read(sink.path()), expected);

  // Where it can't come back that is said, and nothing is lost.
  std::filesystem::remove_all(dir.path() + "/tb");
  std::ofstream(dir.path() + "/tb") << "a file";
  EXPECT_FALSE(sink.Put(MakeSample(2003, 40)).ok());
  std::filesystem::remove(dir.path() + "/tb");
  ASSERT_TRUE(sink.Put(MakeSample(2004, 50)).ok());
  expected.emplace_back("goodput/goodput@2003=40");
  expected.emplace_back("goodput/goodput@2004=50");
  EXPECT_EQ(Read(sink.path()), expected);
}

}  // namespace
}  // namespace headway::monitor
