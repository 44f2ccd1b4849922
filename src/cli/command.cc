#include "cli/command.h"

#include <charconv>

#include "base/time_format.h"
#include "model/text.h"

namespace headway::cli {

Description& Description::Text(std::string words) {
  body = std::move(words);
  return *this;
}

Description& Description::Example(std::string line, std::string meaning) {
  examples.push_back({std::move(line), std::move(meaning)});
  return *this;
}

Argument& Description::Add(Argument argument) {
  arguments.push_back(std::move(argument));
  return arguments.back();
}

Argument& Description::Flag(std::string flags, bool* target, std::string help) {
  return Add({.flags = std::move(flags),
              .value = {},
              .help = std::move(help),
              .choices = {},
              .set = [target](const std::string&) {
                *target = true;
                return OkStatus();
              }});
}

Argument& Description::Option(std::string flags, std::string value, std::string* target,
                              std::string help) {
  return Add({.flags = std::move(flags),
              .value = std::move(value),
              .help = std::move(help),
              .choices = {},
              .set = [target](const std::string& text) {
                *target = text;
                return OkStatus();
              }});
}

Argument& Description::Option(std::string flags, std::string value,
                              std::vector<std::string>* target, std::string help) {
  return Add({.flags = std::move(flags),
              .value = std::move(value),
              .help = std::move(help),
              .repeats = true,
              .choices = {},
              .set = [target](const std::string& text) {
                target->push_back(text);
                return OkStatus();
              }});
}

Argument& Description::Count(std::string flags, std::string value, std::int64_t least,
                             std::optional<std::int64_t>* target, std::string help) {
  std::string name = flags;
  return Add({.flags = std::move(flags),
              .value = std::move(value),
              .help = std::move(help),
              .choices = {},
              .set = [target, least, name](const std::string& text) {
                std::int64_t number = 0;
                const char* const end = text.data() + text.size();
                const auto [stop, error] = std::from_chars(text.data(), end, number);
                if (text.empty() || error != std::errc() || stop != end || number < least) {
                  return Status(Code::kInvalidArgument, name + " takes a whole number from " +
                                                            std::to_string(least) + " on, not \"" +
                                                            text + "\"");
                }
                *target = number;
                return OkStatus();
              }});
}

Argument& Description::Duration(std::string flags, std::optional<std::int64_t>* target,
                                std::string help) {
  std::string name = flags;
  return Add({.flags = std::move(flags),
              .value = "DUR",
              .help = std::move(help),
              .choices = {},
              .set = [target, name](const std::string& text) {
                const Result<std::int64_t> ns = ParseDuration(text);
                if (!ns.ok())
                  return Status(ns.status().code(), name + ": " + ns.status().message());
                if (*ns < 0) {
                  return Status(
                      Code::kInvalidArgument,
                      name + " takes a duration such as 90s or 1h30m, not the negative " + text);
                }
                *target = *ns;
                return OkStatus();
              }});
}

Argument& Description::Choice(std::string flags, std::string value,
                              const std::vector<std::string>& choices, std::string* target,
                              std::string help) {
  std::string name = flags;
  Argument& added = Add({.flags = std::move(flags),
                         .value = std::move(value),
                         .help = std::move(help),
                         .completion = Completion::kChoices,
                         .choices = choices,
                         .set = [target, name, choices](const std::string& text) {
                           for (const std::string& choice : choices) {
                             if (choice == text) {
                               *target = text;
                               return OkStatus();
                             }
                           }
                           std::string message = name + " takes ";
                           for (std::size_t i = 0; i < choices.size(); ++i) {
                             if (i > 0) message += i + 1 == choices.size() ? " or " : ", ";
                             message += choices[i];
                           }
                           message += ", not \"" + text + "\"";
                           const std::string near = Closest(text, choices);
                           if (!near.empty()) message += "; did you mean " + near + "?";
                           return Status(Code::kInvalidArgument, message);
                         }});
  return added;
}

Argument& Description::Positional(std::string name, std::string* target, std::string help) {
  Argument& added = Option(std::move(name), "", target, std::move(help));
  added.required = true;
  return added;
}

Argument& Description::Positional(std::string name, std::vector<std::string>* target,
                                  std::string help) {
  Argument& added = Option(std::move(name), "", target, std::move(help));
  added.required = true;
  return added;
}

void Description::CommandLine(std::string name, std::vector<std::string>* target,
                              std::string help) {
  command_line = target;
  command_line_name = std::move(name);
  command_line_help = std::move(help);
}

}  // namespace headway::cli
