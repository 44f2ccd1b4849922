#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/output.h"

namespace headway::cli {
namespace {

constexpr char kListen[] = "127.0.0.1:8460";

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
    const Result<std::string> directory = ServerDirectory(dir_);
    if (!directory.ok()) return directory.status();
    std::vector<std::string> arguments = {"serve", *directory, listen_.empty() ? kListen : listen_};
    if (open_) arguments.emplace_back("--no-access-control");
    HEADWAY_RETURN_IF_ERROR(context.out->Flush());
    return BecomeDaemon(arguments);
  }

 private:
  std::string dir_;
  std::string listen_;
  bool open_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<ServeCommand>(); }

}  // namespace headway::cli
