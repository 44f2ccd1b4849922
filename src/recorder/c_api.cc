#include <headway/headway.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <tuple>

#include "base/limits.h"
#include "base/utf8.h"
#include "recorder/core.h"
#include "recorder/environment.h"

/// The C interface: translates, and lets no exception out.

namespace {

using headway::Blocking;
using headway::Code;
using headway::RecordType;
using headway::Result;
using headway::SpanKind;
using headway::Status;
using headway::recorder::Core;
using headway::recorder::CoreOptions;

static_assert(HEADWAY_FROM_ENVIRONMENT == CoreOptions::kFromEnvironment);
static_assert(HEADWAY_NO_STEP == headway::kNoStep && HEADWAY_NO_TIME == headway::kNoTime);
static_assert(HEADWAY_ACCELERATOR_INIT == static_cast<int>(SpanKind::kAcceleratorInit));
static_assert(HEADWAY_TRAINING_PREP == static_cast<int>(SpanKind::kTrainingPrep));
static_assert(HEADWAY_DATA_LOADING == static_cast<int>(SpanKind::kDataLoading));
static_assert(HEADWAY_ASYNC_DATA_LOADING == static_cast<int>(SpanKind::kAsyncDataLoading));
static_assert(HEADWAY_CHECKPOINT_SAVE == static_cast<int>(SpanKind::kCheckpointSave));
static_assert(HEADWAY_CHECKPOINT_RESTORE == static_cast<int>(SpanKind::kCheckpointRestore));
static_assert(HEADWAY_CUSTOM == static_cast<int>(SpanKind::kCustom));
static_assert(HEADWAY_PHASE == static_cast<int>(SpanKind::kPhase));
static_assert(HEADWAY_ELASTIC_WAIT == static_cast<int>(SpanKind::kElasticWait));
static_assert(HEADWAY_ELASTIC_REINIT == static_cast<int>(SpanKind::kElasticReinit));
static_assert(HEADWAY_BLOCKING_YES == static_cast<int>(Blocking::kYes));
static_assert(HEADWAY_BLOCKING_NO == static_cast<int>(Blocking::kNo));

// The open recorders, for hooks. A fixed array, for a signal handler walks it.
std::array<std::atomic<Core*>, headway::limits::kOpenRecorders> open_recorders{};
std::atomic<int> hooks_running{0};  // a recorder is not freed while one looks at it

// A handle is a Core under a name that C knows.
Core* FromHandle(headway_recorder* recorder) { return reinterpret_cast<Core*>(recorder); }
const Core* FromHandle(const headway_recorder* recorder) {
  return reinterpret_cast<const Core*>(recorder);
}

// Stands in the list while a recorder is being opened. No lock: a forked child could find it held.
Core* Opening() { return reinterpret_cast<Core*>(&hooks_running); }

template <typename Function>
void ForEachOpen(Function function) noexcept {
  hooks_running.fetch_add(1, std::memory_order_seq_cst);
  for (std::atomic<Core*>& entry : open_recorders) {
    Core* const core = entry.load(std::memory_order_seq_cst);
    if (core != nullptr && core != Opening()) function(*core);
  }
  hooks_running.fetch_sub(1, std::memory_order_seq_cst);
}

// --- steps
// ---------------------------------------------------------------------------------------

// A record of a number that is no step's means nothing, and a start below 0 would make of all that
// was done before it something lost.
void RecordStep(headway_recorder* recorder, RecordType type, int64_t step) noexcept {
  if (recorder == nullptr) return;
  Core& core = *FromHandle(recorder);
  headway::IsStep(step) ? core.Record(type, step) : core.writer().CountUnkept();
}

// An end may be that of the step that runs, whichever it is.
void RecordStepEnd(headway_recorder* recorder, RecordType type, int64_t step) noexcept {
  if (recorder == nullptr) return;
  Core& core = *FromHandle(recorder);
  headway::IsStep(step) || step == HEADWAY_NO_STEP ? core.Record(type, step)
                                                   : core.writer().CountUnkept();
}

// --- exit
// ------------------------------------------------------------------------------------------

void FinishAll(int status) noexcept {
  ForEachOpen([status](Core& core) {
    if (core.hook_exit()) core.Exit(status);
  });
}

void HookExit() {
  // on_exit, unlike atexit, is told the status: as it was given, of which the system keeps a byte.
  // The library is never unloaded (-z nodelete), so that the handler stays where it is.
  [[maybe_unused]] static const bool hooked =
      ::on_exit([](int status, void*) { FinishAll(status & 0xff); }, nullptr) == 0;
}

// --- SIGTERM
// ---------------------------------------------------------------------------------------

struct sigaction earlier_action;

void OnSigterm(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  ForEachOpen([signal](Core& core) {
    if (core.hook_sigterm()) core.Notice(signal);
  });
  errno = saved_errno;
  if ((earlier_action.sa_flags & SA_SIGINFO) != 0) {
    if (earlier_action.sa_sigaction != nullptr) earlier_action.sa_sigaction(signal, info, context);
  } else if (earlier_action.sa_handler == SIG_DFL) {
    // The usual course: the signal is blocked while this handler runs and strikes when it returns.
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
    ::raise(signal);
  } else if (earlier_action.sa_handler != SIG_IGN) {
    earlier_action.sa_handler(signal);
  }
}

void HookSigterm() {
  [[maybe_unused]] static const bool hooked = [] {
    struct sigaction action = {};
    if (::sigaction(SIGTERM, nullptr, &earlier_action) != 0) return false;
    action.sa_sigaction = OnSigterm;
    action.sa_mask = earlier_action.sa_mask;
    // The earlier handler runs as it expects to: on its stack, interrupting calls or not.
    action.sa_flags =
        SA_SIGINFO | (earlier_action.sa_flags & (SA_ONSTACK | SA_RESTART | SA_NODEFER));
    if (earlier_action.sa_handler == SIG_DFL || earlier_action.sa_handler == SIG_IGN) {
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    }
    return ::sigaction(SIGTERM, &action, nullptr) == 0;
  }();
}

// --- opening
// ---------------------------------------------------------------------------------------

void SetError(std::string_view message, char* error, std::size_t error_size) {
  if (error == nullptr || error_size == 0) return;
  const std::string_view cut = headway::TruncateUtf8(message, error_size - 1);
  std::memcpy(error, cut.data(), cut.size());
  error[cut.size()] = '\0';
}

// The caller's options as far as its release knew them, the rest as HEADWAY_OPTIONS_INIT has it.
headway_options Complete(const headway_options* given) {
  headway_options options = HEADWAY_OPTIONS_INIT;
  if (given == nullptr) return options;
  const std::size_t known = std::min(given->struct_size, sizeof options);
  std::memcpy(&options, given, known);
  options.struct_size = sizeof options;
  return options;
}

Status Open(const headway_options* given, headway_recorder** recorder) {
  const headway::recorder::Environment env =
      headway::recorder::DetectEnvironment(headway::recorder::ProcessEnvironment());
  if (env.disabled) return headway::OkStatus();
  const headway_options raw = Complete(given);
  CoreOptions options;
  const std::tuple<const char*, const char*, std::string*> texts[] = {
      {"project", raw.project, &options.project},
      {"run", raw.run, &options.run},
      {"dir", raw.dir, &options.dir},
      {"resume", raw.resume, &options.resume},
      {"job_id", raw.job_id, &options.job_id},
      {"attempt_key", raw.attempt_key, &options.attempt_key}};
  for (const auto& [name, value, option] : texts) {
    if (value == nullptr) continue;
    if (*value == '\0') {
      return {Code::kInvalidArgument, std::string(name) + " must not be empty; NULL stands for " +
                                          "what the environment says"};
    }
    *option = value;
  }
  options.rank = raw.rank;
  options.world_size = raw.world_size;
  options.local_rank = raw.local_rank;
  options.attempt_index = raw.attempt_index;
  options.heartbeat = raw.heartbeat != 0;
  options.hook_sigterm = raw.hook_sigterm != 0;
  options.hook_exit = raw.hook_exit != 0;
  options.exit_ends_job = raw.hook_exit != 2;
  options.job_start = raw.job_start != 0;

  std::atomic<Core*>* place = nullptr;
  for (std::atomic<Core*>& entry : open_recorders) {
    Core* expected = nullptr;
    if (!entry.compare_exchange_strong(expected, Opening())) continue;
    place = &entry;
    break;
  }
  if (place == nullptr) {
    return {Code::kResourceExhausted,
            std::to_string(open_recorders.size()) +
                " recorders are open; finish one first: without that it stays open to the "
                "end of the process"};
  }
  Result<std::unique_ptr<Core>> core = [&]() -> Result<std::unique_ptr<Core>> {
    try {
      return Core::Open(options, env);
    } catch (const std::bad_alloc&) {
      return Status(Code::kResourceExhausted, "out of memory");
    }
  }();
  if (!core.ok()) {
    place->store(nullptr, std::memory_order_seq_cst);
    return core.status();
  }
  if (options.hook_exit) HookExit();
  if (options.hook_sigterm) HookSigterm();
  place->store(core->get(), std::memory_order_seq_cst);
  *recorder = reinterpret_cast<headway_recorder*>(core->release());
  return headway::OkStatus();
}

}  // namespace

extern "C" {

uint32_t headway_abi_version(void) noexcept { return HEADWAY_ABI_VERSION; }

const char* headway_version(void) noexcept { return HEADWAY_VERSION; }

int32_t headway_open(const headway_options* options, headway_recorder** recorder, char* error,
                     size_t error_size) noexcept {
  SetError("", error, error_size);
  if (recorder == nullptr) {
    SetError("recorder must not be NULL", error, error_size);
    return static_cast<int32_t>(Code::kInvalidArgument);
  }
  *recorder = nullptr;
  try {
    const Status status = Open(options, recorder);
    SetError(status.message(), error, error_size);
    return static_cast<int32_t>(status.code());
  } catch (const std::bad_alloc&) {
    SetError("out of memory", error, error_size);
    return static_cast<int32_t>(Code::kResourceExhausted);
  } catch (const std::exception& exception) {
    SetError(exception.what(), error, error_size);
    return static_cast<int32_t>(Code::kInternal);
  }
}

void headway_finish(headway_recorder* recorder, int32_t status) noexcept {
  if (recorder != nullptr) FromHandle(recorder)->Finish(status);
}

void headway_abandon(headway_recorder* recorder) noexcept {
  if (recorder != nullptr) FromHandle(recorder)->Abandon();
}

void headway_finish_all(int32_t status) noexcept { FinishAll(status); }

void headway_close(headway_recorder* recorder) noexcept {
  if (recorder == nullptr) return;
  FromHandle(recorder)->Finish(0);
  const bool owned = FromHandle(recorder)->writer().owned();
  Core* const core = FromHandle(recorder);
  for (std::atomic<Core*>& entry : open_recorders) {
    Core* expected = core;
    if (entry.compare_exchange_strong(expected, nullptr, std::memory_order_seq_cst)) break;
  }
  // In a forked child the heartbeat's condition variable still counts a waiter that does not exist
  // there; destroying it would wait for ever. A few pages are the smaller harm.
  if (!owned) return;
  for (int tries = 0; tries < 100'000; ++tries) {
    if (hooks_running.load(std::memory_order_seq_cst) == 0) {
      delete core;
      return;
    }
    ::sched_yield();
  }
}

void headway_release(headway_recorder* recorder, const void* /*owner*/) noexcept {
  if (recorder == nullptr) return;
  const Core& core = *FromHandle(recorder);
  if (core.hook_exit() && !core.finished() && core.writer().owned()) return;
  headway_close(recorder);
}

void headway_step_start(headway_recorder* recorder, int64_t step) noexcept {
  RecordStep(recorder, RecordType::kStepStart, step);
}

void headway_step_end(headway_recorder* recorder, int64_t step) noexcept {
  RecordStepEnd(recorder, RecordType::kStepEnd, step);
}

void headway_step_soft_end(headway_recorder* recorder, int64_t step) noexcept {
  RecordStepEnd(recorder, RecordType::kStepSoftEnd, step);
}

headway_name_id headway_name(headway_recorder* recorder, const char* name) noexcept {
  if (recorder == nullptr || name == nullptr) return 0;
  return FromHandle(recorder)->writer().Intern(name);
}

headway_span headway_span_begin_at(headway_recorder* recorder, headway_span_kind kind,
                                   headway_blocking blocking, headway_name_id name, int64_t step,
                                   int64_t time_ns) noexcept {
  const auto raw_kind = static_cast<unsigned>(kind);
  const auto raw_blocking = static_cast<unsigned>(blocking);
  if (recorder == nullptr) return 0;
  Core& core = *FromHandle(recorder);
  if (raw_kind == 0 || raw_kind >= headway::kSpanKindCount || raw_blocking > 2) {
    core.writer().CountUnkept();
    return 0;
  }
  return core.BeginSpan(static_cast<SpanKind>(raw_kind), static_cast<Blocking>(raw_blocking), name,
                        headway::IsStep(step) ? step : HEADWAY_NO_STEP, core.At(time_ns));
}

void headway_span_end_at(headway_recorder* recorder, headway_span span, int64_t time_ns) noexcept {
  if (recorder != nullptr) FromHandle(recorder)->EndSpan(span, FromHandle(recorder)->At(time_ns));
}

headway_span headway_span_begin(headway_recorder* recorder, headway_span_kind kind,
                                headway_blocking blocking, headway_name_id name,
                                int64_t step) noexcept {
  return headway_span_begin_at(recorder, kind, blocking, name, step, HEADWAY_NO_TIME);
}

void headway_span_end(headway_recorder* recorder, headway_span span) noexcept {
  if (recorder != nullptr) FromHandle(recorder)->EndSpan(span);
}

void headway_job_start_at(headway_recorder* recorder, int64_t time_ns) noexcept {
  if (recorder == nullptr) return;
  FromHandle(recorder)->RecordAt(RecordType::kJobStart, FromHandle(recorder)->At(time_ns), 0);
}

void headway_job_end_at(headway_recorder* recorder, int32_t status, int64_t time_ns) noexcept {
  if (recorder == nullptr) return;
  FromHandle(recorder)->RecordAt(RecordType::kJobEnd, FromHandle(recorder)->At(time_ns), status);
}

void headway_step_start_at(headway_recorder* recorder, int64_t step, int64_t time_ns) noexcept {
  if (recorder == nullptr) return;
  if (!headway::IsStep(step)) return FromHandle(recorder)->writer().CountUnkept();
  FromHandle(recorder)->RecordAt(RecordType::kStepStart, FromHandle(recorder)->At(time_ns), step);
}

void headway_checkpoint_saved(headway_recorder* recorder, int64_t step) noexcept {
  RecordStep(recorder, RecordType::kCheckpointSaved, step);
}

void headway_rollback(headway_recorder* recorder, int64_t step) noexcept {
  RecordStep(recorder, RecordType::kRollback, step);
}

void headway_capacity_at(headway_recorder* recorder, int64_t available, int64_t active,
                         int64_t total, int64_t time_ns) noexcept {
  if (recorder == nullptr) return;
  const auto half = [](int64_t value) -> std::uint64_t {
    return value < 0 || value >= 0xffffffff ? 0xffffffffu : static_cast<std::uint64_t>(value);
  };
  Core& core = *FromHandle(recorder);
  core.RecordAt(RecordType::kCapacity, core.At(time_ns),
                static_cast<std::int64_t>(half(available) | half(active) << 32),
                total < 0 ? -1 : total);
}

void headway_capacity(headway_recorder* recorder, int64_t available, int64_t active,
                      int64_t total) noexcept {
  headway_capacity_at(recorder, available, active, total, HEADWAY_NO_TIME);
}

void headway_exclude(headway_recorder* recorder, int64_t from_ns, int64_t to_ns,
                     headway_name_id reason) noexcept {
  if (recorder == nullptr) return;
  if (to_ns != HEADWAY_NO_TIME && to_ns < from_ns) {
    FromHandle(recorder)->writer().CountUnkept();
    return;
  }
  FromHandle(recorder)->RecordNamed(RecordType::kExclude, reason, from_ns, to_ns);
}

void headway_log(headway_recorder* recorder, headway_name_id metric, double value,
                 int64_t step) noexcept {
  if (recorder == nullptr) return;
  if (!headway::IsStep(step) && step != HEADWAY_NO_STEP)
    return FromHandle(recorder)->writer().CountUnkept();
  FromHandle(recorder)->Metrics(&metric, &value, 1, step);
}

void headway_log_all(headway_recorder* recorder, const headway_name_id* metrics,
                     const double* values, size_t count, int64_t step) noexcept {
  if (recorder == nullptr || metrics == nullptr || values == nullptr) return;
  if (headway::IsStep(step) || step == HEADWAY_NO_STEP)
    return FromHandle(recorder)->Metrics(metrics, values, count, step);
  for (size_t i = 0; i < count; ++i) FromHandle(recorder)->writer().CountUnkept();
}

void headway_config(headway_recorder* recorder, const char* config_class, const char* json,
                    size_t size) noexcept {
  if (recorder == nullptr || json == nullptr) return;
  FromHandle(recorder)->Config(config_class == nullptr ? "user" : config_class, {json, size});
}

void headway_heartbeat(headway_recorder* recorder) noexcept {
  if (recorder != nullptr) FromHandle(recorder)->Beat();
}

void headway_notice(headway_recorder* recorder, int32_t signal) noexcept {
  if (recorder != nullptr) FromHandle(recorder)->Notice(signal);
}

const char* headway_journal_path(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? "" : FromHandle(recorder)->writer().path().c_str();
}
const char* headway_project(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? "" : FromHandle(recorder)->writer().header().project.c_str();
}
const char* headway_run(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? "" : FromHandle(recorder)->writer().header().run.c_str();
}
const char* headway_run_uid(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? "" : FromHandle(recorder)->run_uid_hex().c_str();
}
const char* headway_attempt_key(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? "" : FromHandle(recorder)->writer().header().attempt_key.c_str();
}
const char* headway_destination(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? "" : FromHandle(recorder)->writer().header().destination.c_str();
}
int32_t headway_continued(const headway_recorder* recorder) noexcept {
  return recorder != nullptr && FromHandle(recorder)->continued() ? 1 : 0;
}
int64_t headway_rank(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? HEADWAY_UNKNOWN : FromHandle(recorder)->writer().header().rank;
}
int64_t headway_world_size(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? HEADWAY_UNKNOWN : FromHandle(recorder)->writer().header().world_size;
}
uint64_t headway_dropped(const headway_recorder* recorder) noexcept {
  return recorder == nullptr ? 0 : FromHandle(recorder)->writer().dropped();
}

}  // extern "C"
