#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"

/// Files that a user names for import, and the place where new journals are made ready.

namespace headway::cli {

/// An open input. `head` is what has been read of it to find out what it is.
struct Input {
  std::string name;
  UniqueFd fd;
  std::string head;
  bool journal = false;  ///< it begins as a journal does, or is called one
};

/// Opens `path`, "-" for standard input; pipes are fine. Errors name the path and the reason.
Result<Input> OpenInput(const std::string& path);

/// Reads the next part, empty at the end. At most 1 MiB.
Result<std::string> ReadPart(Input* input);
/// The rest of it, `head` included, appended to `*text`.
Status ReadRest(Input* input, std::string* text);

/// A directory of this process's own below the data directory, `incoming/<32 hex digits>`, in which
/// journals are written before they appear under their run. Removed with all that is left in it. By
/// a lock on the file of the same name with `.lock` behind it others tell that this process lives.
class Staging {
 public:
  static Result<Staging> Make(const std::string& dir);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  const std::string& path() const { return path_; }
  /// Moves `name` into the directory of the run, in the place of a file of the same name.
  Status Publish(const std::string& name, const std::string& dir, const std::string& project,
                 const std::string& run) const;

 private:
  Staging(std::string parent, std::string path, UniqueFd lock)
      : parent_(std::move(parent)), path_(std::move(path)), lock_(std::move(lock)) {}
  std::string parent_;
  std::string path_;
  UniqueFd lock_;
};

/// How long what another machine (or this one, before it was started anew) has in `incoming` may be
/// silent before it counts as left behind: its locks can't be seen from here.
inline constexpr std::int64_t kStagingSilenceNs = 24 * 3600 * kNanosPerSecond;

/// Removes what imports that were killed have left below `dir`, and never what one that lives is
/// writing. Returns how many such imports there were. What can't be removed stays, without a word.
std::int64_t SweepStaging(const std::string& dir, WallNs now);

}  // namespace headway::cli
