#include "check.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/time_format.h"
#include "model/category.h"

namespace headway::scenario {
namespace {

using Int = std::int64_t;
using MaybeInt = std::optional<Int>;

enum class Unit { kSeconds, kCount, kRatio, kWord };

/// A figure of an answer, or what a scenario says of one.
struct Value {
  Unit unit = Unit::kCount;
  bool known = true;
  Int number = 0;
  double ratio = 0;
  std::string word;

  std::string ToString() const {
    if (!known) return "null";
    switch (unit) {
      case Unit::kSeconds: return FormatSeconds(number);
      case Unit::kCount: return std::to_string(number);
      case Unit::kRatio: return std::to_string(ratio);
      case Unit::kWord: return word;
    }
    return "";
  }
};

Value Seconds(MaybeInt ns) { return {Unit::kSeconds, ns.has_value(), ns.value_or(0), 0, ""}; }
Value Count(MaybeInt n) { return {Unit::kCount, n.has_value(), n.value_or(0), 0, ""}; }
Value Ratio(std::optional<double> r) { return {Unit::kRatio, r.has_value(), 0, r.value_or(0), ""}; }
Value Word(std::string_view w) { return {Unit::kWord, true, 0, 0, std::string(w)}; }
Value YesNo(bool b) { return Word(b ? "yes" : "no"); }

template <typename T>
using Figures = std::map<std::string, std::function<Value(const T&)>, std::less<>>;

const Figures<Report>& ReportFigures() {
  static const Figures<Report> figures = {
      {"state", [](const Report& r) { return Word(RunStateName(r.state)); }},
      {"start", [](const Report& r) { return Seconds(r.start); }},
      {"end", [](const Report& r) { return Seconds(r.end); }},
      {"as_of_time", [](const Report& r) { return Seconds(r.as_of); }},
      {"down_since", [](const Report& r) { return Seconds(r.down_since); }},
      {"elapsed", [](const Report& r) { return Seconds(r.elapsed_ns); }},
      {"excluded", [](const Report& r) { return Seconds(r.excluded_ns); }},
      {"goodput", [](const Report& r) { return Ratio(r.goodput); }},
      {"overlapped", [](const Report& r) { return Seconds(r.data_loading_overlapped_ns); }},
      {"goodput_if_loading_blocked",
       [](const Report& r) { return Ratio(r.goodput_if_loading_blocked); }},
      {"slow_steps", [](const Report& r) { return Seconds(r.slow_steps_ns); }},
      {"unsaved", [](const Report& r) { return Seconds(r.unsaved_ns); }},
      {"scheduling", [](const Report& r) { return Seconds(r.scheduling_ns); }},
      {"count", [](const Report& r) { return Count(r.steps.count); }},
      {"max_step", [](const Report& r) { return Count(r.steps.max_productive_step); }},
      {"last_step", [](const Report& r) { return Count(r.steps.last_step); }},
      {"ideal", [](const Report& r) { return Seconds(r.steps.ideal_ns); }},
      {"p50", [](const Report& r) { return Seconds(r.steps.p50_ns); }},
      {"p90", [](const Report& r) { return Seconds(r.steps.p90_ns); }},
      {"p99", [](const Report& r) { return Seconds(r.steps.p99_ns); }},
      {"max", [](const Report& r) { return Seconds(r.steps.max_ns); }},
      {"deviation", [](const Report& r) { return Seconds(r.steps.deviation_ns); }},
      {"attempts", [](const Report& r) { return Count(static_cast<Int>(r.attempts.size())); }},
      {"disruptions",
       [](const Report& r) { return Count(static_cast<Int>(r.disruptions.size())); }},
      {"rollbacks", [](const Report& r) { return Count(static_cast<Int>(r.rollbacks.size())); }},
      {"mtbf", [](const Report& r) { return Seconds(r.mtbf_ns); }},
      {"mttr", [](const Report& r) { return Seconds(r.mttr_ns); }},
      {"saves", [](const Report& r) { return Count(r.checkpointing.saves); }},
      {"mean_blocking", [](const Report& r) { return Seconds(r.checkpointing.mean_blocking_ns); }},
      {"save_interval", [](const Report& r) { return Seconds(r.checkpointing.interval_ns); }},
      {"advised_interval",
       [](const Report& r) { return Seconds(r.checkpointing.advised_interval_ns); }},
  };
  return figures;
}

const Figures<AttemptSummary>& AttemptFigures() {
  using A = AttemptSummary;
  static const Figures<A> figures = {
      {"at", [](const A& a) { return Seconds(a.start); }},
      {"end", [](const A& a) { return Seconds(a.end); }},
      {"kind", [](const A& a) { return Word(AttemptEndName(a.end_kind)); }},
      {"status", [](const A& a) { return Count(a.exit_status); }},
      {"signal", [](const A& a) { return Count(a.signal); }},
      {"notice", [](const A& a) { return Count(a.notice); }},
      {"first", [](const A& a) { return Count(a.first_step); }},
      {"last", [](const A& a) { return Count(a.last_step); }},
  };
  return figures;
}

const Figures<Disruption>& DisruptionFigures() {
  using D = Disruption;
  static const Figures<D> figures = {
      {"at", [](const D& d) { return Seconds(d.time); }},
      {"reached", [](const D& d) { return Count(d.step_reached); }},
      {"resumed", [](const D& d) { return Count(d.resumed_from); }},
      {"wasted", [](const D& d) { return Seconds(d.wasted_ns); }},
      {"downtime", [](const D& d) { return Seconds(d.downtime_ns); }},
      {"reinit", [](const D& d) { return Seconds(d.reinit_ns); }},
      {"regained", [](const D& d) { return Seconds(d.regained); }},
      {"status", [](const D& d) { return Count(d.exit_status); }},
      {"signal", [](const D& d) { return Count(d.signal); }},
      {"notice", [](const D& d) { return Count(d.notice); }},
      {"cause", [](const D& d) { return Word(CauseName(d.cause)); }},
  };
  return figures;
}

const Figures<Rollback>& RollbackFigures() {
  using R = Rollback;
  static const Figures<R> figures = {
      {"at", [](const R& r) { return Seconds(r.time); }},
      {"from", [](const R& r) { return Count(r.from); }},
      {"to", [](const R& r) { return Count(r.to); }},
      {"wasted", [](const R& r) { return Seconds(r.wasted_ns); }},
      {"planned", [](const R& r) { return YesNo(r.planned); }},
  };
  return figures;
}

const Figures<StepSummary>& StepFigures() {
  using S = StepSummary;
  static const Figures<S> figures = {
      {"at", [](const S& s) { return Seconds(s.start); }},
      {"end", [](const S& s) { return Seconds(s.end); }},
      {"attempt", [](const S& s) { return Count(s.attempt); }},
      {"work", [](const S& s) { return Seconds(s.work_ns); }},
      {"productive", [](const S& s) { return Seconds(s.productive_ns); }},
      {"wasted", [](const S& s) { return Seconds(s.wasted_ns); }},
      {"data_loading", [](const S& s) { return Seconds(s.data_loading_ns); }},
      {"program_startup", [](const S& s) { return Seconds(s.program_startup_ns); }},
      {"step_stall", [](const S& s) { return Seconds(s.step_stall_ns); }},
      {"infrastructure_recovery", [](const S& s) { return Seconds(s.infrastructure_recovery_ns); }},
      {"blocked", [](const S& s) { return Seconds(s.blocked_ns); }},
      {"first", [](const S& s) { return YesNo(s.first); }},
      {"complete", [](const S& s) { return YesNo(s.complete); }},
      {"retained", [](const S& s) { return YesNo(s.retained); }},
  };
  return figures;
}

/// "" when `text` says what `got` is, else what is wrong. `~12` allows for 0.1 %.
std::string Differs(const std::string& text, const Value& got) {
  const std::string but = ": got " + got.ToString();
  if (text == "null" || !got.known) return text == "null" && !got.known ? "" : but;
  if (got.unit == Unit::kWord) return text == got.word ? "" : but;
  if (got.unit == Unit::kRatio) {
    const std::size_t slash = text.find('/');
    double wanted = std::stod(text);
    if (slash != std::string::npos) wanted /= std::stod(text.substr(slash + 1));
    return std::abs(wanted - got.ratio) < 1e-12 ? "" : but;
  }
  if (got.unit == Unit::kCount) return text == std::to_string(got.number) ? "" : but;
  const bool about = text.starts_with('~');
  const Result<Int> wanted = ParseDecimal(about ? text.substr(1) : text);
  if (!wanted.ok()) return ": `" + text + "` is no duration";
  const Int slack = about ? *wanted / 1000 : 0;
  return std::abs(*wanted - got.number) <= slack ? "" : but;
}

class Checker {
 public:
  Checker(const Look& look, const Answer& answer)
      : look_(look), answer_(answer), report_(answer.report) {}

  std::vector<std::string> Run() {
    for (const Fact& fact : look_.facts) CheckFact(fact);
    CheckSums();
    CheckUnlisted();
    return std::move(faults_);
  }

 private:
  void Fault(int line, const std::string& sentence) {
    faults_.push_back("line " + std::to_string(line) + ": " +
                      (look_.label.empty() ? "" : look_.label + ": ") + sentence);
  }
  void Fault(const Fact& fact, const std::string& what) {
    std::string said;
    for (const std::string& word : fact.words) said += (said.empty() ? "" : " ") + word;
    Fault(fact.line, "`" + said + "`" + what);
  }

  void CheckFact(const Fact& fact) {
    const std::string& key = fact.words.front();
    told_.insert(key);
    if (key == "note") return CheckNote(fact);
    if (key == "attempt") {
      return CheckNext(fact, 1, AttemptFigures(), report_.attempts, &attempts_);
    }
    if (key == "disruption") {
      return CheckNext(fact, 1, DisruptionFigures(), report_.disruptions, &disruptions_);
    }
    if (key == "rollback") {
      return CheckNext(fact, 1, RollbackFigures(), report_.rollbacks, &rollbacks_);
    }
    if (key == "step") return CheckStep(fact);
    if (key == "timeline") return CheckTimeline(fact);
    if (const auto figure = ReportFigures().find(key); figure != ReportFigures().end()) {
      if (fact.words.size() != 2) return Fault(fact, ": wants one value");
      const std::string differs = Differs(fact.words[1], figure->second(report_));
      if (!differs.empty()) Fault(fact, differs);
      return;
    }
    CheckCategory(fact);
  }

  // `productive 60`, `custom EVAL 15`
  void CheckCategory(const Fact& fact) {
    Category category = Category::kOther;
    if (!ParseCategory(fact.words.front(), &category)) return Fault(fact, ": unknown word");
    if (fact.words.size() < 2) return Fault(fact, ": wants a duration");
    std::string name;
    for (std::size_t i = 1; i + 1 < fact.words.size(); ++i) {
      name += (name.empty() ? "" : " ") + fact.words[i];
    }
    if (!categories_.emplace(category, name).second) return Fault(fact, ": stands there twice");
    Int got = 0;
    for (const CategoryTime& time : report_.categories) {
      if (time.category == category && time.name == name) got += time.ns;
    }
    const std::string differs = Differs(fact.words.back(), Seconds(got));
    if (!differs.empty()) Fault(fact, differs);
  }

  void CheckNote(const Fact& fact) {
    if (fact.words.size() != 3) return Fault(fact, ": written `note CODE COUNT`");
    notes_.insert(fact.words[1]);
    Int got = 0;
    for (const ReportNote& note : report_.notes) {
      if (note.code == fact.words[1]) got += note.count;
    }
    if (fact.words[2] != std::to_string(got)) Fault(fact, ": got " + std::to_string(got));
  }

  template <typename T>
  bool CheckPairs(const Fact& fact, std::size_t from, const Figures<T>& figures, const T& got) {
    for (std::size_t i = from; i < fact.words.size(); i += 2) {
      const auto figure = figures.find(fact.words[i]);
      if (figure == figures.end() || i + 1 == fact.words.size()) {
        Fault(fact, ": unknown word `" + fact.words[i] + "`");
        return false;
      }
      const std::string differs = Differs(fact.words[i + 1], figure->second(got));
      if (!differs.empty()) Fault(fact, ": " + fact.words[i] + differs);
    }
    return true;
  }

  // Entries of a list are told one line each, in order.
  template <typename T>
  void CheckNext(const Fact& fact, std::size_t from, const Figures<T>& figures,
                 const std::vector<T>& list, std::size_t* next) {
    if (*next >= list.size()) {
      *next += 1;
      return Fault(fact, ": there is none");
    }
    CheckPairs(fact, from, figures, list[(*next)++]);
  }

  // `step 4 at 60 wasted 4`: the next step of that number that starts then.
  void CheckStep(const Fact& fact) {
    if (fact.words.size() < 4 || fact.words[2] != "at") {
      return Fault(fact, ": written `step N at T ...`");
    }
    for (const StepSummary& step : answer_.steps) {
      if (std::to_string(step.step) != fact.words[1]) continue;
      if (!Differs(fact.words[3], Seconds(step.start)).empty()) continue;
      CheckPairs(fact, 2, StepFigures(), step);
      return;
    }
    Fault(fact, ": there is none");
  }

  // `timeline 0..10 training_prep`: all intervals, in order, once one is told.
  void CheckTimeline(const Fact& fact) {
    const std::size_t at = timeline_++;
    if (at >= answer_.timeline.size()) return Fault(fact, ": the timeline ends before");
    const TimelineInterval& got = answer_.timeline[at];
    std::string is = FormatSeconds(got.begin) + ".." + FormatSeconds(got.end) + " " +
                     std::string(CategoryName(got.category));
    if (!got.name.empty()) is += " " + got.name;
    std::string wanted;
    for (std::size_t i = 1; i < fact.words.size(); ++i) {
      if (fact.words[i] == "step") {
        is += " step " + (got.step ? std::to_string(*got.step) : "null");
      }
      wanted += (wanted.empty() ? "" : " ") + fact.words[i];
    }
    if (is != wanted) Fault(fact, ": got " + is);
  }

  void CheckSums() {
    Int sum = 0;
    for (const CategoryTime& time : report_.categories) {
      sum += time.ns;
      if (time.ns < 0) Fault(look_.line, "a category is negative");
    }
    if (sum != report_.elapsed_ns) Fault(look_.line, "the categories do not add up to elapsed");
    Int drawn = 0;
    for (const TimelineInterval& interval : answer_.timeline) {
      drawn += interval.end - interval.begin;
    }
    if (drawn != report_.elapsed_ns) Fault(look_.line, "the timeline is not elapsed long");
  }

  // What no fact speaks of is absent.
  void CheckUnlisted() {
    for (const CategoryTime& time : report_.categories) {
      if (time.ns == 0 || categories_.contains({time.category, time.name})) continue;
      Fault(look_.line, "unlisted: " + std::string(CategoryName(time.category)) +
                            (time.name.empty() ? "" : " " + time.name) + " " +
                            FormatSeconds(time.ns));
    }
    Default("overlapped", "0");
    Default("excluded", "0");
    Default("goodput_if_loading_blocked", "null");
    if (look_.IsWindow()) return;
    for (const ReportNote& note : report_.notes) {
      if (notes_.contains(note.code)) continue;
      Fault(look_.line, "unlisted: note " + note.code + " " + std::to_string(note.count));
    }
    Default("state", look_.label.empty() ? "completed" : "running");
    if (look_.label.empty() && !told_.contains("elapsed")) Fault(look_.line, "elapsed is missing");
    Ended("disruption", "disruptions", disruptions_, report_.disruptions.size());
    Ended("rollback", "rollbacks", rollbacks_, report_.rollbacks.size());
    if (attempts_ > 0) Ended("attempt", "attempts", attempts_, report_.attempts.size());
    if (timeline_ > 0 && timeline_ < answer_.timeline.size()) {
      Fault(look_.line, "the timeline has " + std::to_string(answer_.timeline.size()) +
                            " intervals, " + std::to_string(timeline_) + " are listed");
    }
  }

  void Default(const std::string& figure, const std::string& value) {
    if (told_.contains(figure)) return;
    const std::string differs = Differs(value, ReportFigures().at(figure)(report_));
    if (!differs.empty()) Fault(look_.line, "unlisted `" + figure + "`" + differs);
  }

  void Ended(const std::string& one, const std::string& all, std::size_t told, std::size_t got) {
    if (told_.contains(all) || told == got) return;
    Fault(look_.line,
          std::to_string(told) + " `" + one + "` lines, but there are " + std::to_string(got));
  }

  const Look& look_;
  const Answer& answer_;
  const Report& report_;
  std::vector<std::string> faults_;
  std::set<std::string> told_;
  std::set<std::string> notes_;
  std::set<std::pair<Category, std::string>> categories_;
  std::size_t attempts_ = 0, disruptions_ = 0, rollbacks_ = 0, timeline_ = 0;
};

}  // namespace

Answer Ask(ledger::Ledger* ledger, const Look& look) {
  return {ledger->MakeReport(look.query), ledger->Timeline(look.query), ledger->Steps(look.query)};
}

std::vector<std::string> Check(const Look& look, const Answer& answer) {
  return Checker(look, answer).Run();
}

std::string ToText(const Answer& answer) {
  const JsonOptions options{.seconds = false, .indent = 0};
  return ToJson(answer.report, {.seconds = false, .indent = 1}) + ToJson(answer.timeline, options) +
         ToJson(answer.steps, options);
}

}  // namespace headway::scenario
