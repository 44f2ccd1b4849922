#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/limits.h"
#include "base/status.h"
#include "journal/format.h"
#include "model/record.h"

/// JournalWriter: appends records to one journal file of this process.
///
/// What it is: a lock-free appender over a shared file mapping. A record whose call has returned
/// survives the death of the process by any signal; surviving a power loss takes fdatasync(2) of
/// the file by another process (transfer/syncer.h). What it is not: a buffer. There is nothing to
/// flush.
///
/// Threads: every function may be called from any thread, except the destructor, which must be the
/// last call. `AppendEssential` may also be called from a signal handler. After fork() the child's
/// calls do nothing, and cost no system call to find that out. Cost: Append is a clock reading by
/// the caller plus about 10 ns; no allocation, no system call but for one `madvise` in 4096 records
/// and a `fallocate` in 8192 to 524288 (both ahead of use; see Maintain). Space: when it can't be
/// had, records are dropped and counted; the next record that fits is preceded by a kDropped
/// record. Never SIGBUS: space is reserved before it is mapped. Never SIGXFSZ: what a limit on the
/// size of files (RLIMIT_FSIZE) forbids is no space.

namespace headway::journal {

/// A freshly claimed record's index, or this: not kept.
inline constexpr std::int64_t kNotKept = -1;

struct WriterOptions {
  /// Facts about the run. `uid` (random) and file facts are filled in by Create, and so are, unless
  /// origin is kImport, host, pid, boot facts and the anchor.
  Header header;
  /// Null: the system's. Must outlive the writer.
  const Clock* clock = nullptr;

  enum class Mode {
    kAuto,  ///< mapped when the file system is known to honour it, else write calls
    kMapped,
    kWrite,  ///< a write call for each record
  };
  Mode mode = Mode::kAuto;

  /// Hold a lock on the file while alive, by which readers tell that this writer lives.
  bool lock = true;
  /// The file never grows beyond this.
  std::uint64_t max_bytes = SlotOffset(limits::kJournalRecords);
  /// After a failed reservation the next one is tried when this much time has passed.
  std::int64_t retry_ns = kNanosPerSecond;
  /// Reserves file space; returns 0 or an errno value. Tests let it fail. Empty: fallocate(2).
  std::function<int(int fd, std::uint64_t offset, std::uint64_t size)> reserve;
};

class JournalWriter {
 public:
  /// Creates a journal in `directory`, which must exist. The file appears under its final name
  /// (`<time>-r<rank>-<uid>.hwj`) with a complete header. ResourceExhausted: no space even for the
  /// first records; else as the file system says.
  static Result<std::unique_ptr<JournalWriter>> Create(const std::string& directory,
                                                       const WriterOptions& options);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// The time to stamp a record with.
  MonoNs Now() const noexcept {
    if (clock_ == nullptr) [[likely]]
      return SystemClock::MonoNow();
    return clock_->Mono();
  }
  MonoNs ToMono(WallNs wall) const noexcept {
    return header_.anchor.mono + (wall - header_.anchor.wall);
  }

  /// Appends one record as it stands in the file (see format.h for `meta_high`). Returns its seq,
  /// or kNotKept when there was no space, the journal is finished or this is a forked child.
  std::int64_t Append(std::uint32_t meta_high, MonoNs time, std::int64_t a,
                      std::int64_t b) noexcept {
    HotState* const hot = hot_;
    std::uint64_t index = hot->next.load(std::memory_order_relaxed);
    do {
      if (index >= hot->limit.load(std::memory_order_acquire)) [[unlikely]] {
        return AppendSlow(meta_high, time, a, b);
      }
    } while (!hot->next.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    Publish(hot, index, meta_high, time.ns, a, b);
    if (index >= hot->grow_at.load(std::memory_order_relaxed)) [[unlikely]]
      return GrowAhead(index);
    return static_cast<std::int64_t>(index);
  }

  /// Like Append for the few records that must be kept even when space has run out (job end,
  /// notice, dropped): uses a small reserve, takes no lock, and may be called from a signal
  /// handler.
  std::int64_t AppendEssential(std::uint32_t meta_high, MonoNs time, std::int64_t a,
                               std::int64_t b) noexcept;

  /// Appends `record` with `name`, for importers and servers: `time_ns` is wall time, `b` of a span
  /// end is the seq that this writer returned for its begin. `seq`, `writer` and `Record::name` are
  /// ignored. Of a type only the fields that model/record.h gives it are kept. Payload types are
  /// refused (kNotKept).
  std::int64_t AppendRecord(const Record& record, std::string_view name) noexcept;

  /// Appends a record with a payload (kConfig, kStderrTail): all of it or nothing. Allocates
  /// nothing, but may reserve space at once. kNotKept above `limits::kPayloadBytes` (counted as one
  /// dropped record).
  std::int64_t AppendPayload(RecordType type, std::uint32_t name, MonoNs time,
                             std::string_view payload) noexcept;

  /// The id of `name` in this journal, defining it on first use. Lock-free when it is known; the
  /// first use takes a lock and allocates. 0, the empty name, when it can't be defined. Names above
  /// `limits::kNameBytes` are cut.
  std::uint32_t Intern(std::string_view name) noexcept;

  /// Whether `name` is an id that Intern has given, or 0.
  bool Knows(std::uint32_t name) const noexcept;

  /// Reserves and faults in space ahead of use. Called each second by whoever has a thread to
  /// spare, so that recording threads at ordinary rates never have to do it themselves.
  void Maintain() noexcept;

  /// Ends the journal: nothing is appended any more, reserved space is given back, the lock is
  /// released. Idempotent; safe while other threads still append (their records are not kept, and
  /// counted).
  void Finish() noexcept;

  /// False in a forked child, where every call does nothing.
  bool owned() const noexcept { return hot_->owner != 0; }
  bool mapped() const noexcept { return header_.mapped; }
  /// Counts a record that its writer could not mean; the file does not tell of it.
  void CountUnkept() noexcept {
    if (owned()) dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Records that were not kept: for lack of space, because they came after Finish, or by
  /// CountUnkept.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  /// Index that the next record gets.
  std::uint64_t next_seq() const noexcept;
  const Header& header() const noexcept { return header_; }
  const std::string& path() const noexcept { return path_; }

 private:
  struct Impl;

  // Lives on a page of its own that a forked child finds zeroed. Limit 0 sends everyone to the slow
  // path: such a child, a writer that makes write calls, a processor without the CRC instruction.
  struct alignas(64) HotState {
    std::atomic<std::uint64_t> next;        // first unclaimed index
    std::atomic<std::uint64_t> limit;       // indices below may be claimed on the fast path
    std::atomic<std::uint64_t> hard_limit;  // and below this by essential records
    std::atomic<std::uint64_t> grow_at;  // claiming this index or a later one prepares more space
    std::byte* slots;                    // address of slot 0
    std::uint32_t salt;
    std::uint32_t owner;  // 1; a forked child reads 0
  };

  JournalWriter();

  // Fields first, then, as one store, checksum and type: a slot whose first word is zero was
  // claimed but never finished, and nothing else can be left behind by a process that dies here.
  static void Publish(HotState* hot, std::uint64_t index, std::uint32_t meta_high,
                      std::int64_t time, std::int64_t a, std::int64_t b) noexcept {
    auto* const slot = reinterpret_cast<Slot*>(hot->slots + index * kSlotBytes);
    // The next claim waits for these stores; fetching a later line now keeps them from missing the
    // cache.
    __builtin_prefetch(hot->slots + (index + 16) * kSlotBytes, 1);
    const std::uint32_t crc =
        SlotCrcUnchecked(hot->salt, index, meta_high, static_cast<std::uint64_t>(time),
                         static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    std::atomic_ref(slot->time).store(time, std::memory_order_relaxed);
    std::atomic_ref(slot->a).store(a, std::memory_order_relaxed);
    std::atomic_ref(slot->b).store(b, std::memory_order_relaxed);
    std::atomic_ref(slot->meta)
        .store(std::uint64_t{meta_high} << 32 | crc, std::memory_order_release);
  }

  std::int64_t AppendSlow(std::uint32_t meta_high, MonoNs time, std::int64_t a,
                          std::int64_t b) noexcept;
  // Returns `index`, so that its caller has nothing left to do and needs no stack.
  std::int64_t GrowAhead(std::uint64_t index) noexcept;

  HotState* hot_ = nullptr;
  const Clock* clock_ = nullptr;
  Header header_;
  std::string path_;
  std::atomic<std::uint64_t> dropped_{0};
  std::unique_ptr<Impl> impl_;
};

}  // namespace headway::journal
