#include "server/access.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/files.h"
#include "base/sha256.h"
#include "base/uid.h"

namespace headway::server {
namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr std::size_t kTokenBytesMost = 256;

Result<std::string> ReadToken(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "examine", path);
  if ((info.st_mode & 077) != 0 || info.st_uid != ::geteuid()) {
    return Status(Code::kPermissionDenied,
                  path +
                      " holds the administrator's token, and others may read it: chmod 600, or "
                      "remove it, and a new one is made");
  }
  std::string token(kTokenBytesMost + 1, '\0');
  const Result<std::size_t> got = ReadAt(fd, token.data(), token.size(), 0, path);
  if (!got.ok()) return got.status();
  token.resize(*got);
  while (!token.empty() && (token.back() == '\n' || token.back() == ' ')) token.pop_back();
  if (token.size() < 32 || token.size() > kTokenBytesMost) {
    return Status(Code::kDataLoss, path + " holds no token (32 to " +
                                       std::to_string(kTokenBytesMost) +
                                       " characters): remove it, and a new one is made");
  }
  return token;
}

// Under its name once it is whole: a start that was cut off leaves no half token.
Result<std::string> CreateToken(const std::string& path) {
  const std::string token = MakeSecret();
  const std::string aside = path + "." + ToHex(RandomUid<BasicUid<struct AsideTag>>());
  UniqueFd fd = OpenFile(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) return ErrnoStatus(errno, "create", aside);
  Status status = WriteAll(fd.get(), token + "\n", aside);
  if (status.ok() && ::fsync(fd.get()) != 0) status = ErrnoStatus(errno, "write", aside);
  // Not over one that another start has made meanwhile.
  if (status.ok() && ::link(aside.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "create", path);
  }
  ::unlink(aside.c_str());
  if (!status.ok()) return status;
  return token;
}

}  // namespace

Access Access::Open() { return {}; }

Result<Access> Access::WithTokenFile(const std::string& path) {
  UniqueFd fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok() && errno != ENOENT) return ErrnoStatus(errno, "open", path);
  const Result<std::string> token = fd.ok() ? ReadToken(fd.get(), path) : CreateToken(path);
  if (!token.ok()) return token.status();
  Access access;
  access.token_hash_ = Sha256(*token);
  return access;
}

Result<Caller> Access::Authenticate(const HttpRequest& head) const {
  const auto all = [](const char* name) {
    Caller caller;
    caller.name = caller.role = name;
    caller.permissions = Permissions::All();
    return caller;
  };
  if (!token_hash_) return all("anyone");
  const std::string_view value = head.Header("authorization");
  const bool bearer = value.size() > kBearer.size() &&
                      ::strncasecmp(value.data(), kBearer.data(), kBearer.size()) == 0;
  if (!bearer) {
    return Status(Code::kUnauthenticated, "this server wants a token: Authorization: Bearer TOKEN");
  }
  const auto hash = Sha256(value.substr(kBearer.size()));
  unsigned difference = 0;
  for (std::size_t i = 0; i < hash.size(); ++i) difference |= hash[i] ^ (*token_hash_)[i];
  if (difference == 0) return all("admin");
  if (tokens_ != nullptr) {
    Result<std::optional<Caller>> caller = tokens_->Find(hash);
    if (!caller.ok()) return caller.status();
    if (*caller) return **std::move(caller);
  }
  if (links_ != nullptr) {
    Result<std::optional<Caller>> caller = links_->Find(hash);
    if (!caller.ok()) return caller.status();
    if (*caller) return **std::move(caller);
  }
  return Status(Code::kUnauthenticated, "this server does not know the token");
}

}  // namespace headway::server
