#include "server/run_registry.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/names.h"
#include "base/view_limits.h"
#include "server/run_details.h"
#include "server/upkeep.h"
#include "wire/report.h"
#include "wire/run.h"

namespace headway::server {
namespace {

constexpr int kRunsPageDefault = 100;
constexpr std::size_t kRunsNamed = 5;  // in an error

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

// Empty: whatever it has.
Status CheckEtag(const std::string& etag, const store::RunRow& run) {
  const std::string now = std::to_string(run.version);
  if (etag.empty() || etag == now) return OkStatus();
  return {Code::kAborted, "run \"" + run.label + "\" was changed meanwhile: its etag is \"" + now +
                              "\"; read it again"};
}

}  // namespace

v1::Run RunMessage(const store::RunRow& row) {
  v1::Run run;
  run.set_project(row.project);
  run.set_name(row.name);
  run.set_label(row.label);
  run.set_uid(ToHex(row.uid));
  run.set_start(row.start);
  run.set_stored_bytes(row.stored_bytes);
  run.set_journals(static_cast<std::int32_t>(row.journals));
  wire::Fill(Masked(row.details), &run);
  run.set_etag(std::to_string(row.version));
  run.set_creator(row.creator);
  run.set_create_time(row.created);
  run.set_update_time(row.updated);
  run.set_delete_time(row.deleted);
  wire::Fill(row.summary, &run);
  return run;
}

v1::Run SharedRunMessage(const store::RunRow& row) {
  v1::Run run;
  run.set_project(row.project);
  run.set_name(row.name);
  run.set_label(row.label);
  run.set_uid(ToHex(row.uid));
  run.set_start(row.start);
  RunDetails said;
  said.phase = row.details.phase;
  wire::Fill(said, &run);
  wire::Fill(row.summary, &run);
  return run;
}

void RunRegistry::AddTo(ConnectRouter* router) {
  router->Add<v1::ListRunsRequest, v1::ListRunsResponse>(
      "headway.v1.RunService.ListRuns", Permission::kRunsList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return List(caller, request); });
  router->Add<v1::GetRunRequest, v1::Run>(
      "headway.v1.RunService.GetRun", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return Get(caller, request); });
  router->Add<v1::GetFleetRequest, v1::Fleet>(
      "headway.v1.RunService.GetFleet", Permission::kRunsList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetFleet(caller, request); });
  router->Add<v1::CreateRunRequest, v1::CreateRunResponse>(
      "headway.v1.RunService.CreateRun", Permission::kRunsCreate, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Create(caller, request); });
  router->Add<v1::UpdateRunRequest, v1::Run>(
      "headway.v1.RunService.UpdateRun", Permission::kRunsUpdate, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Update(caller, request); });
  router->Add<v1::DeleteRunRequest, v1::DeleteRunResponse>(
      "headway.v1.RunService.DeleteRun", Permission::kRunsDelete, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Delete(caller, request); });
  router->Add<v1::UndeleteRunRequest, v1::Run>(
      "headway.v1.RunService.UndeleteRun", Permission::kRunsDelete, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Undelete(caller, request); });
}

Result<store::RunRow> RunRegistry::Find(const Caller& caller, const std::string& project,
                                        const std::string& label) {
  const auto theirs = [&caller](const store::RunRow& row) {
    if (!caller.link.empty() && (row.uid != caller.run_uid || row.deleted != 0)) return false;
    return caller.run.empty() || row.name == caller.run;
  };
  if (const Result<RunUid> uid = ParseUid<RunUid>(label); uid.ok()) {
    Result<store::RunRow> row = store_->FindRun(*uid);
    if (!row.ok() && row.status().code() != Code::kNotFound) return row.status();
    if (row.ok() && row->project == project && !row->purged && theirs(*row)) return row;
  }
  for (const std::string& name : {label, label.substr(0, label.rfind('@'))}) {
    if (name.empty()) continue;
    store::RunQuery query{.project = project, .name = name};
    // The newest one is that of the name.
    if (name == label) query.count = 1;
    do {
      Result<store::RunPage> page = store_->ListRuns(query);
      if (!page.ok()) return page.status();
      for (store::RunRow& row : page->runs) {
        if (row.label == label && theirs(row)) return std::move(row);
      }
      query.after = name == label ? std::string() : page->next;
    } while (!query.after.empty());
  }
  if (!caller.link.empty()) {
    return Status(Code::kPermissionDenied, "this link is for run \"" + caller.run + "\", " +
                                               ToHex(caller.run_uid) + ", only");
  }
  if (!caller.run.empty()) return OnlyItsRun(caller);
  std::string message = "no run \"" + label + "\" in project \"" + project + "\"";
  // Whoever may not list runs is told of none.
  if (!caller.permissions.Has(Permission::kRunsList)) return Status(Code::kNotFound, message);
  const Result<store::RunPage> newest = store_->ListRuns({.project = project, .count = kRunsNamed});
  if (!newest.ok()) return newest.status();
  for (std::size_t i = 0; i < newest->runs.size(); ++i) {
    message += (i == 0 ? "; the newest are: " : ", ") + newest->runs[i].label;
  }
  if (newest->runs.empty()) message += "; this server has no run of it";
  return Status(Code::kNotFound, message);
}

Result<v1::ListRunsResponse> RunRegistry::List(const Caller& caller,
                                               const v1::ListRunsRequest& request) {
  const Result<WantedPage> wanted =
      ReadListRequest(request, store::RunRowFields(), kRunsPageDefault, limits::kRunsPage);
  if (!wanted.ok()) return wanted.status();
  const store::RunQuery query{.project = ProjectOf(request.project()),
                              .name = caller.run,
                              .filter = wanted->filter,
                              .order = wanted->order,
                              .deleted = request.show_deleted(),
                              .after = wanted->after,
                              .count = wanted->count};
  const Result<store::RunPage> page = store_->ListRuns(query);
  if (!page.ok()) return page.status();
  v1::ListRunsResponse response;
  for (const store::RunRow& row : page->runs) {
    v1::Run* const run = response.add_runs();
    *run = RunMessage(row);
    if (request.with_digest() && row.digest) wire::Fill(*row.digest, run->mutable_digest());
  }
  response.set_next_page_token(wanted->Token(page->next));
  return response;
}

Result<v1::Run> RunRegistry::Get(const Caller& caller, const v1::GetRunRequest& request) {
  const Result<store::RunRow> run = Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  return caller.link.empty() ? RunMessage(*run) : SharedRunMessage(*run);
}

namespace {

// Rounded once.
double Seconds(store::FleetSums::Wide ns) {
  return static_cast<double>(static_cast<long double>(ns) / kNanosPerSecond);
}

v1::FleetPart PartOf(const std::string& name, const store::FleetSums& sums, double price) {
  v1::FleetPart part;
  part.set_name(name);
  part.set_runs(sums.runs);
  part.set_live(sums.live);
  part.set_unknown(sums.undigested);
  const store::FleetSums::Wide elapsed = sums.elapsed_ns();
  part.set_elapsed_seconds(Seconds(elapsed));
  part.set_lost_seconds(Seconds(sums.lost_ns()));
  if (elapsed > 0) {
    part.set_goodput(static_cast<double>(static_cast<long double>(sums.ns[0]) /
                                         static_cast<long double>(elapsed)));
  }
  for (int i = 0; i < kCategoryCount; ++i) {
    const store::FleetSums::Wide ns = sums.ns[static_cast<std::size_t>(i)];
    if (ns == 0) continue;
    v1::CategorySeconds* const category = part.add_categories();
    category->set_category(wire::ToProto(static_cast<Category>(i)));
    category->set_seconds(Seconds(ns));
  }
  part.set_disruptions(sums.disruptions);
  part.set_accelerator_seconds(Seconds(sums.accelerator_ns));
  part.set_lost_accelerator_seconds(Seconds(sums.lost_accelerator_ns));
  part.set_without_accelerators(sums.without_accelerators);
  if (price > 0) part.set_lost_cost(Seconds(sums.lost_accelerator_ns) / 3600 * price);
  return part;
}

}  // namespace

Result<v1::Fleet> RunRegistry::GetFleet(const Caller& caller, const v1::GetFleetRequest& request) {
  if (request.top() < 0 || request.top() > limits::kFleetTop) {
    return Bad("top: " + std::to_string(request.top()) + " is not within 0.." +
               std::to_string(limits::kFleetTop));
  }
  store::FleetQuery query{.project = ProjectOf(request.project()), .name = caller.run};
  query.top = static_cast<std::size_t>(request.top());
  Result<Filter> filter = Filter::Parse(request.filter(), store::RunRowFields());
  if (!filter.ok()) {
    return Status(filter.status().code(), "filter: " + filter.status().message());
  }
  query.filter = *std::move(filter);
  if (!request.group_by().empty()) {
    const Result<RowOrder> group = RowOrder::Parse(request.group_by(), store::RunRowFields());
    if (!group.ok()) {
      return Status(group.status().code(), "group_by: " + group.status().message());
    }
    const std::vector<RowOrder::Key>& keys = group->keys();
    if (keys.size() != 1 || keys.front().descending ||
        store::RunRowFields()[keys.front().field].type != FieldType::kText) {
      return Bad("group_by: it is one field whose values are texts, such as group or labels.KEY");
    }
    query.group = keys.front();
  }
  const Result<std::vector<store::ProjectRow>> projects = store_->ListProjects();
  if (!projects.ok()) return projects.status();
  const auto project = std::ranges::find(*projects, query.project, &store::ProjectRow::name);
  const double price = project == projects->end() ? 0 : project->price;
  const Result<store::FleetTotals> totals = store_->SumRuns(query);
  if (!totals.ok()) return totals.status();

  v1::Fleet fleet;
  *fleet.mutable_all() = PartOf("", totals->all, price);
  fleet.set_by_accelerator_time(totals->by_accelerator_time);
  if (price > 0) {
    fleet.mutable_price()->set_per_accelerator_hour(price);
    fleet.mutable_price()->set_currency(project->currency);
  }
  std::vector<const std::pair<const std::string, store::FleetSums>*> parts;
  for (const auto& part : totals->parts) parts.push_back(&part);
  std::ranges::stable_sort(parts, [&](const auto* a, const auto* b) {
    return totals->by_accelerator_time
               ? a->second.lost_accelerator_ns > b->second.lost_accelerator_ns
               : a->second.lost_ns() > b->second.lost_ns();
  });
  store::FleetSums rest;
  for (const auto* const part : parts) {
    if (fleet.parts_size() < limits::kFleetParts) {
      *fleet.add_parts() = PartOf(part->first, part->second, price);
    } else {
      rest.Add(part->second);
      fleet.set_rest_parts(fleet.rest_parts() + 1);
    }
  }
  if (fleet.rest_parts() > 0) *fleet.mutable_rest() = PartOf("", rest, price);
  for (const store::RunRow& row : totals->costliest) {
    v1::Run* const run = fleet.add_costliest();
    *run = RunMessage(row);
    if (row.digest) wire::Fill(*row.digest, run->mutable_digest());
  }
  return fleet;
}

store::AuditRow RunRegistry::Done(const Caller& caller, Permission permission,
                                  const store::RunRow& run) const {
  return {.time = clock_->Wall().ns,
          .who = caller.name,
          .action = std::string(PermissionName(permission)),
          .what = "run \"" + run.name + "\", " + ToHex(run.uid),
          .project = run.project};
}

Result<v1::CreateRunResponse> RunRegistry::Create(const Caller& caller,
                                                  const v1::CreateRunRequest& request) {
  const v1::Run& values = request.run();
  store::RunRow row;
  row.project = ProjectOf(request.project());
  row.name = values.name();
  HEADWAY_RETURN_IF_ERROR(CheckGivenName("the run's name", row.name));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the project", row.project));
  HEADWAY_RETURN_IF_ERROR(CheckDetails(values));
  if (!values.project().empty() && values.project() != row.project) {
    return Bad("run.project is another project than the request's");
  }
  if (!caller.run.empty() && row.name != caller.run) return OnlyItsRun(caller);
  HEADWAY_RETURN_IF_ERROR(CheckRequestId(request.request_id(), values.uid()));
  row.uid = RandomUid<RunUid>();
  if (!values.uid().empty()) {
    const Result<RunUid> uid = ParseUid<RunUid>(values.uid());
    if (!uid.ok()) return Bad("run.uid: " + uid.status().message());
    if (*uid == RunUid()) return Bad("run.uid is none: all 0");
    row.uid = *uid;
  } else if (!request.request_id().empty()) {
    row.uid = DeriveUid<RunUid>("request/" + row.project + "/" + request.request_id());
  }
  // What stands for another run already would lead there, and not to this one.
  const Result<store::RunRow> other = Find(Caller{}, row.project, row.name);
  if (other.ok() && other->name != row.name && other->uid != row.uid) {
    return Status(Code::kAlreadyExists, "\"" + row.name + "\" is run " + ToHex(other->uid) +
                                            ", which is called so in lists");
  }
  row.details = wire::DetailsOf(values);
  row.creator = caller.name;
  row.created = clock_->Wall().ns;
  const Status made = store_->CreateRun(row, Done(caller, Permission::kRunsCreate, row));
  if (!made.ok() && made.code() != Code::kAlreadyExists) return made;
  if (made.ok()) TellOfChange(row.uid);
  const Result<store::RunRow> found = store_->FindRun(row.uid);
  if (!found.ok()) return found.status();
  // Of another project nothing is told.
  if (found->project != row.project || found->name != row.name || found->purged) {
    return Status(Code::kAlreadyExists,
                  "there is a run " + ToHex(row.uid) + " already, with another name or project");
  }
  v1::CreateRunResponse response;
  *response.mutable_run() = RunMessage(*found);
  response.set_existed(!made.ok());
  return response;
}

Result<v1::Run> RunRegistry::Update(const Caller& caller, const v1::UpdateRunRequest& request) {
  constexpr int kTries = 10;
  std::unique_lock turn(update_mutex_, std::defer_lock);
  if (request.etag().empty()) turn.lock();
  for (int tries = 1;; ++tries) {
    const Result<store::RunRow> run = Find(caller, ProjectOf(request.project()), request.run());
    if (!run.ok()) return run.status();
    HEADWAY_RETURN_IF_ERROR(CheckEtag(request.etag(), *run));
    const Result<RunDetails> details = UpdateDetails(run->details, request);
    if (!details.ok()) return details.status();
    const store::AuditRow audit = Done(caller, Permission::kRunsUpdate, *run);
    const Status status = store_->UpdateRun(run->uid, run->version, *details, audit.time, audit);
    // Somebody else was faster: once more, on what that has left.
    if (status.code() == Code::kAborted && request.etag().empty() && tries < kTries) continue;
    HEADWAY_RETURN_IF_ERROR(status);
    TellOfChange(run->uid);
    const Result<store::RunRow> updated = store_->FindRun(run->uid);
    if (!updated.ok()) return updated.status();
    return RunMessage(*updated);
  }
}

Result<v1::DeleteRunResponse> RunRegistry::Delete(const Caller& caller,
                                                  const v1::DeleteRunRequest& request) {
  const Result<store::RunRow> run = Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  HEADWAY_RETURN_IF_ERROR(CheckEtag(request.etag(), *run));
  const store::AuditRow audit = Done(caller, Permission::kRunsDelete, *run);
  if (run->deleted == 0) {
    HEADWAY_RETURN_IF_ERROR(store_->DeleteRun(run->uid, audit.time, audit));
    if (on_delete_) on_delete_(run->uid);
    TellOfChange(run->uid);
  }
  v1::DeleteRunResponse response;
  if (request.force()) {
    Result<std::string> operation = upkeep_->Purge(*run, caller.name);
    if (!operation.ok()) return operation.status();
    response.set_operation(*std::move(operation));
  }
  const Result<store::RunRow> deleted = store_->FindRun(run->uid);
  if (!deleted.ok()) return deleted.status();
  *response.mutable_run() = RunMessage(*deleted);
  return response;
}

Result<v1::Run> RunRegistry::Undelete(const Caller& caller, const v1::UndeleteRunRequest& request) {
  const Result<store::RunRow> run = Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  if (run->deleted == 0) {
    return Status(Code::kFailedPrecondition, "run \"" + run->label + "\" is not deleted");
  }
  // Perhaps nobody here deleted it.
  if (on_delete_) on_delete_(run->uid);
  HEADWAY_RETURN_IF_ERROR(
      store_->DeleteRun(run->uid, 0, Done(caller, Permission::kRunsDelete, *run)));
  TellOfChange(run->uid);
  const Result<store::RunRow> shown = store_->FindRun(run->uid);
  if (!shown.ok()) return shown.status();
  return RunMessage(*shown);
}

}  // namespace headway::server
