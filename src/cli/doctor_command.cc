#include <algorithm>

#include "base/json_writer.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/palette.h"
#include "cli/place.h"
#include "cli/run_doctor.h"
#include "cli/server_doctor.h"
#include "model/text.h"

namespace headway::cli {
namespace {

class DoctorCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "With a run: says why numbers of it are missing or strange, and what to do. Have records "
        "been made, are they of one job, is there time of checkpoints, which monitors told their "
        "numbers where, and what did Google Cloud answer? Journals and the monitors' own files "
        "are looked at; nothing is changed.\n\n"
        "Without: checks the data directory, the clocks, the environment and the Python package as "
        "a "
        "training process would find them, and the server of HEADWAY_SERVER. Run it where training "
        "runs. Exit code 1 when there is a problem; warnings and notes are none.");
    DescribeOptionalRun(description, &run_);
    description->Flag("--no-python", &no_python_, "do not start python3 (or HEADWAY_PYTHON)");
    DescribePlace(description, &place_);
    description->Option("--server", "URL", &place_.server,
                        "check that server alone; without it the one of HEADWAY_SERVER is checked "
                        "with this machine");
    description->Example("headway doctor", "checks this machine");
    description->Example("headway doctor llama-7b", "why numbers of a run are missing");
    description->Example("headway doctor --server https://goodput:8460",
                         "whether a server can be used from here");
    description->Example("srun headway doctor", "checks it as each task of a Slurm job sees it");
  }

  Result<int> Run(const Context& context) override {
    std::vector<Check> checks;
    if (!place_.server.empty()) {
      if (run_ || !place_.dirs.empty()) {
        return Status(Code::kInvalidArgument,
                      "--server stands alone: a run is looked at where its journals are (--dir)");
      }
      HEADWAY_RETURN_IF_ERROR(ResolveServer(&place_));
      return Tell(context, JudgeServer(GatherServerEvidence(place_, Version())),
                  "the server can be used from here");
    }
    if (run_) {
      HEADWAY_RETURN_IF_ERROR(ResolveToRead(&place_));
      HEADWAY_RETURN_IF_ERROR(CheckName("RUN", *run_));
      const recorder::EnvMap environment = recorder::ProcessEnvironment();
      checks =
          JudgeRun(GatherEvidence(*run_, place_.project, place_.dirs, environment), environment);
      return Tell(context, checks, "nothing is wrong with this run");
    }
    HEADWAY_RETURN_IF_ERROR(Resolve(&place_));
    const auto take = [&checks](std::vector<Check> more) {
      std::move(more.begin(), more.end(), std::back_inserter(checks));
    };
    const recorder::EnvMap variables = recorder::ProcessEnvironment();
    const recorder::Environment env = recorder::DetectEnvironment(variables);
    for (const std::string& dir : place_.dirs) take(CheckDirectory(dir, recorder::RulesOf(env)));
    take(CheckClocks());
    take(CheckEnvironment(variables));
    if (Place far = place_; Env("HEADWAY_SERVER") != "") {
      HEADWAY_RETURN_IF_ERROR(ResolveReceiver(&far));
      take(JudgeServer(GatherServerEvidence(far, Version())));
    }
    if (!no_python_) checks.push_back(CheckPython(Env("HEADWAY_PYTHON"), Version()));
    return Tell(context, checks, "recording works here");
  }

 private:
  int Tell(const Context& context, const std::vector<Check>& checks, std::string_view praise) {
    const bool good = std::none_of(checks.begin(), checks.end(), [](const Check& check) {
      return check.verdict == Verdict::kProblem;
    });
    *context.out << (place_.json ? Json(checks, good)
                                 : Text(checks, good ? praise : "something is wrong, see above",
                                        context.terminal));
    return good ? 0 : 1;
  }

  static Tone ToneOfVerdict(Verdict verdict) {
    switch (verdict) {
      case Verdict::kGood: return Tone::kGood;
      case Verdict::kNote: return Tone::kFaint;
      case Verdict::kWarning: return Tone::kWarning;
      case Verdict::kProblem: return Tone::kBad;
    }
    return Tone::kFaint;
  }

  static std::string Text(const std::vector<Check>& checks, std::string_view last,
                          const Terminal& terminal) {
    constexpr std::size_t kColumn = 9;
    const auto width = static_cast<std::size_t>(terminal.width);
    std::string out;
    for (const Check& check : checks) {
      const std::string verdict = PadRight(VerdictName(check.verdict), kColumn);
      out += Paint(ToneOfVerdict(check.verdict), verdict, terminal) +
             WrapBeside(PrintableLine(check.message), width, kColumn) + "\n";
      if (check.remedy.empty()) continue;
      out += std::string(kColumn, ' ') +
             WrapBeside("→ " + PrintableLine(check.remedy), width, kColumn) + "\n";
    }
    return out + std::string(last) + "\n";
  }

  static std::string Json(const std::vector<Check>& checks, bool good) {
    std::string out;
    JsonWriter json(&out, 1);
    json.BeginObject().Field("ok", good).Key("checks").BeginArray();
    for (const Check& check : checks) {
      json.BeginObject()
          .Field("name", check.name)
          .Field("verdict", VerdictName(check.verdict))
          .Field("message", check.message)
          .Field("remedy", check.remedy)
          .EndObject();
    }
    json.EndArray().EndObject();
    return out + "\n";
  }

  std::optional<std::string> run_;
  bool no_python_ = false;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeDoctor() { return std::make_unique<DoctorCommand>(); }

}  // namespace headway::cli
