#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/category.h"
#include "model/record.h"

/// Report: the answer of the ledger for one run and one stretch of its time. Plain values; times
/// are wall-clock nanoseconds since the Unix epoch, durations nanoseconds. `nullopt` means that the
/// value cannot be known. `categories` add up to `elapsed_ns` exactly.

namespace headway {

class JsonWriter;

enum class RunState : std::uint8_t {
  kNotStarted,
  kRunning,
  kRestarting,
  kCompleted,
  kFailed,
  kInterrupted
};
std::string_view RunStateName(RunState state);

/// How an attempt ended; the JSON's `end_kind`.
enum class AttemptEnd : std::uint8_t { kOpen, kClean, kFailed, kExit, kLost };
std::string_view AttemptEndName(AttemptEnd end);

/// What the records say of why a disrupted attempt ended; the JSON's `cause`. The first one that
/// applies, see docs/accounting.md, section 9.
enum class Cause : std::uint8_t { kNotice, kHang, kSignal, kExitStatus, kFailed, kLost };
std::string_view CauseName(Cause cause);

struct CategoryTime {
  Category category = Category::kOther;
  std::string name;  // for custom spans and productive phases, else empty
  std::int64_t ns = 0;
};

struct StepStatistics {
  std::int64_t count = 0;  // retained complete steps
  std::optional<std::int64_t> max_productive_step;
  std::optional<std::int64_t> last_step;  // last started
  std::optional<std::int64_t> ideal_ns, p50_ns, p90_ns, p99_ns, max_ns, deviation_ns;
};

struct AttemptSummary {
  std::int64_t index = 0;
  std::int64_t start = 0;
  std::optional<std::int64_t> end;  // as-of while it is open
  AttemptEnd end_kind = AttemptEnd::kOpen;
  std::optional<std::int64_t> exit_status, signal;
  std::optional<std::int64_t> notice;  // told to stop: by this signal, 0: without one
  std::optional<std::int64_t> first_step, last_step;
};

struct Disruption {
  std::int64_t time = 0;  // last sign of life
  std::optional<std::int64_t> step_reached, resumed_from;
  std::int64_t wasted_ns = 0;
  std::optional<std::int64_t> downtime_ns, reinit_ns, regained;
  std::optional<std::int64_t> exit_status, signal;
  std::optional<std::int64_t> notice;  // as AttemptSummary has it
  Cause cause = Cause::kLost;
};

struct Rollback {
  std::int64_t time = 0;
  std::int64_t from = 0;  // the last step started before
  std::int64_t to = 0;    // the step it went back to
  std::int64_t wasted_ns = 0;
  bool planned = false;
};

struct Checkpointing {
  std::int64_t saves = 0;
  std::optional<std::int64_t> mean_blocking_ns, interval_ns, advised_interval_ns;
};

struct ReportNote {
  std::string code;
  std::int64_t count = 0;
  std::string message;
};

struct Report {
  std::string run;
  std::string project = "default";
  std::string accounting = "exact";
  RunState state = RunState::kNotStarted;
  std::optional<std::int64_t> down_since;
  std::optional<std::int64_t> start, end;  // nullopt for a run without a record
  std::int64_t as_of = 0;
  /// The stretch that elapsed, excluded, categories and goodput are about, when only one was asked
  /// for.
  std::optional<std::pair<std::int64_t, std::int64_t>> window;
  std::int64_t elapsed_ns = 0;
  std::int64_t excluded_ns = 0;
  std::optional<double> goodput;         // 0 when nothing has elapsed
  std::vector<CategoryTime> categories;  // descending; productive always
  std::int64_t data_loading_overlapped_ns = 0;
  std::optional<double> goodput_if_loading_blocked;
  std::int64_t slow_steps_ns = 0;
  std::optional<std::int64_t> unsaved_ns, scheduling_ns;
  StepStatistics steps;
  std::vector<AttemptSummary> attempts;
  std::vector<Disruption> disruptions;
  std::vector<Rollback> rollbacks;
  std::optional<std::int64_t> mtbf_ns, mttr_ns;
  Checkpointing checkpointing;
  std::vector<ReportNote> notes;

  /// Nanoseconds of a category over all its names.
  std::int64_t Ns(Category category) const;
};

/// A stretch of the partition, as `headway timeline` and `--explain` list it.
struct TimelineInterval {
  std::int64_t begin = 0, end = 0;  // wall, half-open
  Category category = Category::kOther;
  std::string name;
  std::int64_t attempt = -1;         // -1: no attempt was alive
  std::optional<std::int64_t> step;  // the step it belongs to
};

/// One step interval, as `headway steps` lists it.
struct StepSummary {
  std::int64_t attempt = 0;
  std::int64_t step = 0;
  std::int64_t start = 0, end = 0;  // wall
  std::int64_t work_ns = 0;
  std::int64_t productive_ns = 0;
  std::int64_t wasted_ns = 0;
  std::int64_t data_loading_ns = 0;
  std::int64_t program_startup_ns = 0;
  std::int64_t step_stall_ns = 0;
  std::int64_t infrastructure_recovery_ns = 0;
  std::int64_t blocked_ns = 0;  // spans that block, inside the step
  bool first = false;
  bool complete = false;
  bool retained = false;
};

struct JsonOptions {
  bool seconds = false;  // durations also as decimal strings, `..._seconds`
  int indent = 0;
};

/// The attempts as the array of that name in the report JSON.
void WriteAttempts(JsonWriter* json, const std::vector<AttemptSummary>& attempts,
                   const JsonOptions& options = {});

/// The report JSON, ended by a line feed.
std::string ToJson(const Report& report, const JsonOptions& options = {});
std::string ToJson(const std::vector<TimelineInterval>& intervals, const JsonOptions& options = {});
std::string ToJson(const std::vector<StepSummary>& steps, const JsonOptions& options = {});

}  // namespace headway
