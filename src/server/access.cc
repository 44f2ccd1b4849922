#include "server/access.h"

#include <fcntl.h>
#include <strings.h>

#include <cerrno>
#include <string_view>

#include "base/files.h"
#include "base/sha256.h"
#include "server/private_file.h"

namespace headway::server {
namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr std::size_t kTokenBytesMost = 256;

Result<std::string> ReadToken(int fd, const std::string& path) {
  HEADWAY_RETURN_IF_ERROR(CheckPrivate(fd, path, "holds the administrator's token"));
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

Result<std::string> CreateToken(const std::string& path) {
  const std::string token = MakeSecret();
  HEADWAY_RETURN_IF_ERROR(CreatePrivateFile(path, token + "\n"));
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
