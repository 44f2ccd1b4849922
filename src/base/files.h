#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/status.h"

/// Files, the careful way: 0600 and 0700, no symbolic link is followed where a name could have been
/// planted, a name of a user never becomes more than one path component.
///
/// Every error says which path and why. Functions block on the disk; nothing here is for hot paths.

namespace headway {

/// Owns a file descriptor. Move-only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset();

 private:
  int fd_ = -1;
};

/// The Status for errno value `error`: "cannot WHAT PATH: REASON", with the fitting code.
Status ErrnoStatus(int error, std::string_view what, std::string_view path);

/// open(2) and openat(2), close-on-exec; the one way to open a file. Its number is above those of
/// the standard streams, also in a program that has closed them, and none of theirs is used for a
/// moment: what that program prints must not land in a file of ours. Not ok(): errno says why.
UniqueFd OpenFile(const std::string& path, int flags, mode_t mode = 0);
UniqueFd OpenFileAt(int directory, const std::string& path, int flags, mode_t mode = 0);

/// Whether this process may let a file grow to `size` bytes. Beyond its limit (RLIMIT_FSIZE) the
/// kernel not only refuses (EFBIG) but sends SIGXFSZ, which ends the process: to be asked before
/// whatever lets a file grow in a process that is not ours. For signal handlers, too.
bool MayGrowTo(std::uint64_t size) noexcept;

/// Opens a regular file for reading. A symbolic link as its last component is refused (it names the
/// reason), as is anything that is no regular file.
Result<UniqueFd> OpenForReading(const std::string& path);

/// Size of an open file in bytes.
Result<std::uint64_t> FileSize(int fd, std::string_view path);

/// Whether `path` still names the open file `fd`: nobody has removed, renamed or replaced it.
bool IsAt(int fd, const std::string& path);

/// Reads up to `size` bytes at `offset`, going on after short reads; fewer only at the file's end.
Result<std::size_t> ReadAt(int fd, void* data, std::size_t size, std::uint64_t offset,
                           std::string_view path);

/// Writes all of `data` where the file stands, going on after short writes.
Status WriteAll(int fd, std::string_view data, std::string_view path);

/// Makes directory `path` and its parents (mode 0700). A directory that is there already is fine,
/// also behind a symbolic link: the caller, not a stranger, chose this path.
Status MakeDirectories(const std::string& path);

/// Makes (mode 0700) and opens `base`/`components[0]`/… Only `base` may be or contain symbolic
/// links (PermissionDenied); the components are names that MakePathComponent returned.
Result<UniqueFd> MakeAndOpenDirectory(const std::string& base,
                                      const std::vector<std::string>& components);

/// Makes `path` as a directory that is this user's alone, for places that others can write to, such
/// as /var/tmp. PermissionDenied when it is a link, belongs to someone else or is open to others.
Status MakePrivateDirectory(const std::string& path);

/// Names of the entries of a directory, sorted; "." and ".." are left out. NotFound when there is
/// none.
Result<std::vector<std::string>> ListDirectory(const std::string& path);

/// Turns any name into one path component that is safe on every file system: letters, digits and
/// `-_+=@,~` stay, and so does a dot that does not come first; every other byte becomes %XX. The
/// empty name becomes "%". ".." can't arise. A result above `limits::kPathComponentBytes` is cut
/// and ends in
/// "%~" and a hash of the whole name.
std::string MakePathComponent(std::string_view name);

/// The inverse; nothing when `component` was cut or is no result of MakePathComponent.
std::optional<std::string> ParsePathComponent(std::string_view component);

/// `a` + "/" + `b`, without doubling the slash.
std::string JoinPath(std::string_view a, std::string_view b);

/// A regular file mapped read-only. Reading a part that someone has cut off meanwhile raises
/// SIGBUS: for files that nobody shortens.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view data() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace headway
