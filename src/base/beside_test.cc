#include "base/beside.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>

namespace headway {
namespace {

// All that comes from the program until it ends.
std::string Read(const UniqueFd& control) {
  std::string text;
  std::array<char, 4096> buffer;
  pollfd ready = {control.get(), POLLIN, 0};
  while (::poll(&ready, 1, 10'000) > 0) {
    const ssize_t got = ::read(control.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<Beside> Shell(const std::string& script) {
  return StartBeside("/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin", "A=b c"});
}

TEST(BesideTest, HasOnlyWhatItIsGiven) {
  std::array<int, 2> left_open;  // and inherited by whoever is started carelessly
  ASSERT_EQ(::pipe(left_open.data()), 0);
  auto beside = Shell(
      "exec >&3; ls /proc/$$/fd; readlink /proc/$$/fd/0; env | grep -v PWD | sort; "
      "grep -E '^Sig(Blk|Ign)' /proc/$$/status | grep -o '.......$'");
  ASSERT_TRUE(beside.ok()) << beside.status().ToString();
  EXPECT_EQ(Read(beside->control),
            "0\n1\n2\n3\n/dev/null\nA=b c\nPATH=/usr/bin:/bin\n"
            "0000000\n0000000\n");  // signals above 28: libc's own are among them
  ::close(left_open[0]);
  ::close(left_open[1]);
}

std::atomic<int> children_told{0};

TEST(BesideTest, IsNoChild) {
  ::signal(SIGCHLD, [](int) { ++children_told; });
  auto beside = Shell("sleep 0.1");
  ASSERT_TRUE(beside.ok()) << beside.status().ToString();
  EXPECT_GT(beside->pid, 1);
  EXPECT_EQ(::getpgid(beside->pid), beside->pid);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(Read(beside->control), "");  // its end
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(children_told, 0);
  ::signal(SIGCHLD, SIG_DFL);
}

TEST(BesideTest, SaysWhyItCannotStart) {
  const auto missing = StartBeside("/no/such/program", {}, {});
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().message().find("/no/such/program"), std::string::npos);
  EXPECT_EQ(StartBeside("/etc/passwd", {}, {}).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace headway
