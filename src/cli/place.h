#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "ledger/ledger.h"
#include "runs/runs.h"

/// What nearly every command asks first: where the data lies, which run, which time.

namespace headway::cli {

/// --dir, --server, --project, --json.
struct Place {
  std::vector<std::string> dirs;
  std::string server;  ///< a URL
  std::string token;   ///< from the environment, for that server
  std::string ca;      ///< likewise: file of the certificates that it is trusted by
  std::string project;
  bool json = false;
};

void DescribePlace(Description* description, Place* place);
/// --server, for commands that a server can answer.
void DescribeServer(Description* description, Place* place);
/// RUN, with what it can be.
void DescribeRun(Description* description, std::string* run);
/// The same where RUN may be left out.
void DescribeOptionalRun(Description* description, std::optional<std::string>* run);

/// Fills in what was not said: HEADWAY_DIR, else ~/.headway; HEADWAY_PROJECT, else "default".
/// InvalidArgument for a name that can be none; FailedPrecondition without any directory.
Status Resolve(Place* place);
/// What commands that need a server say where headway was built without what speaks to one.
Status NoServersBuilt();

/// Whether a server is asked: --server, else HEADWAY_SERVER unless --dir is given; then its token
/// is HEADWAY_TOKEN, and HEADWAY_CA whom it is trusted by; the address of a share link says server
/// and token. `place->server` stays empty where none is. InvalidArgument for what is no URL.
Status ResolveServer(Place* place);
/// The same for commands that send what lies in --dir.
Status ResolveReceiver(Place* place);
/// The same for what only reads. NotFound when a --dir does not exist; the directory that nobody
/// named may not be there yet: then there are no runs. InvalidArgument for one that is a file.
Status ResolveToRead(Place* place);

/// InvalidArgument unless `name` can name a run, a project and the like.
Status CheckName(std::string_view what, std::string_view name);

/// The run and all its records.
struct OpenRun {
  runs::Run run;
  runs::Loaded loaded;
};

/// Resolves `place`, finds the run and loads it, with a progress bar; problems are told on
/// standard error. NotFound as runs::Find, and for a --dir that does not exist.
Result<OpenRun> Open(const Context& context, Place* place, const std::string& label);

/// As `Open` but without reading records.
Result<runs::Run> FindRun(Place* place, const std::string& label);

/// Tells problems on standard error, at most ten of them.
void TellProblems(const std::vector<Status>& problems);

/// --window, --last, --as-of.
struct TimeOptions {
  std::string window;
  std::optional<std::int64_t> last;
  std::string as_of;
};
void DescribeTimes(Description* description, TimeOptions* times);

/// InvalidArgument for a window that is none.
Status CheckTimes(const TimeOptions& times);

/// What the options ask of the run. InvalidArgument when they can't be read or exclude each other.
Result<ledger::Query> MakeQuery(const TimeOptions& times, OpenRun* open);

/// The report with its run's name and project.
Report MakeReport(OpenRun* open, const ledger::Query& query);
/// The same with the numbers of compat accounting; errors: compat::MakeReport.
Result<Report> MakeCompatReport(OpenRun* open, const ledger::Query& query);

}  // namespace headway::cli
