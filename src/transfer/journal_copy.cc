#include "transfer/journal_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "journal/directory.h"
#include "journal/liveness.h"

namespace headway::transfer {
namespace {

using journal::kHeaderBytes;
using journal::kSlotBytes;
using journal::Slot;
using journal::SlotOffset;

constexpr std::uint64_t kBlockSlots = 2048;

}  // namespace

JournalCopy::JournalCopy(Source source, journal::PlaceRules rules)
    : source_(std::move(source)),
      rules_(std::move(rules)),
      path_(JoinPath(journal::RunDirectory(source_.header.destination, source_.header.project,
                                           source_.header.run),
                     source_.name())),
      salt_(journal::SaltOf(source_.header.uid)) {}

Result<bool> JournalCopy::Update() {
  // Life first, then the file: what a dead writer has left is all there then.
  const std::optional<Noted> noted = std::exchange(noted_, std::nullopt);
  const Liveness liveness =
      noted ? noted->liveness : journal::ProbeLiveness(source_.fd.get(), source_.header);
  quiet_ = liveness != Liveness::kAlive;
  const bool all = liveness == Liveness::kDead;
  if (const Status status = Bring(all, noted ? noted->end : limits::kJournalRecords);
      !status.ok()) {
    Forget();
    return status;
  }
  return all;
}

Status JournalCopy::NoteEnd() {
  noted_.reset();
  Noted noted = {journal::ProbeLiveness(source_.fd.get(), source_.header), end_};
  std::vector<Slot> block(kBlockSlots);
  for (std::uint64_t at = end_; at - noted.end <= kQuietSlots;) {
    const Result<std::size_t> got = ReadAt(source_.fd.get(), block.data(), kBlockSlots * kSlotBytes,
                                           SlotOffset(at), source_.path);
    if (!got.ok()) return got.status();
    const std::uint64_t count = *got / kSlotBytes;
    if (count == 0) break;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (journal::IsFinished(block[i], salt_, at + i)) noted.end = at + i + 1;
    }
    at += count;
  }
  // Then nothing is added any more.
  if (noted.liveness == Liveness::kDead) noted.end = limits::kJournalRecords;
  noted_ = noted;
  return OkStatus();
}

Status JournalCopy::Bring(bool all, std::uint64_t limit) {
  HEADWAY_RETURN_IF_ERROR(Reach());
  HEADWAY_RETURN_IF_ERROR(CopyDrops());
  for (const Gap& gap : std::exchange(gaps_, {})) {
    const Result<std::uint64_t> filled = Scan(gap.begin, gap.end, all, false);
    if (!filled.ok()) return filled.status();
    if (*filled < gap.end) gaps_.push_back({*filled, gap.end});
  }
  const Result<std::uint64_t> size = FileSize(source_.fd.get(), source_.path);
  if (!size.ok()) return size.status();
  const std::uint64_t slots = *size <= kHeaderBytes ? 0 : (*size - kHeaderBytes) / kSlotBytes;
  const Result<std::uint64_t> end = Scan(end_, std::min(slots, limit), all, true);
  if (!end.ok()) return end.status();
  end_ = *end;
  if (all && *size > SlotOffset(slots)) {  // a part of a slot
    std::array<std::byte, kSlotBytes> part = {};
    const Result<std::size_t> got = ReadAt(source_.fd.get(), part.data(), *size - SlotOffset(slots),
                                           SlotOffset(slots), source_.path);
    if (!got.ok()) return got.status();
    HEADWAY_RETURN_IF_ERROR(WriteBytes(part.data(), *got, SlotOffset(slots)));
  }
  compare_ = false;
  if (unsynced_ && ::fdatasync(fd_.get()) != 0) {
    distrust_ = true;
    return ErrnoStatus(errno, "write", path_);
  }
  unsynced_ = distrust_ = false;
  return OkStatus();
}

// Opens the copy, or makes sure that the open one still is the file of its name.
Status JournalCopy::Reach() {
  const std::string name = source_.name();
  if (fd_.ok()) {
    struct stat ours;
    struct stat there;
    if (::fstat(fd_.get(), &ours) == 0 &&
        ::fstatat(directory_.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) {
      return OkStatus();
    }
    Forget();
  }
  // Where nothing is mounted any more, files would end up below the mount point.
  const std::string& destination = source_.header.destination;
  if (journal::ExaminePlace(destination, rules_) != journal::Placement::kNetwork) {
    return {Code::kFailedPrecondition,
            destination + " is on no network file system any more (is it mounted?)"};
  }
  Result<UniqueFd> directory =
      journal::MakeRunDirectory(destination, source_.header.project, source_.header.run);
  if (!directory.ok()) return directory.status();
  directory_ = *std::move(directory);
  fd_ = OpenFileAt(directory_.get(), name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  compare_ = fd_.ok() && !distrust_;
  if (fd_.ok()) return CheckHeader();
  if (errno != ENOENT) return ErrnoStatus(errno, "open", path_);
  return Create();
}

// The header goes into a file aside, which then takes the name.
Status JournalCopy::Create() {
  const std::string name = source_.name();
  const std::string aside = "." + ToHex(source_.header.uid) + ".tmp";
  ::unlinkat(directory_.get(), aside.c_str(), 0);  // of someone who was killed here
  fd_ = OpenFileAt(directory_.get(), aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd_.ok()) return ErrnoStatus(errno, "create", path_);
  Status status = WriteBytes(source_.bytes.data(), source_.bytes.size(), 0);
  if (status.ok() && ::fsync(fd_.get()) != 0) status = ErrnoStatus(errno, "write", path_);
  if (status.ok() &&
      ::renameat(directory_.get(), aside.c_str(), directory_.get(), name.c_str()) != 0) {
    status = ErrnoStatus(errno, "create", path_);
  }
  if (!status.ok()) ::unlinkat(directory_.get(), aside.c_str(), 0);
  return status;
}

Status JournalCopy::CheckHeader() {
  struct stat info;
  if (::fstat(fd_.get(), &info) != 0) return ErrnoStatus(errno, "examine", path_);
  std::array<std::byte, kHeaderBytes> there;
  if (S_ISREG(info.st_mode)) {
    const Result<std::size_t> got = ReadAt(fd_.get(), there.data(), there.size(), 0, path_);
    if (!got.ok()) return got.status();
    if (*got == there.size() &&
        std::memcmp(there.data(), source_.bytes.data(), journal::kLiveOffset) == 0) {
      return OkStatus();
    }
  }
  return {Code::kAlreadyExists, path_ + " is there and is no copy of " + source_.path +
                                    "; remove it, and the copy is made"};
}

Status JournalCopy::CopyDrops() {
  std::array<std::byte, 24> now;
  static_assert(journal::kLiveLastDropOffset + 8 - journal::kLiveDroppedOffset == sizeof now);
  const Result<std::size_t> got =
      ReadAt(source_.fd.get(), now.data(), now.size(), journal::kLiveDroppedOffset, source_.path);
  if (!got.ok()) return got.status();
  if (*got < now.size() || drops_ == now) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(WriteBytes(now.data(), now.size(), journal::kLiveDroppedOffset));
  drops_ = now;
  return OkStatus();
}

// Copies what is finished (`all`: what is not zero) in slots [begin, end), notes gaps before it,
// and returns the index behind the last slot that it copied. `tail`: behind `end` nothing is known.
Result<std::uint64_t> JournalCopy::Scan(std::uint64_t begin, std::uint64_t end, bool all,
                                        bool tail) {
  std::vector<Slot> block(kBlockSlots);
  std::uint64_t copied = begin;
  for (std::uint64_t at = begin; at < end;) {
    const Result<std::size_t> got =
        ReadAt(source_.fd.get(), block.data(), std::min(kBlockSlots, end - at) * kSlotBytes,
               SlotOffset(at), source_.path);
    if (!got.ok()) return got.status();
    const std::uint64_t count = *got / kSlotBytes;
    if (count == 0) break;
    const auto wanted = [&](std::uint64_t i) {
      return all ? !IsZero(block[i]) : journal::IsFinished(block[i], salt_, at + i);
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!wanted(i)) continue;
      std::uint64_t stop = i + 1;
      while (stop < count && wanted(stop)) ++stop;
      HEADWAY_RETURN_IF_ERROR(WriteBytes(reinterpret_cast<const std::byte*>(&block[i]),
                                         (stop - i) * kSlotBytes, SlotOffset(at + i)));
      if (copied < at + i) gaps_.push_back({copied, at + i});
      copied = at + stop;
      i = stop;
    }
    at += count;
    if (tail && !all && at - copied > kQuietSlots) break;
  }
  return copied;
}

Status JournalCopy::WriteBytes(const std::byte* data, std::size_t size, std::uint64_t offset) {
  if (compare_) {
    std::vector<std::byte> there(size);
    const Result<std::size_t> got = ReadAt(fd_.get(), there.data(), size, offset, path_);
    if (!got.ok()) return got.status();
    if (*got == size && std::memcmp(there.data(), data, size) == 0) return OkStatus();
  }
  unsynced_ = true;
  while (size > 0) {
    const ssize_t wrote = ::pwrite(fd_.get(), data, size, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return ErrnoStatus(wrote < 0 ? errno : ENOSPC, "write", path_);
    data += wrote;
    size -= static_cast<std::size_t>(wrote);
    offset += static_cast<std::uint64_t>(wrote);
  }
  return OkStatus();
}

void JournalCopy::Forget() {
  fd_.Reset();
  directory_.Reset();
  end_ = 0;
  gaps_.clear();
  drops_.reset();
  unsynced_ = false;
}

}  // namespace headway::transfer
