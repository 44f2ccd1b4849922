#include "monitor/monitor.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace headway::monitor {
namespace {

// Of a gap no more samples are made up for than these, the latest.
constexpr std::int64_t kMostMadeUp = 60;
constexpr std::int64_t kPatienceNs = 10 * kNanosPerSecond;
constexpr std::int64_t kNotingNs = kNanosPerSecond / 10;
constexpr std::int64_t kReadingNs = 30 * kNanosPerSecond;  // for the last reading, from far away

int Milliseconds(std::int64_t ns) {
  return static_cast<int>(std::clamp<std::int64_t>((ns + 999'999) / 1'000'000, 0, 60'000));
}

// While the final values are on their way: another signal, or the end of the process beside.
bool IsHurried(const Company& company) {
  char word = 0;
  pollfd process = {company.process, POLLIN, 0};
  const bool gone =
      company.control >= 0 && ::recv(company.control, &word, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  return TakeSignals(company.signals) || gone || ::poll(&process, 1, 0) > 0;
}

}  // namespace

State BeginState(const Options& options) {
  State state;
  state.project = options.project;
  state.run = options.run;
  state.process = journal::ReadProcessFacts();
  state.started = SystemClock::WallNow();
  if (options.whole_every_ns > 0) state.tells.emplace_back("goodput");
  if (!options.windows.empty()) state.tells.emplace_back("windows");
  if (options.deviations_every_ns > 0) state.tells.emplace_back("step_deviations");
  state.left_out = options.left_out;
  return state;
}

Monitor::Monitor(Options options, std::unique_ptr<runs::GrowingRun> reader,
                 std::vector<std::unique_ptr<Sink>> sinks)
    : options_(std::move(options)),
      reader_(std::move(reader)),
      sampler_(reader_.get(), options_.project, options_.run, options_.accounting),
      begin_(SystemClock::MonoNow()),
      state_file_(options_.state_directory) {
  state_ = BeginState(options_);
  auto stream = [this](std::int64_t every_ns, Wanted wanted) {
    wanted.log = options_.log;
    if (every_ns > 0) streams_.push_back({every_ns, std::move(wanted)});
  };
  stream(options_.whole_every_ns, {.whole = true, .windows = {}});
  if (!options_.windows.empty()) {
    stream(options_.windows_every_ns, {.whole = false, .windows = options_.windows});
  }
  stream(options_.deviations_every_ns, {.whole = false, .windows = {}, .step_deviations = true});
  for (std::unique_ptr<Sink>& sink : sinks) {
    couriers_.push_back(std::make_unique<Courier>(std::move(sink), kPatienceNs));
  }
}

MonoNs Monitor::NextDue() const {
  MonoNs due = begin_ + 60 * 60 * kNanosPerSecond + (SystemClock::MonoNow() - begin_);
  for (const Stream& stream : streams_) {
    due = std::min(due, begin_ + (stream.taken + 1) * stream.every_ns);
  }
  return std::max(due, retry_.next());
}

Status Monitor::Refresh(WallNs at, WallNs now, const Company& company) {
  if (!reader_->IsFar()) return sampler_.Refresh(at, now);
  // Whoever asks us to end need not wait for a server.
  reader_->Interrupt(false);
  std::atomic<bool> heard = false;
  const WordWatch watch(company, [this, &heard] {
    heard = true;
    reader_->Interrupt(true);
  });
  const Status status = sampler_.Refresh(at, now);
  return heard && !status.ok() ? Status(Code::kCancelled, status.message()) : status;
}

void Monitor::NoteReading() {
  if (reading_.code() == Code::kCancelled) return;
  if (!reading_.ok()) state_.problem = reading_.message();
  if (!reader_->IsFar() || reader_->IsLost() || told_ == reading_.code()) return;
  std::string news = "the run can be read";
  if (!reading_.ok()) {
    news = reading_.message();
    news += reading_.code() == Code::kNotFound ? "; waiting for it" : "; trying again";
  }
  told_ = reading_.code();
  if (options_.tell) options_.tell(news);
}

// Whether nothing more is to come of the run, as of the last time it was read.
bool Monitor::IsOver() {
  constexpr std::int64_t kSilenceNs = 24 * 3600 * kNanosPerSecond;
  if (reader_->IsLost()) return true;
  if (!options_.until_end || !reading_.ok() || reader_->live()) return false;
  const std::optional<std::int64_t> last = reader_->ledger()->LastTime();
  if (!last) return false;
  return reader_->ledger()->MakeReport().state == RunState::kCompleted ||
         SystemClock::WallNow().ns - *last > kSilenceNs;
}

std::shared_ptr<const Sample> Monitor::TakeOne(WallNs at, WallNs now, const Wanted& wanted) {
  Status problem;
  auto sample = std::make_shared<Sample>(sampler_.Take(at, now, wanted, &problem));
  ++state_.samples;
  state_.problem = problem.message();
  return sample;
}

void Monitor::TakeDue(MonoNs now, const Company& company) {
  // In order of time, for what was read once is not taken back.
  std::vector<std::pair<MonoNs, Stream*>> all;
  for (Stream& stream : streams_) {
    const std::int64_t due = (now - begin_) / stream.every_ns;
    stream.taken = std::max(stream.taken, due - kMostMadeUp - 1);
    for (std::int64_t i = stream.taken + 1; i <= due; ++i) {
      all.emplace_back(begin_ + i * stream.every_ns, &stream);
    }
  }
  std::ranges::stable_sort(all, {}, &std::pair<MonoNs, Stream*>::first);
  const WallNs wall = SystemClock::WallNow() - (SystemClock::MonoNow() - now);
  for (const auto& [due, stream] : all) {
    const WallNs at = wall - (now - due);
    reading_ = Refresh(at, WallNs{wall}, company);
    NoteReading();
    if (!reading_.ok() && reader_->IsFar() && reading_.code() != Code::kNotFound) {
      // What was recorded meanwhile is there later: these samples, too.
      retry_.Failed({});
      return;
    }
    retry_.Succeeded();
    ++stream->taken;
    if (!reading_.ok()) continue;
    const auto sample = TakeOne(at, SystemClock::WallNow(), stream->wanted);
    for (const std::unique_ptr<Courier>& courier : couriers_) courier->Post(sample);
  }
}

bool Monitor::Finish(MonoNs until, const Company& company) {
  std::shared_ptr<const Sample> last;
  const WallNs at = SystemClock::WallNow();
  // What has to be sent needs its time, too.
  const MonoNs reading_until =
      SystemClock::MonoNow() + std::min(kReadingNs, (until - SystemClock::MonoNow()) / 2);
  reader_->Interrupt(false);
  reader_->Hurry(reading_until);
  reading_ = sampler_.Refresh(at, at);
  while (reader_->IsFar() && reading_.code() == Code::kUnavailable) {
    retry_.Failed({});
    if (retry_.next() >= reading_until) break;
    ::poll(nullptr, 0, Milliseconds(retry_.next() - SystemClock::MonoNow()));
    reading_ = sampler_.Refresh(at, at);
  }
  NoteReading();
  if (reading_.ok()) {
    Wanted all;
    for (const Stream& stream : streams_) {
      all.whole |= stream.wanted.whole;
      all.step_deviations |= stream.wanted.step_deviations;
      all.log |= stream.wanted.log;
      if (!stream.wanted.windows.empty()) all.windows = stream.wanted.windows;
    }
    last = TakeOne(at, at, all);
  }
  // What a destination answers in the end must come in time to be noted.
  const std::int64_t left_ns = std::max<std::int64_t>(0, until - SystemClock::MonoNow());
  const MonoNs close = until - std::min(kNotingNs, left_ns / 8);
  for (const std::unique_ptr<Courier>& courier : couriers_) courier->Close(close, last);
  bool done = true;
  bool hurried = false;
  for (const std::unique_ptr<Courier>& courier : couriers_) {
    while (!courier->WaitForEnd(std::min(until, SystemClock::MonoNow() + kNotingNs))) {
      const MonoNs now = SystemClock::MonoNow();
      if (now >= until) break;
      // Who asked for it may have gone, or may lose patience.
      if (hurried || !IsHurried(company)) continue;
      hurried = true;
      until = std::min(until, now + options_.final_ns);
      for (const std::unique_ptr<Courier>& all : couriers_) all->Close(until - kNotingNs);
    }
    done &= courier->WaitForEnd(SystemClock::MonoNow()) && courier->state().error.empty();
  }
  return done;
}

void Monitor::WriteState(bool ended) {
  state_.destinations.clear();
  for (const std::unique_ptr<Courier>& courier : couriers_) {
    state_.destinations.push_back(courier->state());
  }
  if (ended) state_.ended = SystemClock::WallNow();
  (void)state_file_.Write(state_).ok();  // whom could it be told?
}

bool Monitor::Run(const Company& company) {
  state_.beside = company.beside;
  WriteState(false);
  std::string heard;
  std::optional<std::int64_t> within_ns;
  if (reader_->IsFar()) {
    // Whether that works is told at once, and what there is need not be read for the first sample.
    const WallNs now = SystemClock::WallNow();
    reading_ = Refresh(now, now, company);
    NoteReading();
    WriteState(false);
    if (IsOver()) within_ns = options_.final_ns;
  }
  bool leave = false;
  while (!within_ns && !leave) {
    std::array<pollfd, 3> ready = {
        {{company.signals, POLLIN, 0}, {company.control, POLLIN, 0}, {company.process, POLLIN, 0}}};
    const int wait = Milliseconds(NextDue() - SystemClock::MonoNow());
    ::poll(ready.data(), ready.size(), wait);
    if (TakeSignals(company.signals) || ready[2].revents != 0) within_ns = options_.final_ns;
    if (ready[1].revents != 0) {
      const Word word = Listen(company.control, &heard);
      if (word.ended) within_ns = options_.final_ns;
      if (word.stop_ms) within_ns = *word.stop_ms * 1'000'000;
      leave = word.leave;
    }
    const MonoNs now = SystemClock::MonoNow();
    if (!within_ns && !leave && now >= NextDue()) {
      TakeDue(now, company);
      WriteState(false);
      if (IsOver()) within_ns = options_.final_ns;
    }
  }
  const bool done = leave || Finish(SystemClock::MonoNow() + *within_ns, company);
  WriteState(true);
  if (company.control >= 0) {
    for (const DestinationState& one : state_.destinations) {
      if (!one.error.empty()) Tell(company.control, one.destination + ": " + one.error);
    }
    if (!state_.problem.empty()) Tell(company.control, state_.problem);
  }
  return done;
}

}  // namespace headway::monitor
