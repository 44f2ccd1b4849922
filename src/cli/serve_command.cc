#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "recorder/environment.h"

namespace headway::cli {
namespace {

constexpr char kListen[] = "127.0.0.1:8460";
constexpr char kDaemon[] = "headwayd";

// Beside this program, so that both are of one build.
std::string DaemonPath() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return kDaemon;
  path.resize(static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/') + 1) + kDaemon;
}

class ServeCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Takes in the journals that headway ship sends, keeps them below DIR/server, and answers "
        "about their runs. The first start makes a token for its administrator and says in which "
        "file it lies; a client sends it along (HEADWAY_TOKEN).\n"
        "SIGTERM and SIGINT end it: requests under way are answered first.");
    description->Option("--dir", "DIR", &dir_, "data directory (HEADWAY_DIR, else ~/.headway)")
        .completion = Completion::kDirectory;
    description->Option(
        "--listen", "ADDRESS:PORT", &listen_,
        std::string("where it listens; port 0: any that is free (") + kListen + ")");
    description->Flag("--no-access-control", &open_,
                      "everybody may do everything; on the loopback interface only");
    description->Example("headway serve", "for programs of this machine");
  }

  Result<int> Run(const Context& context) override {
    std::string dir = dir_;
    if (dir.empty()) {
      dir = recorder::DetectEnvironment(recorder::ProcessEnvironment()).dir;
      if (dir.empty()) {
        return Status(Code::kFailedPrecondition,
                      "no data directory: give --dir or set HEADWAY_DIR, for there is no HOME");
      }
    }
    const std::string listen = listen_.empty() ? kListen : listen_;
    const std::string daemon = DaemonPath();
    const std::string server_dir = JoinPath(dir, "server");
    std::vector<const char*> arguments = {kDaemon, server_dir.c_str(), listen.c_str()};
    if (open_) arguments.push_back("--no-access-control");
    arguments.push_back(nullptr);
    HEADWAY_RETURN_IF_ERROR(context.out->Flush());
    ::execv(daemon.c_str(), const_cast<char* const*>(arguments.data()));
    if (errno == ENOENT) {
      return Status(Code::kUnimplemented, daemon +
                                              " is not there: this headway was installed "
                                              "without its server");
    }
    return ErrnoStatus(errno, "start", daemon);
  }

 private:
  std::string dir_;
  std::string listen_;
  bool open_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<ServeCommand>(); }

}  // namespace headway::cli
