#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/output.h"

namespace headway::cli {
namespace {

class BackupCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Copies what a server keeps, as it is at one instant, into a new file, and makes sure that "
        "the copy is sound. The server may run meanwhile, and goes on taking in journals. To "
        "restore, end the server, put the copy in the place of DIR/server/records.sqlite (remove "
        "the files beside it that end in -wal and -shm), FILE.blobs, where there is one, in that "
        "of "
        "DIR/server/blobs, and start it again: what it lacks is sent again, as long as the "
        "journals are there.");
    Argument& file = description->Positional("FILE", &file_, "the copy; it may not be there yet");
    file.completion = Completion::kFile;
    file.required = false;
    description->Flag("--check", &check_, "copy nothing: only look whether what is kept is sound");
    description->Flag("--json", &json_, "what was done, as JSON");
    description->Option("--dir", "DIR", &dir_, "data directory (HEADWAY_DIR, else ~/.headway)")
        .completion = Completion::kDirectory;
    description->Example("headway backup /backup/$(date +%F).sqlite", "every night, by cron");
  }

  Result<int> Run(const Context& context) override {
    if (check_ != file_.empty()) {
      return Status(Code::kInvalidArgument, "backup takes either the name of a FILE or --check");
    }
    const Result<std::string> directory = ServerDirectory(dir_);
    if (!directory.ok()) return directory.status();
    std::vector<std::string> arguments = {"backup", *directory, file_};
    if (json_) arguments.emplace_back("--json");
    HEADWAY_RETURN_IF_ERROR(context.out->Flush());
    return BecomeDaemon(arguments);
  }

 private:
  std::string dir_;
  std::string file_;
  bool check_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBackup() { return std::make_unique<BackupCommand>(); }

}  // namespace headway::cli
