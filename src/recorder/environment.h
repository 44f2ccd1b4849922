#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "journal/directory.h"
#include "journal/placement.h"

/// What the environment says about a process: rank, world, job, attempt. A pure function of the
/// variables; the one table of variables is in environment.cc and is printed in
/// docs/environment.md.

namespace headway::recorder {

using EnvMap = std::map<std::string, std::string, std::less<>>;

struct Environment {
  // Ranks come from one launcher, never mixed. -1: not known.
  std::int64_t rank = -1;
  std::int64_t world_size = -1;
  std::int64_t local_rank = -1;
  std::string launcher;  ///< which one: a row of the table, e.g. "torchrun"

  std::string job_id;  ///< outermost job with an id that outlives restarts: "slurm:cluster/123"
  std::string attempt_key;          ///< the same for all processes of one attempt; empty: not known
  bool attempt_key_given = false;   ///< by HEADWAY_ATTEMPT_KEY
  std::int64_t attempt_index = -1;  ///< restarts so far, over all levels that tell

  std::string cluster;   ///< that the machine belongs to; empty: not known
  std::string location;  ///< where it stands: a zone, a region, a room; empty: not known

  std::string project;  ///< empty: not set
  std::string run;      ///< HEADWAY_RUN, else the job's name
  std::string run_uid;  ///< of a supervisor, 32 hexadecimal digits
  std::string dir;      ///< HEADWAY_DIR, else ~/.headway; empty without a home
  std::string resume;
  std::string file_system;  ///< "network" or "local": what the user says of `dir`
  std::string node_dir;     ///< where journals lie when `dir` is on a network; empty: the default
  bool disabled = false;
  bool heartbeat_off = false;
};

/// The key of the attempt of a job that was restarted `attempt_index` times before.
std::string AttemptKeyOf(std::string_view job_id, std::int64_t attempt_index);

/// Never fails: what can't be read (RANK=captain) counts as not set.
Environment DetectEnvironment(const EnvMap& env);

/// What it says about where journals lie.
journal::PlaceRules RulesOf(const Environment& env);

/// What HEADWAY_RESUME asks for. As journal::ParseResume; an error names the variable.
Result<journal::Resume> ResumeOf(const Environment& env);

/// The variables of this process.
EnvMap ProcessEnvironment();

/// The tables of variables as Markdown, for docs/environment.md.
std::string EnvironmentTables();

}  // namespace headway::recorder
