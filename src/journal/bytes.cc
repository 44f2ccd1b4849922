#include "journal/bytes.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "journal/liveness.h"

namespace headway::journal {
namespace {

class FileBytes : public JournalBytes {
 public:
  FileBytes(std::string path, UniqueFd fd, const struct stat& file)
      : path_(std::move(path)), fd_(std::move(fd)), file_(file) {}

  Result<std::uint64_t> Size() override {
    const Result<int> fd = File();
    if (!fd.ok()) return fd.status();
    return FileSize(*fd, path_);
  }

  Result<std::size_t> ReadAt(void* data, std::size_t size, std::uint64_t offset) override {
    const Result<int> fd = File();
    if (!fd.ok()) return fd.status();
    return headway::ReadAt(*fd, data, size, offset, path_);
  }

  Result<Liveness> Probe(const Header& header) override {
    const Result<int> fd = File();
    if (!fd.ok()) return fd.status();
    return ProbeLiveness(*fd, header);
  }

  void Release() override { fd_.Reset(); }

 private:
  // The open file; it is opened again after a Release.
  Result<int> File() {
    if (fd_.ok()) return fd_.get();
    Result<UniqueFd> again = OpenForReading(path_);
    if (!again.ok()) return again.status();
    struct stat found {};
    if (::fstat(again->get(), &found) != 0 || found.st_ino != file_.st_ino ||
        found.st_dev != file_.st_dev) {
      return Status(Code::kUnavailable, path_ + " was replaced while it was being read");
    }
    fd_ = *std::move(again);
    return fd_.get();
  }

  std::string path_;
  UniqueFd fd_;       // none while it is released
  struct stat file_;  // which file it is
};

}  // namespace

Result<std::unique_ptr<JournalBytes>> OpenJournalFile(const std::string& path) {
  Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return fd.status();
  struct stat file {};
  if (::fstat(fd->get(), &file) != 0) return ErrnoStatus(errno, "examine", path);
  return std::unique_ptr<JournalBytes>(new FileBytes(path, *std::move(fd), file));
}

}  // namespace headway::journal
