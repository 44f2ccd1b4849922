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
    {Permission::kRunsCreate, "runs.create"},
    {Permission::kRunsUpdate, "runs.update"},
    {Permission::kRunsDelete, "runs.delete"},
    {Permission::kProjectsList, "projects.list"},
    {Permission::kProjectsGet, "projects.get"},
    {Permission::kProjectsUpdate, "projects.update"},
    {Permission::kOperationsGet, "operations.get"},
    {Permission::kOperationsList, "operations.list"},
    {Permission::kOperationsCancel, "operations.cancel"},
    {Permission::kOperationsDelete, "operations.delete"},
    {Permission::kJournalsAppend, "journals.append"},
    {Permission::kSeriesWrite, "series.write"},
    {Permission::kTokensCreate, "tokens.create"},
    {Permission::kTokensList, "tokens.list"},
    {Permission::kTokensRevoke, "tokens.revoke"},
    {Permission::kAuditList, "audit.list"},
    {Permission::kServerMetrics, "server.metrics"},
    {Permission::kServerGet, "server.get"},
    {Permission::kLinksCreate, "links.create"},
    {Permission::kLinksList, "links.list"},
    {Permission::kLinksRevoke, "links.revoke"},
    {Permission::kRolesUpdate, "roles.update"},
    {Permission::kRolesList, "roles.list"},
    {Permission::kRolesDelete, "roles.delete"},
    {Permission::kEventsCreate, "events.create"},
    {Permission::kEventsGet, "events.get"},
    {Permission::kEventsList, "events.list"},
    {Permission::kEventsUpdate, "events.update"},
    {Permission::kEventsDelete, "events.delete"},
    {Permission::kProfilesCreate, "profiles.create"},
    {Permission::kProfilesGet, "profiles.get"},
    {Permission::kProfilesList, "profiles.list"},
    {Permission::kProfilesUpdate, "profiles.update"},
    {Permission::kProfilesDelete, "profiles.delete"},
    {Permission::kNodesGet, "nodes.get"},
    {Permission::kNodesList, "nodes.list"},
    {Permission::kClustersGet, "clusters.get"},
    {Permission::kClustersList, "clusters.list"},
    {Permission::kLocationsGet, "locations.get"},
    {Permission::kLocationsList, "locations.list"},
};

struct RoleFacts {
  std::string_view name;
  Permissions permissions;
};
constexpr Permissions kReading(Permission::kRunsList, Permission::kRunsGet,
                               Permission::kProjectsList, Permission::kProjectsGet,
                               Permission::kOperationsGet, Permission::kOperationsList,
                               Permission::kServerMetrics, Permission::kServerGet,
                               Permission::kEventsGet, Permission::kEventsList,
                               Permission::kProfilesGet, Permission::kProfilesList,
                               Permission::kNodesGet, Permission::kNodesList,
                               Permission::kClustersGet, Permission::kClustersList,
                               Permission::kLocationsGet, Permission::kLocationsList);
constexpr Permissions kWriting(Permission::kJournalsAppend, Permission::kSeriesWrite,
                               Permission::kServerGet, Permission::kEventsCreate,
                               Permission::kProfilesCreate);
constexpr Permissions kChanging(Permission::kRunsCreate, Permission::kRunsUpdate,
                                Permission::kRunsDelete, Permission::kOperationsCancel,
                                Permission::kOperationsDelete, Permission::kLinksCreate,
                                Permission::kLinksList, Permission::kLinksRevoke,
                                Permission::kEventsUpdate, Permission::kEventsDelete,
                                Permission::kProfilesUpdate, Permission::kProfilesDelete);
constexpr RoleFacts kRoles[] = {
    {"viewer", kReading},
    {"writer", kWriting},
    {"editor", kReading.With(kWriting).With(kChanging)},
    {"admin", Permissions::All()},
};

}  // namespace

std::string_view PermissionName(Permission permission) {
  const auto facts = std::ranges::find(kPermissions, permission, &PermissionFacts::permission);
  return facts == std::end(kPermissions) ? "?" : facts->name;
}

std::vector<Permission> AllPermissions() {
  std::vector<Permission> all;
  std::ranges::transform(kPermissions, std::back_inserter(all), &PermissionFacts::permission);
  return all;
}

std::optional<Permission> FindPermission(std::string_view name) {
  const auto facts = std::ranges::find(kPermissions, name, &PermissionFacts::name);
  if (facts == std::end(kPermissions)) return std::nullopt;
  return facts->permission;
}

std::vector<std::string_view> NamesOf(Permissions permissions) {
  std::vector<std::string_view> names;
  for (const PermissionFacts& facts : kPermissions) {
    if (permissions.Has(facts.permission)) names.push_back(facts.name);
  }
  return names;
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
