#include "cli/man.h"

#include "cli/commands.h"
#include "cli/help.h"

namespace headway::cli {
namespace {

// Text that troff takes as text.
std::string Roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (line_start && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

void AppendArgument(const Argument& argument, std::string* out) {
  *out += ".TP\n.B " + Roff(argument.flags);
  if (!argument.value.empty()) *out += " " + Roff(argument.value);
  *out += "\n" + Roff(argument.help) + ".\n";
}

}  // namespace

std::string ManualPage() {
  std::string out = ".TH HEADWAY 1 \"\" \"headway " + std::string(Version()) + "\"\n";
  out +=
      ".SH NAME\nheadway \\- records what ML training jobs do and accounts for every nanosecond\n";
  out += ".SH SYNOPSIS\n.B headway\n.I COMMAND\n[ARGUMENTS]\n.SH COMMANDS\n";
  for (const Entry& entry : Commands()) {
    if (entry.hidden) continue;
    const std::unique_ptr<Command> command = entry.make();
    Description description;
    command->Describe(&description);
    out += ".SS \"" + Roff(UsageLine(entry, description)) + "\"\n";
    out += Roff(entry.summary) + ".\n";
    if (!description.body.empty()) out += ".PP\n" + Roff(description.body) + "\n";
    for (const Argument& argument : description.arguments) AppendArgument(argument, &out);
    for (const auto& example : description.examples) {
      out += ".PP\nExample: " + Roff(example.meaning) + "\n.PP\n.nf\n.RS\n" + Roff(example.line) +
             "\n.RE\n.fi\n";
    }
  }
  out += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : ExitCodes()) {
    out += ".TP\n.B " + std::to_string(exit.code) + "\n" + Roff(exit.meaning) + ".\n";
  }
  out +=
      ".PP\n.B headway run\nends as its command did: with its exit status, or with 128 + N after "
      "signal N.\n";
  out +=
      ".SH ENVIRONMENT\n.TP\n.B HEADWAY_DIR\nThe data directory without \\-\\-dir.\n"
      ".TP\n.B HEADWAY_PROJECT\nThe project without \\-\\-project.\n"
      ".TP\n.B NO_COLOR\nNo colours.\n";
  return out;
}

}  // namespace headway::cli
