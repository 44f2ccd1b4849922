#pragma once

#include <headway/headway.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <utility>

/// headway::Recorder: records what a training process does.
///
///     headway::Recorder run = headway::Recorder::Open({.project = "lm", .run = "llama-7b"});
///     for (std::int64_t i = 0; i < steps; ++i) {
///       headway::Step step = run.Step(i);
///       Train();
///       run.Log("loss", loss, i);
///     }
///     run.Finish();
///
/// Recording never throws, prints, exits or blocks on disk or network. A default-constructed
/// recorder, one that could not be opened and one under HEADWAY_DISABLED=1 are disabled: each call
/// is one branch. Threads, forks, times, names and costs: see headway.h, over which this is a thin
/// layer.

namespace headway {

/// How to open a recorder; what is empty comes from the environment (docs/environment.md), then
/// from a default. Numbers: HEADWAY_FROM_ENVIRONMENT, HEADWAY_UNKNOWN or the value.
struct RecorderOptions {
  std::string project = {};      ///< HEADWAY_PROJECT, else "default"
  std::string run = {};          ///< HEADWAY_RUN, else the job's name, else "default"
  std::string dir = {};          ///< where journals lie: HEADWAY_DIR, else "~/.headway"
  std::string resume = {};       ///< "auto" (default), "must", "never": docs/runs.md
  std::string job_id = {};       ///< restarts with an equal one continue the run
  std::string attempt_key = {};  ///< processes with an equal one are one attempt
  std::int64_t rank = HEADWAY_FROM_ENVIRONMENT;           ///< 0 leads
  std::int64_t world_size = HEADWAY_FROM_ENVIRONMENT;     ///< how many ranks the job has
  std::int64_t local_rank = HEADWAY_FROM_ENVIRONMENT;     ///< among the ranks of this machine
  std::int64_t attempt_index = HEADWAY_FROM_ENVIRONMENT;  ///< how often it was restarted before
  bool heartbeat = false;      ///< a thread notes each second that the process lives
  bool hook_sigterm = false;   ///< SIGTERM is noted and then takes its course
  bool hook_exit = true;       ///< return from main() and exit() end the job with the exit status
  bool hook_terminate = true;  ///< an uncaught exception ends the job as failed
};

/// Whether a span takes time away from training.
enum class SpanBlocking {
  kDefault = HEADWAY_BLOCKING_DEFAULT,  ///< data loading inside a step overlaps it, all else blocks
  kYes = HEADWAY_BLOCKING_YES,          ///< training stands still
  kNo = HEADWAY_BLOCKING_NO,            ///< in the background: takes no time away from training
};

/// A span, ended when it goes out of scope. Move-only.
class [[nodiscard]] Span {
 public:
  /// None; ending it does nothing.
  Span() noexcept = default;
  Span(Span&& other) noexcept : recorder_(other.recorder_), span_(std::exchange(other.span_, 0)) {}
  Span& operator=(Span&& other) noexcept {
    if (this != &other) {
      End();
      recorder_ = other.recorder_;
      span_ = std::exchange(other.span_, 0);
    }
    return *this;
  }
  ~Span() { End(); }

  /// Ends the span now; later calls and the destructor do nothing.
  void End() noexcept {
    if (span_ != 0) headway_span_end(recorder_, std::exchange(span_, 0));
  }

 private:
  friend class Recorder;
  Span(headway_recorder* recorder, headway_span span) noexcept : recorder_(recorder), span_(span) {}
  headway_recorder* recorder_ = nullptr;
  headway_span span_ = 0;
};

/// A step that has started. Leaving its scope records a soft end, or a hard one when it was opened
/// as blocking: then the caller promises that the device has finished.
class Step {
 public:
  Step(Step&& other) noexcept
      : recorder_(std::exchange(other.recorder_, nullptr)),
        step_(other.step_),
        hard_(other.hard_) {}
  Step& operator=(Step&&) = delete;
  ~Step() {
    if (recorder_ == nullptr) return;
    hard_ ? headway_step_end(recorder_, step_) : headway_step_soft_end(recorder_, step_);
  }

 private:
  friend class Recorder;
  Step(headway_recorder* recorder, std::int64_t step, bool hard) noexcept
      : recorder_(recorder), step_(step), hard_(hard) {}
  headway_recorder* recorder_;
  std::int64_t step_;
  bool hard_;
};

/// One open recorder. Move-only; a moved-from one is disabled. Any thread may record, but moving,
/// assigning and destroying are for one thread alone.
class Recorder {
 public:
  /// A disabled recorder.
  Recorder() noexcept = default;

  /// Opens a recorder, as headway_open(). On failure it is disabled and `*error` (may be null) says
  /// why and what to do; on success, and under HEADWAY_DISABLED=1, `*error` becomes empty.
  static Recorder Open(const RecorderOptions& options, std::string* error = nullptr) noexcept;

  Recorder(Recorder&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), exceptions_(other.exceptions_) {}
  Recorder& operator=(Recorder&& other) noexcept {
    if (this != &other) {
      Close();
      handle_ = std::exchange(other.handle_, nullptr);
      exceptions_ = other.exceptions_;
    }
    return *this;
  }
  /// Ends the job as failed when an exception is passing through. Otherwise the job goes on, for a
  /// destructor can't know how it ends: return from main() and exit() end it, with the exit status.
  /// Call Finish() where the job ends before its process does. (Without hook_exit: a clean end.)
  ~Recorder() { Close(); }

  /// False when calls do nothing: default-constructed, not opened, moved from or disabled.
  bool enabled() const noexcept { return handle_ != nullptr; }

  /// Records the end of the job; `status` 0 is clean, above 0 the exit status of a failure, below 0
  /// a failure of unknown status. What is recorded later is not kept, and counted by dropped().
  void Finish(int status = 0) noexcept { headway_finish(handle_, status); }

  // Steps, numbered from 0 on through all restarts; records of numbers below 0 are not kept, and
  // counted by dropped().

  /// The step starts now, and the one before it has completed. The thread that starts steps leads:
  /// spans of other threads take no time from them.
  void StepStart(std::int64_t step) noexcept {
    if (handle_ != nullptr) headway_step_start(handle_, step);
  }
  /// A hard end, now: the device has finished the step (HEADWAY_NO_STEP: the one that runs).
  void StepEnd(std::int64_t step) noexcept {
    if (handle_ != nullptr) headway_step_end(handle_, step);
  }
  /// Starts the step; leaving the scope of the answer records a soft end, or with `blocking` a hard
  /// one.
  headway::Step Step(std::int64_t step, bool blocking = false) noexcept {
    StepStart(step);
    return {handle_, step, blocking};
  }

  // Spans: from now until the answer is ended or goes out of scope. In a disabled recorder they are
  // none. `step` is what they belong to, from 0 on, or HEADWAY_NO_STEP.

  /// Bringing up accelerators and their runtime.
  Span AcceleratorInit() noexcept { return Begin(HEADWAY_ACCELERATOR_INIT); }
  /// Building the model, the data pipeline, the state.
  Span TrainingPrep() noexcept { return Begin(HEADWAY_TRAINING_PREP); }
  /// Waiting for data, or loading it: inside a step it overlaps unless it is late.
  Span DataLoading(SpanBlocking blocking = SpanBlocking::kDefault) noexcept {
    return Begin(HEADWAY_DATA_LOADING, "", HEADWAY_NO_STEP, blocking);
  }
  /// Writing a checkpoint; kNo for a save in the background.
  Span CheckpointSave(std::int64_t step = HEADWAY_NO_STEP,
                      SpanBlocking blocking = SpanBlocking::kDefault) noexcept {
    return Begin(HEADWAY_CHECKPOINT_SAVE, "", step, blocking);
  }
  /// Reading a checkpoint.
  Span CheckpointRestore(std::int64_t step = HEADWAY_NO_STEP) noexcept {
    return Begin(HEADWAY_CHECKPOINT_RESTORE, "", step);
  }
  /// Named time that is not training, e.g. "eval".
  Span Custom(const char* name, SpanBlocking blocking = SpanBlocking::kDefault) noexcept {
    return Begin(HEADWAY_CUSTOM, name, HEADWAY_NO_STEP, blocking);
  }
  /// Named productive time, e.g. "rollout".
  Span Phase(const char* name) noexcept { return Begin(HEADWAY_PHASE, name); }
  /// Waiting for slices; `name`: "slice_down" or "scale_up".
  Span ElasticWait(const char* name) noexcept { return Begin(HEADWAY_ELASTIC_WAIT, name); }
  /// Initialising again after the set of slices changed.
  Span ElasticReinit() noexcept { return Begin(HEADWAY_ELASTIC_REINIT); }
  /// A span of any kind. `name` is looked up each time (some 20 ns); not null.
  Span Begin(headway_span_kind kind, const char* name = "", std::int64_t step = HEADWAY_NO_STEP,
             SpanBlocking blocking = SpanBlocking::kDefault) noexcept {
    if (handle_ == nullptr) return {};
    const headway_name_id id = *name == '\0' ? 0 : headway_name(handle_, name);
    return {handle_,
            headway_span_begin(handle_, kind, static_cast<headway_blocking>(blocking), id, step)};
  }

  // Facts.

  /// The state after `step` is safe: training could resume from it now. From 0 on.
  void CheckpointSaved(std::int64_t step) noexcept { headway_checkpoint_saved(handle_, step); }
  /// Training goes back to `step` on purpose; what was done since is lost. From 0 on.
  void Rollback(std::int64_t step) noexcept { headway_rollback(handle_, step); }
  /// Accelerators (or slices) available, active and in total; HEADWAY_UNKNOWN where not known.
  void Capacity(std::int64_t available, std::int64_t active, std::int64_t total) noexcept {
    headway_capacity(handle_, available, active, total);
  }
  /// Leaves [from_ns, to_ns) out of the account, nanoseconds since 1970; HEADWAY_NO_TIME as
  /// `to_ns`: until further notice. One that ends before it begins is not kept, and counted.
  void Exclude(std::int64_t from_ns, std::int64_t to_ns, const char* reason = "") noexcept {
    if (handle_ != nullptr) {
      headway_exclude(handle_, from_ns, to_ns, headway_name(handle_, reason));
    }
  }
  /// A metric's value. `step` from 0 on, or HEADWAY_NO_STEP; with another number it is not kept,
  /// and counted. The name is looked up each time (some 20 ns); not null.
  void Log(const char* metric, double value, std::int64_t step = HEADWAY_NO_STEP) noexcept {
    if (handle_ != nullptr) headway_log(handle_, headway_name(handle_, metric), value, step);
  }
  /// The same for several metrics, which all get the same time.
  void Log(std::initializer_list<std::pair<const char*, double>> metrics,
           std::int64_t step = HEADWAY_NO_STEP) noexcept {
    if (handle_ == nullptr) return;
    constexpr std::size_t kFew = 256;  // beyond them another time begins
    headway_name_id names[kFew];
    double values[kFew];
    std::size_t count = 0;
    for (const auto& [name, value] : metrics) {
      names[count] = headway_name(handle_, name);
      values[count++] = value;
      if (count < kFew) continue;
      headway_log_all(handle_, names, values, count, step);
      count = 0;
    }
    headway_log_all(handle_, names, values, count, step);
  }
  /// A configuration: `json` is a JSON object of at most 16 MiB, which is copied and not checked;
  /// `config_class` "user", "software" or "system".
  void Config(const std::string& json, const char* config_class = "user") noexcept {
    headway_config(handle_, config_class, json.data(), json.size());
  }
  /// A sign of life. RecorderOptions::heartbeat does it each second.
  void Heartbeat() noexcept { headway_heartbeat(handle_); }
  /// The process has been told to stop, by `signal` (1 to 64) or (0, and whatever is no signal's
  /// number) by a preemption notice. Safe in signal handlers.
  void Notice(int signal = 0) noexcept { headway_notice(handle_, signal); }

  // Questions. Strings live as long as the recorder; "" when it is disabled.

  /// Where the journal lies.
  const char* journal_path() const noexcept { return headway_journal_path(handle_); }
  /// The run's uid, 32 hexadecimal digits: the same in all its processes and restarts.
  const char* run_uid() const noexcept { return headway_run_uid(handle_); }
  /// This process's rank; HEADWAY_UNKNOWN, also when disabled.
  std::int64_t rank() const noexcept { return headway_rank(handle_); }
  /// Records that could not be kept: for want of space, because they came after Finish(), or
  /// because they mean nothing.
  std::uint64_t dropped() const noexcept { return headway_dropped(handle_); }

  /// For calls of headway.h. Null when disabled.
  headway_recorder* handle() const noexcept { return handle_; }

 private:
  void Close() noexcept {
    if (handle_ == nullptr) return;
    // Somebody may catch it: with which status the process ends is not known.
    if (std::uncaught_exceptions() > exceptions_) headway_finish(handle_, -1);
    headway_release(std::exchange(handle_, nullptr), this);
  }
  static void HookTerminate() noexcept;

  headway_recorder* handle_ = nullptr;
  int exceptions_ = std::uncaught_exceptions();  // at construction: those don't end this job
};

inline Recorder Recorder::Open(const RecorderOptions& options, std::string* error) noexcept {
  const auto text = [](const std::string& value) {
    return value.empty() ? nullptr : value.c_str();
  };
  headway_options raw = HEADWAY_OPTIONS_INIT;
  raw.project = text(options.project);
  raw.run = text(options.run);
  raw.dir = text(options.dir);
  raw.resume = text(options.resume);
  raw.job_id = text(options.job_id);
  raw.attempt_key = text(options.attempt_key);
  raw.rank = options.rank;
  raw.world_size = options.world_size;
  raw.local_rank = options.local_rank;
  raw.attempt_index = options.attempt_index;
  raw.heartbeat = options.heartbeat ? 1 : 0;
  raw.hook_sigterm = options.hook_sigterm ? 1 : 0;
  raw.hook_exit = options.hook_exit ? 1 : 0;
  Recorder recorder;
  char message[512] = "";
  headway_open(&raw, &recorder.handle_, message, sizeof message);
  try {
    if (error != nullptr) *error = message;
  } catch (...) {
    // Without memory for the message the recorder still tells by enabled().
  }
  if (recorder.enabled() && options.hook_terminate) HookTerminate();
  return recorder;
}

inline void Recorder::HookTerminate() noexcept {
  static const std::terminate_handler previous = std::get_terminate();
  static const bool hooked = [] {
    std::set_terminate([] {
      headway_finish_all(128 + SIGABRT);  // what a shell will say
      if (previous != nullptr) previous();
    });
    return true;
  }();
  (void)hooked;
}

}  // namespace headway
