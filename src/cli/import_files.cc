#include "cli/import_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/uid.h"
#include "journal/format.h"

namespace headway::cli {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;
constexpr std::string_view kIncoming = "incoming";

// Up to `size` bytes; fewer only at the end.
Result<std::string> ReadBytes(int fd, std::size_t size, const std::string& name) {
  std::string data(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, data.data() + done, size - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "read", name);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  data.resize(done);
  return data;
}

}  // namespace

Result<Input> OpenInput(const std::string& path) {
  Input input;
  input.name = path == "-" ? "standard input" : path;
  input.fd = UniqueFd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!input.fd.ok()) return ErrnoStatus(errno, "open", input.name);
  struct stat info;
  if (::fstat(input.fd.get(), &info) != 0) return ErrnoStatus(errno, "examine", input.name);
  if (S_ISDIR(info.st_mode)) {
    return Status(Code::kInvalidArgument, "cannot read " + path + ": it is a directory");
  }
  Result<std::string> head = ReadBytes(input.fd.get(), journal::kMagic.size(), input.name);
  if (!head.ok()) return head.status();
  input.head = *std::move(head);
  input.journal = input.head == journal::kMagic;
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
  const Result<UniqueFd> made = MakeAndOpenDirectory(dir, {std::string(kIncoming), name});
  if (!made.ok()) return made.status();
  const std::string parent = JoinPath(dir, kIncoming);
  return Staging(parent, JoinPath(parent, name));
}

Staging::Staging(Staging&& other) noexcept
    : parent_(std::move(other.parent_)), path_(std::move(other.path_)) {
  other.path_.clear();
}

Staging::~Staging() {
  if (path_.empty()) return;
  if (const Result<std::vector<std::string>> names = ListDirectory(path_); names.ok()) {
    for (const std::string& name : *names) ::unlink(JoinPath(path_, name).c_str());
  }
  ::rmdir(path_.c_str());
  ::rmdir(parent_.c_str());  // fails while another import is at work: fine
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
