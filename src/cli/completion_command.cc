#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/parser.h"
#include "cli/place.h"

/// Completions. The scripts only hand the words over: what fits is answered by the program itself,
/// from the table of commands, so that they never grow old.

namespace headway::cli {
namespace {

constexpr std::string_view kBash = R"(# bash completion for headway
_headway() {
  local IFS=$'\n'
  local current="${COMP_WORDS[COMP_CWORD]}"
  local words
  words=$(headway __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $words == ':file' ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $words == ':directory' ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -d -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -F _headway headway
)";

constexpr std::string_view kZsh = R"(#compdef headway
_headway() {
  local -a found
  found=("${(@f)$(headway __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == ':file' ]]; then
    _files
  elif [[ $found[1] == ':directory' ]]; then
    _files -/
  elif [[ -n $found[1] ]]; then
    compadd -a found
  fi
}
compdef _headway headway
)";

constexpr std::string_view kFish = R"(# fish completion for headway
function __headway_complete
    set -l before (commandline -opc)
    set -l found (headway __complete -- $before[2..-1] (commandline -ct) 2>/dev/null)
    switch "$found[1]"
        case ':file'
            __fish_complete_path (commandline -ct)
        case ':directory'
            __fish_complete_directories (commandline -ct)
        case '*'
            printf '%s\n' $found
    end
end
complete -c headway -f -a '(__headway_complete)'
)";

class CompletionCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("Writes a script that the shell reads when it starts.");
    description->Choice("SHELL", "", {"bash", "zsh", "fish"}, &shell_, "bash, zsh or fish")
        .required = true;
    description->Example(
        "headway completion bash > ~/.local/share/bash-completion/completions/headway",
        "for bash, from the next shell on");
    description->Example("headway completion fish > ~/.config/fish/completions/headway.fish",
                         "for fish");
  }
  Result<int> Run(const Context& context) override {
    *context.out << (shell_ == "bash" ? kBash : shell_ == "zsh" ? kZsh : kFish);
    return 0;
  }

 private:
  std::string shell_;
};

// Answers for one word of a command line.
class Completer {
 public:
  explicit Completer(std::vector<std::string> words) : words_(std::move(words)) {
    if (words_.empty()) words_.emplace_back();
    current_ = words_.back();
    words_.pop_back();
  }

  std::vector<std::string> Answer() {
    const Entry* entry = nullptr;
    std::size_t taken = 0;
    for (const Entry& candidate : Commands()) {
      const std::size_t count = CountMatching(candidate.name);
      if (count > taken) {
        taken = count;
        entry = &candidate;
      }
    }
    if (entry == nullptr) return CommandWords();
    const std::unique_ptr<Command> command = entry->make();
    Description description;
    command->Describe(&description);
    if (description.command_line != nullptr &&
        std::find(words_.begin(), words_.end(), "--") != words_.end()) {
      return {":file"};
    }
    // The value of an option?
    std::size_t positional = 0;
    const Argument* waiting = nullptr;
    for (std::size_t i = taken; i < words_.size(); ++i) {
      if (waiting != nullptr) {
        waiting = nullptr;
        continue;
      }
      if (words_[i].starts_with("-")) {
        const Argument* option = FindOption(description, words_[i]);
        if (option != nullptr && !option->value.empty()) waiting = option;
        if (words_[i] == "--dir" && i + 1 < words_.size()) dirs_.push_back(words_[i + 1]);
        if (words_[i] == "--project" && i + 1 < words_.size()) project_ = words_[i + 1];
      } else {
        ++positional;
      }
    }
    if (waiting != nullptr) return Values(*waiting);
    if (current_.starts_with("-")) return Options(description);
    for (const Argument& argument : description.arguments) {
      if (!argument.positional()) continue;
      if (positional == 0 || argument.repeats) return Values(argument);
      --positional;
    }
    return Options(description);
  }

 private:
  /// Words of the command line that are this command's name; 0 when it is another.
  std::size_t CountMatching(std::string_view name) const {
    std::size_t count = 0;
    while (!name.empty()) {
      const std::string_view word = name.substr(0, name.find(' '));
      if (count >= words_.size() || words_[count] != word) return 0;
      ++count;
      name.remove_prefix(std::min(name.size(), word.size() + 1));
    }
    return count;
  }

  std::vector<std::string> CommandWords() const {
    std::string prefix;
    for (const std::string& word : words_) prefix += word + " ";
    std::vector<std::string> found;
    for (const Entry& entry : Commands()) {
      if (entry.hidden || !entry.name.starts_with(prefix)) continue;
      const std::string_view rest = entry.name.substr(prefix.size());
      found.emplace_back(rest.substr(0, rest.find(' ')));
    }
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (words_.empty()) found.insert(found.end(), {"--help", "--version"});
    return found;
  }

  static const Argument* FindOption(const Description& description, const std::string& word) {
    for (const Argument& argument : description.arguments) {
      if (argument.positional()) continue;
      const std::size_t comma = argument.flags.find(',');
      if (argument.flags.substr(0, comma) == word) return &argument;
      if (comma != std::string::npos && argument.flags.substr(comma + 1) == word) return &argument;
    }
    return nullptr;
  }

  static std::vector<std::string> Options(const Description& description) {
    std::vector<std::string> found;
    for (const Argument& argument : description.arguments) {
      if (!argument.positional()) {
        found.push_back(argument.flags.substr(argument.flags.find(',') + 1));
      }
    }
    found.emplace_back("--help");
    return found;
  }

  std::vector<std::string> Values(const Argument& argument) {
    switch (argument.completion) {
      case Completion::kNothing: return {};
      case Completion::kFile: return {":file"};
      case Completion::kDirectory: return {":directory"};
      case Completion::kChoices: return argument.choices;
      case Completion::kRun: return RunNames();
      case Completion::kCommand: words_.clear(); return CommandWords();
    }
    return {};
  }

  std::vector<std::string> RunNames() {
    Place place;
    place.dirs = dirs_;
    place.project = project_;
    std::vector<std::string> names;
    if (!Resolve(&place).ok()) return names;
    const Result<std::vector<runs::Run>> runs = runs::List(place.dirs, place.project);
    if (!runs.ok()) return names;
    for (const runs::Run& run : *runs) {
      // Lines are the border between words.
      if (run.label.find('\n') == std::string::npos) names.push_back(run.label);
    }
    return names;
  }

  std::vector<std::string> words_;  // before the one that is completed
  std::string current_;
  std::vector<std::string> dirs_;
  std::string project_;
};

class CompleteWordsCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->CommandLine("WORD...", &words_, "the command line so far");
  }
  Result<int> Run(const Context& context) override {
    for (const std::string& word : Completer(words_).Answer()) *context.out << word << "\n";
    return 0;
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletion() { return std::make_unique<CompletionCommand>(); }
std::unique_ptr<Command> MakeCompleteWords() { return std::make_unique<CompleteWordsCommand>(); }

}  // namespace headway::cli
