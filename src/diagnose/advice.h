#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/report.h"

/// Advice: what to do about the time that a run lost. A pure function of the report.

namespace headway::diagnose {

struct Advice {
  std::string code;     ///< stable, for scripts: "checkpoint_more_often"
  std::string text;     ///< a sentence or two, with the numbers it rests on
  std::int64_t ns = 0;  ///< what it is about
};

/// When to speak up. One table, so that the reasons stand beside the numbers.
struct AdviceThresholds {
  /// Share of elapsed time from which a category is worth words. Below, the work of mending it
  /// costs more than it brings back on most jobs.
  double wasted = 0.02;    // two checkpoint intervals in a hundred: cheap to halve
  double recovery = 0.03;  // a restart a day of 40 minutes
  double startup = 0.05;   // compiling can be cached; under this it is one attempt's due
  double init = 0.03;      // a healthy start takes a few minutes of a day
  double prep = 0.05;
  double data = 0.03;  // loading that overlaps costs nothing, so any waiting is avoidable
  double save = 0.02;  // asynchronous saves block for well under a hundredth
  double restore = 0.03;
  double elastic = 0.03;
  double stall = 0.01;   // hangs are faults, not overhead
  double custom = 0.10;  // evaluations are wanted; only a large share is a question
  double other = 0.05;   // time nobody named: first find out what it is
  /// Less than this is noise on any job, whatever its share.
  std::int64_t least_ns = 10'000'000'000;
  /// An interval this many times off the advised one changes the losses noticeably: the optimum is
  /// flat, a factor of two costs about a quarter more.
  double interval_factor = 2.0;
  /// Deviation of the step time over the ideal step time.
  double deviation = 0.25;  // schedulers and collectives alone make up to a fifth
  /// Restarts in a row that reach no new step.
  int crash_loop = 3;
  /// How many pieces of advice a report shows.
  std::size_t shown = 3;
};
inline constexpr AdviceThresholds kAdvice;

/// The costliest first; at most `kAdvice.shown`.
std::vector<Advice> Advise(const Report& report);

/// How many restarts at the end of the run reached no new step, 0 for a run that goes on well.
int CrashLoopLength(const Report& report);

}  // namespace headway::diagnose
