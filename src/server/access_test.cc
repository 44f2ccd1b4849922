#include "server/access.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/files.h"
#include "base/test_scratch_dir.h"

namespace headway::server {
namespace {

HttpRequest With(const std::string& authorization) {
  HttpRequest head;
  if (!authorization.empty()) head.headers.emplace_back("authorization", authorization);
  return head;
}

std::string Contents(const std::string& path) {
  std::string text(1000, '\0');
  const Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return {};
  text.resize(ReadAt(fd->get(), text.data(), text.size(), 0, path).value());
  return text;
}

void Write(const std::string& path, const std::string& text, mode_t mode = 0600) {
  const UniqueFd fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ASSERT_TRUE(fd.ok());
  ASSERT_TRUE(WriteAll(fd.get(), text, path).ok());
  ASSERT_EQ(::fchmod(fd.get(), mode), 0);
}

TEST(Access, MakesATokenAndKeepsIt) {
  const ScratchDir dir;
  const std::string path = JoinPath(dir.path(), "token");
  const Result<Access> first = Access::WithTokenFile(path);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(ListDirectory(dir.path())->size(), 1u);
  std::string token = Contents(path);
  ASSERT_EQ(token.back(), '\n');
  token.pop_back();
  EXPECT_EQ(token.size(), 3u + 64);
  const Result<Access> again = Access::WithTokenFile(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Contents(path), token + "\n");
  for (const Access* access : {&*first, &*again}) {
    EXPECT_EQ(access->Authenticate(With("Bearer " + token))->name, "admin");
    EXPECT_TRUE(access->Authenticate(With("bearer " + token)).ok());
    for (const std::string& wrong :
         {std::string(), std::string("Bearer"), std::string("Bearer "), "Bearer " + token + " ",
          "Bearer  " + token, "Bearer " + token.substr(1), "Bearer " + token + "0",
          "Basic " + token, token, std::string("Bearer \0", 8)}) {
      EXPECT_EQ(access->Authenticate(With(wrong)).status().code(), Code::kUnauthenticated) << wrong;
    }
  }
  const ScratchDir other;
  ASSERT_TRUE(Access::WithTokenFile(JoinPath(other.path(), "token")).ok());
  EXPECT_NE(Contents(JoinPath(other.path(), "token")), token + "\n");
}

TEST(Access, EveryBitOfTheTokenCounts) {
  const ScratchDir dir;
  const std::string path = JoinPath(dir.path(), "token");
  const Result<Access> access = Access::WithTokenFile(path);
  ASSERT_TRUE(access.ok());
  std::string token = Contents(path);
  token.pop_back();
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = token;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(access->Authenticate(With("Bearer " + changed)).ok()) << i << "." << bit;
    }
  }
}

TEST(Access, RefusesFilesThatOthersRead) {
  const ScratchDir dir;
  const std::string path = JoinPath(dir.path(), "token");
  const std::string token(40, 'x');
  for (const mode_t mode : {0640, 0604, 0660, 0644}) {
    Write(path, token, mode);
    EXPECT_EQ(Access::WithTokenFile(path).status().code(), Code::kPermissionDenied) << mode;
  }
  Write(path, token);
  EXPECT_TRUE(Access::WithTokenFile(path)->Authenticate(With("Bearer " + token)).ok());
  for (const std::string& text : {std::string(), std::string("short"), std::string(257, 'x')}) {
    Write(path, text);
    EXPECT_EQ(Access::WithTokenFile(path).status().code(), Code::kDataLoss) << text.size();
  }
  const std::string link = JoinPath(dir.path(), "link");
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(Access::WithTokenFile(link).ok());
  EXPECT_FALSE(Access::WithTokenFile(dir.path()).ok());
}

TEST(Access, OpenIsForEverybody) {
  EXPECT_TRUE(Access::Open().Authenticate(With("")).ok());
  EXPECT_TRUE(Access::Open().Authenticate(With("Bearer x")).ok());
}

}  // namespace
}  // namespace headway::server
