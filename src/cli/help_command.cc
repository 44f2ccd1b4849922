#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/man.h"

namespace headway::cli {
namespace {

class HelpCommand final : public Command {
 public:
  void Describe(Description* description) override {
    Argument& command =
        description->Positional("COMMAND", &words_, "the command, e.g. goodput or runs list");
    command.required = false;
    command.completion = Completion::kCommand;
  }

  Result<int> Run(const Context& context) override {
    if (words_.empty()) {
      *context.out << HelpText(context.terminal);
      return 0;
    }
    std::string name;
    for (const std::string& word : words_) name += (name.empty() ? "" : " ") + word;
    bool found = false;
    for (const Entry& entry : Commands()) {
      const bool group = entry.name.starts_with(name + " ");
      if (entry.hidden || (entry.name != name && !group)) continue;
      if (found) *context.out << "\n";
      *context.out << HelpText(entry, context.terminal);
      found = true;
    }
    if (!found) {
      return Status(Code::kInvalidArgument, "no command \"" + name + "\"; see headway --help");
    }
    return 0;
  }

 private:
  std::vector<std::string> words_;
};

class ManCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("Writes the manual page as troff, for man(1).");
    description->Example("headway man | man -l -", "shows it");
  }
  Result<int> Run(const Context& context) override {
    *context.out << ManualPage();
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> MakeHelp() { return std::make_unique<HelpCommand>(); }
std::unique_ptr<Command> MakeMan() { return std::make_unique<ManCommand>(); }

}  // namespace headway::cli
