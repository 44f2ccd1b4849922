#include "recorder/environment.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/names.h"

namespace headway::recorder {
namespace {

// --- The table
// -------------------------------------------------------------------------------------

// Ranks: the first row whose rank can be read wins. Inner launchers first: torchrun under srun,
// mpirun under a Slurm allocation.
struct RankRow {
  std::string_view launcher;
  std::string_view rank;
  std::string_view world_size;
  std::string_view world_size_else;
  std::string_view local_rank;
};
constexpr RankRow kRanks[] = {
    {"headway", "HEADWAY_RANK", "HEADWAY_WORLD_SIZE", "", "HEADWAY_LOCAL_RANK"},
    {"torchrun", "RANK", "WORLD_SIZE", "", "LOCAL_RANK"},
    {"jax", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT", "JAX_LOCAL_PROCESS_ID"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpi", "PMI_RANK", "PMI_SIZE", "", "MPI_LOCALRANKID"},
    {"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_LOCALID"},
};

// Ranks that take some arithmetic, tried after the rows above: group · size of a group + index in
// it. `size` is a number, or a comma-separated list that is counted.
struct GroupRow {
  std::string_view launcher;
  std::string_view index;
  std::string_view size;
  std::string_view group;
  std::string_view groups;
};
constexpr GroupRow kGroups[] = {
    {"cloud_tpu", "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", "MEGASCALE_SLICE_ID",
     "MEGASCALE_NUM_SLICES"},
    {"jobset", "JOB_COMPLETION_INDEX", "PROCESSES_IN_JOB", "JOB_INDEX", "REPLICATED_JOB_REPLICAS"},
};

// Jobs, outermost first. `id` names what outlives restarts; `restarts` counts them. An attempt key
// is made of every level that has an id; `launch` tells apart launches within one job, where the
// launcher does.
struct JobRow {
  std::string_view kind;
  std::string_view scope;  // put before the id
  std::string_view id;
  std::string_view id_else;
  std::string_view restarts;
  bool no_count_is_zero;  // the variable appears with the first restart only
  std::string_view launch;
};
constexpr JobRow kJobs[] = {
    {"slurm", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_RESTART_COUNT", true,
     "SLURM_STEP_ID"},
    {"jobset", "", "JOBSET_UID", "", "JOBSET_RESTART_ATTEMPT", false, ""},
    {"job", "", "JOB_UID", "", "", false, ""},
    {"openmpi", "", "", "", "", false, "PMIX_NAMESPACE"},
    {"torchrun", "", "TORCHELASTIC_RUN_ID", "", "TORCHELASTIC_RESTART_COUNT", false, "MASTER_PORT"},
};

// Everything else.
struct PlainRow {
  std::string_view variable;
  std::string_view meaning;
};
constexpr PlainRow kPlain[] = {
    {"HEADWAY_DIR", "directory of journals; without it `~/.headway`"},
    {"HEADWAY_FILE_SYSTEM",
     "`network` or `local`: what that directory's file system is, where `statfs(2)` misleads. With "
     "`local` each record is a write call, never a mapping"},
    {"HEADWAY_NODE_DIR",
     "where this machine's journals lie when that directory is on a network; without it "
     "`/var/tmp/headway-UID`"},
    {"HEADWAY_PROJECT", "project, where the program names none"},
    {"HEADWAY_RUN", "run name, where the program names none"},
    {"HEADWAY_RESUME", "`auto`, `must` or `never`, where the program says nothing"},
    {"HEADWAY_RUN_UID",
     "set by a supervisor: the run's uid. With it `HEADWAY_DIR`, `HEADWAY_PROJECT` and "
     "`HEADWAY_RUN` outweigh what the program says, so that both records meet"},
    {"HEADWAY_JOB_ID",
     "job id, in place of those of the table above; with a restart count it makes the attempt key"},
    {"HEADWAY_ATTEMPT_KEY", "attempt key, in place of the one made from the table above"},
    {"HEADWAY_ATTEMPT",
     "restart count, in place of those of the table above; with a job id it makes the attempt key"},
    {"HEADWAY_CLUSTER",
     "cluster that this machine belongs to; without it `SLURM_CLUSTER_NAME`. A server lists the "
     "machines of a cluster together"},
    {"HEADWAY_LOCATION", "where this machine stands: a zone, a region, a room"},
    {"HEADWAY_HEARTBEAT", "`0`: no heartbeat thread, whatever the program says"},
    {"HEADWAY_DISABLED", "`1`: record nothing"},
    {"HEADWAY_ORBAX", "`0`: Python does not record what Orbax saves and restores by itself"},
    {"HEADWAY_AUTO_CONFIG",
     "`0`: Python does not record by itself what the software and the machine are"},
    {"SLURM_JOB_NAME", "run name without `HEADWAY_RUN`"},
    {"JOBSET_NAME", "run name without `HEADWAY_RUN`, in a JobSet"},
    {"SLURM_ARRAY_JOB_ID",
     "with `SLURM_ARRAY_TASK_ID`: job id `ARRAY_TASK`, each task a run of its own"},
    {"SLURM_ARRAY_TASK_ID", "see `SLURM_ARRAY_JOB_ID`"},
};

// --- Reading it
// ------------------------------------------------------------------------------------

std::string_view Text(const EnvMap& env, std::string_view variable) {
  if (variable.empty()) return {};
  const auto found = env.find(variable);
  return found == env.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::int64_t> Number(const EnvMap& env, std::string_view variable) {
  const std::string_view text = Text(env, variable);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> CountOrNumber(const EnvMap& env, std::string_view variable) {
  const std::string_view text = Text(env, variable);
  if (text.empty()) return std::nullopt;
  if (const auto number = Number(env, variable)) return number;
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    entries += text[i] != ',' && (i == 0 || text[i - 1] == ',') ? 1 : 0;
  }
  return entries > 0 ? std::optional(entries) : std::nullopt;
}

void FindRank(const EnvMap& env, Environment* out) {
  for (const RankRow& row : kRanks) {
    const auto rank = Number(env, row.rank);
    if (!rank) continue;
    auto size = Number(env, row.world_size);
    if (!size) size = Number(env, row.world_size_else);
    out->rank = *rank;
    out->world_size = size.value_or(-1);
    out->local_rank = Number(env, row.local_rank).value_or(-1);
    out->launcher = row.launcher;
    return;
  }
  for (const GroupRow& row : kGroups) {
    const auto index = Number(env, row.index);
    if (!index) continue;
    const auto group = Number(env, row.group);
    const auto size = CountOrNumber(env, row.size);
    if (group && *group > 0 && !size) continue;  // which one it is can't be told
    std::int64_t rank = 0;
    if (__builtin_mul_overflow(group.value_or(0), size.value_or(0), &rank) ||
        __builtin_add_overflow(rank, *index, &rank)) {
      continue;
    }
    out->rank = rank;
    const auto groups = group ? Number(env, row.groups) : std::optional<std::int64_t>(1);
    std::int64_t world = -1;
    if (size && groups && !__builtin_mul_overflow(*size, *groups, &world)) out->world_size = world;
    out->launcher = row.launcher;
    return;
  }
}

std::string JobIdOf(const EnvMap& env, const JobRow& row) {
  std::string id(Text(env, row.id));
  if (id.empty()) id = Text(env, row.id_else);
  if (row.kind == "slurm") {
    const std::string_view array = Text(env, "SLURM_ARRAY_JOB_ID");
    const std::string_view task = Text(env, "SLURM_ARRAY_TASK_ID");
    if (!array.empty() && !task.empty()) id = std::string(array) + "_" + std::string(task);
  }
  // torchrun without --rdzv-id.
  if (id.empty() || (row.kind == "torchrun" && id == "none")) return {};
  const std::string_view scope = Text(env, row.scope);
  return std::string(row.kind) + ":" + (scope.empty() ? "" : std::string(scope) + "/") + id;
}

void FindJob(const EnvMap& env, Environment* out) {
  std::string key;
  std::int64_t restarts = 0;
  bool restarts_known = false;
  bool key_known = false;
  for (const JobRow& row : kJobs) {
    const std::string id = JobIdOf(env, row);
    const std::string_view launch = Text(env, row.launch);
    const auto count = Number(env, row.restarts);
    if (!id.empty() && out->job_id.empty()) out->job_id = id;
    const bool has_count = !id.empty() && (count.has_value() || row.no_count_is_zero);
    const bool has_launch = !launch.empty() && (!id.empty() || row.id.empty() || count.has_value());
    if (!id.empty() || has_launch) {
      if (!key.empty()) key += "+";
      key += id.empty() ? std::string(row.kind) + ":" : id;
    }
    if (has_count || (row.kind == "torchrun" && count.has_value() && has_launch)) {
      key += "#" + std::to_string(count.value_or(0));
      restarts += count.value_or(0);
      restarts_known = key_known = true;
    }
    if (has_launch) {
      key += "@" + std::string(launch);
      key_known = true;
    }
  }
  // A job id alone does not say which attempt it is.
  if (key_known) out->attempt_key = key;
  if (restarts_known) out->attempt_index = restarts;
}

// What can be no name of a place counts as not set.
std::string PlaceName(const EnvMap& env, std::string_view variable) {
  const std::string_view name = Text(env, variable);
  return CheckNewName(variable, name).ok() ? std::string(name) : std::string();
}

void AppendCell(std::string_view text, std::string* out) {
  *out += text.empty() ? " –" : " `" + std::string(text) + "`";
  *out += " |";
}

}  // namespace

std::string AttemptKeyOf(std::string_view job_id, std::int64_t attempt_index) {
  return std::string(job_id) + "#" + std::to_string(attempt_index);
}

Environment DetectEnvironment(const EnvMap& env) {
  Environment out;
  FindRank(env, &out);
  FindJob(env, &out);
  if (const std::string_view id = Text(env, "HEADWAY_JOB_ID"); !id.empty()) out.job_id = id;
  if (const std::string_view key = Text(env, "HEADWAY_ATTEMPT_KEY"); !key.empty()) {
    out.attempt_key = key;
    out.attempt_key_given = true;
  }
  const auto attempt = Number(env, "HEADWAY_ATTEMPT");
  if (attempt) out.attempt_index = *attempt;
  const bool restated = attempt || !Text(env, "HEADWAY_JOB_ID").empty();
  if (restated && !out.attempt_key_given && !out.job_id.empty() && out.attempt_index >= 0) {
    out.attempt_key = AttemptKeyOf(out.job_id, out.attempt_index);
  }
  out.cluster = PlaceName(env, "HEADWAY_CLUSTER");
  if (out.cluster.empty()) out.cluster = PlaceName(env, "SLURM_CLUSTER_NAME");
  out.location = PlaceName(env, "HEADWAY_LOCATION");
  out.project = Text(env, "HEADWAY_PROJECT");
  for (const std::string_view variable : {"HEADWAY_RUN", "JOBSET_NAME", "SLURM_JOB_NAME"}) {
    if (out.run.empty()) out.run = Text(env, variable);
  }
  out.run_uid = Text(env, "HEADWAY_RUN_UID");
  out.dir = Text(env, "HEADWAY_DIR");
  if (const std::string_view home = Text(env, "HOME"); out.dir.empty() && home.starts_with('/')) {
    out.dir = std::string(home) + "/.headway";
  }
  out.resume = Text(env, "HEADWAY_RESUME");
  out.file_system = Text(env, "HEADWAY_FILE_SYSTEM");
  out.node_dir = Text(env, "HEADWAY_NODE_DIR");
  out.disabled = Text(env, "HEADWAY_DISABLED") == "1";
  out.heartbeat_off = Text(env, "HEADWAY_HEARTBEAT") == "0";
  return out;
}

Result<journal::Resume> ResumeOf(const Environment& env) {
  Result<journal::Resume> resume = journal::ParseResume(env.resume);
  if (resume.ok()) return resume;
  return Status(resume.status().code(), "HEADWAY_RESUME: " + resume.status().message());
}

journal::PlaceRules RulesOf(const Environment& env) {
  return {.file_system = env.file_system, .node_local = env.node_dir};
}

EnvMap ProcessEnvironment() {
  EnvMap env;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      env.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return env;
}

std::string EnvironmentTables() {
  std::string out = "| launcher | rank | world size | else | local rank |\n|---|---|---|---|---|\n";
  for (const RankRow& row : kRanks) {
    out += "| " + std::string(row.launcher) + " |";
    for (const auto cell : {row.rank, row.world_size, row.world_size_else, row.local_rank}) {
      AppendCell(cell, &out);
    }
    out += "\n";
  }
  out +=
      "\n| launcher | index in its group | size of a group | group | number of groups |\n"
      "|---|---|---|---|---|\n";
  for (const GroupRow& row : kGroups) {
    out += "| " + std::string(row.launcher) + " |";
    for (const auto cell : {row.index, row.size, row.group, row.groups}) AppendCell(cell, &out);
    out += "\n";
  }
  out += "\n| kind | scope | job id | else | restart count | launch |\n|---|---|---|---|---|---|\n";
  for (const JobRow& row : kJobs) {
    out += "| " + std::string(row.kind) + " |";
    for (const auto cell : {row.scope, row.id, row.id_else, row.restarts, row.launch}) {
      AppendCell(cell, &out);
    }
    out += "\n";
  }
  out += "\n| variable | meaning |\n|---|---|\n";
  for (const PlainRow& row : kPlain) {
    out += "| `" + std::string(row.variable) + "` | " + std::string(row.meaning) + " |\n";
  }
  return out;
}

}  // namespace headway::recorder
