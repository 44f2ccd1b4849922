#include "server/operation_service.h"

#include <utility>
#include <vector>

#include "base/limits.h"
#include "server/run_registry.h"

namespace headway::server {
namespace {

v1::Operation ToProto(const store::OperationRow& row) {
  v1::Operation operation;
  operation.set_id(row.id);
  operation.set_project(row.project);
  operation.set_verb(row.verb);
  operation.set_target(row.target);
  operation.set_target_name(row.name);
  operation.set_creator(row.who);
  operation.set_create_time(row.created);
  operation.set_end_time(row.finished);
  operation.set_progress(row.progress);
  operation.set_cancel_requested(row.cancelled);
  operation.set_error_code(static_cast<std::int32_t>(row.error));
  operation.set_error_message(row.message);
  return operation;
}

bool Theirs(const Caller& caller, const store::OperationRow& operation) {
  return caller.run.empty() || operation.name == caller.run;
}

}  // namespace

void OperationService::AddTo(ConnectRouter* router) {
  router->Add<v1::ListOperationsRequest, v1::ListOperationsResponse>(
      "headway.v1.OperationService.ListOperations", Permission::kOperationsList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return List(caller, request); });
  router->Add<v1::GetOperationRequest, v1::Operation>(
      "headway.v1.OperationService.GetOperation", Permission::kOperationsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Get(caller, request); });
  router->Add<v1::CancelOperationRequest, v1::Operation>(
      "headway.v1.OperationService.CancelOperation", Permission::kOperationsCancel,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Cancel(caller, request); });
  router->Add<v1::DeleteOperationRequest, v1::DeleteOperationResponse>(
      "headway.v1.OperationService.DeleteOperation", Permission::kOperationsDelete,
      Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Delete(caller, request); });
}

Result<v1::ListOperationsResponse> OperationService::List(
    const Caller& caller, const v1::ListOperationsRequest& request) const {
  const auto rows = registry_->ListOperations(ProjectOf(request.project()), false);
  if (!rows.ok()) return rows.status();
  v1::ListOperationsResponse response;
  for (const store::OperationRow& row : *rows) {
    if (response.operations_size() == limits::kOperationsPage) break;
    if (Theirs(caller, row)) *response.add_operations() = ToProto(row);
  }
  return response;
}

Result<store::OperationRow> OperationService::Find(const Caller& caller, const std::string& project,
                                                   const std::string& id) const {
  Result<store::OperationRow> row = registry_->FindOperation(id);
  if (!row.ok() && row.status().code() != Code::kNotFound) return row.status();
  if (!row.ok() || row->project != ProjectOf(project) || !Theirs(caller, *row)) {
    return Status(Code::kNotFound,
                  "there is no operation \"" + id + "\" in project \"" + ProjectOf(project) + "\"");
  }
  return row;
}

store::AuditRow OperationService::Done(const Caller& caller, Permission permission,
                                       const store::OperationRow& operation) const {
  return {.time = clock_->Wall().ns,
          .who = caller.name,
          .action = std::string(PermissionName(permission)),
          .what = operation.id + ", \"" + operation.name + "\"",
          .project = operation.project};
}

Result<v1::Operation> OperationService::Get(const Caller& caller,
                                            const v1::GetOperationRequest& request) const {
  const Result<store::OperationRow> row = Find(caller, request.project(), request.id());
  if (!row.ok()) return row.status();
  return ToProto(*row);
}

Result<v1::Operation> OperationService::Cancel(const Caller& caller,
                                               const v1::CancelOperationRequest& request) {
  Result<store::OperationRow> row = Find(caller, request.project(), request.id());
  if (!row.ok()) return row.status();
  if (row->finished == 0 && !row->cancelled) {
    HEADWAY_RETURN_IF_ERROR(
        registry_->CancelOperation(row->id, Done(caller, Permission::kOperationsCancel, *row)));
    row->cancelled = true;
    upkeep_->Wake();
  }
  return ToProto(*row);
}

Result<v1::DeleteOperationResponse> OperationService::Delete(
    const Caller& caller, const v1::DeleteOperationRequest& request) {
  const Result<store::OperationRow> row = Find(caller, request.project(), request.id());
  if (!row.ok()) return row.status();
  if (row->finished == 0) {
    return Status(Code::kFailedPrecondition,
                  "operation \"" + row->id + "\" has not finished; cancel it, or wait");
  }
  HEADWAY_RETURN_IF_ERROR(
      registry_->DeleteOperation(row->id, Done(caller, Permission::kOperationsDelete, *row)));
  return v1::DeleteOperationResponse();
}

}  // namespace headway::server
