#include "monitor/object_uploader.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/uid.h"

namespace headway::monitor {
namespace {

constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 30;
constexpr std::int64_t kHopelessPauseNs = 300 * kNanosPerSecond;

// The same for the same file of this machine, also in a later process.
std::string WriterOf(const std::string& file) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  return uid_internal::ToHex(uid_internal::Derive(
      std::string(host.data()) + '\0' + (error ? file : whole.lexically_normal().string())));
}

}  // namespace

Result<std::unique_ptr<ObjectUploader>> ObjectUploader::Open(const std::string& file,
                                                             const std::string& url,
                                                             net::GoogleAuth* google,
                                                             net::HttpClient* http,
                                                             const Clock* clock) {
  Result<std::unique_ptr<net::RemoteObject>> object =
      net::OpenObject(url, {.writer = WriterOf(file)}, google, http, clock);
  HEADWAY_RETURN_IF_ERROR(object.status());
  return std::unique_ptr<ObjectUploader>(new ObjectUploader(file, url, *std::move(object), clock));
}

Status ObjectUploader::Deliver(MonoNs deadline) {
  struct stat info;
  if (::stat(file_.c_str(), &info) == 0 ? VersionOf(info) == put_ : errno == ENOENT) {
    return OkStatus();
  }
  while (true) {
    const MonoNs now = clock_->Mono();
    if (now >= deadline || pause_.next() >= deadline) {
      return waits_for_.ok() ? Status(Code::kUnavailable, "no time is left to put " + url_)
                             : waits_for_;
    }
    if (pause_.next() > now) {
      const std::int64_t ns = pause_.next() - now;
      if (wait_ == nullptr) {
        ::poll(nullptr, 0, static_cast<int>(ns / 1'000'000 + 1));
      } else if (!wait_(ns)) {
        return waits_for_;
      }
    }
    waits_for_ = PutOnce(deadline);
    if (waits_for_.ok()) {
      pause_.Succeeded();
      return waits_for_;
    }
    const bool hopeless = waits_for_.code() != Code::kUnavailable;
    pause_.Failed(hopeless ? std::optional(kHopelessPauseNs) : std::nullopt);
  }
}

ObjectUploader::Version ObjectUploader::VersionOf(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_ino), static_cast<std::uint64_t>(info.st_size),
          static_cast<std::int64_t>(info.st_mtim.tv_sec) * kNanosPerSecond + info.st_mtim.tv_nsec};
}

Status ObjectUploader::Finish(MonoNs deadline) {
  pause_.Succeeded();
  return Deliver(deadline);
}

Status ObjectUploader::PutOnce(MonoNs deadline) {
  const Result<UniqueFd> fd = OpenForReading(file_);
  if (!fd.ok() && fd.status().code() == Code::kNotFound) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(fd.status());
  struct stat info;
  if (::fstat(fd->get(), &info) != 0) return ErrnoStatus(errno, "examine", file_);
  const Version version = VersionOf(info);
  if (version.bytes > kFileBytes) {
    return {Code::kResourceExhausted, file_ + " is larger than 1 GiB and isn't put to " + url_};
  }
  std::string data(version.bytes, '\0');
  const Result<std::size_t> got = ReadAt(fd->get(), data.data(), data.size(), 0, file_);
  HEADWAY_RETURN_IF_ERROR(got.status());
  data.resize(*got);
  HEADWAY_RETURN_IF_ERROR(object_->Put(data, deadline));
  put_ = version;
  return OkStatus();
}

}  // namespace headway::monitor
