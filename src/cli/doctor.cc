#include "cli/doctor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/clock.h"
#include "base/files.h"
#include "base/names.h"
#include "base/time_format.h"
#include "base/uid.h"
#include "cli/child.h"
#include "journal/directory.h"
#include "journal/liveness.h"
#include "journal/placement.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// A journal grows by 16 MiB at a time; a day of steps takes a few hundred at most.
constexpr std::uint64_t kSpaceNeeded = 64 * kMiB;
constexpr std::uint64_t kSpaceWanted = 1024 * kMiB;
constexpr std::uint64_t kProbeBytes = std::uint64_t{256} << 10;  // a journal's first reservation
constexpr std::int64_t kDriftProblem = 10'000;                   // millionths: a second in 100 s
constexpr std::int64_t kDriftWarning = 1'000;
constexpr std::int64_t kOldestNow = 1'704'067'200 * kNanosPerSecond;  // 2024
constexpr std::int64_t kPythonPatienceNs = 20 * kNanosPerSecond;

std::string ErrorText(int error) { return std::strerror(error); }

Check Good(std::string name, std::string message) {
  return {std::move(name), Verdict::kGood, std::move(message), {}};
}

Check CheckOwner(const std::string& dir, const struct stat& info) {
  if (info.st_uid != ::geteuid()) {
    return {"owner", Verdict::kWarning,
            dir + " belongs to user " + std::to_string(info.st_uid) + ", this is user " +
                std::to_string(::geteuid()),
            "choose a directory of your own with HEADWAY_DIR"};
  }
  if ((info.st_mode & 0022) != 0) {
    return {"owner", Verdict::kProblem, dir + " can be changed by others",
            "chmod go-w '" + dir + "'"};
  }
  if ((info.st_mode & 0077) != 0) {
    return {"owner", Verdict::kNote, dir + " can be read by others; runs in it can't",
            "chmod 700 '" + dir + "' if its names are nobody's business"};
  }
  return Good("owner", dir + " is yours alone");
}

// How journals are written in `dir`, which is on this machine.
Check CheckLocalPlace(const std::string& dir, const journal::PlaceRules& rules) {
  if (rules.file_system == "local") {
    return {"file_system", Verdict::kNote,
            "HEADWAY_FILE_SYSTEM=local: each record is a write call (1 µs) in " + dir,
            "unset it where a mapping is safe (docs/environment.md)"};
  }
  switch (journal::ExaminePlace(dir)) {
    case journal::Placement::kMapped:
      return Good("file_system",
                  "journals can be mapped in " + dir + ": nothing is lost by a crash");
    case journal::Placement::kLocal:
    case journal::Placement::kNetwork: break;  // the latter only where nothing else can be had
  }
  return {"file_system", Verdict::kNote,
          "the file system of " + dir +
              " may not keep reservations: each record is a write call (1 µs)",
          ""};
}

void CheckSpace(const std::string& dir, std::vector<Check>* checks) {
  struct statvfs space;
  if (::statvfs(dir.c_str(), &space) != 0) return;
  checks->push_back(JudgeSpace(std::uint64_t{space.f_bavail} * space.f_frsize,
                               std::uint64_t{space.f_blocks} * space.f_frsize, dir));
  if (space.f_files > 0 && space.f_favail < 100) {
    checks->push_back({"free_inodes", Verdict::kProblem,
                       "only " + std::to_string(space.f_favail) + " more files fit below " + dir,
                       "delete files, or choose another file system with HEADWAY_DIR"});
  }
}

// Reserving, mapping order aside, is what a journal does first.
std::vector<Check> CheckWriting(const std::string& dir) {
  const std::string path =
      JoinPath(dir, ".doctor-" + uid_internal::ToHex(uid_internal::Random()).substr(0, 16));
  const UniqueFd fd = OpenFile(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.ok()) {
    return {{"writable", Verdict::kProblem,
             "cannot create files in " + dir + ": " + ErrorText(errno),
             "choose another directory with HEADWAY_DIR, or mend its permissions"}};
  }
  std::vector<Check> checks = {Good("writable", "files can be created in " + dir)};
  if (::fallocate(fd.get(), 0, 0, static_cast<off_t>(kProbeBytes)) == 0) {
    checks.push_back(Good("fallocate", "space can be reserved ahead"));
  } else if (errno == ENOSPC || errno == EDQUOT) {
    checks.push_back({"fallocate", Verdict::kProblem, "no space: " + ErrorText(errno),
                      "free some space or raise the quota"});
  } else {
    checks.push_back({"fallocate", Verdict::kNote,
                      "space can't be reserved ahead (" + ErrorText(errno) +
                          "): each record is a write call (1 µs)",
                      ""});
  }
  const UniqueFd second = OpenFile(path, O_RDONLY | O_NOFOLLOW);
  if (second.ok() && journal::LockJournal(second.get())) {
    checks.push_back(Good("locks", "a journal's lock tells that its process lives"));
  } else {
    checks.push_back({"locks", Verdict::kWarning,
                      "files can't be locked there: a dead process is noticed by its pid only",
                      "set HEADWAY_DIR to a directory on a local disk"});
  }
  ::unlink(path.c_str());
  return checks;
}

// Variables that hold numbers or one of a few words.
void CheckNumber(const recorder::EnvMap& variables, std::string_view name,
                 std::vector<Check>* checks) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) return;
  std::int64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0) return;
  checks->push_back(
      {"variable", Verdict::kWarning,
       std::string(name) + " is \"" + found->second + "\", which is no number: it is not used",
       "set it to a whole number, or unset it"});
}

std::string OrNothing(std::int64_t number) { return number < 0 ? "none" : std::to_string(number); }

// Runs a program for its output; nothing when it fails or does not come to an end.
struct Answer {
  bool started = false;
  int exit_status = -1;
  std::string text;
};
Answer Ask(const std::vector<std::string>& command) {
  Answer answer;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return answer;
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  if (FileSizeSignalWasDefault()) {
    sigset_t size;
    ::sigemptyset(&size);
    ::sigaddset(&size, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes, &size);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  }
  answer.started =
      ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), ::environ) == 0;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end.Reset();
  if (!answer.started) return answer;
  const MonoNs until = SystemClock::MonoNow() + kPythonPatienceNs;
  while (true) {
    const std::int64_t rest = until - SystemClock::MonoNow();
    pollfd ready = {read_end.get(), POLLIN, 0};
    if (rest <= 0 || ::poll(&ready, 1, static_cast<int>(rest / 1'000'000)) == 0) {
      ::kill(pid, SIGKILL);
      break;
    }
    char buffer[512];
    const ssize_t got = ::read(read_end.get(), buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) answer.text.append(buffer, static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  answer.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood: return "good";
    case Verdict::kNote: return "note";
    case Verdict::kWarning: return "warning";
    case Verdict::kProblem: return "problem";
  }
  return "";
}

Check JudgeSpace(std::uint64_t free_bytes, std::uint64_t total_bytes, const std::string& dir) {
  const std::string found =
      ShowBytes(free_bytes) + " of " + ShowBytes(total_bytes) + " are free below " + dir;
  if (free_bytes < kSpaceNeeded) {
    return {"free_space", Verdict::kProblem, found + "; records will be dropped",
            "free at least " + ShowBytes(kSpaceNeeded) + ": headway runs prune --older-than 30d"};
  }
  if (free_bytes < kSpaceWanted) {
    return {"free_space", Verdict::kWarning, found,
            "a long run may need more: headway runs prune --older-than 30d"};
  }
  return Good("free_space", found);
}

Check JudgeDrift(std::int64_t wall_ns, std::int64_t mono_ns) {
  const std::int64_t drift = wall_ns > mono_ns ? wall_ns - mono_ns : mono_ns - wall_ns;
  const __int128 millionths = mono_ns > 0 ? static_cast<__int128>(drift) * 1'000'000 / mono_ns : 0;
  const std::string found = "the wall clock ran " + ShowDuration(drift) +
                            " away from the monotonic one within " + ShowDuration(mono_ns);
  const std::string remedy = "look at the time service (chronyd, systemd-timesyncd, ntpd)";
  if (millionths >= kDriftProblem) return {"clock_drift", Verdict::kProblem, found, remedy};
  if (millionths >= kDriftWarning) return {"clock_drift", Verdict::kWarning, found, remedy};
  return Good("clock_drift", "both clocks run at one speed");
}

std::vector<Check> CheckDirectory(const std::string& dir, const journal::PlaceRules& rules) {
  std::vector<Check> checks;
  struct stat info;
  const bool there = ::stat(dir.c_str(), &info) == 0;
  if (const Status made = MakeDirectories(dir); !made.ok()) {
    return {{"directory", Verdict::kProblem, made.message(),
             "set HEADWAY_DIR to a directory that you can write to"}};
  }
  checks.push_back(Good(
      "directory", "the data directory is " + dir + (there ? "" : " (it has just been made)")));
  if (::stat(dir.c_str(), &info) == 0) checks.push_back(CheckOwner(dir, info));
  for (Check& check : CheckWriting(dir)) checks.push_back(std::move(check));
  CheckSpace(dir, &checks);
  // Where journals really go.
  const journal::Place place = journal::ChoosePlace(dir, 0, rules);
  if (place.dir != dir) {
    const std::string why = rules.file_system == "network" ? "HEADWAY_FILE_SYSTEM=network says so"
                                                           : "so says the file system";
    checks.push_back({"file_system", Verdict::kWarning,
                      dir + " is on a network (" + why + "): journals are written to " + place.dir +
                          ", and only `headway run` copies them from there",
                      "start jobs with headway run, or read them with --dir " + place.dir +
                          ", or set HEADWAY_DIR to a local directory"});
    for (Check& check : CheckWriting(place.dir)) checks.push_back(std::move(check));
    CheckSpace(place.dir, &checks);
  } else if (journal::ExaminePlace(dir, rules) == journal::Placement::kNetwork) {
    const std::string local = journal::NodeLocalDirectory(rules);
    const Status usable = MakePrivateDirectory(local);
    checks.push_back(
        {"file_system", Verdict::kProblem,
         dir + " is on a network file system, and there is no place on this machine " +
             "either: " + (usable.ok() ? local + " is on a network, too" : usable.message()),
         "set HEADWAY_DIR or HEADWAY_NODE_DIR to a directory on a local disk"});
    return checks;
  }
  checks.push_back(CheckLocalPlace(place.dir, rules));
  return checks;
}

std::vector<Check> CheckClocks() {
  std::vector<Check> checks;
  const ClockAnchor before = TakeAnchor(SystemClock::Get());
  const timespec pause = {0, 100'000'000};
  ::nanosleep(&pause, nullptr);
  const ClockAnchor after = TakeAnchor(SystemClock::Get());
  checks.push_back(JudgeDrift(after.wall - before.wall, after.mono - before.mono));
  if (after.wall.ns < kOldestNow) {
    checks.push_back({"wall_clock", Verdict::kProblem,
                      "the wall clock says " + ShowTime(after.wall.ns) + " UTC",
                      "set the clock: times of different machines are compared"});
  }
  timex state{};
  if (::adjtimex(&state) == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    checks.push_back({"clock_sync", Verdict::kNote,
                      "the kernel does not know of a time service that keeps the wall clock right",
                      "on machines of one job run chronyd or the like: restarts on another machine "
                      "are measured by the wall clock"});
  } else {
    checks.push_back(Good("clock_sync", "a time service keeps the wall clock right"));
  }
  return checks;
}

std::vector<Check> CheckEnvironment(const recorder::EnvMap& variables) {
  const recorder::Environment env = recorder::DetectEnvironment(variables);
  std::vector<Check> checks;
  const bool contradicts = env.rank >= 0 && env.world_size >= 0 && env.rank >= env.world_size;
  const std::int64_t world_size = contradicts ? -1 : env.world_size;  // as a recorder takes it
  checks.push_back(Good(
      "rank",
      env.launcher.empty()
          ? "no launcher is seen: this would be a single process"
          : "rank " + OrNothing(env.rank) + " of " + OrNothing(world_size) + " by " + env.launcher +
                (env.local_rank >= 0 ? ", local rank " + std::to_string(env.local_rank) : "")));
  if (contradicts) {
    checks.push_back({"rank_range", Verdict::kProblem,
                      "rank " + std::to_string(env.rank) + " is not below the world size " +
                          std::to_string(env.world_size) + ": the world size is not recorded",
                      "mend the variables of the launcher, or set HEADWAY_RANK and "
                      "HEADWAY_WORLD_SIZE"});
  }
  checks.push_back(
      Good("job", env.job_id.empty()
                      ? "no job is seen: restarts continue the newest run of a name"
                      : "job " + env.job_id + ", attempt " + OrNothing(env.attempt_index) +
                            " (key " + (env.attempt_key.empty() ? "none" : env.attempt_key) + ")"));
  checks.push_back(Good("run", "project " + (env.project.empty() ? "default" : env.project) +
                                   ", run " + (env.run.empty() ? "default" : env.run)));
  if (!env.cluster.empty() || !env.location.empty()) {
    const std::string cluster = env.cluster.empty() ? "no cluster" : "cluster " + env.cluster;
    checks.push_back(
        Good("machine", cluster + (env.location.empty() ? "" : ", location " + env.location)));
  }
  for (const std::string_view name : {"HEADWAY_CLUSTER", "HEADWAY_LOCATION"}) {
    const auto set = variables.find(name);
    if (set == variables.end()) continue;
    const Status good = CheckNewName(name, set->second);
    if (good.ok()) continue;
    checks.push_back({"variable", Verdict::kWarning, good.message() + ": it is not used",
                      "correct or unset it"});
  }
  for (const std::string_view name : {"HEADWAY_RANK", "HEADWAY_WORLD_SIZE", "HEADWAY_LOCAL_RANK",
                                      "HEADWAY_ATTEMPT", "RANK", "WORLD_SIZE", "LOCAL_RANK"}) {
    CheckNumber(variables, name, &checks);
  }
  for (const auto& [what, name] :
       {std::pair<std::string_view, const std::string&>("the project", env.project),
        std::pair<std::string_view, const std::string&>("the run's name", env.run),
        std::pair<std::string_view, const std::string&>("the job id", env.job_id),
        std::pair<std::string_view, const std::string&>("the attempt key", env.attempt_key)}) {
    const Status good = CheckNewName(what, name);
    if (good.ok()) continue;
    checks.push_back({"variable", Verdict::kProblem, "of the environment: " + good.message(),
                      "set another one: nothing is recorded under it"});
  }
  if (const auto resume = recorder::ResumeOf(env); !resume.ok()) {
    checks.push_back(
        {"variable", Verdict::kProblem, resume.status().message(), "correct or unset it"});
  }
  if (!env.file_system.empty() && env.file_system != "network" && env.file_system != "local") {
    checks.push_back({"variable", Verdict::kWarning,
                      "HEADWAY_FILE_SYSTEM is \"" + env.file_system +
                          "\", which is neither network nor local: it is not used",
                      "correct or unset it"});
  }
  if (!env.run_uid.empty() && !ParseUid<RunUid>(env.run_uid).ok()) {
    checks.push_back({"variable", Verdict::kProblem,
                      "HEADWAY_RUN_UID is no id of 32 hexadecimal digits", "unset it"});
  }
  if (env.disabled) {
    checks.push_back({"disabled", Verdict::kWarning, "HEADWAY_DISABLED=1: nothing is recorded",
                      "unset HEADWAY_DISABLED"});
  }
  if (env.heartbeat_off) {
    checks.push_back({"heartbeat", Verdict::kNote,
                      "HEADWAY_HEARTBEAT=0: a hang that is killed looks like an early death",
                      "unset HEADWAY_HEARTBEAT unless the program forks"});
  }
  return checks;
}

Check CheckPython(const std::string& python, std::string_view version) {
  const std::string program = python.empty() ? "python3" : python;
  const Answer answer =
      Ask({program, "-c", "import headway; print(headway.__version__, headway.__file__)"});
  if (!answer.started || answer.exit_status == 127) {
    return {"python", python.empty() ? Verdict::kNote : Verdict::kProblem, "there is no " + program,
            python.empty() ? "" : "correct HEADWAY_PYTHON"};
  }
  if (answer.exit_status != 0) {
    return {"python", python.empty() ? Verdict::kNote : Verdict::kProblem,
            program + " can't import headway",
            "for Python programs: " + program + " -m pip install headway"};
  }
  std::string text = answer.text.substr(0, answer.text.find('\n'));
  const std::string found = text.substr(0, text.find(' '));
  if (found != version) {
    return {"python", Verdict::kWarning,
            program + " imports headway " + found + ", this program is " + std::string(version),
            "install both in one version"};
  }
  return Good("python", program + " imports headway " + text.replace(found.size(), 1, " from "));
}

}  // namespace headway::cli
