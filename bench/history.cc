#include "bench/history.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>

#include "base/clock.h"
#include "base/files.h"
#include "journal/directory.h"
#include "journal/writer.h"

namespace headway::bench {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Long enough ago to be over by now, on the clocks of this machine, so that a run can go on from
// it.
std::int64_t AgoNs(const History& history) {
  return (history.steps * 2 + history.evaluations * 10 + history.restarts * 100 + 100) *
         kNanosPerSecond;
}
constexpr std::int64_t kLostSteps = 50;

// One attempt after the other on a clock that only this moves.
class HistoryWriter {
 public:
  HistoryWriter(std::string directory, const History& history)
      : directory_(std::move(directory)),
        history_(history),
        clock_(SystemClock::WallNow() - AgoNs(history), SystemClock::MonoNow() - AgoNs(history)) {
    options_.header.project = kProject;
    options_.header.run = history.run;
    options_.header.run_uid = RandomUid<RunUid>();
    options_.header.rank = 0;
    options_.header.world_size = 1;
    options_.header.software = "headway bench";
    options_.clock = &clock_;
  }

  Result<Written> Write() {
    const std::int64_t attempts = history_.restarts + 1;
    std::int64_t done = 0;
    for (std::int64_t attempt = 0; attempt < attempts; ++attempt) {
      const std::int64_t until = history_.steps * (attempt + 1) / attempts;
      HEADWAY_RETURN_IF_ERROR(BeginAttempt(attempt));
      for (; done < until; ++done) Step(done);
      EndAttempt();
    }
    written_.last_step = step_ - 1;
    return written_;
  }

 private:
  std::int64_t Jitter(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }

  std::int64_t Put(RecordType type, std::int64_t a) {
    written_.last_time = clock_.Wall().ns;
    return writer_->Append(journal::MetaHigh(type, 0), clock_.Mono(), a, 0);
  }

  void Span(SpanKind kind, std::uint32_t name, std::int64_t ns) {
    const std::int64_t begin =
        writer_->Append(journal::MetaHigh(RecordType::kSpanBegin, kind, Blocking::kDefault, 0),
                        clock_.Mono(), kNoStep, name);
    clock_.Advance(ns);
    written_.last_time = clock_.Wall().ns;
    writer_->Append(journal::MetaHigh(RecordType::kSpanEnd, kind, Blocking::kDefault, 0),
                    clock_.Mono(), kNoStep, journal::PackSpanEnd(begin, name));
  }

  Status BeginAttempt(std::int64_t attempt) {
    if (attempt > 0) {
      clock_.Advance(60 * kNanosPerSecond + Jitter(kNanosPerSecond));
      step_ = std::max<std::int64_t>(1, step_ - kLostSteps);
    }
    options_.header.attempt_index = attempt;
    options_.header.attempt_key = "attempt-" + std::to_string(attempt);
    auto writer = journal::JournalWriter::Create(directory_, options_);
    if (!writer.ok()) return writer.status();
    writer_ = *std::move(writer);
    eval_ = writer_->Intern("eval");
    Put(RecordType::kJobStart, 0);
    Span(SpanKind::kAcceleratorInit, 0, 5 * kNanosPerSecond + Jitter(kNanosPerSecond));
    Span(SpanKind::kTrainingPrep, 0, 10 * kNanosPerSecond + Jitter(kNanosPerSecond));
    return OkStatus();
  }

  void Step(std::int64_t done) {
    Put(RecordType::kStepStart, step_++);
    clock_.Advance(10 * kMillisecond + Jitter(kMillisecond));
    Span(SpanKind::kDataLoading, 0, 50 * kMillisecond + Jitter(10 * kMillisecond));
    clock_.Advance(940 * kMillisecond + Jitter(20 * kMillisecond));
    if (history_.evaluations * (done + 1) / history_.steps >
        history_.evaluations * done / history_.steps) {
      Span(SpanKind::kCustom, eval_, 5 * kNanosPerSecond + Jitter(kNanosPerSecond));
      clock_.Advance(10 * kMillisecond);
    }
  }

  void EndAttempt() {
    const std::string path = writer_->path();
    written_.records += writer_->next_seq();
    writer_->Finish();
    writer_.reset();
    written_.bytes += std::filesystem::file_size(path);
  }

  const std::string directory_;
  const History history_;
  FakeClock clock_;
  std::mt19937_64 random_{1};
  journal::WriterOptions options_;
  std::unique_ptr<journal::JournalWriter> writer_;
  std::uint32_t eval_ = 0;
  std::int64_t step_ = 1;
  Written written_;
};

}  // namespace

Result<Written> WriteHistory(const std::string& data_dir, const History& history) {
  const std::string directory = journal::RunDirectory(data_dir, kProject, history.run);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Status(Code::kUnavailable, directory + ": " + error.message());
  return HistoryWriter(directory, history).Write();
}

}  // namespace headway::bench
