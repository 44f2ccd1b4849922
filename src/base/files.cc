#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/uid.h"

namespace headway {
namespace {

Code CodeFor(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG: return Code::kResourceExhausted;
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR: return Code::kInvalidArgument;
    case EIO: return Code::kDataLoss;
    case EAGAIN:
    case EBUSY:
    case ETXTBSY: return Code::kUnavailable;
    default: return Code::kUnknown;
  }
}

std::string ErrorText(int error) {
  char buffer[128];
  return ::strerror_r(error, buffer, sizeof buffer);  // GNU form: returns the text
}

// Holds what numbers of standard streams are free, so that a file that is opened gets a higher one.
// Reading and writing there goes on to fail (EBADF).
class StreamNumbers {
 public:
  StreamNumbers() {
    pollfd streams[] = {{STDIN_FILENO, 0, 0}, {STDOUT_FILENO, 0, 0}, {STDERR_FILENO, 0, 0}};
    if (::poll(streams, std::size(streams), 0) <= 0) return;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      // The lowest free number is this one, for those below are taken.
      if ((streams[i].revents & POLLNVAL) != 0)
        held_[i] = UniqueFd(::open("/", O_PATH | O_CLOEXEC));
    }
  }

 private:
  std::array<UniqueFd, STDERR_FILENO + 1> held_;
};

bool IsPlain(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c != 0 && std::strchr("-_.+=@,~", c) != nullptr);
}

// Why the directory `name` in `parent` could not be opened with O_NOFOLLOW: errno says of a link
// only that it is no directory.
Status NotOpened(int error, int parent, const std::string& name, const std::string& path) {
  struct stat info;
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
    return {Code::kPermissionDenied, "cannot open directory " + path +
                                         ": it is a symbolic link, and none is followed there; "
                                         "put a directory in its place"};
  }
  return ErrnoStatus(error, "open directory", path);
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;  // only capitals are written, so only they are read: one spelling for each name
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::Reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status ErrnoStatus(int error, std::string_view what, std::string_view path) {
  return {CodeFor(error),
          "cannot " + std::string(what) + " " + std::string(path) + ": " + ErrorText(error)};
}

UniqueFd OpenFile(const std::string& path, int flags, mode_t mode) {
  return OpenFileAt(AT_FDCWD, path, flags, mode);
}

UniqueFd OpenFileAt(int directory, const std::string& path, int flags, mode_t mode) {
  UniqueFd fd;
  int error = 0;
  {
    const StreamNumbers held;
    fd = UniqueFd(::openat(directory, path.c_str(), flags | O_CLOEXEC, mode));
    error = errno;
    if (fd.ok() && fd.get() <= STDERR_FILENO) {  // another thread has closed a stream meanwhile
      fd = UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
      error = errno;
    }
  }
  errno = error;
  return fd;
}

bool MayGrowTo(std::uint64_t size) noexcept {
  rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         size <= limit.rlim_cur;
}

Result<UniqueFd> OpenForReading(const std::string& path) {
  // O_NONBLOCK: opening a FIFO that someone put there must not hang.
  UniqueFd fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) {
    if (errno == ELOOP) {
      return Status(Code::kPermissionDenied,
                    "cannot open " + path + ": it is a symbolic link; name the file itself");
    }
    return ErrnoStatus(errno, "open", path);
  }
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "examine", path);
  if (!S_ISREG(info.st_mode)) {
    return Status(Code::kInvalidArgument, "cannot read " + path + ": it is not a regular file");
  }
  return fd;
}

bool IsAt(int fd, const std::string& path) {
  struct stat open, named;
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

Result<std::uint64_t> FileSize(int fd, std::string_view path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "examine", path);
  return static_cast<std::uint64_t>(info.st_size);
}

Result<std::size_t> ReadAt(int fd, void* data, std::size_t size, std::uint64_t offset,
                           std::string_view path) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, static_cast<char*>(data) + done, size - done,
                                static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "read", path);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Status WriteAll(int fd, std::string_view data, std::string_view path) {
  while (!data.empty()) {
    const ssize_t wrote = ::write(fd, data.data(), data.size());
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write", path);
    }
    data.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return OkStatus();
}

Status MakeDirectories(const std::string& path) {
  if (path.empty()) return {Code::kInvalidArgument, "cannot make a directory without a name"};
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      // A read-only or forbidden parent that is there already is none of our business.
      struct stat info;
      if (::stat(part.c_str(), &info) != 0) return ErrnoStatus(error, "make directory", part);
    }
    if (slash == std::string::npos) break;
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "make directory", path);
  if (!S_ISDIR(info.st_mode)) return ErrnoStatus(ENOTDIR, "make directory", path);
  return OkStatus();
}

Result<UniqueFd> MakeAndOpenDirectory(const std::string& base,
                                      const std::vector<std::string>& components) {
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(base));
  UniqueFd directory = OpenFile(base, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return ErrnoStatus(errno, "open directory", base);
  std::string path = base;
  for (const std::string& component : components) {
    path = JoinPath(path, component);
    if (component.empty() || component.front() == '.' || component.find('/') != std::string::npos) {
      return Status(Code::kInvalidArgument, "not a path component: \"" + component + "\"");
    }
    if (::mkdirat(directory.get(), component.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "make directory", path);
    }
    UniqueFd next = OpenFileAt(directory.get(), component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!next.ok()) return NotOpened(errno, directory.get(), component, path);
    directory = std::move(next);
  }
  return directory;
}

Status MakePrivateDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "make directory", path);
  }
  UniqueFd directory = OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.ok()) return NotOpened(errno, AT_FDCWD, path, path);
  struct stat info;
  if (::fstat(directory.get(), &info) != 0) return ErrnoStatus(errno, "examine", path);
  if (info.st_uid != ::geteuid() || (info.st_mode & 0077) != 0) {
    return {
        Code::kPermissionDenied,
        path + " belongs to someone else or is open to others; remove it or choose another place"};
  }
  return OkStatus();
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  struct Closer {
    void operator()(DIR* d) const { ::closedir(d); }
  };
  UniqueFd fd = OpenFile(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  const std::unique_ptr<DIR, Closer> directory(fd.ok() ? ::fdopendir(fd.get()) : nullptr);
  if (directory == nullptr) return ErrnoStatus(errno, "list", path);
  fd.Release();  // closed with the directory
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno, "list", path);
  std::sort(names.begin(), names.end());
  return names;
}

std::string MakePathComponent(std::string_view name) {
  if (name.empty()) return "%";
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (IsPlain(c) && !(c == '.' && i == 0)) {
      out.push_back(static_cast<char>(c));
    } else {
      out.push_back('%');
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    }
  }
  if (out.size() <= limits::kPathComponentBytes) return out;
  const std::string mark = "%~" + uid_internal::ToHex(uid_internal::Derive(name));
  out.resize(limits::kPathComponentBytes - mark.size());
  while (!out.empty() && out.find('%', out.size() - 2) != std::string::npos) out.pop_back();
  return out + mark;
}

std::optional<std::string> ParsePathComponent(std::string_view component) {
  if (component == "%") return std::string();
  if (component.empty() || component.front() == '.') return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < component.size(); ++i) {
    const char c = component[i];
    if (c != '%') {
      if (!IsPlain(static_cast<unsigned char>(c))) return std::nullopt;
      name.push_back(c);
      continue;
    }
    if (i + 2 >= component.size()) return std::nullopt;
    const int high = HexValue(component[i + 1]);
    const int low = HexValue(component[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    name.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (MakePathComponent(name) != component) return std::nullopt;
  return name;
}

std::string JoinPath(std::string_view a, std::string_view b) {
  std::string path(a);
  if (!path.empty() && path.back() != '/') path.push_back('/');
  path.append(b);
  return path;
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  const Result<std::uint64_t> size = FileSize(fd->get(), path);
  if (!size.ok()) return size.status();
  if (*size == 0) return MappedFile(nullptr, 0);
  void* const data = ::mmap(nullptr, *size, PROT_READ, MAP_SHARED, fd->get(), 0);
  if (data == MAP_FAILED) return ErrnoStatus(errno, "map", path);
  return MappedFile(data, *size);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace headway
