#include "monitor/outbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/crc32c.h"

namespace headway::monitor {
namespace {

constexpr std::string_view kMagic = "headway-outbox-1 ";
constexpr std::size_t kHeaderBytes = kMagic.size() + 9;  // eight digits of CRC-32C, end of line
constexpr std::string_view kSuffix = ".body";
constexpr std::string_view kLockFile = "lock";

std::string HeaderOf(std::string_view body) {
  std::array<char, 10> crc{};
  std::snprintf(crc.data(), crc.size(), "%08x\n", Crc32c(body.data(), body.size()));
  return std::string(kMagic).append(crc.data());
}

// "NUMBER-TIME.body", digits of one length, so that names sort like numbers.
std::string NameOf(std::uint64_t number, WallNs time) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%020llu-%020lld.body",
                static_cast<unsigned long long>(number),
                static_cast<long long>(std::max<std::int64_t>(time.ns, 0)));
  return name.data();
}

template <typename Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool Wait(std::int64_t ns) {
  ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(ns / 1'000'000 + 1, 1 << 30)));
  return true;
}

}  // namespace

Outbox::Outbox(std::string directory, const Clock* clock, const OutboxLimits& limits, UniqueFd lock)
    : directory_(std::move(directory)),
      clock_(clock),
      limits_(limits),
      lock_(std::move(lock)),
      pause_(clock),
      wait_(&Wait) {}

Result<UniqueFd> Outbox::Lock(const std::string& directory) {
  if (const std::size_t slash = directory.rfind('/'); slash != std::string::npos && slash > 0) {
    HEADWAY_RETURN_IF_ERROR(MakeDirectories(directory.substr(0, slash)));
  }
  HEADWAY_RETURN_IF_ERROR(MakePrivateDirectory(directory));
  const std::string path = JoinPath(directory, kLockFile);
  UniqueFd lock = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.ok()) return ErrnoStatus(errno, "open", path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock", path);  // some disks can't
    return Status(Code::kFailedPrecondition, "another process sends what is in " + directory +
                                                 "; end it, or give this one another directory");
  }
  return lock;
}

Result<Outbox> Outbox::Open(const std::string& directory, const Clock* clock,
                            const OutboxLimits& limits) {
  Result<UniqueFd> lock = Lock(directory);
  HEADWAY_RETURN_IF_ERROR(lock.status());
  Outbox outbox(directory, clock, limits, *std::move(lock));
  HEADWAY_RETURN_IF_ERROR(outbox.Scan());
  return outbox;
}

// Without the file that it has locked another process could take the directory, too.
Status Outbox::LockAgainIfRemoved() {
  if (IsAt(lock_.get(), JoinPath(directory_, kLockFile))) return OkStatus();
  Result<UniqueFd> lock = Lock(directory_);
  HEADWAY_RETURN_IF_ERROR(lock.status());
  lock_ = *std::move(lock);
  return OkStatus();
}

Status Outbox::Scan() {
  const Result<std::vector<std::string>> names = ListDirectory(directory_);
  HEADWAY_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory_, name);
    File file;
    const std::size_t dash = name.find('-');
    struct stat info;
    if (!name.ends_with(kSuffix)) {
      if (name.ends_with(".part")) ::unlink(path.c_str());  // its writer was killed
      continue;
    }
    const std::string_view stem = std::string_view(name).substr(0, name.size() - kSuffix.size());
    if (dash == std::string::npos || !Parse(stem.substr(0, dash), &file.number) ||
        !Parse(stem.substr(dash + 1), &file.time.ns) || NameOf(file.number, file.time) != name ||
        file.number >= UINT64_MAX / 2 || ::lstat(path.c_str(), &info) != 0) {
      continue;  // none of ours
    }
    file.bytes = static_cast<std::uint64_t>(info.st_size);
    file.maybe_sent = true;
    bytes_ += file.bytes;
    next_number_ = std::max(next_number_, file.number + 1);
    files_.push_back(file);  // names come sorted
  }
  MakeRoom(0);
  return OkStatus();
}

std::string Outbox::PathOf(const File& file) const {
  return JoinPath(directory_, NameOf(file.number, file.time));
}

void Outbox::DropFront() {
  ::unlink(PathOf(files_.front()).c_str());
  bytes_ -= files_.front().bytes;
  files_.pop_front();
}

void Outbox::DropOld() {
  const WallNs now = clock_->Wall();
  while (!files_.empty() && now - files_.front().time > limits_.age_ns) {
    DropFront();
    ++losses_.old;
  }
}

void Outbox::MakeRoom(std::uint64_t bytes) {
  DropOld();
  while (!files_.empty() &&
         (bytes_ + bytes > limits_.bytes || files_.size() + (bytes > 0 ? 1 : 0) > limits_.bodies)) {
    DropFront();
    ++losses_.full;
  }
}

Status Outbox::Add(std::string_view body) {
  const std::uint64_t bytes = kHeaderBytes + body.size();
  if (bytes > limits_.bytes) {
    ++losses_.full;
    return {Code::kResourceExhausted,
            "a request of " + std::to_string(body.size()) + " bytes has no room in " + directory_};
  }
  HEADWAY_RETURN_IF_ERROR(LockAgainIfRemoved());
  MakeRoom(bytes);
  const File file{next_number_, clock_->Wall(), bytes, false};
  HEADWAY_RETURN_IF_ERROR(Write(file, body));
  ++next_number_;
  bytes_ += bytes;
  files_.push_back(file);
  return OkStatus();
}

Status Outbox::Write(const File& file, std::string_view body) const {
  const std::string path = PathOf(file);
  const std::string part = JoinPath(directory_, std::to_string(file.number) + ".part");
  std::string text = HeaderOf(body);
  text += body;
  UniqueFd fd = OpenFile(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!fd.ok()) return ErrnoStatus(errno, "write", part);
  int error = MayGrowTo(text.size()) ? 0 : EFBIG;
  for (std::size_t done = 0; error == 0 && done < text.size();) {
    const ssize_t wrote = ::write(fd.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) error = errno;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  if (error == 0 && ::rename(part.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return OkStatus();
  ::unlink(part.c_str());
  return ErrnoStatus(error, "write", part);
}

// DataLoss: it is not what was written.
Result<std::string> Outbox::Read(const File& file) const {
  const std::string path = PathOf(file);
  const Result<UniqueFd> fd = OpenForReading(path);
  HEADWAY_RETURN_IF_ERROR(fd.status());
  const Result<std::uint64_t> size = FileSize(fd->get(), path);
  HEADWAY_RETURN_IF_ERROR(size.status());
  const Status damaged(Code::kDataLoss, path + " is damaged; what it held is not sent");
  if (*size < kHeaderBytes || *size > limits_.bytes) return damaged;
  std::string text(*size, '\0');
  const Result<std::size_t> got = ReadAt(fd->get(), text.data(), text.size(), 0, path);
  HEADWAY_RETURN_IF_ERROR(got.status());
  text.resize(*got);
  if (text.size() < kHeaderBytes ||
      HeaderOf(std::string_view(text).substr(kHeaderBytes)) != text.substr(0, kHeaderBytes)) {
    return damaged;
  }
  return text.substr(kHeaderBytes);
}

Status Outbox::Deliver(const std::function<Delivery(const OutboxBody&, MonoNs)>& send,
                       MonoNs deadline) {
  Status first;  // reason why something has not arrived
  const auto note = [&first](Status status) {
    if (first.ok()) first = std::move(status);
  };
  while (true) {
    DropOld();
    if (files_.empty()) return first;
    const MonoNs now = clock_->Mono();
    if (now >= deadline || pause_.next() >= deadline) {
      note(waits_for_.ok() ? Status(Code::kUnavailable, std::to_string(files_.size()) +
                                                            " requests wait in " + directory_)
                           : waits_for_);
      return first;
    }
    if (pause_.next() > now) {
      if (wait_(pause_.next() - now)) continue;
      note(waits_for_);
      return first;
    }
    const Result<std::string> body = Read(files_.front());
    if (!body.ok()) {
      note(body.status());
      if (body.status().code() == Code::kResourceExhausted) return first;  // of this process
      DropFront();
      ++losses_.damaged;
      continue;
    }
    Delivery delivery = send({*body, files_.front().maybe_sent}, deadline);
    if (delivery.fate == Delivery::Fate::kLater) {
      files_.front().maybe_sent = true;
      pause_.Failed(delivery.retry_after_ns);
      // A try that the deadline has cut off says less than the answer to an earlier one.
      if (waits_for_.ok() || clock_->Mono() < deadline) waits_for_ = std::move(delivery.status);
      continue;
    }
    if (delivery.fate == Delivery::Fate::kRefused) {
      note(std::move(delivery.status));
      ++losses_.refused;
    }
    pause_.Succeeded();
    waits_for_ = {};
    DropFront();
  }
}

}  // namespace headway::monitor
