#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// What somebody may do on a server, and the roles that bring it.

namespace headway::server {

enum class Permission : std::uint8_t {
  kRunsList,
  kRunsGet,
  kRunsCreate,
  kRunsUpdate,
  kRunsDelete,
  kProjectsList,
  kProjectsGet,
  kProjectsUpdate,
  kOperationsGet,
  kOperationsList,
  kOperationsCancel,
  kOperationsDelete,
  kJournalsAppend,
  kSeriesWrite,
  kTokensCreate,
  kTokensList,
  kTokensRevoke,
  kAuditList,
  kServerMetrics,
  kServerGet,
  kLinksCreate,
  kLinksList,
  kLinksRevoke,
  kRolesUpdate,
  kRolesList,
  kRolesDelete,
  kEventsCreate,
  kEventsGet,
  kEventsList,
  kEventsUpdate,
  kEventsDelete,
  kProfilesCreate,
  kProfilesGet,
  kProfilesList,
  kProfilesUpdate,
  kProfilesDelete,
  kNodesGet,
  kNodesList,
  kClustersGet,
  kClustersList,
  kLocationsGet,
  kLocationsList,
};

/// "runs.list".
std::string_view PermissionName(Permission permission);
/// All there are.
std::vector<Permission> AllPermissions();
/// Nothing: there is none of that name.
std::optional<Permission> FindPermission(std::string_view name);

/// A set of them.
class Permissions {
 public:
  constexpr Permissions() = default;
  template <typename... More>
  constexpr explicit Permissions(Permission first, More... more)
      : bits_((Bit(first) | ... | Bit(more))) {}
  static constexpr Permissions All() { return Permissions(~std::uint64_t{0}); }

  constexpr Permissions With(Permissions others) const { return Permissions(bits_ | others.bits_); }
  constexpr bool Has(Permission permission) const { return (bits_ & Bit(permission)) != 0; }
  /// Whether all of `others` are among them.
  constexpr bool Include(Permissions others) const { return (others.bits_ & ~bits_) == 0; }

 private:
  explicit constexpr Permissions(std::uint64_t bits) : bits_(bits) {}
  static constexpr std::uint64_t Bit(Permission permission) {
    return std::uint64_t{1} << static_cast<int>(permission);
  }

  std::uint64_t bits_ = 0;
};

/// Their names, each once, in one order.
std::vector<std::string_view> NamesOf(Permissions permissions);

/// Those of a built-in role: "viewer" reads, "writer" sends what runs record and tells of events
/// and profiles, and reads nothing, "editor" does both and changes runs, "admin" does everything.
/// Nothing: there is no such role.
std::optional<Permissions> PermissionsOf(std::string_view role);
/// The built-in ones: "viewer", "writer", ...
std::vector<std::string_view> RoleNames();

}  // namespace headway::server
