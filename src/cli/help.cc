#include "cli/help.h"

#include <algorithm>
#include <array>

#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::array kExitCodes = {
    ExitMeaning{0, "done"},
    ExitMeaning{1, "the answer is negative: no such run, a check failed, a run lives"},
    ExitMeaning{2, "the call is wrong"},
    ExitMeaning{3, "the input is damaged or can't be read; the message says where"},
    ExitMeaning{4, "something that is needed can't be had now: a server, disk space"},
    ExitMeaning{5, "permission denied"},
    ExitMeaning{70, "a bug of headway"},
};

std::size_t TextWidth(const Terminal& terminal) {
  return static_cast<std::size_t>(std::min(terminal.width, 100));
}

// Two columns: a name, and text that is wrapped beside it.
void AppendRow(std::string_view name, std::string_view text, std::size_t column, std::size_t width,
               std::string* out) {
  std::string line = "  " + std::string(name);
  if (DisplayWidth(line) + 2 > column) {
    *out += line + "\n";
    line.clear();
  }
  line = PadRight(line, column);
  *out += line + WrapBeside(text, width, column) + "\n";
}

void AppendParagraphs(std::string_view text, std::size_t width, std::string* out) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    *out += (line.starts_with(' ') ? std::string(line) : Wrap(line, width, 0)) + "\n";
  }
}

}  // namespace

std::span<const ExitMeaning> ExitCodes() { return kExitCodes; }

std::string UsageLine(const Entry& entry, const Description& description) {
  std::string line = "headway " + std::string(entry.name);
  const bool options = std::any_of(description.arguments.begin(), description.arguments.end(),
                                   [](const Argument& argument) { return !argument.positional(); });
  if (options) line += " [OPTIONS]";
  for (const Argument& argument : description.arguments) {
    if (!argument.positional()) continue;
    const std::string name = argument.flags + (argument.repeats ? "..." : "");
    line += argument.required ? " " + name : " [" + name + "]";
  }
  if (description.command_line != nullptr) line += " -- " + description.command_line_name;
  return line;
}

std::string HelpText(const Terminal& terminal) {
  const std::size_t width = TextWidth(terminal);
  std::string out =
      "headway records what ML training jobs do and accounts for every nanosecond.\n\n";
  out += "Usage: headway COMMAND [ARGUMENTS]\n\nCommands:\n";
  std::size_t column = 0;
  for (const Entry& entry : Commands()) {
    if (!entry.hidden) column = std::max(column, entry.name.size() + 4);
  }
  for (const Entry& entry : Commands()) {
    if (!entry.hidden) AppendRow(entry.name, entry.summary, column, width, &out);
  }
  out +=
      "\n\"headway COMMAND --help\" says more. Times are RFC 3339, @NS (nanoseconds since 1970)\n"
      "or +DUR from the run's start; a window is A..B, and either end may be left out.\n";
  out += "\nEnvironment:\n";
  AppendRow("HEADWAY_DIR", "the data directory without --dir; ~/.headway without either", column,
            width, &out);
  AppendRow("HEADWAY_PROJECT", "the project without --project", column, width, &out);
  AppendRow("NO_COLOR", "no colours", column, width, &out);
  out += "\nExit codes:\n";
  for (const ExitMeaning& exit : ExitCodes()) {
    AppendRow(std::to_string(exit.code), exit.meaning, 6, width, &out);
  }
  return out;
}

std::string HelpText(const Entry& entry, const Terminal& terminal) {
  const std::size_t width = TextWidth(terminal);
  const std::unique_ptr<Command> command = entry.make();
  Description description;
  command->Describe(&description);
  std::string out = "Usage: " + UsageLine(entry, description) + "\n\n";
  out += Wrap(std::string(1, static_cast<char>(std::toupper(entry.summary.front()))) +
                  std::string(entry.summary.substr(1)) + ".",
              width, 0) +
         "\n";
  if (!description.body.empty()) {
    out += "\n";
    AppendParagraphs(description.body, width, &out);
  }
  std::size_t column = 12;
  const auto head = [](const Argument& argument) {
    std::string text = argument.flags;
    if (const std::size_t comma = text.find(','); comma != std::string::npos) {
      text.insert(comma + 1, " ");
    }
    if (!argument.value.empty()) text += " " + argument.value;
    return text;
  };
  for (const Argument& argument : description.arguments) {
    column = std::max(column, std::min<std::size_t>(26, DisplayWidth(head(argument)) + 4));
  }
  for (const bool positional : {true, false}) {
    bool first = true;
    for (const Argument& argument : description.arguments) {
      if (argument.positional() != positional) continue;
      if (first) out += positional ? "\nArguments:\n" : "\nOptions:\n";
      first = false;
      AppendRow(head(argument), argument.help, column, width, &out);
    }
    if (positional && description.command_line != nullptr) {
      if (first) out += "\nArguments:\n";
      AppendRow(description.command_line_name, description.command_line_help, column, width, &out);
    }
  }
  if (!description.examples.empty()) {
    out += "\nExamples:\n";
    for (const auto& example : description.examples) {
      out += "  " + example.line + "\n      " + Wrap(example.meaning, width - 6, 6) + "\n";
    }
  }
  return out;
}

}  // namespace headway::cli
