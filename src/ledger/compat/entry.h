#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/name_table.h"

/// What ml-goodput-measurement 0.2.3 writes down of a job, one thing an entry.
///
/// Times are POSIX seconds as doubles, for that is what it computes with: numbers agree with its
/// own only where the same digits are lost. Order is the order of the log.

namespace headway::compat {

enum class EntryKind : std::uint8_t {
  kJobStart,
  kJobEnd,
  kStep,
  kInitStart,
  kInitEnd,
  kPrepStart,
  kPrepEnd,
  kLoadStart,
  kLoadEnd,
  kCustomStart,
  kCustomEnd,
  kWaitStart,
  kWaitEnd,
  kReinitStart,
  kReinitEnd,
  kSlices,
  kSave,
  kRestore,
};

struct Entry {
  double time = 0;
  std::int64_t value = 0;  ///< step number; position in `slices` or `checkpoints` of the log
  NameId name = 0;         ///< of a custom event (in capitals) or an elastic wait (as it was given)
  EntryKind kind = EntryKind::kJobStart;
};

/// How many slices an elastic job has. Its `time` is that of its entry.
struct Slices {
  double active = 0;
  double available = 0;
  double total = 1;  ///< at least 1
};

/// A save or a restore as Orbax reports it.
struct Checkpoint {
  std::string key;       ///< the step as it was written, and whether the directory is local
  double manager_s = 0;  ///< time for which the checkpoint manager held up training
};

/// The entries of a job. Append-only; not thread-safe.
class EntryLog {
 public:
  void Add(EntryKind kind, double time) { entries_.push_back({time, 0, 0, kind}); }
  void AddStep(std::int64_t step, double time) {
    entries_.push_back({time, step, 0, EntryKind::kStep});
  }
  /// kCustomStart, kCustomEnd, kWaitStart, kWaitEnd.
  void AddNamed(EntryKind kind, std::string_view name, double time) {
    entries_.push_back({time, 0, names_.Intern(name), kind});
  }
  void AddSlices(const Slices& slices, double time);
  /// kSave, kRestore; `step` as text. A directory that doesn't begin with "gs://" is local.
  void AddCheckpoint(EntryKind kind, std::string_view step, std::string_view directory,
                     double manager_s, double time);

  /// Forgets all entries but the first `count`.
  void Keep(std::size_t count) { entries_.resize(std::min(count, entries_.size())); }

  const std::vector<Entry>& entries() const { return entries_; }
  const Slices& slices(const Entry& entry) const {
    return slices_[static_cast<std::size_t>(entry.value)];
  }
  const Checkpoint& checkpoint(const Entry& entry) const {
    return checkpoints_[static_cast<std::size_t>(entry.value)];
  }
  const NameTable& names() const { return names_; }
  NameTable* mutable_names() { return &names_; }

 private:
  std::vector<Entry> entries_;
  std::vector<Slices> slices_;
  std::vector<Checkpoint> checkpoints_;
  NameTable names_;
};

/// Whether an elastic wait of this type waits for more slices.
bool IsScaleUp(std::string_view wait);

/// Seconds of a time in nanoseconds, rounded as Python rounds `datetime.timestamp()`.
double SecondsOf(std::int64_t time_ns);

/// The seconds that are left when a time goes through a `datetime`, which counts microseconds.
double ThroughDatetime(double seconds);

}  // namespace headway::compat
