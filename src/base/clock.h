#pragma once

#include <time.h>

#include <atomic>
#include <compare>
#include <cstdint>

/// Time: the one place where headway reads a clock.
///
/// Two types that do not mix: `WallNs` is nanoseconds since the Unix epoch (UTC) and may be stepped
/// by an administrator; `MonoNs` is nanoseconds of a clock that never goes back and counts suspend.
/// Code that needs the time takes a `const Clock&`; tests pass a FakeClock.

namespace headway {

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

/// Nanoseconds since 1970-01-01T00:00:00Z. Range: the whole int64 (years 1677 to 2262).
struct WallNs {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(WallNs, WallNs) = default;
};

/// Nanoseconds of CLOCK_BOOTTIME: since this machine booted, suspend included.
struct MonoNs {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(MonoNs, MonoNs) = default;
};

constexpr std::int64_t operator-(WallNs a, WallNs b) { return a.ns - b.ns; }
constexpr std::int64_t operator-(MonoNs a, MonoNs b) { return a.ns - b.ns; }
constexpr WallNs operator+(WallNs t, std::int64_t ns) { return {t.ns + ns}; }
constexpr MonoNs operator+(MonoNs t, std::int64_t ns) { return {t.ns + ns}; }
constexpr WallNs operator-(WallNs t, std::int64_t ns) { return {t.ns - ns}; }
constexpr MonoNs operator-(MonoNs t, std::int64_t ns) { return {t.ns - ns}; }

/// A source of both times. Implementations may be called from any thread and from signal handlers.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallNs Wall() const noexcept = 0;
  virtual MonoNs Mono() const noexcept = 0;
};

/// The machine's clocks: CLOCK_REALTIME and CLOCK_BOOTTIME through the vDSO, without a system call
/// on Linux (20 to 40 ns). The static functions are for paths where a virtual call would be
/// measurable.
class SystemClock final : public Clock {
 public:
  static WallNs WallNow() noexcept { return {Read(CLOCK_REALTIME)}; }
  static MonoNs MonoNow() noexcept { return {Read(CLOCK_BOOTTIME)}; }

  WallNs Wall() const noexcept override { return WallNow(); }
  MonoNs Mono() const noexcept override { return MonoNow(); }

  /// A shared instance that lives for the whole process.
  static const SystemClock& Get() noexcept;

 private:
  static std::int64_t Read(clockid_t id) noexcept {
    timespec now;
    ::clock_gettime(id, &now);
    return static_cast<std::int64_t>(now.tv_sec) * kNanosPerSecond + now.tv_nsec;
  }
};

/// A clock that stands still until told otherwise. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallNs wall = {1'700'000'000 * kNanosPerSecond},
                     MonoNs mono = {1'000 * kNanosPerSecond})
      : wall_(wall.ns), mono_(mono.ns) {}

  WallNs Wall() const noexcept override { return {wall_.load(std::memory_order_relaxed)}; }
  MonoNs Mono() const noexcept override { return {mono_.load(std::memory_order_relaxed)}; }

  /// Lets `ns` pass on both clocks.
  void Advance(std::int64_t ns) noexcept {
    wall_.fetch_add(ns, std::memory_order_relaxed);
    mono_.fetch_add(ns, std::memory_order_relaxed);
  }
  /// Steps the wall clock alone, as an administrator or NTP would.
  void StepWall(std::int64_t ns) noexcept { wall_.fetch_add(ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> wall_;
  std::atomic<std::int64_t> mono_;
};

/// Both clocks read at (nearly) one instant: translates monotonic times into wall times.
struct ClockAnchor {
  WallNs wall;
  MonoNs mono;
};

/// Reads both clocks; of three tries the one with the least time between its readings is kept.
ClockAnchor TakeAnchor(const Clock& clock) noexcept;

}  // namespace headway
