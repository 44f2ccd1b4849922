#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json_writer.h"
#include "base/status.h"
#include "base/time_format.h"
#include "daemon/backup.h"
#include "daemon/ui_files.h"
#include "server/server.h"
#include "store/directory/blob_store.h"
#include "store/sqlite/record_store.h"

/// headwayd serve DIR ADDRESS:PORT [--browser] [--no-access-control] [--tls] [--tls-name NAME]...
/// [--tls-cert FILE --tls-key FILE]: the server, as `headway serve` and `headway ui` start it.
/// headwayd backup DIR FILE [--json]: a copy of what it keeps, as `headway backup` makes it; an
/// empty FILE: only a look. What they do and how their ends are told is documented there.

namespace headway {
namespace {

constexpr int kGraceSeconds = 10;

Result<server::ServerOptions> ParseArguments(const std::vector<std::string>& arguments,
                                             bool* browser) {
  server::ServerOptions options;
  std::vector<std::string> words;
  server::TlsFiles tls;
  const Status unknown(Code::kInvalidArgument, "headwayd is started by headway serve");
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (*word == "--browser") {
      *browser = true;
    } else if (*word == "--no-access-control") {
      options.access_control = false;
    } else if (*word == "--tls") {
      options.own_certificate = true;
    } else if (!word->starts_with("--tls-")) {
      words.push_back(*word);
    } else if (word + 1 == arguments.end()) {
      return unknown;
    } else if (*word == "--tls-cert") {
      tls.certificate = *++word;
    } else if (*word == "--tls-key") {
      tls.key = *++word;
    } else {
      options.names.push_back(*++word);
    }
  }
  if (words.size() != 2) return unknown;
  if (!tls.certificate.empty()) options.tls = tls;
  options.dir = words[0];
  options.store_path = DatabaseIn(options.dir);
#ifdef HEADWAY_UI
  options.page = UiFiles();
#endif
  const std::string& listen = words[1];
  const std::size_t colon = listen.rfind(':');
  const auto bad = [&listen] {
    return Status(Code::kInvalidArgument,
                  "--listen takes ADDRESS:PORT, such as 127.0.0.1:8460, not \"" + listen + "\"");
  };
  if (colon == std::string::npos) return bad();
  const char* const end = listen.data() + listen.size();
  const auto port = std::from_chars(listen.data() + colon + 1, end, options.port);
  if (port.ec != std::errc() || port.ptr != end) return bad();
  options.address = listen.substr(0, colon);
  if (options.address.starts_with('[') && options.address.ends_with(']')) {
    options.address = options.address.substr(1, options.address.size() - 2);
  }
  return options;
}

// Behind the URL and the token.
void TellOfEncryption(const server::Server& running, WallNs now) {
  const std::optional<server::ServerCertificate>& certificate = running.certificate();
  if (!certificate) {
    if (running.is_loopback()) return;
    std::printf(
        "headway serve: without TLS: what is sent here travels in the clear, tokens as well, "
        "unless a proxy in front speaks TLS\n");
    return;
  }
  if (certificate->own) {
    const std::unique_ptr<char, decltype(&std::free)> whole(
        ::realpath(certificate->path.c_str(), nullptr), &std::free);
    std::printf("headway serve: clients need its certificate: HEADWAY_CA=%s\n",
                whole == nullptr ? certificate->path.c_str() : whole.get());
    std::printf("headway serve: SHA-256 fingerprint %s\n", certificate->facts.fingerprint.c_str());
  }
  for (const std::string& name : certificate->names_missing) {
    std::printf(
        "headway serve: that certificate is not good for %s; once it is removed, one that is will "
        "be made at the next start\n",
        name.c_str());
  }
  if (certificate->facts.not_after <= now) {
    std::printf("headway serve: the certificate in %s has expired on %s\n",
                certificate->path.c_str(), FormatTime(certificate->facts.not_after).c_str());
  }
}

// On the desktop, where there is one. What becomes of it is not our concern.
bool OpenBrowser(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return false;
  ::signal(SIGCHLD, SIG_IGN);  // nobody waits for it
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&how);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGCHLD}) ::sigaddset(&ours, signal);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &ours);
  ::posix_spawnattr_setpgroup(&how, 0);  // Ctrl-C is for the server
  ::posix_spawnattr_setflags(
      &how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char program[] = "xdg-open";
  std::string address = url;
  char* const words[] = {program, address.data(), nullptr};
  pid_t pid = 0;
  const bool started = ::posix_spawnp(&pid, program, &files, &how, words, environ) == 0;
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  return started;
}

// As many connections as the system lets us have.
void RaiseFileLimit() {
  rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

Result<int> Serve(const std::vector<std::string>& arguments) {
  // Blocked before any thread starts, so that this one alone gets them.
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // then a write beyond the limit is an error
  RaiseFileLimit();
  google::protobuf::SetLogHandler(nullptr);  // what is wrong with a message its sender is told
  ::mallopt(M_ARENA_MAX, 2);                 // what a large answer took serves the next one
  bool browser = false;
  const Result<server::ServerOptions> options = ParseArguments(arguments, &browser);
  if (!options.ok()) return options.status();
  const SystemClock clock;
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(options->dir));
  Result<std::unique_ptr<store::Store>> store = store::OpenSqliteStore(options->store_path, {});
  if (!store.ok()) return store.status();
  Result<std::unique_ptr<store::BlobStore>> blobs =
      store::OpenDirectoryBlobStore(options->dir, &clock);
  if (!blobs.ok()) return blobs.status();
  Result<std::unique_ptr<server::Server>> started =
      server::Server::Start(*options, *std::move(store), *std::move(blobs), &clock);
  if (!started.ok()) return started.status();
  server::Server& running = **started;
  const bool v6 = options->address.find(':') != std::string::npos;
  const std::string url = std::string(running.certificate() ? "https://" : "http://") +
                          (v6 ? "[" + options->address + "]" : options->address) + ":" +
                          std::to_string(running.port());
  std::printf("headway serve: %s\n", url.c_str());
  if (!running.token_path().empty()) {
    std::printf("headway serve: the administrator's token is in %s\n",
                running.token_path().c_str());
  } else {
    std::printf("headway serve: without access control, for this machine only\n");
  }
  TellOfEncryption(running, clock.Wall());
  if (browser && !OpenBrowser(url)) {
    std::printf("headway serve: no desktop is here: open that address in a browser\n");
  }
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&ends, &signal);
  std::printf("headway serve: ending\n");
  std::fflush(stdout);
  running.Stop(kGraceSeconds);
  return 0;
}

// On a terminal, now and then.
class ProgressLine {
 public:
  explicit ProgressLine(const char* what) : what_(what) {}
  ~ProgressLine() {
    if (shown_ >= 0) std::fprintf(stderr, "\r\x1b[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(double share) {
    const int percent = static_cast<int>(share * 100);
    if (percent == shown_ || ::isatty(STDERR_FILENO) == 0) return;
    shown_ = percent;
    std::fprintf(stderr, "\r%s: %d %%", what_, percent);
  }

 private:
  const char* what_;
  int shown_ = -1;
};

Result<int> Told(const std::string& text) {
  std::printf("%s\n", text.c_str());
  if (std::fflush(stdout) != 0) return ErrnoStatus(errno, "write", "standard output");
  return 0;
}

std::string Blobs(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " blob" : " blobs");
}

Result<int> Check(const std::string& dir, bool json) {
  Result<store::BlobCheck> checked = [&dir] {
    ProgressLine line("checking");
    return CheckServer(dir, [&line](double share) { line.Update(share); });
  }();
  if (!checked.ok()) return checked.status();
  if (checked->damaged > 0) {
    for (const Status& problem : checked->problems) {
      std::fprintf(stderr, "headway backup: %s\n", problem.message().c_str());
    }
    return Status(Code::kDataLoss, std::to_string(checked->damaged) + " of " +
                                       Blobs(checked->damaged + checked->blobs) + " damaged");
  }
  const std::string database = DatabaseIn(dir);
  if (json) {
    std::string text;
    JsonWriter writer(&text, 1);
    writer.BeginObject()
        .Field("file", database)
        .Field("blobs", static_cast<std::int64_t>(checked->blobs))
        .Field("blob_bytes", static_cast<std::int64_t>(checked->bytes))
        .Field("sound", true)
        .EndObject();
    return Told(text);
  }
  if (checked->blobs == 0) return Told(database + " is sound");
  return Told(database + " is sound, with " + Blobs(checked->blobs) + " of " +
              std::to_string(checked->bytes) + " bytes");
}

Result<int> Copy(const std::string& dir, const std::string& target, bool json) {
  const Result<BackedUp> copied = [&] {
    ProgressLine line("copying");
    return BackUpServer(dir, target, [&line](double share) { line.Update(share); });
  }();
  if (!copied.ok()) return copied.status();
  const store::BlobCopy& blobs = copied->blobs;
  if (json) {
    std::string text;
    JsonWriter writer(&text, 1);
    writer.BeginObject()
        .Field("file", target)
        .Field("bytes", static_cast<std::int64_t>(copied->bytes))
        .Field("blobs", static_cast<std::int64_t>(blobs.blobs))
        .Field("blob_bytes", static_cast<std::int64_t>(blobs.bytes))
        .Field("sound", true)
        .EndObject();
    return Told(text);
  }
  std::string text = target + ": " + std::to_string(copied->bytes) + " bytes, checked";
  if (blobs.blobs > 0) {
    text += "\n" + BlobsBeside(target) + ": " + Blobs(blobs.blobs) + " of " +
            std::to_string(blobs.bytes) +
            " bytes, checked; hard links: " + std::to_string(blobs.linked);
  }
  return Told(text);
}

Result<int> BackUp(std::vector<std::string> arguments) {
  const bool json = !arguments.empty() && arguments.back() == "--json";
  if (json) arguments.pop_back();
  if (arguments.size() != 2) {
    return Status(Code::kInvalidArgument, "headwayd is started by headway backup");
  }
  return arguments[1].empty() ? Check(arguments[0], json) : Copy(arguments[0], arguments[1], json);
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  const std::vector<std::string> words = {argv + std::min(argc, 2), argv + argc};
  const bool backup = argc > 1 && std::string_view(argv[1]) == "backup";
  const headway::Result<int> result = backup ? headway::BackUp(words) : headway::Serve(words);
  if (result.ok()) return *result;
  std::fprintf(stderr, "headway %s: %s\n", backup ? "backup" : "serve",
               result.status().message().c_str());
  return headway::ExitCode(result.status().code());
}
