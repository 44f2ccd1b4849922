#include "cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "model/text.h"

namespace headway::cli {
namespace {

std::string Usage(std::string_view command) {
  return "; see headway " + std::string(command) + " --help";
}

std::string LongFlag(const Argument& argument) {
  return argument.flags.substr(argument.flags.rfind(',') + 1);
}

Status NeedsValue(std::string_view command, const std::string& option) {
  return {Code::kInvalidArgument, option + " needs a value" + Usage(command)};
}

std::vector<std::string> LongFlags(const Description& description) {
  std::vector<std::string> names = {"--help"};
  for (const Argument& argument : description.arguments) {
    if (argument.positional()) continue;
    names.push_back(LongFlag(argument));
  }
  return names;
}

// Hands the words that are no options to the positional arguments, in order.
Status SetPositionals(std::string_view command, const Description& description,
                      const std::vector<std::string>& words) {
  std::size_t at = 0;
  for (const Argument& argument : description.arguments) {
    if (!argument.positional()) continue;
    if (argument.required && at == words.size()) {
      return {Code::kInvalidArgument, std::string(command) + " needs " + argument.flags + ": " +
                                          argument.help + Usage(command)};
    }
    do {
      if (at == words.size()) break;
      HEADWAY_RETURN_IF_ERROR(argument.set(words[at++]));
    } while (argument.repeats);
  }
  if (at < words.size()) {
    return {Code::kInvalidArgument,
            std::string(command) + " does not take \"" + words[at] + "\" as well" + Usage(command)};
  }
  return OkStatus();
}

}  // namespace

Status ParseArguments(std::string_view command, const Description& description,
                      const std::vector<std::string>& arguments) {
  // The library only takes options apart: what is positional, and what follows "--", is ours.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> reversed(std::make_reverse_iterator(dashes), arguments.rend());
  std::vector<std::string> after(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  if (description.command_line != nullptr) {
    *description.command_line = std::move(after);
    after.clear();
  }

  // The library takes the next word for the value of `--option=`, and some values for flags.
  for (auto word = arguments.begin(); word != dashes; ++word) {
    const std::size_t equals = word->find('=');
    if (!word->starts_with("--") || equals == std::string::npos) continue;
    const std::string option = word->substr(0, equals);
    for (const Argument& argument : description.arguments) {
      if (argument.positional() || LongFlag(argument) != option) continue;
      if (argument.value.empty()) {
        return {Code::kInvalidArgument, option + " takes no value" + Usage(command)};
      }
      if (equals + 1 == word->size()) {
        return {Code::kInvalidArgument, option + " must not be empty" + Usage(command)};
      }
    }
  }

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::deque<std::vector<std::string>> values;  // [num_arguments]; a deque keeps addresses
  for (const Argument& argument : description.arguments) {
    std::vector<std::string>* const found = &values.emplace_back();
    if (argument.positional()) continue;
    if (argument.value.empty()) {
      app.add_flag_function(argument.flags, [found](std::int64_t) { found->emplace_back(); });
      continue;
    }
    const CLI::callback_t take = [found](const CLI::results_t& results) {
      *found = results;
      return true;
    };
    CLI::Option* const option = app.add_option(argument.flags, take, "");
    option->type_name(argument.value)->expected(1)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // we count them ourselves
  }
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // begins with the option's name
    return NeedsValue(command, text.substr(0, text.find(':')));
  } catch (const CLI::ParseError& error) {
    return {Code::kInvalidArgument, std::string(command) + ": " + error.what() + Usage(command)};
  }

  std::vector<std::string> words;
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word.front() == '-') {
      const std::string name = word.substr(0, word.find('='));
      const std::string near = Closest(name, LongFlags(description));
      return {Code::kInvalidArgument, std::string(command) + " has no option " + name +
                                          (near.empty() ? "" : "; did you mean " + near + "?") +
                                          Usage(command)};
    }
    words.push_back(word);
  }
  words.insert(words.end(), after.begin(), after.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Argument& argument = description.arguments[i];
    if (!argument.value.empty() && !argument.repeats && values[i].size() > 1) {
      return {Code::kInvalidArgument, std::string(command) + " takes " + LongFlag(argument) +
                                          " once, not " + std::to_string(values[i].size()) +
                                          " times" + Usage(command)};
    }
    for (const std::string& value : values[i]) {
      // Mostly a variable of the shell that is not set; nobody means that.
      if (!argument.value.empty() && value.empty()) {
        return {Code::kInvalidArgument, LongFlag(argument) + " must not be empty" + Usage(command)};
      }
      HEADWAY_RETURN_IF_ERROR(argument.set(value));
    }
  }
  if (description.command_line != nullptr && !words.empty()) {
    return {Code::kInvalidArgument,
            std::string(command) + " takes the command after \"--\": " + "headway " +
                std::string(command) + " [OPTIONS] -- " + words.front() + " ..." + Usage(command)};
  }
  return SetPositionals(command, description, words);
}

}  // namespace headway::cli
