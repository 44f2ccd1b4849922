#include "cli/commands.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <exception>

#include "cli/child.h"
#include "cli/help.h"
#include "cli/parser.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::array kCommands = {
    Entry{"goodput", "the report: where a run's time went", MakeGoodput},
    Entry{"watch", "the same while the run goes on", MakeWatch},
    Entry{"timeline", "a run's time as intervals, one lane per attempt", MakeTimeline},
    Entry{"steps", "a run's steps one by one", MakeSteps},
    Entry{"config", "what a run's processes said of software, system and settings", MakeConfig},
    Entry{"metrics", "what a run has logged: loss, throughput, utilisation, ...", MakeMetrics},
    Entry{"runs list", "the runs of a project, newest first", MakeRunsList},
    Entry{"runs show", "one run: its journals, and what it said at the end", MakeRunsShow},
    Entry{"runs create", "make a run on a server", MakeRunsCreate},
    Entry{"runs update", "change what a server says of a run", MakeRunsUpdate},
    Entry{"runs delete", "delete a run", MakeRunsDelete},
    Entry{"runs undelete", "show a run of a server again", MakeRunsUndelete},
    Entry{"runs prune", "delete the journals of runs that ended long ago", MakeRunsPrune},
    Entry{"events list", "what happened to runs of a server", MakeEventsList},
    Entry{"events show", "one event, and what analyzers say of it", MakeEventsShow},
    Entry{"profiles list", "profiles of runs of a server, and what can be profiled",
          MakeProfilesList},
    Entry{"profiles show", "one profile session: its targets and files", MakeProfilesShow},
    Entry{"nodes list", "the machines that runs of a server were recorded on", MakeNodesList},
    Entry{"clusters list", "the clusters that they belong to", MakeClustersList},
    Entry{"locations list", "where they stand", MakeLocationsList},
    Entry{"import", "read event files and journals from elsewhere", MakeImport},
    Entry{"export", "write a run as an event file or a table", MakeExport},
    Entry{"run", "start a training command, watch it and restart it", MakeRun},
    Entry{"monitor", "tell destinations how a run does, while it is recorded", MakeMonitor},
    Entry{"serve", "take in the journals of many machines, and answer about their runs", MakeServe},
    Entry{"ui", "the same, with its page in a browser", MakeUi},
    Entry{"backup", "copy what a server keeps, while it runs", MakeBackup},
    Entry{"projects list", "the projects of a server", MakeProjectsList},
    Entry{"projects create", "make a project, and say what it may keep", MakeProjectsCreate},
    Entry{"operations list", "what a server does in the background", MakeOperationsList},
    Entry{"operations show", "one of them", MakeOperationsShow},
    Entry{"operations cancel", "ask one to stop", MakeOperationsCancel},
    Entry{"operations delete", "forget one that has finished", MakeOperationsDelete},
    Entry{"tokens create", "make a token of a server", MakeTokensCreate},
    Entry{"tokens list", "who may do what on a server", MakeTokensList},
    Entry{"tokens revoke", "make a token good for nothing", MakeTokensRevoke},
    Entry{"tokens log", "what was done on a server, and by whom", MakeTokensLog},
    Entry{"roles create", "name what tokens of a server may do", MakeRolesCreate},
    Entry{"roles list", "the roles of a server, and what each may do", MakeRolesList},
    Entry{"roles delete", "delete a role that no token has", MakeRolesDelete},
    Entry{"link", "make a link to a run of a server", MakeLink},
    Entry{"links list", "the links to runs of a server", MakeLinksList},
    Entry{"links revoke", "make a link good for nothing", MakeLinksRevoke},
    Entry{"ship", "send journals to a server", MakeShip},
    Entry{"agent", "send the journals of a machine, always", MakeAgent},
    Entry{"doctor", "check what recording needs, and say how to mend what is missing", MakeDoctor},
    Entry{"completion", "completions for a shell", MakeCompletion},
    Entry{"man", "the manual page", MakeMan},
    Entry{"help", "what a command does and takes", MakeHelp},
    Entry{"__complete", "words for completion scripts", MakeCompleteWords, true},
};

// Options that may also stand before the command; true when a value follows.
struct EarlyOption {
  std::string_view name;
  bool value;
};
constexpr std::array kEarly = {EarlyOption{"--dir", true}, EarlyOption{"--project", true},
                               EarlyOption{"--json", false}};

struct Call {
  const Entry* entry = nullptr;
  std::vector<std::string> arguments;
  bool help = false;
};

std::string KnownCommands(std::string_view beginning) {
  std::string names;
  for (const Entry& entry : kCommands) {
    if (entry.hidden || !entry.name.starts_with(beginning)) continue;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

Status Unknown(const std::string& word, const std::string& second) {
  if (!second.empty() || !KnownCommands(word + " ").empty()) {
    const std::string known = KnownCommands(word + " ");
    if (!known.empty()) {
      return {Code::kInvalidArgument,
              second.empty() ? "say which \"" + word + "\" command: " + known
                             : "no command \"" + word + " " + second + "\"; there are: " + known};
    }
  }
  std::vector<std::string> names;
  for (const Entry& entry : kCommands) {
    if (!entry.hidden) names.emplace_back(entry.name);
  }
  const std::string near = Closest(word, names);
  return {Code::kInvalidArgument, "no command \"" + word + "\"" +
                                      (near.empty() ? "." : "; did you mean " + near + "?") +
                                      " Commands: " + KnownCommands("")};
}

Result<Call> FindCommand(const std::vector<std::string>& arguments) {
  Call call;
  std::size_t at = 0;
  std::vector<std::string> early;
  for (; at < arguments.size() && arguments[at].starts_with("-"); ++at) {
    const std::string& word = arguments[at];
    if (word == "-h" || word == "--help") {
      call.help = true;
      continue;
    }
    const auto option =
        std::find_if(kEarly.begin(), kEarly.end(), [&word](const EarlyOption& candidate) {
          return word.substr(0, word.find('=')) == candidate.name;
        });
    if (option == kEarly.end()) {
      return Status(Code::kInvalidArgument,
                    "no option \"" + word + "\" before a command; see headway --help");
    }
    early.push_back(word);
    if (option->value && word.find('=') == std::string::npos) {
      if (at + 1 == arguments.size()) {
        return Status(Code::kInvalidArgument, word + " needs a value; see headway --help");
      }
      early.push_back(arguments[++at]);
    }
  }
  if (at == arguments.size()) return call;
  const std::string& word = arguments[at];
  const std::string second = at + 1 < arguments.size() ? arguments[at + 1] : std::string();
  std::size_t words = 0;
  for (const Entry& entry : kCommands) {
    if (entry.name == word) {
      call.entry = &entry;
      words = 1;
    }
    if (!second.empty() && entry.name == word + " " + second) {
      call.entry = &entry;
      words = 2;
      break;
    }
  }
  if (call.entry == nullptr) return Unknown(word, second);
  call.arguments = std::move(early);
  for (at += words; at < arguments.size(); ++at) {
    if (arguments[at] == "--") {
      call.arguments.insert(call.arguments.end(),
                            arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
      break;
    }
    if (arguments[at] == "--help" || arguments[at] == "-h") {
      call.help = true;
    } else {
      call.arguments.push_back(arguments[at]);
    }
  }
  return call;
}

Result<int> Dispatch(const std::vector<std::string>& arguments, const Context& context) {
  if (!arguments.empty() && (arguments[0] == "--version" || arguments[0] == "-V")) {
    *context.out << "headway " << Version() << "\n";
    return 0;
  }
  const Result<Call> call = FindCommand(arguments);
  if (!call.ok()) return call.status();
  if (call->entry == nullptr) {
    if (!call->help) {
      return Status(Code::kInvalidArgument,
                    "say what to do; commands: " + KnownCommands("") + "; see headway --help");
    }
    *context.out << HelpText(context.terminal);
    return 0;
  }
  if (call->help) {
    *context.out << HelpText(*call->entry, context.terminal);
    return 0;
  }
  const std::unique_ptr<Command> command = call->entry->make();
  Description description;
  command->Describe(&description);
  HEADWAY_RETURN_IF_ERROR(ParseArguments(call->entry->name, description, call->arguments));
  return command->Run(context);
}

}  // namespace

std::span<const Entry> Commands() { return kCommands; }

std::string_view Version() { return HEADWAY_VERSION; }

int Main(const std::vector<std::string>& arguments) noexcept {
  try {
    HoldStandardStreams();
    IgnoreFileSizeSignal();
    Output out(1);
    Context context;
    context.out = &out;
    context.terminal = DetectTerminal(1);
    context.error_terminal = DetectTerminal(2);
    const Result<int> result = Dispatch(arguments, context);
    const Status written = out.Flush();
    if (!result.ok()) {
      Complain(result.status().message());
      return ExitCode(result.status().code());
    }
    if (out.closed()) return 128 + SIGPIPE;
    if (!written.ok()) {
      Complain(written.message());
      return ExitCode(written.code());
    }
    return *result;
  } catch (const std::bad_alloc&) {
    Complain("out of memory");
    return ExitCode(Code::kResourceExhausted);
  } catch (const std::exception& error) {
    Complain(std::string("a bug of headway, please report it: ") + error.what());
  } catch (...) {
    Complain("a bug of headway, please report it");
  }
  return ExitCode(Code::kInternal);
}

}  // namespace headway::cli
