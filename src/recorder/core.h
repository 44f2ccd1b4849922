#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "journal/writer.h"
#include "recorder/environment.h"
#include "recorder/heartbeat.h"

/// Core: one open recorder. Behind the C interface of headway.h, whose contract it keeps.

namespace headway::recorder {

/// What a program asks for. Absent things come from the environment.
struct CoreOptions {
  std::string project;
  std::string run;
  std::string dir;
  std::string resume;
  std::string job_id;
  std::string attempt_key;
  static constexpr std::int64_t kFromEnvironment = INT64_MIN;
  std::int64_t rank = kFromEnvironment;
  std::int64_t world_size = kFromEnvironment;
  std::int64_t local_rank = kFromEnvironment;
  std::int64_t attempt_index = kFromEnvironment;
  bool heartbeat = false;
  bool hook_sigterm = false;
  bool hook_exit = true;
  bool exit_ends_job = true;  // else hook_exit notes the exit status only
  bool job_start = true;

  const Clock* clock = nullptr;  ///< null: the system's
  std::int64_t heartbeat_ns = kNanosPerSecond;
  std::string node_local;  ///< replaces /var/tmp/headway-<uid>
};

namespace internal {

inline constexpr std::uint16_t kNoOrdinal = 0xffff;
extern constinit thread_local std::uint16_t thread_ordinal;
std::uint16_t AssignThreadOrdinal() noexcept;

// Identity of the first thread that recorded, while it lives: it is nearly always the one that
// asks, and comparing a register is cheaper than thread-local storage of a shared library.
extern constinit std::atomic<std::uintptr_t> first_thread;

inline std::uintptr_t ThreadPointer() noexcept {
#if defined(__x86_64__) && defined(__LP64__)
  std::uintptr_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
#else
  return 0;
#endif
}

}  // namespace internal

/// Ordinal of the calling thread within this process: 0 for the first that records. Not for signal
/// handlers: thread-local storage may be allocated on first use.
inline std::uint16_t ThreadOrdinal() noexcept {
  const std::uintptr_t pointer = internal::ThreadPointer();
  if (pointer != 0 && pointer == internal::first_thread.load(std::memory_order_relaxed))
      [[likely]] {
    return 0;
  }
  const std::uint16_t ordinal = internal::thread_ordinal;
  if (ordinal != internal::kNoOrdinal) return ordinal;
  return internal::AssignThreadOrdinal();
}

class Core {
 public:
  static Result<std::unique_ptr<Core>> Open(const CoreOptions& options, const Environment& env);
  ~Core();

  void Record(RecordType type, std::int64_t a, std::int64_t b = 0) noexcept {
    RecordAt(type, writer_->Now(), a, b);
  }
  void RecordAt(RecordType type, MonoNs at, std::int64_t a, std::int64_t b = 0) noexcept {
    writer_->Append(journal::MetaHigh(type, ThreadOrdinal()), at, a, b);
  }
  std::uint64_t BeginSpan(SpanKind kind, Blocking blocking, std::uint32_t name, std::int64_t step,
                          MonoNs at) noexcept;
  std::uint64_t BeginSpan(SpanKind kind, Blocking blocking, std::uint32_t name,
                          std::int64_t step) noexcept {
    return BeginSpan(kind, blocking, name, step, Now());
  }
  void EndSpan(std::uint64_t span, MonoNs at) noexcept;
  void EndSpan(std::uint64_t span) noexcept { EndSpan(span, Now()); }
  MonoNs Now() const noexcept { return writer_->Now(); }
  /// A wall time as the journal's clock would have read; kNoTime: now.
  MonoNs At(std::int64_t time_ns) const noexcept;
  void RecordNamed(RecordType type, std::uint32_t name, std::int64_t a, std::int64_t b) noexcept {
    if (!writer_->Knows(name)) return writer_->CountUnkept();
    writer_->Append(journal::NamedMetaHigh(static_cast<std::uint8_t>(type), name), writer_->Now(),
                    a, b);
  }
  /// [count] All at one time.
  void Metrics(const std::uint32_t* names, const double* values, std::size_t count,
               std::int64_t step) noexcept {
    const MonoNs now = writer_->Now();
    for (std::size_t i = 0; i < count; ++i) {
      if (!writer_->Knows(names[i])) {
        writer_->CountUnkept();
        continue;
      }
      constexpr auto kType = static_cast<std::uint8_t>(RecordType::kMetric);
      writer_->Append(journal::NamedMetaHigh(kType, names[i]), now, step,
                      std::bit_cast<std::int64_t>(values[i]));
    }
  }
  void Config(std::string_view config_class, std::string_view json) noexcept;
  void Beat() noexcept;
  /// Async-signal-safe.
  void Notice(int signal) noexcept;
  void Finish(int status) noexcept { End(RecordType::kJobEnd, status); }
  void Abandon() noexcept { End(RecordType::kProcessEnd, 0); }
  /// The process ends with `status`, and hook_exit was asked for.
  void Exit(int status) noexcept {
    End(exit_ends_job_ ? RecordType::kJobEnd : RecordType::kExit, status);
  }

  journal::JournalWriter& writer() { return *writer_; }
  const journal::JournalWriter& writer() const { return *writer_; }
  bool finished() const { return finished_.load(std::memory_order_relaxed); }
  bool continued() const { return continued_; }
  bool hook_exit() const { return hook_exit_; }
  bool hook_sigterm() const { return hook_sigterm_; }
  const std::string& run_uid_hex() const { return run_uid_hex_; }

 private:
  Core() = default;
  void End(RecordType how, int status) noexcept;

  std::unique_ptr<journal::JournalWriter> writer_;
  const Clock* clock_ = nullptr;
  bool continued_ = false;
  bool hook_exit_ = false;
  bool exit_ends_job_ = true;
  bool hook_sigterm_ = false;
  std::atomic<bool> finished_{false};
  std::string run_uid_hex_;
  std::uint64_t span_salt_ = 0;  // in a span's handle, so that another recorder's is told
  Heartbeat heartbeat_;
};

}  // namespace headway::recorder
