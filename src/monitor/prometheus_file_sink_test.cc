#include "monitor/prometheus_file_sink.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/test_scratch_dir.h"
#include "formats/metrics/test_report.h"

namespace headway::monitor {
namespace {

class PrometheusFileSinkTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const ScratchDir scratch_;
  const std::string& folder_ = scratch_.path();
};

Sample SampleOf(double goodput) {
  Sample sample;
  sample.project = "p";
  sample.run = "r";
  sample.report = metrics::TestReport();
  sample.report->goodput = goodput;
  sample.efficiency = compat::SliceEfficiency{0.5, 0.75};
  sample.windows.resize(2);
  sample.windows[0].seconds = 60;
  sample.windows[0].report = sample.report;
  sample.windows[1].seconds = 600;
  return sample;
}

TEST_F(PrometheusFileSinkTest, EachSampleTakesThePlaceOfTheOneBefore) {
  auto sink = PrometheusFileSink::Open(Path("r.prom"));
  ASSERT_TRUE(sink.ok()) << sink.status().ToString();
  EXPECT_EQ(sink->Destination(), "Prometheus textfile " + Path("r.prom"));
  const mode_t before = ::umask(077);
  for (const char* goodput : {"0.25", "0.5"}) {
    ASSERT_TRUE(sink->Put(SampleOf(std::stod(goodput))).ok());
    const std::string text = Read(Path("r.prom"));
    for (const std::string& line : {
             std::string("headway_goodput_ratio{project=\"p\",run=\"r\"} ") + goodput,
             std::string(
                 "headway_interval_goodput_ratio{project=\"p\",run=\"r\",window=\"60s\"} ") +
                 goodput,
             std::string("headway_slice_efficiency_ratio{project=\"p\",run=\"r\",kind=\"stepping\"}"
                         " 0.5"),
         }) {
      EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\n" << text;
    }
    EXPECT_EQ(text.find("600s"), std::string::npos);
  }
  ::umask(before);
  struct stat info;
  ASSERT_EQ(::stat(Path("r.prom").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, mode_t{0644});
  const std::filesystem::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(PrometheusFileSinkTest, ALinkIsReplacedAndNotFollowed) {
  std::ofstream(Path("other")) << "mine";
  std::filesystem::create_symlink(Path("other"), Path("r.prom"));
  auto sink = PrometheusFileSink::Open(Path("r.prom"));
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE(sink->Put(SampleOf(0.5)).ok());
  EXPECT_EQ(Read(Path("other")), "mine");
  EXPECT_FALSE(std::filesystem::is_symlink(Path("r.prom")));
}

TEST_F(PrometheusFileSinkTest, RefusesWhatNodeExporterWouldNotRead) {
  struct Case {
    std::string path;
    Code code;
    const char* says;
  };
  std::ofstream(Path("file")) << "";
  const Case cases[] = {
      {Path("r.txt"), Code::kInvalidArgument, "only files that end in .prom"},
      {Path(".prom"), Code::kInvalidArgument, "only files that end in .prom"},
      {Path(""), Code::kInvalidArgument, "only files that end in .prom"},
      {"", Code::kInvalidArgument, "only files that end in .prom"},
      {Path("none/r.prom"), Code::kNotFound, "--collector.textfile.directory"},
      {Path("file/r.prom"), Code::kNotFound, "file/"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.path);
    const auto sink = PrometheusFileSink::Open(c.path);
    ASSERT_FALSE(sink.ok());
    EXPECT_EQ(sink.status().code(), c.code);
    EXPECT_NE(sink.status().message().find(c.says), std::string::npos) << sink.status().message();
  }
}

TEST_F(PrometheusFileSinkTest, AFileThatCantBeReplacedIsToldAndNothingIsLeft) {
  std::filesystem::create_directory(Path("r.prom"));
  auto sink = PrometheusFileSink::Open(Path("r.prom"));
  ASSERT_TRUE(sink.ok());
  const Status status = sink->Put(SampleOf(0.5));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(Path("r.prom")), std::string::npos);
  const std::filesystem::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(PrometheusFileSinkTest, ADirectoryThatIsRemovedIsToldUntilItIsBack) {
  std::filesystem::create_directory(Path("textfile"));
  auto sink = PrometheusFileSink::Open(Path("textfile/r.prom"));
  ASSERT_TRUE(sink.ok());
  std::filesystem::remove(Path("textfile"));
  const Status status = sink->Put(SampleOf(0.25));
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find(Path("textfile")), std::string::npos);
  std::filesystem::create_directory(Path("textfile"));
  ASSERT_TRUE(sink->Put(SampleOf(0.5)).ok());
  EXPECT_NE(Read(Path("textfile/r.prom")).find("headway_goodput_ratio"), std::string::npos);
}

}  // namespace
}  // namespace headway::monitor
