#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "cli/agent.h"
#include "cli/commands.h"
#include "cli/place.h"
#include "journal/placement.h"
#include "recorder/environment.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kKeepNs = 7 * 24 * 3600 * kNanosPerSecond;

class AgentCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Runs beside all training processes of a machine: it sends the journals of every run below "
        "the data directories to a server, each second while they are written, and waits for a "
        "server that is away. Until it is told to end (SIGINT, SIGTERM); then it sends what there "
        "is. Runs that ended are deleted here once the server has acknowledged all of them for as "
        "long as --keep says; until then a server that lost them, such as one that was restored "
        "from a backup, gets them again.");
    description->Duration("--keep", &keep_,
                          "how long ended runs stay here after the server has acknowledged them "
                          "(7d); 0s: for ever");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway agent --server http://goodput:8460", "on each node");
  }

  Result<int> Run(const Context&) override {
    const std::string project = place_.project;  // as it was asked for
    HEADWAY_RETURN_IF_ERROR(ResolveReceiver(&place_));
    if (place_.server.empty()) {
      return Status(Code::kInvalidArgument, "agent needs a server: --server URL or HEADWAY_SERVER");
    }
    HEADWAY_RETURN_IF_ERROR(Resolve(&place_));
    // Where this user's journals lie whose directory is on a network.
    const std::string local = journal::NodeLocalDirectory(
        recorder::RulesOf(recorder::DetectEnvironment(recorder::ProcessEnvironment())));
    if (std::ranges::find(place_.dirs, local) == place_.dirs.end()) place_.dirs.push_back(local);
    HEADWAY_RETURN_IF_ERROR(RunAgent({.dirs = place_.dirs,
                                      .project = project,
                                      .server = place_.server,
                                      .token = place_.token,
                                      .ca = place_.ca,
                                      .keep_ns = keep_.value_or(kKeepNs)}));
    return 0;
  }

 private:
  std::optional<std::int64_t> keep_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeAgent() { return std::make_unique<AgentCommand>(); }

}  // namespace headway::cli
