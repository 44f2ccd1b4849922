#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "journal/directory.h"
#include "journal/placement.h"
#include "journal/writer.h"
#include "recorder/environment.h"

/// What a supervisor knows and writes about the attempts that it starts.

namespace headway::cli {

/// The run that the supervisor's children record into.
struct SupervisedRun {
  bool recorded = true;     ///< false: nothing is, and children find the environment as it was
  std::string dir;          ///< as asked for, absolute
  std::string journal_dir;  ///< where this machine's journals lie: `dir`, unless that is no place
  std::string destination;  ///< then `dir`, else empty
  std::string server;       ///< where they are sent to while they are written; empty: nowhere
  std::string token;        ///< for that server
  std::string ca;           ///< likewise: file of trusted certificates
  journal::PlaceRules rules;
  std::string project;
  std::string run;
  RunUid uid;
  std::int64_t rank = -1;
  std::int64_t world_size = -1;
  std::string job_id;
  std::string cluster;
  std::string location;
  /// A supervisor further out started us. Then `key_base` is its attempt's key, which our first
  /// attempt is a part of.
  bool nested = false;
  std::string key_base;         ///< attempt keys are this, "#" and a number
  std::int64_t index_base = 0;  ///< restarts that happened before this supervisor
};

/// Chooses the run as a recorder in this environment would. `dir`, `project` and `run` may be
/// empty; where the environment has a run's uid, its own outweigh them. InvalidArgument for names
/// that can be none.
Result<SupervisedRun> ChooseSupervisedRun(const recorder::Environment& env, const std::string& dir,
                                          const std::string& project, const std::string& run);

std::string AttemptKey(const SupervisedRun& run, std::int64_t number);

/// The environment of a child: `env` with what makes its records meet the supervisor's.
std::vector<std::string> ChildEnvironment(const recorder::EnvMap& env, const SupervisedRun& run,
                                          std::int64_t number);

/// The highest step that the processes of an attempt have started, nothing when they record none.
std::optional<std::int64_t> HighestStep(const SupervisedRun& run, std::int64_t number);

/// Whether anything that was recorded of the run is still there on this machine.
bool HasRecords(const SupervisedRun& run);

/// The supervisor's journal of one attempt. Without one (a full disk) every call does nothing.
class AttemptJournal {
 public:
  AttemptJournal() = default;
  /// Of a nested supervisor's first attempt the one further out has it, and this does nothing.
  /// `part`: of the attempt (model/attempt_key.h).
  static Result<AttemptJournal> Create(const SupervisedRun& run, std::int64_t number,
                                       std::uint64_t part = 0);
  /// As if it had never been.
  void Discard();

  /// The attempt has started. Of a later part its own records say when.
  void Began(MonoNs time);
  void Beat();
  void Notice(int signal);
  /// A process that recorded into the attempt, or would have, has ended.
  void ProcessEnded(MonoNs time, std::int64_t pid);
  /// How the child ended at `time`. `signal` 0: by itself, with `exit_status`.
  void End(MonoNs time, int exit_status, int signal);
  /// What standard error said last, before `time`.
  void LastWords(MonoNs time, std::string_view stderr_tail);
  /// Until then readers take it that the run may be restarted.
  void Finish();

 private:
  std::unique_ptr<journal::JournalWriter> writer_;
};

}  // namespace headway::cli
