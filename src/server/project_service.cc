#include "server/project_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "server/run_registry.h"

namespace headway::server {
namespace {

v1::Project ToProto(const store::ProjectRow& row, const Caller& caller) {
  v1::Project project;
  project.set_name(row.name);
  project.set_create_time(row.created);
  project.set_retention_ns(row.retention_ns);
  project.set_quota_bytes(row.quota_bytes);
  if (row.price > 0) {
    project.mutable_price()->set_per_accelerator_hour(row.price);
    project.mutable_price()->set_currency(row.currency);
  }
  // What the other runs of it are is not for whoever is bound to one.
  if (!caller.run.empty()) return project;
  project.set_stored_bytes(row.stored_bytes);
  project.set_runs(row.runs);
  return project;
}

Status CheckPrice(const v1::Price& price) {
  const double each = price.per_accelerator_hour();
  if (!(each >= 0 && each <= 1e9)) {
    return {Code::kInvalidArgument, "price.per_accelerator_hour is within 0..1e9"};
  }
  const std::string& currency = price.currency();
  const bool is_code = currency.size() == 3 && std::ranges::all_of(currency, [](char letter) {
                         return letter >= 'A' && letter <= 'Z';
                       });
  if (each > 0 && !is_code) {
    return {Code::kInvalidArgument, "price.currency is three letters, such as USD (ISO 4217)"};
  }
  return OkStatus();
}

}  // namespace

void ProjectService::AddTo(ConnectRouter* router) {
  router->Add<v1::ListProjectsRequest, v1::ListProjectsResponse>(
      "headway.v1.ProjectService.ListProjects", Permission::kProjectsList, Scope::kByMethod,
      [this](const Caller& caller, const auto&) { return List(caller); });
  router->Add<v1::GetProjectRequest, v1::Project>(
      "headway.v1.ProjectService.GetProject", Permission::kProjectsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Get(caller, request); });
  router->Add<v1::PutProjectRequest, v1::Project>(
      "headway.v1.ProjectService.PutProject", Permission::kProjectsUpdate, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Put(caller, request); });
}

Result<v1::ListProjectsResponse> ProjectService::List(const Caller& caller) const {
  const Result<std::vector<store::ProjectRow>> rows = registry_->ListProjects();
  if (!rows.ok()) return rows.status();
  v1::ListProjectsResponse response;
  for (const store::ProjectRow& row : *rows) {
    if (!caller.project.empty() && row.name != caller.project) continue;
    *response.add_projects() = ToProto(row, caller);
  }
  return response;
}

Result<std::optional<store::ProjectRow>> ProjectService::Find(const std::string& name) const {
  Result<std::vector<store::ProjectRow>> rows = registry_->ListProjects();
  if (!rows.ok()) return rows.status();
  const auto found = std::ranges::find(*rows, name, &store::ProjectRow::name);
  if (found == rows->end()) return std::optional<store::ProjectRow>();
  return std::optional(std::move(*found));
}

Result<v1::Project> ProjectService::Get(const Caller& caller,
                                        const v1::GetProjectRequest& request) const {
  const std::string name = ProjectOf(request.project());
  const Result<std::optional<store::ProjectRow>> found = Find(name);
  if (!found.ok()) return found.status();
  if (found->has_value()) return ToProto(**found, caller);
  return Status(Code::kNotFound, "no project \"" + name + "\"");
}

Result<v1::Project> ProjectService::Put(const Caller& caller,
                                        const v1::PutProjectRequest& request) {
  const std::string& name = request.project();  // none is no way to say "default" here
  HEADWAY_RETURN_IF_ERROR(CheckGivenName("the project", name));
  if (!caller.run.empty()) return OnlyItsRun(caller);
  if (request.retention_ns() < 0 || request.quota_bytes() < 0) {
    return Status(Code::kInvalidArgument, "retention_ns and quota_bytes are not below 0");
  }
  if (request.has_price()) HEADWAY_RETURN_IF_ERROR(CheckPrice(request.price()));
  const Result<std::optional<store::ProjectRow>> before = Find(name);
  if (!before.ok()) return before.status();
  store::ProjectRow row = before->value_or(store::ProjectRow{});
  row.name = name;
  if (request.has_retention_ns()) row.retention_ns = request.retention_ns();
  if (request.has_quota_bytes()) row.quota_bytes = request.quota_bytes();
  if (request.has_price()) {
    row.price = request.price().per_accelerator_hour();
    row.currency = row.price > 0 ? request.price().currency() : "";
  }
  const store::AuditRow audit = {.time = clock_->Wall().ns,
                                 .who = caller.name,
                                 .action = std::string(PermissionName(Permission::kProjectsUpdate)),
                                 .what = "retention_ns " + std::to_string(row.retention_ns) +
                                         ", quota_bytes " + std::to_string(row.quota_bytes) +
                                         ", price " + std::to_string(row.price) + " " +
                                         row.currency,
                                 .project = name};
  HEADWAY_RETURN_IF_ERROR(registry_->PutProject(row, audit));
  const Result<std::optional<store::ProjectRow>> after = Find(name);
  if (!after.ok()) return after.status();
  return ToProto(after->value_or(row), caller);
}

}  // namespace headway::server
