#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/server_runs.h"
#include "model/text.h"

/// What is said of runs on a server, projects, and operations.

namespace headway::cli {
namespace {

class RunsCreateCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Makes a run on a server before it records anything, and prints its uid. The first "
        "processes that record a run of that name belong to it, as do those that find its uid in "
        "HEADWAY_RUN_UID. One that is there already, of that uid or made with that request id, "
        "stays as it is.");
    description->Positional("NAME", &name_, "the run's name");
    DescribeChange(description, &change_);
    description->Option("--uid", "UID", &change_.uid, "32 hexadecimal digits; else one is made");
    description->Option("--request-id", "ID", &change_.request_id,
                        "with the same one a second call makes no second run");
    DescribeServerOnly(description, &place_);
    description->Example("headway runs create llama-7b --group baseline --label team=vision",
                         "a run to be");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "runs are made on"));
    HEADWAY_RETURN_IF_ERROR(CreateServerRun(context, place_, name_, change_));
    return 0;
  }

 private:
  std::string name_;
  RunChange change_;
  Place place_;
};

class RunsUpdateCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Changes what a server says of a run; what is not given stays, and an empty text clears. "
        "A run that is completed keeps its phase; one that has failed, was interrupted or stopped "
        "may go on.");
    DescribeRun(description, &run_);
    DescribeChange(description, &change_);
    description->Option("--remove-label", "KEY", &change_.not_labels, "may be given several times");
    description->Option("--etag", "ETAG", &change_.etag, "only if it still has this one");
    DescribeServerOnly(description, &place_);
    description->Example("headway runs update llama-7b --phase stopped --error 'no budget left'",
                         "why it ended");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "what is said of runs is"));
    HEADWAY_RETURN_IF_ERROR(UpdateServerRun(context, place_, run_, change_));
    return 0;
  }

 private:
  std::string run_;
  RunChange change_;
  Place place_;
};

class RunsUndeleteCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Shows a run again that was deleted on a server within the last thirty days, but not by "
        "force.");
    description->Positional("UID", &run_, "as headway runs list --deleted --json shows it");
    DescribeServerOnly(description, &place_);
    description->Example("headway runs undelete 1f0c9d2a77b31f0c9d2a77b31f0c9d2a", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "deleted runs are kept on"));
    HEADWAY_RETURN_IF_ERROR(UndeleteServerRun(context, place_, run_));
    return 0;
  }

 private:
  std::string run_;
  Place place_;
};

// "2.5 USD", or 0; nothing where none was said.
Result<std::pair<std::optional<double>, std::string>> ParsePrice(const std::string& text) {
  std::pair<std::optional<double>, std::string> price;
  if (text.empty()) return price;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  const bool bare = rest.empty() && number == 0;
  if (error != std::errc() || !std::isfinite(number) || !(bare || rest.starts_with(' '))) {
    return Status(Code::kInvalidArgument,
                  "--price is a number and a currency, such as '2.5 USD', or 0, not \"" +
                      PrintableLine(text) + "\"");
  }
  price.first = number;
  if (!bare) price.second = rest.substr(1);
  return price;
}

class ProjectsListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("The projects of a server: how many runs each has, and what it keeps.");
    DescribeServerOnly(description, &place_);
    description->Example("headway projects list", "what takes the space");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "projects are"));
    HEADWAY_RETURN_IF_ERROR(ListServerProjects(context, place_));
    return 0;
  }

 private:
  Place place_;
};

class ProjectsCreateCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Makes a project on a server, or changes one that is there: how long its ended runs are "
        "kept, how many bytes its records may take, and what an accelerator costs. Beyond the "
        "quota they stay where they were recorded, and are sent once there is room.");
    description->Positional("PROJECT", &project_, "its name");
    description->Duration("--keep", &keep_, "how long ended runs are kept; 0s: for ever");
    description->Count("--quota", "BYTES", 0, &quota_, "what its records may take; 0: no limit");
    description->Option("--price", "PRICE", &price_,
                        "of an accelerator's hour, such as '2.5 USD'; 0: none");
    DescribeServerOnly(description, &place_);
    description->Example("headway projects create lm --keep 90d --quota 100000000000", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "projects are"));
    HEADWAY_RETURN_IF_ERROR(CheckName("PROJECT", project_));
    const auto price = ParsePrice(price_);
    HEADWAY_RETURN_IF_ERROR(price.status());
    HEADWAY_RETURN_IF_ERROR(
        PutServerProject(context, place_, project_, keep_, price->first, price->second, quota_));
    return 0;
  }

 private:
  std::string project_;
  std::optional<std::int64_t> keep_;
  std::optional<std::int64_t> quota_;
  std::string price_;
  Place place_;
};

class OperationsListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("What a server does in the background, the newest first.");
    DescribeServerOnly(description, &place_);
    description->Example("headway operations list", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "operations are"));
    HEADWAY_RETURN_IF_ERROR(ListServerOperations(context, place_));
    return 0;
  }

 private:
  Place place_;
};

/// operations show, cancel and delete.
class OperationCommand final : public Command {
 public:
  OperationCommand(std::string verb, std::string text, std::string example)
      : verb_(std::move(verb)), text_(std::move(text)), example_(std::move(example)) {}

  void Describe(Description* description) override {
    description->Text(text_);
    description->Positional("ID", &id_, "as headway operations list shows it");
    DescribeServerOnly(description, &place_);
    description->Example(example_, "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "operations are"));
    HEADWAY_RETURN_IF_ERROR(DoServerOperation(context, place_, verb_, id_));
    return 0;
  }

 private:
  std::string verb_;
  std::string text_;
  std::string example_;
  std::string id_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeRunsCreate() { return std::make_unique<RunsCreateCommand>(); }
std::unique_ptr<Command> MakeRunsUpdate() { return std::make_unique<RunsUpdateCommand>(); }
std::unique_ptr<Command> MakeRunsUndelete() { return std::make_unique<RunsUndeleteCommand>(); }
std::unique_ptr<Command> MakeProjectsList() { return std::make_unique<ProjectsListCommand>(); }
std::unique_ptr<Command> MakeProjectsCreate() { return std::make_unique<ProjectsCreateCommand>(); }
std::unique_ptr<Command> MakeOperationsList() { return std::make_unique<OperationsListCommand>(); }
std::unique_ptr<Command> MakeOperationsShow() {
  return std::make_unique<OperationCommand>("Get", "One operation of a server, and how far it is.",
                                            "headway operations show purge-1f0c9d2a77b3");
}
std::unique_ptr<Command> MakeOperationsCancel() {
  return std::make_unique<OperationCommand>(
      "Cancel", "Asks an operation to stop. What can't be done by half, and has begun, goes on.",
      "headway operations cancel purge-1f0c9d2a77b3");
}
std::unique_ptr<Command> MakeOperationsDelete() {
  return std::make_unique<OperationCommand>("Delete", "Forgets an operation that has finished.",
                                            "headway operations delete purge-1f0c9d2a77b3");
}

}  // namespace headway::cli
