#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "journal/placement.h"
#include "transfer/source.h"

/// JournalCopy: brings one journal to the directory that its header names as destination, while it
/// is written and after.
///
/// The copy is a journal at every instant: it appears under its name with a whole header, and from
/// then on only finished records are written, at their own places. What is not finished in the
/// original is a hole in the copy, and filled once it is. Only when the writer is dead the rest
/// comes too, so that damage looks the same in both. Nothing that was written is ever taken back
/// but the counters of dropped records, and everybody who copies writes the same bytes: any number
/// may do it at once, and whoever begins anew compares with what is there and adds what is missing.
///
/// One thread. Blocks on the disk and on the network.

namespace headway::transfer {

class JournalCopy {
 public:
  /// `source` must name a destination.
  JournalCopy(Source source, journal::PlaceRules rules);

  /// Notes how far the journal has come: the next Update brings no more than that.
  Status NoteEnd();
  bool end_is_noted() const { return noted_.has_value(); }

  /// Copies what is new, and asks the destination to keep it. True: the writer is dead and all of
  /// it is there. After an error the next call starts with a comparison.
  Result<bool> Update();

  const Source& source() const { return source_; }
  /// As Update found it: nobody is known to write to the original any more.
  bool quiet() const { return quiet_; }

 private:
  struct Gap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  struct Noted {
    Liveness liveness;
    std::uint64_t end;  // in slots
  };

  Status Bring(bool all, std::uint64_t limit);
  Status Reach();
  Status Create();
  Status CheckHeader();
  Status CopyDrops();
  Result<std::uint64_t> Scan(std::uint64_t begin, std::uint64_t end, bool all, bool tail);
  Status WriteBytes(const std::byte* data, std::size_t size, std::uint64_t offset);
  void Forget();

  Source source_;
  journal::PlaceRules rules_;
  std::string path_;  // of the copy
  std::uint32_t salt_ = 0;
  bool quiet_ = false;
  std::optional<Noted> noted_;

  UniqueFd directory_;
  UniqueFd fd_;
  bool compare_ = false;   // what is there already is compared first
  bool distrust_ = false;  // what the destination shows may not have been kept
  bool unsynced_ = false;
  std::uint64_t end_ = 0;  // slots below are in the copy, but for the gaps
  std::vector<Gap> gaps_;
  std::optional<std::array<std::byte, 24>> drops_;  // as copied last
};

}  // namespace headway::transfer
