#include "diagnose/advice.h"

#include <algorithm>
#include <array>

#include "model/shares.h"
#include "model/text.h"

namespace headway::diagnose {
namespace {

struct Rule {
  Category category;
  double AdviceThresholds::*share;
  const char* code;
  const char* text;
};

constexpr std::array kRules = {
    Rule{Category::kInfrastructureRecovery, &AdviceThresholds::recovery, "restart_faster",
         "no process was running. Restart at once in the same allocation (headway run "
         "--restarts N), keep spare nodes, and look at what ended the attempts"},
    Rule{Category::kProgramStartup, &AdviceThresholds::startup, "cache_compilation",
         "importing, tracing and compiling. Keep the compilation cache on a disk that survives "
         "restarts (JAX_COMPILATION_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR)"},
    Rule{Category::kAcceleratorInit, &AdviceThresholds::init, "init_faster",
         "bringing up accelerators. Compare hosts: the slowest one decides; check drivers and the "
         "collective library's connection set-up"},
    Rule{Category::kTrainingPrep, &AdviceThresholds::prep, "prepare_faster",
         "preparing to train. Prepare data set indexes once and keep them, and build the model on "
         "the device"},
    Rule{Category::kDataLoading, &AdviceThresholds::data, "load_ahead",
         "steps waited for data. Load further ahead or with more workers, and look at the storage"},
    Rule{Category::kCheckpointRestore, &AdviceThresholds::restore, "restore_faster",
         "reading checkpoints. Read them in parallel on all hosts, or from a copy on local disks"},
    Rule{Category::kElasticScaleUp, &AdviceThresholds::elastic, "elastic_wait",
         "waiting for slices to join. Train on with what is there, or keep spare slices"},
    Rule{Category::kElasticSliceDown, &AdviceThresholds::elastic, "elastic_wait",
         "waiting after a slice was lost. Shorten the wait before going on without it"},
    Rule{Category::kElasticReinit, &AdviceThresholds::elastic, "elastic_reinit",
         "starting again after the set of slices changed. Keep compiled programs for the sizes "
         "that occur"},
    Rule{Category::kStepStall, &AdviceThresholds::stall, "find_stalls",
         "steps hung. headway steps RUN --slowest shows which; set a timeout on collectives so "
         "that a hang becomes a restart"},
};

class Adviser {
 public:
  explicit Adviser(const Report& report)
      : report_(report), shares_(report.categories, report.elapsed_ns) {}

  std::vector<Advice> Collect() {
    if (report_.elapsed_ns <= 0) return {};
    for (const Rule& rule : kRules) {
      const std::int64_t ns = report_.Ns(rule.category);
      if (!Matters(ns, kAdvice.*rule.share)) continue;
      Add(rule.code, ns, Amount(rule.category, ns) + rule.text);
    }
    Wasted();
    Saving();
    Custom();
    Other();
    InputBound();
    Deviation();
    std::stable_sort(advice_.begin(), advice_.end(),
                     [](const Advice& a, const Advice& b) { return a.ns > b.ns; });
    CrashLoop();
    if (advice_.size() > kAdvice.shown) advice_.resize(kAdvice.shown);
    return std::move(advice_);
  }

 private:
  double Share(std::int64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(report_.elapsed_ns);
  }
  bool Matters(std::int64_t ns, double share) const {
    return ns >= kAdvice.least_ns && Share(ns) >= share;
  }
  std::string Amount(Category category, std::int64_t ns) const {
    return Amount(CategoryName(category), ns, shares_.Of(category));
  }
  static std::string Amount(std::string_view what, std::int64_t ns, const std::string& share) {
    return std::string(what) + " took " + ShowDuration(ns) + " (" + share + "): ";
  }
  void Add(std::string code, std::int64_t ns, std::string text) {
    advice_.push_back({std::move(code), std::move(text) + ".", ns});
  }

  void Wasted() {
    const std::int64_t ns = report_.Ns(Category::kWastedProgress);
    if (!Matters(ns, kAdvice.wasted)) return;
    const Checkpointing& saves = report_.checkpointing;
    std::string text = Amount(Category::kWastedProgress, ns) + "steps were done and lost again. ";
    if (saves.saves == 0) {
      Add("checkpoint", ns,
          text +
              "No checkpoint was recorded: save some, and record them with "
              "checkpoint_save");
    } else if (saves.advised_interval_ns && saves.interval_ns &&
               static_cast<double>(*saves.interval_ns) >
                   kAdvice.interval_factor * static_cast<double>(*saves.advised_interval_ns)) {
      Add("checkpoint_more_often", ns,
          text + "Save a checkpoint every " + ShowDuration(*saves.advised_interval_ns) +
              " instead of every " + ShowDuration(*saves.interval_ns));
    } else {
      Add("lose_less", ns, text + "Save checkpoints more often, or mend what ends the attempts");
    }
  }

  void Saving() {
    const std::int64_t ns = report_.Ns(Category::kCheckpointSave);
    if (!Matters(ns, kAdvice.save)) return;
    const Checkpointing& saves = report_.checkpointing;
    std::string text = Amount(Category::kCheckpointSave, ns) +
                       "training stood still while checkpoints were written. ";
    if (saves.advised_interval_ns && saves.interval_ns &&
        static_cast<double>(*saves.interval_ns) * kAdvice.interval_factor <
            static_cast<double>(*saves.advised_interval_ns)) {
      Add("checkpoint_less_often", ns,
          text + "Every " + ShowDuration(*saves.advised_interval_ns) + " is enough, it is every " +
              ShowDuration(*saves.interval_ns) + " now");
    } else {
      Add("checkpoint_async", ns, text + "Write them in the background (asynchronous saves)");
    }
  }

  void Custom() {
    for (std::size_t i = 0; i < report_.categories.size(); ++i) {
      const CategoryTime& time = report_.categories[i];
      if (time.category != Category::kCustom || !Matters(time.ns, kAdvice.custom)) continue;
      Add("custom", time.ns,
          Amount(CategoryLabel(time.category, time.name), time.ns, shares_.Of(i)) +
              "do it less often, on less data, or on other machines");
    }
  }

  bool IsNoted(std::string_view code) const {
    return std::any_of(report_.notes.begin(), report_.notes.end(),
                       [code](const ReportNote& note) { return note.code == code; });
  }

  void Other() {
    const std::int64_t ns = report_.Ns(Category::kOther);
    if (!Matters(ns, kAdvice.other)) return;
    const std::string text = Amount(Category::kOther, ns);
    if (IsNoted("dropped_records")) {
      Add("make_room", ns,
          text +
              "records were dropped, and what happened then is not known. Make room on the disk "
              "of the journals, and see headway doctor");
    } else {
      Add("name_time", ns,
          text + "time outside of steps that nothing names. Put spans around it to see what it is");
    }
  }

  void InputBound() {
    if (!IsNoted("input_bound")) return;
    Add("input_bound", report_.data_loading_overlapped_ns,
        "loading takes nearly as long as the steps (" +
            ShowDuration(report_.data_loading_overlapped_ns) +
            " beside them). If accelerators idle meanwhile, load with more workers");
  }

  void Deviation() {
    const StepStatistics& steps = report_.steps;
    if (!steps.ideal_ns || !steps.deviation_ns || *steps.ideal_ns <= 0) return;
    const double ratio =
        static_cast<double>(*steps.deviation_ns) / static_cast<double>(*steps.ideal_ns);
    if (ratio < kAdvice.deviation || report_.slow_steps_ns < kAdvice.least_ns) return;
    Add("uneven_steps", report_.slow_steps_ns,
        "step times have become uneven: " + ShowDuration(*steps.deviation_ns) + " around " +
            ShowDuration(*steps.ideal_ns) + ". Look for a slow host or a shared network");
  }

  // What is wrong right now comes before what could be better.
  void CrashLoop() {
    const int length = CrashLoopLength(report_);
    if (length < kAdvice.crash_loop) return;
    std::string text =
        "crash loop: the last " + std::to_string(length) + " restarts reached no new step";
    if (report_.steps.last_step) text += " after step " + ShowCount(*report_.steps.last_step);
    text += ". Stop it and look at its last words: headway runs show " +
            PrintableLine(report_.run) + ".";
    advice_.insert(advice_.begin(), Advice{"crash_loop", std::move(text), 0});
  }

  const Report& report_;
  const Shares shares_;
  std::vector<Advice> advice_;
};

}  // namespace

int CrashLoopLength(const Report& report) {
  // Attempts at the end that got no further than those before them, the one that set the mark
  // and one that ended cleanly aside.
  int length = 0;
  std::int64_t highest = INT64_MIN;
  for (const AttemptSummary& attempt : report.attempts) {
    const bool further = attempt.last_step && *attempt.last_step > highest;
    if (further) highest = *attempt.last_step;
    const bool first = &attempt == &report.attempts.front();
    if (further || first || attempt.end_kind == AttemptEnd::kClean) {
      length = 0;
    } else if (attempt.end_kind != AttemptEnd::kOpen) {
      ++length;
    }
  }
  return length;
}

std::vector<Advice> Advise(const Report& report) { return Adviser(report).Collect(); }

}  // namespace headway::diagnose
