#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

/// The one table of commands: dispatch, help, completions and the manual page read it.

namespace headway::cli {

struct Entry {
  std::string_view name;     ///< "goodput", "runs list"
  std::string_view summary;  ///< one line
  std::unique_ptr<Command> (*make)();
  bool hidden = false;  ///< works, but is not shown: for scripts of ours
};

std::span<const Entry> Commands();

/// The program: `arguments` without the program's own name. Returns the exit code; nothing is
/// thrown.
int Main(const std::vector<std::string>& arguments) noexcept;

/// "0.1.0".
std::string_view Version();

std::unique_ptr<Command> MakeGoodput();
std::unique_ptr<Command> MakeWatch();
std::unique_ptr<Command> MakeTimeline();
std::unique_ptr<Command> MakeSteps();
std::unique_ptr<Command> MakeConfig();
std::unique_ptr<Command> MakeMetrics();
std::unique_ptr<Command> MakeRunsList();
std::unique_ptr<Command> MakeRunsShow();
std::unique_ptr<Command> MakeRunsDelete();
std::unique_ptr<Command> MakeRunsPrune();
std::unique_ptr<Command> MakeRunsCreate();
std::unique_ptr<Command> MakeRunsUpdate();
std::unique_ptr<Command> MakeRunsUndelete();
std::unique_ptr<Command> MakeProjectsList();
std::unique_ptr<Command> MakeProjectsCreate();
std::unique_ptr<Command> MakeOperationsList();
std::unique_ptr<Command> MakeOperationsShow();
std::unique_ptr<Command> MakeOperationsCancel();
std::unique_ptr<Command> MakeOperationsDelete();
std::unique_ptr<Command> MakeEventsList();
std::unique_ptr<Command> MakeEventsShow();
std::unique_ptr<Command> MakeProfilesList();
std::unique_ptr<Command> MakeProfilesShow();
std::unique_ptr<Command> MakeNodesList();
std::unique_ptr<Command> MakeClustersList();
std::unique_ptr<Command> MakeLocationsList();
std::unique_ptr<Command> MakeImport();
std::unique_ptr<Command> MakeExport();
std::unique_ptr<Command> MakeRun();
std::unique_ptr<Command> MakeMonitor();
std::unique_ptr<Command> MakeServe();
std::unique_ptr<Command> MakeUi();
std::unique_ptr<Command> MakeBackup();
std::unique_ptr<Command> MakeTokensCreate();
std::unique_ptr<Command> MakeTokensList();
std::unique_ptr<Command> MakeTokensRevoke();
std::unique_ptr<Command> MakeTokensLog();
std::unique_ptr<Command> MakeRolesCreate();
std::unique_ptr<Command> MakeRolesList();
std::unique_ptr<Command> MakeRolesDelete();
std::unique_ptr<Command> MakeLink();
std::unique_ptr<Command> MakeLinksList();
std::unique_ptr<Command> MakeLinksRevoke();
std::unique_ptr<Command> MakeShip();
std::unique_ptr<Command> MakeAgent();
std::unique_ptr<Command> MakeDoctor();
std::unique_ptr<Command> MakeCompletion();
std::unique_ptr<Command> MakeMan();
std::unique_ptr<Command> MakeHelp();
std::unique_ptr<Command> MakeCompleteWords();

}  // namespace headway::cli
