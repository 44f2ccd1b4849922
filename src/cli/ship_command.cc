#include "base/json_writer.h"
#include "cli/beside.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/remote.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kPatienceNs = 60 * kNanosPerSecond;

class ShipCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Sends the journals below a data directory to a server, as they are; what it has "
        "acknowledged, which it does once that is durable, is not sent again. They are read only: "
        "nothing is deleted, and the processes that write them notice nothing. What was imported, "
        "and copies of journals, are sent where their RUN is named.");
    DescribeOptionalRun(description, &run_);
    description->Flag("--follow", &follow_,
                      "go on while a process of these runs lives, each second");
    description->Duration("--patience", &patience_,
                          "how long a server that can't be reached is waited for (1m); while the "
                          "process that it runs beside lives, without limit");
    description->Option("--journal", "FILE", &journal_, "only this journal of the run");
    beside_.Describe(description);
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway ship llama-7b --server http://goodput:8460",
                         "brings what there is of one run, and ends");
    description->Example("headway ship --follow", "all runs of this machine, while they train");
  }

  Result<int> Run(const Context& context) override {
    Result<int> result = Send(context);
    if (!result.ok()) beside_.Tell(result.status().message());
    return result;
  }

 private:
  Result<int> Send(const Context& context) {
    HEADWAY_RETURN_IF_ERROR(beside_.Begin());
    const std::string project = place_.project;  // as it was asked for
    HEADWAY_RETURN_IF_ERROR(ResolveReceiver(&place_));
    if (place_.server.empty()) {
      return Status(Code::kInvalidArgument, "ship needs a server: --server URL or HEADWAY_SERVER");
    }
    HEADWAY_RETURN_IF_ERROR(ResolveToRead(&place_));
    ShipOptions options = {.dir = {},
                           .project = {},
                           .uid = {},
                           .run = {},
                           .file = {},
                           .server = place_.server,
                           .token = place_.token,
                           .ca = place_.ca,
                           .follow = follow_,
                           .patience_ns = patience_.value_or(kPatienceNs),
                           .beside = &beside_};
    options.project = project;
    if (!journal_.empty() && !run_) {
      return Status(Code::kInvalidArgument, "--journal needs the RUN that it is of");
    }
    if (run_) {
      const Result<runs::Run> run = FindRun(&place_, *run_);
      if (!run.ok()) return run.status();
      options.uid = run->uid;
      options.project = run->project;
      options.run = run->name;
      options.file = journal_.substr(journal_.rfind('/') + 1);
    }
    beside_.LeaveDirectory();
    Shipped sum;
    for (const std::string& dir : place_.dirs) {
      options.dir = dir;
      const Result<Shipped> shipped = Ship(options);
      if (!shipped.ok()) return shipped.status();
      sum.journals += shipped->journals;
      sum.slots += shipped->slots;
      sum.removed += shipped->removed;
      sum.left_out += shipped->left_out;
    }
    if (place_.json) {
      std::string text;
      JsonWriter json(&text, 1);
      json.BeginObject()
          .Field("journals", sum.journals)
          .Field("slots_sent", sum.slots)
          .Field("removed", sum.removed)
          .EndObject();
      *context.out << text << "\n";
    } else {
      *context.out << place_.server << " has " << ShowCount(sum.journals)
                   << (sum.journals == 1 ? " journal" : " journals") << ", " << ShowCount(sum.slots)
                   << " slots sent this time\n";
      if (sum.left_out > 0 && !run_) {
        *context.out << "not sent: " << ShowCount(sum.left_out)
                     << (sum.left_out == 1 ? " journal that was" : " journals that were")
                     << " imported or copied; headway ship RUN sends those of a run\n";
      }
    }
    // Whoever asked for that run alone has none of it there.
    return run_ && sum.removed > 0 ? 1 : 0;
  }

  std::optional<std::string> run_;
  bool follow_ = false;
  std::optional<std::int64_t> patience_;
  std::string journal_;
  Beside beside_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeShip() { return std::make_unique<ShipCommand>(); }

}  // namespace headway::cli
