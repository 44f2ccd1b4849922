#include "server/roles.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace headway::server {
namespace {

constexpr std::size_t kRolesMost = 1000;
constexpr std::size_t kNameBytes = 64;
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
// Roles of callers without a token.
constexpr std::string_view kReserved[] = {"link", "anyone"};

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }
Status Denied(const std::string& what) { return {Code::kPermissionDenied, what}; }

// What a newer headway knows is not allowed by this one.
Permissions Known(const std::vector<std::string>& names) {
  Permissions permissions;
  for (const std::string& name : names) {
    if (const auto found = FindPermission(name))
      permissions = permissions.With(Permissions(*found));
  }
  return permissions;
}

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

v1::Role ToProto(const store::RoleRow& row) {
  v1::Role role;
  role.set_name(row.name);
  for (const std::string& name : row.permissions) role.add_permissions(name);
  role.set_creator(row.creator);
  role.set_create_time(row.created);
  role.set_update_time(row.updated);
  return role;
}

Status CheckName(const std::string& name) {
  if (name.empty() || name.size() > kNameBytes ||
      kLetters.find(name.front()) == std::string_view::npos ||
      name.find_first_not_of(kOfNames) != std::string::npos) {
    return Bad("a role's name has at most " + std::to_string(kNameBytes) +
               " of a-z, 0-9, \"-\", \"_\" and \".\", and begins with a letter");
  }
  if (PermissionsOf(name) || std::ranges::find(kReserved, name) != std::end(kReserved)) {
    return Bad("the role " + name + " is built in, and stays as it is");
  }
  return OkStatus();
}

// Roles are for all projects.
Status CheckReach(const Caller& caller) {
  if (caller.project.empty()) return OkStatus();
  return Denied("roles are for all projects, and " + OnlyItsProject(caller).message());
}

store::AuditRow Done(const Caller& caller, Permission permission, const store::RoleRow& role,
                     std::int64_t when) {
  return {.time = when,
          .who = caller.name,
          .action = std::string(PermissionName(permission)),
          .what = "role " + role.name + ": " + Join(role.permissions),
          .project = {}};
}

}  // namespace

Result<std::unique_ptr<Roles>> Roles::Load(store::Registry* registry, const Clock* clock) {
  Result<std::vector<store::RoleRow>> rows = registry->ListRoles();
  if (!rows.ok()) return rows.status();
  std::unique_ptr<Roles> roles(new Roles(registry, clock));
  for (store::RoleRow& row : *rows) {
    std::string name = row.name;
    roles->own_.emplace(std::move(name), std::move(row));
  }
  return roles;
}

void Roles::AddTo(ConnectRouter* router) {
  router->Add<v1::PutRoleRequest, v1::Role>(
      "headway.v1.RoleService.PutRole", Permission::kRolesUpdate, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return Put(caller, request); });
  router->Add<v1::ListRolesRequest, v1::ListRolesResponse>(
      "headway.v1.RoleService.ListRoles", Permission::kRolesList, Scope::kByMethod,
      [this](const Caller&, const auto&) { return List(); });
  router->Add<v1::DeleteRoleRequest, v1::DeleteRoleResponse>(
      "headway.v1.RoleService.DeleteRole", Permission::kRolesDelete, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return Delete(caller, request); });
}

std::optional<Permissions> Roles::Held::PermissionsOf(std::string_view role) const {
  if (const auto built_in = server::PermissionsOf(role)) return built_in;
  const auto own = roles_->own_.find(role);
  if (own == roles_->own_.end()) return std::nullopt;
  return Known(own->second.permissions);
}

std::string Roles::Held::Names() const {
  std::vector<std::string> names;
  for (const std::string_view name : RoleNames()) names.emplace_back(name);
  for (const auto& [name, row] : roles_->own_) names.push_back(name);
  return Join(names);
}

Result<v1::Role> Roles::Put(const Caller& caller, const v1::PutRoleRequest& request) {
  HEADWAY_RETURN_IF_ERROR(CheckName(request.name()));
  HEADWAY_RETURN_IF_ERROR(CheckReach(caller));
  store::RoleRow row;
  row.name = request.name();
  for (const std::string& name : request.permissions()) {
    if (!FindPermission(name)) {
      std::string known;
      for (const std::string_view one : NamesOf(Permissions::All())) {
        known.append(known.empty() ? "" : ", ").append(one);
      }
      return Bad("there is no permission \"" + name + "\", but " + known);
    }
  }
  // Each once, in one order.
  const Permissions wanted = Known({request.permissions().begin(), request.permissions().end()});
  for (const std::string_view name : NamesOf(wanted)) row.permissions.emplace_back(name);
  if (row.permissions.empty()) return Bad("a role has one permission at least");
  if (!caller.permissions.Include(wanted)) {
    return Denied("the role " + row.name + " would do more than yours may");
  }
  row.creator = caller.name;
  row.created = row.updated = clock_->Wall().ns;
  const std::unique_lock lock(mutex_);
  if (const auto before = own_.find(row.name); before != own_.end()) {
    if (!caller.permissions.Include(Known(before->second.permissions))) {
      return Denied("the role " + row.name + " may do more than yours");
    }
    row.creator = before->second.creator;
    row.created = before->second.created;
  } else if (own_.size() >= kRolesMost) {
    return Status(Code::kResourceExhausted,
                  "there are " + std::to_string(kRolesMost) + " roles already");
  }
  HEADWAY_RETURN_IF_ERROR(
      registry_->PutRole(row, Done(caller, Permission::kRolesUpdate, row, row.updated)));
  own_[row.name] = row;
  return ToProto(row);
}

Result<v1::ListRolesResponse> Roles::List() const {
  v1::ListRolesResponse response;
  for (const std::string_view name : RoleNames()) {
    v1::Role* const role = response.add_roles();
    role->set_name(std::string(name));
    role->set_built_in(true);
    for (const std::string_view one : NamesOf(*PermissionsOf(name))) {
      role->add_permissions(std::string(one));
    }
  }
  const std::shared_lock lock(mutex_);
  for (const auto& [name, row] : own_) *response.add_roles() = ToProto(row);
  return response;
}

Result<v1::DeleteRoleResponse> Roles::Delete(const Caller& caller,
                                             const v1::DeleteRoleRequest& request) {
  HEADWAY_RETURN_IF_ERROR(CheckReach(caller));
  if (PermissionsOf(request.name())) {
    return Bad("the role " + request.name() + " is built in, and stays as it is");
  }
  const std::unique_lock lock(mutex_);
  const auto found = own_.find(request.name());
  if (found == own_.end()) {
    return Status(Code::kNotFound, "there is no role \"" + request.name() + "\"");
  }
  if (!caller.permissions.Include(Known(found->second.permissions))) {
    return Denied("the role " + request.name() + " may do more than yours");
  }
  const std::int64_t now = clock_->Wall().ns;
  HEADWAY_RETURN_IF_ERROR(registry_->DeleteRole(
      request.name(), now, Done(caller, Permission::kRolesDelete, found->second, now)));
  own_.erase(found);
  return v1::DeleteRoleResponse();
}

}  // namespace headway::server
