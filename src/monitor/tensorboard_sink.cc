#include "monitor/tensorboard_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <string_view>

#include "formats/metrics/metrics.h"
#include "formats/tensorboard/writer.h"
#include "journal/liveness.h"
#include "monitor/sample_metrics.h"

namespace headway::monitor {
namespace {

constexpr std::size_t kMostPending = std::size_t{4} << 20;
constexpr std::size_t kCopied = std::size_t{1} << 16;  // at a time

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string TensorBoardSink::Destination() const {
  return "TensorBoard event files in " + options_.directory;
}

Status TensorBoardSink::Put(const Sample& sample) {
  const std::size_t before = pending_.size();
  for (const auto& [step, seconds] : sample.step_deviations) {
    Scalar(sample, step, "step_deviation", seconds, "step_deviation");
  }
  if (options_.incumbent) AppendIncumbent(sample);
  AppendExact(sample);
  if (pending_.empty()) return OkStatus();
  // What one sample brings is taken at any length; what waits for the disk is not.
  if (before > kMostPending) {
    pending_.resize(before);
    return {Code::kResourceExhausted,
            options_.directory + " can't be written; the samples since are left out of it"};
  }
  if (!file_.ok()) {
    HEADWAY_RETURN_IF_ERROR(Open(sample.time_ns));
  } else if (!IsAt(file_.get(), path_)) {
    HEADWAY_RETURN_IF_ERROR(Restore());
  }
  return Write();
}

Result<UniqueFd> TensorBoardSink::Create(std::int64_t time_ns) {
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(options_.directory));
  const std::string host = MakePathComponent(journal::ReadProcessFacts().host);
  const std::string stem = "events.out.tfevents." + std::to_string(time_ns / kNanosPerSecond) +
                           "." + host + "." + std::to_string(::getpid()) + ".";
  UniqueFd file;
  for (int number = 0; number < 1000; ++number) {
    path_ = JoinPath(options_.directory, stem + std::to_string(number));
    // Others look at it: who may is for the directory to say.
    file = OpenFile(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (file.ok() || errno != EEXIST) break;
  }
  if (!file.ok()) return ErrnoStatus(errno, "create", path_);
  return file;
}

Status TensorBoardSink::Open(std::int64_t time_ns) {
  Result<UniqueFd> file = Create(time_ns);
  HEADWAY_RETURN_IF_ERROR(file.status());
  file_ = *std::move(file);
  began_ns_ = time_ns;
  std::string version;
  tensorboard::AppendVersion(time_ns, &version);
  pending_.insert(0, version);
  return OkStatus();
}

// What was removed can still be read: it is open.
Status TensorBoardSink::Restore() {
  Result<UniqueFd> file = Create(began_ns_);
  HEADWAY_RETURN_IF_ERROR(file.status());
  std::string part(kCopied, '\0');
  for (std::uint64_t at = 0; at < size_;) {
    const std::size_t most = std::min<std::uint64_t>(part.size(), size_ - at);
    const Result<std::size_t> got = ReadAt(file_.get(), part.data(), most, at, path_);
    if (!got.ok() || *got == 0) {
      ::unlink(path_.c_str());
      file_.Reset();  // the next sample begins anew
      size_ = 0;
      return {Code::kDataLoss, path_ + " was removed, and what was in it can't be read any more"};
    }
    Status status = WriteAll(file->get(), std::string_view(part).substr(0, *got), path_);
    if (!status.ok()) {
      ::unlink(path_.c_str());  // the next sample tries again
      return status;
    }
    at += *got;
  }
  file_ = *std::move(file);
  return OkStatus();
}

Status TensorBoardSink::Write() {
  std::size_t written = 0;
  while (written < pending_.size()) {
    const ssize_t count = ::pwrite(file_.get(), pending_.data() + written,
                                   pending_.size() - written, static_cast<off_t>(size_ + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      Status status = ErrnoStatus(count < 0 ? errno : ENOSPC, "write", path_);
      // Half a record would end what a reader sees of the file.
      (void)!::ftruncate(file_.get(), static_cast<off_t>(size_));
      return status;
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += written;
  pending_.clear();
  return OkStatus();
}

void TensorBoardSink::Scalar(const Sample& sample, std::int64_t step, const std::string& tag,
                             double value, const std::string& name) {
  const bool fresh = named_.insert(tag).second;
  tensorboard::AppendScalar(sample.time_ns, step, tag, value, fresh ? name : "", &pending_);
}

void TensorBoardSink::AppendExact(const Sample& sample) {
  const metrics::RunMetrics run = MetricsOf(sample);
  for (const metrics::Metric& metric : run.metrics) {
    const std::string tag = metrics::TagOf(metric);
    if (options_.steps && tag == "step_deviation" && !options_.incumbent) continue;
    if (!options_.badput && tag.find("badput") != std::string::npos) continue;
    Scalar(sample, sample.step, (options_.incumbent ? "exact/" : "") + tag, metrics::Number(metric),
           metrics::TitleOf(metric));
  }
}

void TensorBoardSink::AppendIncumbent(const Sample& sample) {
  if (!sample.figures) return;
  const compat::Figures& figures = *sample.figures;
  const std::int64_t step = figures.max_productive_step;
  auto scalar = [&](const std::string& tag, double value) {
    Scalar(sample, step, tag, value, tag.substr(tag.rfind('/') + 1));
  };
  scalar("goodput/goodput", figures.goodput_percent);
  if (!options_.badput) return;
  auto percent = [&](double seconds) {
    if (options_.all_of_it && seconds >= figures.total_s && figures.total_s > 0) return 100.0;
    return compat::Percent(seconds, figures.total_s);
  };
  for (int i = 1; i < compat::kBadputCount; ++i) {
    const auto badput = static_cast<compat::Badput>(i);
    if (badput == compat::Badput::kCustom) continue;
    if (badput >= compat::Badput::kElasticSliceDown && !options_.elastic) continue;
    const std::string name(compat::BadputName(badput));
    const auto found =
        std::ranges::find(figures.badput, name, &std::pair<std::string, double>::first);
    scalar("badput/" + Lower(name), found == figures.badput.end() ? 0 : percent(found->second));
  }
  for (const auto& [type, seconds] : figures.custom) {
    scalar("badput/custom_badput_events/" + Lower(type), percent(seconds));
  }
}

}  // namespace headway::monitor
