#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/files.h"
#include "base/names.h"
#include "base/sha256.h"
#include "base/test_scratch_dir.h"
#include "base/uid.h"
#include "base/utf8.h"

namespace headway {
namespace {

class FilesTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name)) << text;
  }

  const ScratchDir scratch_;
  const std::string& dir_ = scratch_.path();
};

TEST(ClockTest, FakeClockMovesOnlyWhenTold) {
  FakeClock clock(WallNs{100}, MonoNs{7});
  clock.Advance(5);
  clock.StepWall(-50);
  EXPECT_EQ(clock.Wall(), WallNs{55});
  EXPECT_EQ(clock.Mono(), MonoNs{12});
  const ClockAnchor anchor = TakeAnchor(clock);
  EXPECT_EQ(anchor.wall, WallNs{55});
  EXPECT_EQ(anchor.mono, MonoNs{12});
}

TEST(ClockTest, SystemClockGoesForward) {
  const MonoNs a = SystemClock::MonoNow();
  const MonoNs b = SystemClock::Get().Mono();
  EXPECT_LE(a, b);
  EXPECT_GT(SystemClock::WallNow().ns, 1'600'000'000 * kNanosPerSecond);
}

TEST(Crc32cTest, KnownValues) {
  // RFC 3720, appendix B.4.
  const std::string zeros(32, '\0');
  const std::string ones(32, '\xff');
  std::string rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<char>(i));
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  const std::string_view digits = "123456789";
  for (std::size_t i = 0; i <= digits.size(); ++i) {
    const std::string_view b = digits.substr(i);
    EXPECT_EQ(Crc32cOfBoth(Crc32c(digits.data(), i), Crc32c(b.data(), b.size()), b.size()),
              0xe3069283u);
  }
  const std::string many(1'000'003, 'x');
  EXPECT_EQ(Crc32cOfBoth(Crc32c(many.data(), 3), Crc32c(many.data(), 1'000'000), 1'000'000),
            Crc32c(many.data(), many.size()));
  EXPECT_EQ(Crc32c(zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(Crc32c(ones.data(), 32), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(rising.data(), 32), 0x46dd794eu);
  EXPECT_EQ(Crc32c("", 0), 0u);
}

TEST(Crc32cTest, InstructionAndTableAgree) {
  std::string data;
  for (int i = 0; i < 300; ++i) data.push_back(static_cast<char>(i * 37 + i / 7));
  for (std::size_t size = 0; size < data.size(); ++size) {
    EXPECT_EQ(Crc32c(data.data(), size), ~crc32c_internal::ExtendTable(~0u, data.data(), size));
    const std::uint32_t half = Crc32c(data.data(), size / 2);
    EXPECT_EQ(Crc32c(data.data() + size / 2, size - size / 2, half), Crc32c(data.data(), size));
  }
  const std::uint32_t fast = Crc32cWords(5, 1, 2, 3, 4);
  const bool before = crc32c_internal::has_instruction;
  crc32c_internal::has_instruction = false;
  EXPECT_EQ(Crc32cWords(5, 1, 2, 3, 4), fast);
  crc32c_internal::has_instruction = before;
}

TEST(Sha256Test, KnownValues) {
  const auto hex = [](std::string_view data) {
    std::string out;
    for (const std::uint8_t byte : Sha256(data)) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", byte);
      out += digits;
    }
    return out;
  };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1000, 'a')),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

TEST(UidTest, RandomDerivedAndText) {
  const auto a = RandomUid<RunUid>();
  EXPECT_NE(a, RandomUid<RunUid>());
  EXPECT_FALSE(a.IsNil());
  EXPECT_EQ(a.bytes[6] >> 4, 4);
  EXPECT_EQ(*ParseUid<RunUid>(ToHex(a)), a);
  const auto derived = DeriveUid<RunUid>("x");
  EXPECT_EQ(derived, DeriveUid<RunUid>("x"));
  EXPECT_NE(derived, DeriveUid<RunUid>("y"));
  EXPECT_EQ(derived.bytes[6] >> 4, 8);
  EXPECT_EQ(ToHex(*ParseUid<RunUid>("00112233-4455-6677-8899-AABBCCDDEEFF")),
            "00112233445566778899aabbccddeeff");
  for (const char* text :
       {"", "00", "0011223344556677889 aabbccddeeff", "g0112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddeeff0"}) {
    EXPECT_EQ(ParseUid<RunUid>(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(Utf8Test, ValidityAndCutting) {
  EXPECT_TRUE(IsValidUtf8("a\xc3\xa9\xf0\x9f\x98\x80"));
  EXPECT_FALSE(IsValidUtf8("\xc3"));
  EXPECT_EQ(ToValidUtf8("a\xff"
                        "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(TruncateUtf8("a\xc3\xa9"
                         "b",
                         2),
            "a");
  EXPECT_EQ(TruncateUtf8("a\xc3\xa9"
                         "b",
                         3),
            "a\xc3\xa9");
  EXPECT_EQ(TruncateUtf8("abc", 5), "abc");
}

TEST(PathComponentTest, EncodesEveryNameSafely) {
  const struct {
    std::string name;
    std::string component;
  } kCases[] = {
      {"llama-7b", "llama-7b"},
      {"v1.5", "v1.5"},
      {"", "%"},
      {".", "%2E"},
      {"..", "%2E."},
      {"../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"},
      {"/abs", "%2Fabs"},
      {"100%", "100%25"},
      {"a b", "a%20b"},
      {std::string("a\0b", 3), "a%00b"},
      {"\xc3\xa9", "%C3%A9"},
      {"*?<>|:\"\\", "%2A%3F%3C%3E%7C%3A%22%5C"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(MakePathComponent(c.name), c.component);
    EXPECT_EQ(ParsePathComponent(c.component), c.name);
  }
}

TEST(PathComponentTest, CutsLongNamesWithoutMixingThemUp) {
  const std::string a = MakePathComponent(std::string(300, 'x'));
  const std::string b = MakePathComponent(std::string(301, 'x'));
  EXPECT_LE(a.size(), limits::kPathComponentBytes);
  EXPECT_NE(a, b);
  EXPECT_EQ(ParsePathComponent(a), std::nullopt);
  const std::string accents = MakePathComponent(std::string(250, '\xc3'));
  EXPECT_LE(accents.size(), limits::kPathComponentBytes);
  EXPECT_EQ(accents.find("%~"), accents.size() - 34);
}

TEST(PathComponentTest, RefusesWhatItNeverMade) {
  for (const char* component : {"", ".", "..", ".git", "a/b", "%2e", "%", "%4", "%41", "a b"}) {
    if (std::string_view(component) == "%") continue;
    EXPECT_EQ(ParsePathComponent(component), std::nullopt) << component;
  }
}

TEST(NamesTest, NewNamesHoldNoControlCharacters) {
  for (const std::string& name : {std::string(), std::string("a/b ä\u00a0"), std::string("x%\\")}) {
    EXPECT_TRUE(CheckNewName("it", name).ok()) << name;
  }
  for (const std::string& name : {std::string("a\nb"), std::string("\x1b[m"), std::string("\0", 1),
                                  std::string("\x7f"), std::string("\u0085")}) {
    EXPECT_TRUE(CheckStoredName("it", name).ok());
    EXPECT_EQ(CheckNewName("it", name).message(), "it must not hold control characters");
  }
  EXPECT_EQ(CheckNewName("it", "\xff\xfe").message(), "it is not valid UTF-8");
  EXPECT_EQ(CheckNewName("it", std::string(257, 'x')).message(),
            "it has 257 bytes; at most 256 are allowed");
}

TEST(NamesTest, NewNamesHoldNothingInvisible) {
  // A word joiner, marks of direction, fillers, tags, separators: anywhere.
  for (const std::string character :
       {"\u00ad", "\u034f", "\u061c", "\u1160", "\u180e", "\u200b", "\u200e", "\u200f", "\u2028",
        "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\u3164", "\ufeff", "\ufff9",
        "\U000e0041", "\U000e01ef"}) {
    for (const std::string& name :
         {character, "ad" + character + "min", "admin" + character, "ä" + character + "ä"}) {
      EXPECT_TRUE(CheckStoredName("it", name).ok());
      EXPECT_EQ(CheckNewName("it", name).message(), "it must not hold invisible characters")
          << name;
    }
  }
  // What shapes other characters: beside those.
  for (const std::string name : {"می\u200cخواهم", "क्\u200dष", "👩\u200d🚀", "❤\ufe0f",
                                 "1\ufe0f\u20e3", "👩\u200d❤\ufe0f\u200d👩"}) {
    EXPECT_TRUE(CheckNewName("it", name).ok()) << name;
  }
  for (const std::string name : {"ad\u200dmin", "\u200cadmin", "admin\u200d", "admin\ufe0f",
                                 "\u200d", "ad\u200c\u200dmin", "1\ufe0f"}) {
    EXPECT_FALSE(CheckNewName("it", name).ok()) << name;
  }
}

TEST_F(FilesTest, OpeningSaysWhatIsWrong) {
  EXPECT_EQ(OpenForReading(Path("missing")).status().code(), Code::kNotFound);
  EXPECT_EQ(OpenForReading(dir_).status().code(), Code::kInvalidArgument);
  Write("a", "12345");
  char text[8] = {};
  const Result<UniqueFd> file = OpenForReading(Path("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*ReadAt(file->get(), text, sizeof text, 1, Path("a")), 4u);
  EXPECT_EQ(std::string_view(text), "2345");
  ASSERT_EQ(::symlink("a", Path("link").c_str()), 0);
  EXPECT_EQ(OpenForReading(Path("link")).status().code(), Code::kPermissionDenied);
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(OpenForReading(Path("fifo")).status().code(), Code::kInvalidArgument);
}

TEST_F(FilesTest, NoFileGetsTheNumberOfAStandardStream) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    const UniqueFd first = OpenFile(Path("a"), O_RDWR | O_CREAT, 0600);
    ::open("/dev/null", O_RDWR);  // the program's own: it gets 0
    const UniqueFd second = OpenFile(Path("a"), O_RDONLY);
    const Result<UniqueFd> directory = MakeAndOpenDirectory(dir_, {"b"});
    const bool high = first.get() > 2 && second.get() > 2 && directory.ok() && directory->get() > 2;
    const bool free = ::fcntl(1, F_GETFD) < 0 && ::fcntl(2, F_GETFD) < 0;
    const bool told = !OpenFile(Path("c"), O_RDONLY).ok() && errno == ENOENT;
    const bool kept = (::fcntl(second.get(), F_GETFD) & FD_CLOEXEC) != 0;
    ::_exit(high && free && told && kept ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST_F(FilesTest, MakesDirectoriesPrivately) {
  ASSERT_TRUE(MakeDirectories(Path("x/y/z")).ok());
  ASSERT_TRUE(MakeDirectories(Path("x/y/z")).ok());
  struct stat info;
  ASSERT_EQ(::stat(Path("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  Write("file", "");
  EXPECT_FALSE(MakeDirectories(Path("file/below")).ok());
}

TEST_F(FilesTest, FollowsNoLinkBelowTheBase) {
  ASSERT_TRUE(MakeAndOpenDirectory(dir_, {"journals", "p", "r"}).ok());
  ASSERT_EQ(::symlink("/tmp", Path("journals/q").c_str()), 0);
  const Status link = MakeAndOpenDirectory(dir_, {"journals", "q"}).status();
  EXPECT_EQ(link.code(), Code::kPermissionDenied);
  EXPECT_NE(link.message().find(Path("journals/q") + ": it is a symbolic link"), std::string::npos)
      << link.message();
  EXPECT_FALSE(MakeAndOpenDirectory(dir_, {"..", "q"}).ok());
  EXPECT_FALSE(MakeAndOpenDirectory(dir_, {"a/b"}).ok());
}

TEST_F(FilesTest, PrivateDirectoryMustBeOurs) {
  ASSERT_TRUE(MakePrivateDirectory(Path("mine")).ok());
  ASSERT_EQ(::chmod(Path("mine").c_str(), 0777), 0);
  EXPECT_EQ(MakePrivateDirectory(Path("mine")).code(), Code::kPermissionDenied);
  ASSERT_EQ(::symlink("/tmp", Path("planted").c_str()), 0);
  EXPECT_NE(MakePrivateDirectory(Path("planted")).message().find("symbolic link"),
            std::string::npos);
}

TEST_F(FilesTest, MapsFiles) {
  Write("a", "hello");
  Write("empty", "");
  Result<MappedFile> file = MappedFile::Open(Path("a"));
  ASSERT_TRUE(file.ok());
  const MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.data(), "hello");
  EXPECT_EQ(MappedFile::Open(Path("empty"))->data(), "");
}

TEST(JoinPathTest, Joins) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
}

TEST(ShellWord, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(ShellWord("llama-7b"), "llama-7b");
  EXPECT_EQ(ShellWord("/a/b_c.d"), "/a/b_c.d");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("$(x)"), "'$(x)'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace headway
