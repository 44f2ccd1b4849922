#include "cli/import_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/uid.h"
#include "journal/format.h"
#include "journal/liveness.h"

namespace headway::cli {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;
constexpr std::string_view kIncoming = "incoming";
constexpr std::string_view kLockSuffix = ".lock";
constexpr std::size_t kStagingNameDigits = 32;

// What stands in a lock: which kernel knows of it; nothing where that can't be told.
std::string BootText() {
  const BootId boot = journal::ReadProcessFacts().boot_id;
  return boot.IsNil() ? std::string() : ToHex(boot);
}

bool IsStagingName(std::string_view name) {
  return name.size() == kStagingNameDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::int64_t NanosOf(const timespec& time) { return time.tv_sec * kNanosPerSecond + time.tv_nsec; }

// When something in `directory` was last written to.
std::int64_t LastWritten(int directory, const std::vector<std::string>& names) {
  struct stat info;
  std::int64_t last = ::fstat(directory, &info) == 0 ? NanosOf(info.st_mtim) : INT64_MAX;
  for (const std::string& name : names) {
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    last = std::max(last, NanosOf(info.st_mtim));
  }
  return last;
}

// Whether whoever made the staging directory of this lock (-1: it has none) is gone, as far as the
// lock tells. Holds the lock then.
bool OwnerIsGone(int lock, const std::string& boot) {
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) != 0) return false;
  char text[64] = {};
  const ssize_t got = ::pread(lock, text, sizeof text, 0);
  return got > 0 && std::string_view(text, static_cast<std::size_t>(got)) == boot;
}

// Removes `name` in `incoming` and its lock if nobody is at work in it.
bool SweepOne(int incoming, const std::string& path, const std::string& name, WallNs now,
              const std::string& boot) {
  const std::string lock_name = name + std::string(kLockSuffix);
  const UniqueFd lock = OpenFileAt(incoming, lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  const UniqueFd directory = OpenFileAt(incoming, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.ok() && errno != ENOENT) return false;
  std::vector<std::string> names;
  if (directory.ok()) {
    Result<std::vector<std::string>> found = ListDirectory(JoinPath(path, name));
    if (!found.ok()) return false;
    names = *std::move(found);
  }
  if (!OwnerIsGone(lock.get(), boot)) {
    // The lock is held, or says nothing: it is another kernel's, or just being made.
    if (lock.ok() && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
    const std::int64_t last =
        directory.ok() ? LastWritten(directory.get(), names) : LastWritten(lock.get(), {});
    if (last > now.ns - kStagingSilenceNs) return false;
  }
  for (const std::string& file : names) ::unlinkat(directory.get(), file.c_str(), 0);
  if (directory.ok() && ::unlinkat(incoming, name.c_str(), AT_REMOVEDIR) != 0) return false;
  ::unlinkat(incoming, lock_name.c_str(), 0);
  return true;
}

// Up to `size` bytes; fewer only at the end.
Result<std::string> ReadBytes(int fd, std::size_t size, const std::string& name) {
  std::string data(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, data.data() + done, size - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EBADF) {
        return Status(Code::kDataLoss,
                      "cannot read " + name + ": it is closed, or not open for reading");
      }
      return ErrnoStatus(errno, "read", name);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  data.resize(done);
  return data;
}

// What is packed or written in another encoding, by its first bytes.
Status CheckReadable(const Input& input) {
  using namespace std::string_view_literals;
  static constexpr struct {
    std::string_view magic;
    std::string_view what;
    std::string_view remedy;
  } kForeign[] = {
      {"\x1f\x8b"sv, "compressed with gzip", "gzip -dc"},
      {"\xfd\x37zXZ\0"sv, "compressed with xz", "xz -dc"},
      {"\x28\xb5\x2f\xfd"sv, "compressed with zstd", "zstd -dc"},
      {"BZh"sv, "compressed with bzip2", "bzip2 -dc"},
      {"PK\x03\x04"sv, "a zip archive", "unzip -p"},
      {"\xff\xfe"sv, "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
      {"\xfe\xff"sv, "text in UTF-16", "iconv -f UTF-16 -t UTF-8"},
      {"{\0"sv, "text in UTF-16", "iconv -f UTF-16LE -t UTF-8"},
      {"\0{"sv, "text in UTF-16", "iconv -f UTF-16BE -t UTF-8"},
  };
  for (const auto& foreign : kForeign) {
    if (!input.head.starts_with(foreign.magic)) continue;
    return {Code::kDataLoss, input.name + " is " + std::string(foreign.what) +
                                 " (byte 0); give it as text: " + std::string(foreign.remedy) +
                                 " FILE | headway import - ..."};
  }
  return OkStatus();
}

}  // namespace

Result<Input> OpenInput(const std::string& path) {
  Input input;
  input.name = path == "-" ? "standard input" : path;
  input.fd = path == "-" ? UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3))
                         : OpenFile(path, O_RDONLY | O_NOCTTY);
  if (!input.fd.ok()) return ErrnoStatus(errno, "open", input.name);
  struct stat info;
  if (::fstat(input.fd.get(), &info) != 0) return ErrnoStatus(errno, "examine", input.name);
  if (S_ISDIR(info.st_mode)) {
    return Status(Code::kInvalidArgument, "cannot read " + path + ": it is a directory");
  }
  Result<std::string> head = ReadBytes(input.fd.get(), journal::kMagic.size(), input.name);
  if (!head.ok()) return head.status();
  input.head = *std::move(head);
  HEADWAY_RETURN_IF_ERROR(CheckReadable(input));
  // A journal whose first bytes are damaged is still one by its name, and its reader knows more.
  input.journal = input.head == journal::kMagic || path.ends_with(journal::kFileSuffix);
  return input;
}

Result<std::string> ReadPart(Input* input) {
  if (!input->head.empty()) return std::exchange(input->head, std::string());
  return ReadBytes(input->fd.get(), kPartBytes, input->name);
}

Status ReadRest(Input* input, std::string* text) {
  struct stat info;
  if (::fstat(input->fd.get(), &info) == 0 && info.st_size > 0) {
    text->reserve(text->size() + static_cast<std::size_t>(info.st_size) + 1);
  }
  while (true) {
    const Result<std::string> part = ReadPart(input);
    if (!part.ok()) return part.status();
    if (part->empty()) return OkStatus();
    *text += *part;
  }
}

Result<Staging> Staging::Make(const std::string& dir) {
  const std::string name = uid_internal::ToHex(uid_internal::Random());
  const std::string parent = JoinPath(dir, kIncoming);
  // The lock first: whoever sees the directory can see whose it is. One that says nothing (the file
  // system has no locks, or this is where we are killed) counts by its age.
  const std::string lock_name = name + std::string(kLockSuffix);
  Result<UniqueFd> incoming = Status(Code::kUnavailable, parent);
  UniqueFd lock;
  // Another import that ends may remove the directory until there is something of ours in it.
  for (int tries = 0; tries < 100; ++tries) {
    incoming = MakeAndOpenDirectory(dir, {std::string(kIncoming)});
    const bool gone = !incoming.ok() && incoming.status().code() == Code::kNotFound;
    if (gone) continue;
    if (!incoming.ok()) return incoming.status();
    lock = OpenFileAt(incoming->get(), lock_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (lock.ok() || errno != ENOENT) break;
  }
  if (!incoming.ok()) return incoming.status();
  if (!lock.ok()) return ErrnoStatus(errno, "create", JoinPath(parent, lock_name));
  Staging staging(parent, JoinPath(parent, name), std::move(lock));
  const std::string boot = BootText();
  if (::flock(staging.lock_.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::write(staging.lock_.get(), boot.data(), boot.size()) != static_cast<ssize_t>(boot.size())) {
    return ErrnoStatus(errno == 0 ? ENOSPC : errno, "write", JoinPath(parent, lock_name));
  }
  if (::mkdirat(incoming->get(), name.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, "make directory", staging.path_);
  }
  return staging;
}

Staging::Staging(Staging&& other) noexcept
    : parent_(std::move(other.parent_)),
      path_(std::move(other.path_)),
      lock_(std::move(other.lock_)) {
  other.path_.clear();
}

Staging::~Staging() {
  if (path_.empty()) return;
  if (const Result<std::vector<std::string>> names = ListDirectory(path_); names.ok()) {
    for (const std::string& name : *names) ::unlink(JoinPath(path_, name).c_str());
  }
  ::rmdir(path_.c_str());
  ::unlink((path_ + std::string(kLockSuffix)).c_str());
  ::rmdir(parent_.c_str());  // fails while another import is at work: fine
}

std::int64_t SweepStaging(const std::string& dir, WallNs now) {
  const std::string path = JoinPath(dir, kIncoming);
  const UniqueFd incoming = OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!incoming.ok()) return 0;
  const Result<std::vector<std::string>> names = ListDirectory(path);
  if (!names.ok()) return 0;
  std::set<std::string> staged;
  for (const std::string& name : *names) {
    const std::string base =
        name.ends_with(kLockSuffix) ? name.substr(0, name.size() - kLockSuffix.size()) : name;
    if (IsStagingName(base)) staged.insert(base);
  }
  const std::string boot = BootText();
  std::int64_t swept = 0;
  for (const std::string& name : staged) {
    if (SweepOne(incoming.get(), path, name, now, boot)) ++swept;
  }
  ::rmdir(path.c_str());  // fails while anything is left in it: fine
  return swept;
}

Status Staging::Publish(const std::string& name, const std::string& dir, const std::string& project,
                        const std::string& run) const {
  const Result<UniqueFd> target =
      MakeAndOpenDirectory(dir, {"journals", MakePathComponent(project), MakePathComponent(run)});
  if (!target.ok()) return target.status();
  const std::string from = JoinPath(path_, name);
  if (::renameat(AT_FDCWD, from.c_str(), target->get(), name.c_str()) != 0) {
    return ErrnoStatus(errno, "move", from);
  }
  return OkStatus();
}

}  // namespace headway::cli
