#include <charconv>
#include <optional>
#include <utility>

#include "cli/asked_config.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/place.h"
#include "model/text.h"

namespace headway::cli {
namespace {

Status Wrong(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

std::optional<std::int64_t> ReadNumber(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

class ConfigCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "What a run's processes said about their software, their system and the user's settings. "
        "Later words of a process are brought over its earlier ones, key by key. Where processes "
        "differ, every value is shown with those that have it. Secrets are shown as \"***\".\n\n"
        "With --diff, --diff-attempts or --diff-hosts the exit code is 1 when there is a "
        "difference, and 0 when there is none.");
    DescribeRun(description, &run_);
    Argument& config_class =
        description->Option("--class", "CLASS", &filter_.config_class,
                            "only that class: software, system, user, or what a program named");
    config_class.completion = Completion::kChoices;
    config_class.choices = {"software", "system", "user"};
    description->Count("--attempt", "N", 0, &attempt_,
                       "of that attempt (the last one of which there is something)");
    description->Count("--rank", "R", 0, &rank_,
                       "only what that rank said; a process without a rank is rank 0");
    description->Option("--search", "TEXT", &filter_.search,
                        "only paths and values that hold it, whatever the case");
    description->Option("--diff", "RUN2", &other_, "how RUN2 differs from RUN").completion =
        Completion::kRun;
    description->Option("--diff-attempts", "A..B", &attempts_,
                        "how attempt B differs from attempt A");
    description->Flag("--diff-hosts", &hosts_, "only what differs between hosts");
    description->Flag("--all", &all_,
                      "with --diff and --diff-attempts: also what is the same on both sides");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway config llama-7b --search lr", "its settings with \"lr\"");
    description->Example("headway config llama-7b --diff llama-7b-v2", "what was changed");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(Check());
    filter_.rank = rank_.value_or(-1);
    const Result<RunConfig> run = AskConfig(context, &place_, run_);
    if (!run.ok()) return run.status();
    if (!other_.empty()) return CompareRuns(context, *run);
    if (!attempts_.empty()) return CompareAttempts(context, *run);
    // What a server was told is of no attempt and of no rank.
    const bool of_run = !attempt_ && !rank_ && !hosts_;
    const AttemptConfig registered = of_run ? Select(run->Registered(), filter_) : AttemptConfig();
    if (run->attempts.empty() && !attempt_ && !rank_) {
      if (place_.json) {
        *context.out << ConfigToJson(*run, nullptr, registered);
      } else {
        *context.out << "no configuration was recorded in run " << PrintableLine(run_) << "\n"
                     << RenderRegistered(registered, context.terminal);
      }
      return 0;
    }
    Result<AttemptConfig> shown = Pick(*run, attempt_);
    if (!shown.ok()) return shown.status();
    if (hosts_) *shown = DifferBetweenHosts(*shown);
    bool any = false;
    for (const ClassConfig& one : shown->classes) any |= !one.rows.empty();
    for (const ClassConfig& one : registered.classes) any |= !one.rows.empty();
    if (place_.json) {
      *context.out << ConfigToJson(*run, &*shown, registered);
    } else if (any) {
      *context.out << RenderConfig(*run, *shown, context.terminal)
                   << RenderRegistered(registered, context.terminal);
    } else {
      *context.out << (hosts_ ? "no host differs from another in run " : "nothing such in run ")
                   << PrintableLine(run_) << "\n";
    }
    return hosts_ && any ? 1 : 0;
  }

 private:
  Status Check() {
    const int comparisons =
        (other_.empty() ? 0 : 1) + (attempts_.empty() ? 0 : 1) + (hosts_ ? 1 : 0);
    if (comparisons > 1) {
      return Wrong("give one of --diff, --diff-attempts and --diff-hosts, not several");
    }
    if (all_ && other_.empty() && attempts_.empty()) {
      return Wrong("--all goes with --diff or --diff-attempts");
    }
    if (attempts_.empty()) return OkStatus();
    if (attempt_) return Wrong("--diff-attempts says which attempts: leave out --attempt");
    const std::size_t dots = attempts_.find("..");
    std::optional<std::int64_t> from, to;
    if (dots != std::string::npos) {
      from = ReadNumber(std::string_view(attempts_).substr(0, dots));
      to = ReadNumber(std::string_view(attempts_).substr(dots + 2));
    }
    if (!from || !to) {
      return Wrong("--diff-attempts takes A..B, two numbers of attempts such as 0..1, not \"" +
                   PrintableLine(attempts_) + "\"");
    }
    left_ = *from;
    right_ = *to;
    return OkStatus();
  }

  // What is wanted of that attempt, else of the last one.
  Result<AttemptConfig> Pick(const RunConfig& run, std::optional<std::int64_t> number) const {
    const std::string label = PrintableLine(run.run);
    if (run.attempts.empty()) {
      return Status(Code::kNotFound, "no configuration was recorded in run " + label);
    }
    const AttemptConfig* attempt = number ? run.Find(*number) : &run.attempts.back();
    if (attempt == nullptr) {
      std::string known;
      for (const AttemptConfig& one : run.attempts) {
        if (one.attempt >= 0) known += (known.empty() ? "" : ", ") + std::to_string(one.attempt);
      }
      return Status(Code::kNotFound, "no configuration was recorded in attempt " +
                                         std::to_string(*number) + " of run " + label +
                                         "; there are some of: " + known);
    }
    AttemptConfig selected = Select(*attempt, filter_);
    if (rank_ && selected.processes.empty()) {
      return Status(Code::kNotFound, "rank " + std::to_string(*rank_) +
                                         " recorded no configuration in attempt " +
                                         std::to_string(attempt->attempt) + " of run " + label);
    }
    return selected;
  }

  Result<int> CompareRuns(const Context& context, const RunConfig& run) {
    Place place = place_;
    const Result<RunConfig> other = AskConfig(context, &place, other_);
    if (!other.ok()) return other.status();
    const Result<AttemptConfig> left = Pick(run, attempt_);
    if (!left.ok()) return left.status();
    const Result<AttemptConfig> right = Pick(*other, attempt_);
    if (!right.ok()) return right.status();
    return Tell(context, {&run, &*left}, {&*other, &*right});
  }

  Result<int> CompareAttempts(const Context& context, const RunConfig& run) {
    const Result<AttemptConfig> left = Pick(run, left_);
    if (!left.ok()) return left.status();
    const Result<AttemptConfig> right = Pick(run, right_);
    if (!right.ok()) return right.status();
    return Tell(context, {&run, &*left}, {&run, &*right});
  }

  int Tell(const Context& context, const ComparedConfig& left, const ComparedConfig& right) const {
    const std::vector<ConfigDifference> found = Compare(*left.attempt, *right.attempt);
    *context.out << (place_.json ? ComparisonToJson(left, right, found, all_)
                                 : RenderComparison(left, right, found, all_, context.terminal));
    for (const ConfigDifference& one : found) {
      if (one.change != ConfigChange::kSame) return 1;
    }
    return 0;
  }

  std::string run_;
  std::string other_;
  std::string attempts_;
  std::int64_t left_ = 0, right_ = 0;
  std::optional<std::int64_t> attempt_, rank_;
  ConfigFilter filter_;
  bool hosts_ = false;
  bool all_ = false;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeConfig() { return std::make_unique<ConfigCommand>(); }

}  // namespace headway::cli
