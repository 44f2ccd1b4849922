#include "recorder/environment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace headway::recorder {
namespace {

struct Case {
  const char* what;
  EnvMap env;
  std::int64_t rank;
  std::int64_t world_size;
  std::int64_t local_rank;
  const char* launcher;
  const char* job_id;
  const char* attempt_key;
  std::int64_t attempt_index;
};

TEST(EnvironmentTest, Launchers) {
  const Case kCases[] = {
      {"nothing", {}, -1, -1, -1, "", "", "", -1},
      {"torchrun",
       {{"RANK", "3"},
        {"WORLD_SIZE", "8"},
        {"LOCAL_RANK", "1"},
        {"TORCHELASTIC_RUN_ID", "job7"},
        {"TORCHELASTIC_RESTART_COUNT", "2"},
        {"MASTER_PORT", "29500"}},
       3,
       8,
       1,
       "torchrun",
       "torchrun:job7",
       "torchrun:job7#2@29500",
       2},
      {"torchrun without a rendezvous id",
       {{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"TORCHELASTIC_RUN_ID", "none"},
        {"TORCHELASTIC_RESTART_COUNT", "1"},
        {"MASTER_PORT", "29500"}},
       0,
       2,
       -1,
       "torchrun",
       "",
       "torchrun:#1@29500",
       1},
      {"plain torch.distributed",
       {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}},
       1,
       2,
       -1,
       "torchrun",
       "",
       "",
       -1},
      {"Slurm, first time",
       {{"SLURM_PROCID", "5"},
        {"SLURM_NTASKS", "16"},
        {"SLURM_LOCALID", "1"},
        {"SLURM_JOB_ID", "77"},
        {"SLURM_CLUSTER_NAME", "c"},
        {"SLURM_STEP_ID", "0"}},
       5,
       16,
       1,
       "slurm",
       "slurm:c/77",
       "slurm:c/77#0@0",
       0},
      {"Slurm, requeued, without a cluster name",
       {{"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "4"},
        {"SLURM_NTASKS", "16"},
        {"SLURM_JOBID", "77"},
        {"SLURM_RESTART_COUNT", "2"}},
       0,
       4,
       -1,
       "slurm",
       "slurm:77",
       "slurm:77#2",
       2},
      {"Slurm array task",
       {{"SLURM_JOB_ID", "79"}, {"SLURM_ARRAY_JOB_ID", "78"}, {"SLURM_ARRAY_TASK_ID", "3"}},
       -1,
       -1,
       -1,
       "",
       "slurm:78_3",
       "slurm:78_3#0",
       0},
      {"torchrun under Slurm",
       {{"RANK", "9"},
        {"WORLD_SIZE", "16"},
        {"SLURM_PROCID", "1"},
        {"SLURM_NTASKS", "2"},
        {"SLURM_JOB_ID", "77"},
        {"SLURM_STEP_ID", "4"},
        {"SLURM_RESTART_COUNT", "1"},
        {"TORCHELASTIC_RUN_ID", "x"},
        {"TORCHELASTIC_RESTART_COUNT", "2"}},
       9,
       16,
       -1,
       "torchrun",
       "slurm:77",
       "slurm:77#1@4+torchrun:x#2",
       3},
      {"JAX", {{"JAX_PROCESS_ID", "2"}, {"JAX_NUM_PROCESSES", "4"}}, 2, 4, -1, "jax", "", "", -1},
      {"Open MPI under Slurm",
       {{"OMPI_COMM_WORLD_RANK", "2"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
        {"SLURM_PROCID", "0"},
        {"SLURM_NTASKS", "1"},
        {"SLURM_JOB_ID", "5"},
        {"PMIX_NAMESPACE", "prterun-h-1@1"}},
       2,
       4,
       0,
       "openmpi",
       "slurm:5",
       "slurm:5#0+openmpi:@prterun-h-1@1",
       0},
      {"MPICH", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, 1, 2, -1, "mpi", "", "", -1},
      {"one Cloud TPU slice",
       {{"TPU_WORKER_ID", "3"}, {"TPU_WORKER_HOSTNAMES", "a,b,,c,d,"}},
       3,
       4,
       -1,
       "cloud_tpu",
       "",
       "",
       -1},
      {"several slices",
       {{"TPU_WORKER_ID", "3"},
        {"TPU_WORKER_HOSTNAMES", "a,b,c,d"},
        {"MEGASCALE_SLICE_ID", "2"},
        {"MEGASCALE_NUM_SLICES", "3"}},
       11,
       12,
       -1,
       "cloud_tpu",
       "",
       "",
       -1},
      {"a slice of unknown size",
       {{"TPU_WORKER_ID", "3"}, {"MEGASCALE_SLICE_ID", "2"}},
       -1,
       -1,
       -1,
       "",
       "",
       "",
       -1},
      {"JobSet",
       {{"JOB_COMPLETION_INDEX", "1"},
        {"PROCESSES_IN_JOB", "4"},
        {"JOB_INDEX", "2"},
        {"REPLICATED_JOB_REPLICAS", "3"},
        {"JOBSET_UID", "u-1"},
        {"JOBSET_RESTART_ATTEMPT", "5"}},
       9,
       12,
       -1,
       "jobset",
       "jobset:u-1",
       "jobset:u-1#5",
       5},
      {"JobSet that hides its restarts",
       {{"JOBSET_UID", "u-1"}},
       -1,
       -1,
       -1,
       "",
       "jobset:u-1",
       "",
       -1},
      {"indexed Job",
       {{"JOB_COMPLETION_INDEX", "4"}, {"JOB_UID", "j"}},
       4,
       -1,
       -1,
       "jobset",
       "job:j",
       "",
       -1},
      {"said outright",
       {{"HEADWAY_RANK", "1"},
        {"HEADWAY_WORLD_SIZE", "2"},
        {"RANK", "7"},
        {"HEADWAY_JOB_ID", "mine"},
        {"HEADWAY_ATTEMPT_KEY", "mine/4"},
        {"HEADWAY_ATTEMPT", "4"},
        {"SLURM_JOB_ID", "9"}},
       1,
       2,
       -1,
       "headway",
       "mine",
       "mine/4",
       4},
      {"job and restart count said outright",
       {{"HEADWAY_JOB_ID", "mine"}, {"HEADWAY_ATTEMPT", "4"}, {"SLURM_JOB_ID", "9"}},
       -1,
       -1,
       -1,
       "",
       "mine",
       "mine#4",
       4},
      {"restart count said outright",
       {{"HEADWAY_ATTEMPT", "2"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}},
       -1,
       -1,
       -1,
       "",
       "slurm:9",
       "slurm:9#2",
       2},
      {"job id said outright",
       {{"HEADWAY_JOB_ID", "mine"}, {"SLURM_JOB_ID", "9"}, {"SLURM_RESTART_COUNT", "1"}},
       -1,
       -1,
       -1,
       "",
       "mine",
       "mine#1",
       1},
      {"nonsense",
       {{"RANK", "captain"},
        {"WORLD_SIZE", "-1"},
        {"SLURM_PROCID", "1x"},
        {"PMI_RANK", ""},
        {"TPU_WORKER_ID", "99999999999999999999"}},
       -1,
       -1,
       -1,
       "",
       "",
       "",
       -1},
      {"more than fits",
       {{"TPU_WORKER_ID", "1"},
        {"TPU_WORKER_HOSTNAMES", "9223372036854775807"},
        {"MEGASCALE_SLICE_ID", "9"},
        {"MEGASCALE_NUM_SLICES", "9"}},
       -1,
       -1,
       -1,
       "",
       "",
       "",
       -1},
  };
  for (const Case& c : kCases) {
    const Environment e = DetectEnvironment(c.env);
    EXPECT_EQ(e.rank, c.rank) << c.what;
    EXPECT_EQ(e.world_size, c.world_size) << c.what;
    EXPECT_EQ(e.local_rank, c.local_rank) << c.what;
    EXPECT_EQ(e.launcher, c.launcher) << c.what;
    EXPECT_EQ(e.job_id, c.job_id) << c.what;
    EXPECT_EQ(e.attempt_key, c.attempt_key) << c.what;
    EXPECT_EQ(e.attempt_index, c.attempt_index) << c.what;
  }
}

TEST(EnvironmentTest, WhereTheMachineIs) {
  Environment e = DetectEnvironment({{"SLURM_CLUSTER_NAME", "alps"}});
  EXPECT_EQ(e.cluster, "alps");
  EXPECT_EQ(e.location, "");
  e = DetectEnvironment({{"HEADWAY_CLUSTER", "gke-a"},
                         {"SLURM_CLUSTER_NAME", "alps"},
                         {"HEADWAY_LOCATION", "eu-west-1a"}});
  EXPECT_EQ(e.cluster, "gke-a");
  EXPECT_EQ(e.location, "eu-west-1a");
  // What can be no name stands in nobody's way.
  e = DetectEnvironment({{"HEADWAY_CLUSTER", "a\nb"},
                         {"SLURM_CLUSTER_NAME", "alps"},
                         {"HEADWAY_LOCATION", std::string(257, 'x')}});
  EXPECT_EQ(e.cluster, "alps");
  EXPECT_EQ(e.location, "");
}

TEST(EnvironmentTest, NamesAndPlaces) {
  Environment e = DetectEnvironment({{"HOME", "/home/u"}});
  EXPECT_EQ(e.dir, "/home/u/.headway");
  EXPECT_EQ(e.run, "");
  EXPECT_FALSE(e.disabled || e.heartbeat_off);
  e = DetectEnvironment({{"HOME", "/home/u"},
                         {"HEADWAY_DIR", "/data"},
                         {"HEADWAY_PROJECT", "p"},
                         {"SLURM_JOB_NAME", "train.sh"},
                         {"HEADWAY_DISABLED", "1"},
                         {"HEADWAY_HEARTBEAT", "0"},
                         {"HEADWAY_FILE_SYSTEM", "network"},
                         {"HEADWAY_NODE_DIR", "/scratch/headway"},
                         {"HEADWAY_RESUME", "must"}});
  EXPECT_EQ(e.file_system, "network");
  EXPECT_EQ(e.node_dir, "/scratch/headway");
  EXPECT_EQ(e.dir, "/data");
  EXPECT_EQ(e.project, "p");
  EXPECT_EQ(e.run, "train.sh");
  EXPECT_EQ(e.resume, "must");
  EXPECT_TRUE(e.disabled && e.heartbeat_off);
  e = DetectEnvironment({{"SLURM_JOB_NAME", "a"}, {"JOBSET_NAME", "b"}, {"HEADWAY_RUN", "c"}});
  EXPECT_EQ(e.run, "c");
  EXPECT_EQ(e.dir, "");
}

TEST(EnvironmentTest, TheDocumentHoldsTheTables) {
  std::ifstream file("docs/environment.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(EnvironmentTables()), std::string::npos)
      << "docs/environment.md should contain:\n"
      << EnvironmentTables();
}

}  // namespace
}  // namespace headway::recorder
