#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway::ledger {

/// Everything the ledger may have had to guess or mend. The one list of note codes.
enum class Note : std::uint8_t {
  kClockStep,
  kOutOfOrder,
  kSeqConflict,
  kImplicitAttempt,
  kAfterEnd,
  kFailedAfterEnd,
  kNoJobStart,
  kStartMissing,
  kSeveralLeads,
  kNoLead,
  kClockOverlap,
  kPresumedLost,
  kSpanUnclosed,
  kSpanUnopened,
  kNoBaseline,
  kWeakBaseline,
  kBaselineShift,
  kInputBound,
  kStepGap,
  kStepReset,
  kNoSteps,
  kTimeRange,
  kDroppedRecords,
  kTornTail,
  kBadLine,
  kUnknownType,
  kRunNameReused,
  kJournalDamage,
  kJournalHole,
};
inline constexpr int kNoteCount = 29;

/// `snake_case` code, e.g. "clock_step".
std::string_view NoteCode(Note note);
bool ParseNote(std::string_view code, Note* note);
/// One sentence for people about `count` occurrences; `seconds` where the note has a duration.
std::string NoteMessage(Note note, std::int64_t count, double seconds);

/// How often each note applies.
struct NoteCounts {
  std::array<std::int64_t, kNoteCount> count{};
  std::int64_t& operator[](Note note) { return count[static_cast<std::size_t>(note)]; }
  std::int64_t operator[](Note note) const { return count[static_cast<std::size_t>(note)]; }
  /// Counts what a record says happened `times` times; absurd numbers are cut to what can be added.
  void Count(Note note, std::int64_t times) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    (*this)[note] += std::clamp<std::int64_t>(times, 0, kMost);
  }
  template <typename Ar>
  void Persist(Ar& ar) {
    for (std::int64_t& one : count) ar(one);
  }
  void Add(const NoteCounts& other) {
    for (std::size_t i = 0; i < count.size(); ++i) count[i] += other.count[i];
  }
};

}  // namespace headway::ledger
