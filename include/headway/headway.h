#ifndef HEADWAY_HEADWAY_H_
#define HEADWAY_HEADWAY_H_

/**
 * headway.h: records what a training process does. C11, for any language that can call C.
 *
 * Conventions
 * - `headway_recorder*` is opaque. NULL is a disabled recorder: every function takes it and does
 *   nothing.
 * - Nothing here exits, prints, throws, raises or blocks on network. Recording functions return at
 *   once; what can't be kept (a full disk) is counted, see headway_dropped().
 * - Any function may be called from any thread, except headway_close(), which must be the last call
 *   with its recorder. None but headway_notice() may be called from a signal handler.
 * - After fork() the child's calls do nothing. A child that wants to record opens a recorder of its
 *   own.
 * - Strings are UTF-8 and end in NUL; they are copied. Names above 256 bytes are cut.
 * - Times are nanoseconds since 1970-01-01T00:00:00Z; durations are nanoseconds.
 * - Set-up functions return 0 or a code of the table in docs/errors.md (numbered as
 *   google.rpc.Code), and a message in `error`, cut to `error_size` bytes. `error` may be NULL.
 * - Option structures begin with their size, set by their _INIT macro; fields are only ever added
 *   at the end, so that programs and libraries of different releases work together.
 *
 * Cost: a recording function is one clock reading and about 20 ns. No allocation, no system call,
 * except what is said at the function; every 4096 records the next pages of the journal are mapped.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEADWAY_API __attribute__((visibility("default")))
#else
#define HEADWAY_API
#endif

#ifdef __cplusplus
#define HEADWAY_NOEXCEPT noexcept
extern "C" {
#else
#define HEADWAY_NOEXCEPT
#endif

/** Raised when a function or a field is added; never lowered. */
#define HEADWAY_ABI_VERSION 3

/** HEADWAY_ABI_VERSION of the library that is loaded: functions and fields up to it are there. */
HEADWAY_API uint32_t headway_abi_version(void) HEADWAY_NOEXCEPT;

/** Release of the library, e.g. "0.1.0". Never NULL; lives for ever. */
HEADWAY_API const char* headway_version(void) HEADWAY_NOEXCEPT;

/** One open journal of this process, from headway_open() to headway_close(). */
typedef struct headway_recorder headway_recorder;

/** For numbers in headway_options: take it from the environment (docs/environment.md). */
#define HEADWAY_FROM_ENVIRONMENT INT64_MIN
/** For numbers in headway_options and headway_capacity(): not known. */
#define HEADWAY_UNKNOWN INT64_C(-1)
/** For `step` of spans and metrics: belongs to no step; of ends: the step that runs. */
#define HEADWAY_NO_STEP INT64_MIN
/** For `to_ns` of headway_exclude(): until further notice. For `time_ns`: now. */
#define HEADWAY_NO_TIME INT64_MIN

/** How to open a recorder. Strings that are NULL come from the environment, then from a default;
 * empty ones are refused. */
typedef struct headway_options {
  size_t struct_size;      /**< sizeof(headway_options), by HEADWAY_OPTIONS_INIT */
  const char* project;     /**< HEADWAY_PROJECT, "default" */
  const char* run;         /**< HEADWAY_RUN, the job's name, "default" */
  const char* dir;         /**< HEADWAY_DIR, "~/.headway" */
  const char* resume;      /**< "auto" (default), "must", "never": docs/runs.md */
  const char* job_id;      /**< restarts with an equal one continue the run; from the environment */
  const char* attempt_key; /**< processes with an equal one are one attempt; from the environment */
  int64_t rank;            /**< 0 leads; HEADWAY_UNKNOWN: a single process */
  int64_t world_size;      /**< how many ranks the job has; HEADWAY_UNKNOWN */
  int64_t local_rank;      /**< among the ranks of this machine; HEADWAY_UNKNOWN */
  int64_t attempt_index;   /**< how often the job was restarted before; HEADWAY_UNKNOWN */
  int32_t heartbeat;       /**< 1: a thread notes each second that the process lives. Default 0.
                                HEADWAY_HEARTBEAT=0 in the environment turns it off for good. */
  int32_t hook_sigterm; /**< 1: SIGTERM is noted; then the earlier handler runs or the signal takes
                           its  usual course. Default 0. */
  int32_t hook_exit;    /**< 1 (default): exit() and return from main() end the job with the exit
                           status     unless headway_finish() was called. 2: they note the exit
                           status only, for programs that say themselves when their job ends. */
  int32_t job_start;    /**< 1 (default): opening records that the job starts. */
} headway_options;

/** All defaults: `headway_options options = HEADWAY_OPTIONS_INIT;`, then set what differs. */
#define HEADWAY_OPTIONS_INIT                                                                     \
  {                                                                                              \
    sizeof(headway_options), NULL, NULL, NULL, NULL, NULL, NULL, HEADWAY_FROM_ENVIRONMENT,       \
        HEADWAY_FROM_ENVIRONMENT, HEADWAY_FROM_ENVIRONMENT, HEADWAY_FROM_ENVIRONMENT, 0, 0, 1, 1 \
  }

/**
 * Opens a recorder: chooses the run, creates a journal and records that the job starts. `options`
 * may be NULL. On success 0 and `*recorder` is set. On failure, or with HEADWAY_DISABLED=1 in the
 * environment (which returns 0), `*recorder` is NULL, with which everything below works and does
 * nothing. Codes and what to do: INVALID_ARGUMENT, mend the option that `error` names;
 * FAILED_PRECONDITION, set HEADWAY_DIR, or there is no run to resume; PERMISSION_DENIED and
 * RESOURCE_EXHAUSTED, another directory, more space, or fewer open recorders. Takes a few
 * milliseconds; up to two seconds when other processes of the machine start at the same time.
 */
HEADWAY_API int32_t headway_open(const headway_options* options, headway_recorder** recorder,
                                 char* error, size_t error_size) HEADWAY_NOEXCEPT;

/**
 * Records that the job has ended: `status` 0 is a clean end, anything else a failure; above 0 it is
 * the process's exit status, below 0 that is not known. A second call
 * is ignored; what is recorded after it is not kept, and counted (headway_dropped()). Returns space
 * of the journal that was not used.
 */
HEADWAY_API void headway_finish(headway_recorder* recorder, int32_t status) HEADWAY_NOEXCEPT;

/**
 * Stops recording without an end, as if the process had died here: for a job that starts again
 * within its process and opens another recorder. What is recorded after it is not kept, and
 * counted. Does nothing once the recorder is finished.
 */
HEADWAY_API void headway_abandon(headway_recorder* recorder) HEADWAY_NOEXCEPT;

/** headway_finish() for every recorder of this process that asked for `hook_exit`: for programs
 * that end without exit(), as by std::terminate. `status` as there. Takes no lock. */
HEADWAY_API void headway_finish_all(int32_t status) HEADWAY_NOEXCEPT;

/** Frees the recorder; finishes it with status 0 first unless it is finished. The last call with
 * it: no other thread may be in a call with it, or make one. */
HEADWAY_API void headway_close(headway_recorder* recorder) HEADWAY_NOEXCEPT;

/**
 * headway_close() for wrappers with a destructor, which can't know how the job ends. With
 * `hook_exit` an unfinished recorder goes on living, signs of life and all, until exit() ends it
 * with the exit status. `owner` may be anything.
 */
HEADWAY_API void headway_release(headway_recorder* recorder, const void* owner) HEADWAY_NOEXCEPT;

/* Steps. A step lasts from its start to the next start, its hard end or the end of the attempt.
 * Steps are numbered from 0 to 2^63 - 2, through all restarts; any other number means nothing: the
 * record is not kept, and counted (headway_dropped()). */

/**
 * Step `step` starts now, and the one before it, if it runs, has completed. The thread that starts
 * steps leads: spans that other threads begin take no time from them. A number that goes back is a
 * rollback or a counter that starts over (docs/accounting.md, section 8).
 */
HEADWAY_API void headway_step_start(headway_recorder* recorder, int64_t step) HEADWAY_NOEXCEPT;

/**
 * A hard end, now: the device has finished `step` (HEADWAY_NO_STEP: the one that runs). That of
 * another step than the one that runs ends nothing. What follows up to the next start is no step.
 */
HEADWAY_API void headway_step_end(headway_recorder* recorder, int64_t step) HEADWAY_NOEXCEPT;

/** A soft end: the host is done with `step` (HEADWAY_NO_STEP: the one that runs), the device may
 * still work. It ends nothing; it only stands in the journal. */
HEADWAY_API void headway_step_soft_end(headway_recorder* recorder, int64_t step) HEADWAY_NOEXCEPT;

/* Spans. */

/** What the time of a span is (docs/accounting.md, section 4). */
typedef enum headway_span_kind {
  HEADWAY_ACCELERATOR_INIT = 1,   /**< bringing up accelerators and their runtime */
  HEADWAY_TRAINING_PREP = 2,      /**< building the model, the data pipeline, the state */
  HEADWAY_DATA_LOADING = 3,       /**< the host waits for data, or loads it */
  HEADWAY_ASYNC_DATA_LOADING = 4, /**< loading behind the device's work: never takes time */
  HEADWAY_CHECKPOINT_SAVE = 5,    /**< writing a checkpoint */
  HEADWAY_CHECKPOINT_RESTORE = 6, /**< reading one */
  HEADWAY_CUSTOM = 7,             /**< by name: time that is not training, e.g. "eval" */
  HEADWAY_PHASE = 8,              /**< by name: productive, e.g. "rollout" */
  HEADWAY_ELASTIC_WAIT = 9,       /**< name: "slice_down" or "scale_up" */
  HEADWAY_ELASTIC_REINIT = 10     /**< initialising again after the set of slices changed */
} headway_span_kind;

/** Whether a span takes time away from training. */
typedef enum headway_blocking {
  HEADWAY_BLOCKING_DEFAULT =
      0,                    /**< data loading inside a step overlaps it, everything else blocks */
  HEADWAY_BLOCKING_YES = 1, /**< training stands still */
  HEADWAY_BLOCKING_NO = 2   /**< in the background: takes no time away from training */
} headway_blocking;

/** A name of this recorder, from headway_name(). 0 is the empty name. A record with any other
 * number is not kept, and counted (headway_dropped()). */
typedef uint32_t headway_name_id;

/** A span that has begun. 0: none; ending it does nothing. */
typedef uint64_t headway_span;

/**
 * The id of `name` in this recorder, for the functions that take one; it holds for no other. Ask
 * once and keep it: the first use of a name takes a lock and memory, later ones a look-up of some
 * 20 ns. 0, the empty name, for NULL and where there is no room for another name.
 */
HEADWAY_API headway_name_id headway_name(headway_recorder* recorder,
                                         const char* name) HEADWAY_NOEXCEPT;

/**
 * Begins a span now. `step`: what it belongs to, for people; HEADWAY_NO_STEP (and anything below
 * 0): no step. A kind, a blocking value or a name that does not exist, or no space: nothing is
 * recorded, it is counted (headway_dropped()), and the answer is 0.
 */
HEADWAY_API headway_span headway_span_begin(headway_recorder* recorder, headway_span_kind kind,
                                            headway_blocking blocking, headway_name_id name,
                                            int64_t step) HEADWAY_NOEXCEPT;

/** Ends a span now, from any thread, once. A span that is never ended is closed at the next begin
 * of its kind and name, the next step or the attempt's end. */
HEADWAY_API void headway_span_end(headway_recorder* recorder, headway_span span) HEADWAY_NOEXCEPT;

/* What happened at another time than now: history that is filled in. The record keeps its place in
 * the order of recording; accounting takes none for earlier than the one before it. `time_ns` may
 * be HEADWAY_NO_TIME: now. Else each is as the function without `_at`. */

/** Another start of the job; opening recorded the first one unless `job_start` was 0. */
HEADWAY_API void headway_job_start_at(headway_recorder* recorder, int64_t time_ns) HEADWAY_NOEXCEPT;
/** The job has ended; unlike headway_finish() it goes on recording. */
HEADWAY_API void headway_job_end_at(headway_recorder* recorder, int32_t status,
                                    int64_t time_ns) HEADWAY_NOEXCEPT;
/** headway_step_start() at `time_ns`. */
HEADWAY_API void headway_step_start_at(headway_recorder* recorder, int64_t step,
                                       int64_t time_ns) HEADWAY_NOEXCEPT;
/** headway_span_begin() at `time_ns`. */
HEADWAY_API headway_span headway_span_begin_at(headway_recorder* recorder, headway_span_kind kind,
                                               headway_blocking blocking, headway_name_id name,
                                               int64_t step, int64_t time_ns) HEADWAY_NOEXCEPT;
/** headway_span_end() at `time_ns`. */
HEADWAY_API void headway_span_end_at(headway_recorder* recorder, headway_span span,
                                     int64_t time_ns) HEADWAY_NOEXCEPT;
/** headway_capacity() at `time_ns`. */
HEADWAY_API void headway_capacity_at(headway_recorder* recorder, int64_t available, int64_t active,
                                     int64_t total, int64_t time_ns) HEADWAY_NOEXCEPT;

/* Facts. */

/** The state after `step` is safe: training could resume from it now. Steps are numbered as
 * there. */
HEADWAY_API void headway_checkpoint_saved(headway_recorder* recorder,
                                          int64_t step) HEADWAY_NOEXCEPT;

/** Training goes back to `step` on purpose; what was done since is lost. Steps are numbered as
 * there. */
HEADWAY_API void headway_rollback(headway_recorder* recorder, int64_t step) HEADWAY_NOEXCEPT;

/** Accelerators (or slices) now available, active and in total; HEADWAY_UNKNOWN (and anything below
 * 0, or above 2^32 − 2 for the first two) where not known. */
HEADWAY_API void headway_capacity(headway_recorder* recorder, int64_t available, int64_t active,
                                  int64_t total) HEADWAY_NOEXCEPT;

/**
 * Leaves the time from `from_ns` up to, and without, `to_ns` out of the account, e.g. a manual
 * stop: nanoseconds since 1970, past or future. `to_ns` may be HEADWAY_NO_TIME. One that ends
 * before it begins is not kept, and counted (headway_dropped()).
 */
HEADWAY_API void headway_exclude(headway_recorder* recorder, int64_t from_ns, int64_t to_ns,
                                 headway_name_id reason) HEADWAY_NOEXCEPT;

/** A metric's value. `step` may be HEADWAY_NO_STEP; any other number that is no step's means
 * nothing, and the value is not kept, and counted. NaN and infinities are kept as they are. */
HEADWAY_API void headway_log(headway_recorder* recorder, headway_name_id metric, double value,
                             int64_t step) HEADWAY_NOEXCEPT;

/** The same for `count` metrics, which all get the same time: `values[i]` is that of `metrics[i]`.
 * For what is known at once: a server keeps their times once. Null arrays: nothing happens. */
HEADWAY_API void headway_log_all(headway_recorder* recorder, const headway_name_id* metrics,
                                 const double* values, size_t count, int64_t step) HEADWAY_NOEXCEPT;

/**
 * A configuration: `json` is `size` bytes of a JSON object, at most 16 MiB (more is dropped and
 * counted). `config_class` is "user", "software" or "system" (others are kept
 * as they are); NULL: "user". Copies the text, which
 * it does not check; not for hot paths. A NULL `json` does nothing.
 */
HEADWAY_API void headway_config(headway_recorder* recorder, const char* config_class,
                                const char* json, size_t size) HEADWAY_NOEXCEPT;

/** A sign of life, with the wall clock beside the monotonic one. `heartbeat` does it each second.
 */
HEADWAY_API void headway_heartbeat(headway_recorder* recorder) HEADWAY_NOEXCEPT;

/**
 * The process has been told to stop: by `signal` (1 to 64), or 0 (and whatever is no signal's
 * number) for a preemption notice. Safe in signal handlers, and kept even when space has run out.
 */
HEADWAY_API void headway_notice(headway_recorder* recorder, int32_t signal) HEADWAY_NOEXCEPT;

/* Questions. Strings live as long as the recorder; "" for NULL. */

/** Where the journal lies, absolute unless `dir` was relative. */
HEADWAY_API const char* headway_journal_path(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** The project that was chosen: option, environment or "default". */
HEADWAY_API const char* headway_project(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** The run's name that was chosen: option, environment or "default". */
HEADWAY_API const char* headway_run(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** The run's uid, 32 hexadecimal digits: the same in all its processes and restarts. */
HEADWAY_API const char* headway_run_uid(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** What makes processes one attempt (docs/environment.md); "": not known. */
HEADWAY_API const char* headway_attempt_key(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** The directory that was asked for, when the journal had to be written elsewhere; else "". */
HEADWAY_API const char* headway_destination(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** 1 when an earlier run is being continued. */
HEADWAY_API int32_t headway_continued(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** This process's rank; HEADWAY_UNKNOWN, also for NULL. */
HEADWAY_API int64_t headway_rank(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** How many ranks the job has; HEADWAY_UNKNOWN, also for NULL. */
HEADWAY_API int64_t headway_world_size(const headway_recorder* recorder) HEADWAY_NOEXCEPT;
/** Records that could not be kept so far: for want of space, because the recorder was finished, or
 * because they mean nothing (a step below 0, an exclusion that ends before it begins). */
HEADWAY_API uint64_t headway_dropped(const headway_recorder* recorder) HEADWAY_NOEXCEPT;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HEADWAY_HEADWAY_H_
