#include <google/protobuf/stubs/logging.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"
#include "server/server.h"
#include "store/sqlite/record_store.h"

/// headwayd DIR ADDRESS:PORT [--no-access-control]: the server, as `headway serve` starts it. What
/// it does and how its ends are told is documented there.

namespace headway {
namespace {

constexpr int kGraceSeconds = 10;

Result<server::ServerOptions> ParseArguments(const std::vector<std::string>& arguments) {
  server::ServerOptions options;
  std::vector<std::string> words;
  for (const std::string& word : arguments) {
    if (word == "--no-access-control") {
      options.access_control = false;
    } else {
      words.push_back(word);
    }
  }
  if (words.size() != 2) {
    return Status(Code::kInvalidArgument, "headwayd is started by headway serve");
  }
  options.dir = words[0];
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
  const Result<server::ServerOptions> options = ParseArguments(arguments);
  if (!options.ok()) return options.status();
  const SystemClock clock;
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(options->dir));
  Result<std::unique_ptr<store::RecordStore>> store =
      store::OpenSqliteStore(JoinPath(options->dir, "records.sqlite"), {});
  if (!store.ok()) return store.status();
  Result<std::unique_ptr<server::Server>> started =
      server::Server::Start(*options, *std::move(store), &clock);
  if (!started.ok()) return started.status();
  server::Server& running = **started;
  const bool v6 = options->address.find(':') != std::string::npos;
  std::printf("headway serve: http://%s%s%s:%u\n", v6 ? "[" : "", options->address.c_str(),
              v6 ? "]" : "", running.port());
  if (!running.token_path().empty()) {
    std::printf("headway serve: the administrator's token is in %s\n",
                running.token_path().c_str());
  } else {
    std::printf("headway serve: without access control, for this machine only\n");
  }
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&ends, &signal);
  std::printf("headway serve: ending\n");
  std::fflush(stdout);
  running.Stop(kGraceSeconds);
  return 0;
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  const headway::Result<int> result = headway::Serve({argv + std::min(argc, 1), argv + argc});
  if (result.ok()) return *result;
  std::fprintf(stderr, "headway serve: %s\n", result.status().message().c_str());
  return headway::ExitCode(result.status().code());
}
