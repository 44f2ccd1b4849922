#include "server/permissions.h"

#include <algorithm>
#include <iterator>

namespace headway::server {
namespace {

struct PermissionFacts {
  Permission permission;
  std::string_view name;
};
constexpr PermissionFacts kPermissions[] = {
    {Permission::kRunsList, "runs.list"},
    {Permission::kRunsGet, "runs.get"},
    {Permission::kJournalsAppend, "journals.append"},
    {Permission::kTokensCreate, "tokens.create"},
    {Permission::kTokensList, "tokens.list"},
    {Permission::kTokensRevoke, "tokens.revoke"},
    {Permission::kAuditList, "audit.list"},
};

struct RoleFacts {
  std::string_view name;
  Permissions permissions;
};
constexpr RoleFacts kRoles[] = {
    {"viewer", Permissions(Permission::kRunsList, Permission::kRunsGet)},
    {"writer", Permissions(Permission::kJournalsAppend)},
    {"editor",
     Permissions(Permission::kRunsList, Permission::kRunsGet, Permission::kJournalsAppend)},
    {"admin", Permissions::All()},
};

}  // namespace

std::string_view PermissionName(Permission permission) {
  const auto facts = std::ranges::find(kPermissions, permission, &PermissionFacts::permission);
  return facts == std::end(kPermissions) ? "?" : facts->name;
}

std::optional<Permissions> PermissionsOf(std::string_view role) {
  const auto facts = std::ranges::find(kRoles, role, &RoleFacts::name);
  if (facts == std::end(kRoles)) return std::nullopt;
  return facts->permissions;
}

std::vector<std::string_view> RoleNames() {
  std::vector<std::string_view> names;
  std::ranges::transform(kRoles, std::back_inserter(names), &RoleFacts::name);
  return names;
}

}  // namespace headway::server
