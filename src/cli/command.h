#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/output.h"

/// Command: what one sub-command is, how it is called, and what it does.
///
/// A command describes its arguments once; parsing, `--help`, completions and the manual page all
/// read that description.

namespace headway::cli {

/// What a value can be completed with.
enum class Completion : std::uint8_t { kNothing, kFile, kDirectory, kRun, kCommand, kChoices };

/// One option (`flags` begins with a hyphen) or one positional argument.
struct Argument {
  std::string flags;  ///< "--window", "-n,--limit", or "RUN"
  std::string value;  ///< what stands for the value in help, "A..B"; empty: the option has none
  std::string help;   ///< a sentence without a full stop
  bool required = false;
  bool repeats = false;
  Completion completion = Completion::kNothing;
  std::vector<std::string> choices;
  /// Takes the value ("" for an option without one).
  std::function<Status(const std::string&)> set;

  bool positional() const { return !flags.starts_with('-'); }
};

/// Collects the arguments of a command. Targets must outlive the parsing.
class Description {
 public:
  /// A longer text for `--help`: paragraphs, each wrapped; a line that begins with blanks stays.
  Description& Text(std::string words);
  /// A command line that works, and what it does.
  Description& Example(std::string line, std::string meaning);

  Argument& Flag(std::string flags, bool* target, std::string help);
  Argument& Option(std::string flags, std::string value, std::string* target, std::string help);
  /// May be given several times.
  Argument& Option(std::string flags, std::string value, std::vector<std::string>* target,
                   std::string help);
  /// A whole number from `least` on.
  Argument& Count(std::string flags, std::string value, std::int64_t least,
                  std::optional<std::int64_t>* target, std::string help);
  /// A duration above or equal to zero, "1h30m".
  Argument& Duration(std::string flags, std::optional<std::int64_t>* target, std::string help);
  Argument& Choice(std::string flags, std::string value, const std::vector<std::string>& choices,
                   std::string* target, std::string help);
  /// Required positional arguments.
  Argument& Positional(std::string name, std::string* target, std::string help);
  Argument& Positional(std::string name, std::vector<std::string>* target, std::string help);
  /// Whatever follows "--", unread.
  void CommandLine(std::string name, std::vector<std::string>* target, std::string help);

  struct Sample {
    std::string line;
    std::string meaning;
  };

  std::string body;
  std::vector<Sample> examples;
  std::vector<Argument> arguments;
  std::vector<std::string>* command_line = nullptr;
  std::string command_line_name;
  std::string command_line_help;

 private:
  Argument& Add(Argument argument);
};

/// What a running command has at hand.
struct Context {
  Output* out = nullptr;
  Terminal terminal;        ///< of standard output
  Terminal error_terminal;  ///< of standard error
};

class Command {
 public:
  virtual ~Command() = default;
  virtual void Describe(Description* description) = 0;
  /// Returns the exit code, 0 when it went well; an error is told to the user and ends with the
  /// exit code of its Status code.
  virtual Result<int> Run(const Context& context) = 0;
};

}  // namespace headway::cli
