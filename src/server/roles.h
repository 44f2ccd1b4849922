#pragma once

#include <headway/v1/role_service.pb.h>

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/permissions.h"
#include "store/registry.h"

namespace headway::server {

/// RoleService of proto/: the roles that tokens bring, the built-in ones and one's own. Any thread.
class Roles {
 public:
  /// Reads those that are kept. Both must outlive it.
  static Result<std::unique_ptr<Roles>> Load(store::Registry* registry, const Clock* clock);

  void AddTo(ConnectRouter* router);

  /// The roles as they are, and stay as long as somebody holds them.
  class Held {
   public:
    /// Nothing: there is no such role.
    std::optional<Permissions> PermissionsOf(std::string_view role) const;
    /// "viewer, writer, ...".
    std::string Names() const;

   private:
    friend class Roles;
    explicit Held(const Roles* roles) : roles_(roles), lock_(roles->mutex_) {}

    const Roles* roles_;
    std::shared_lock<std::shared_mutex> lock_;
  };
  Held Hold() const { return Held(this); }

  Result<v1::Role> Put(const Caller& caller, const v1::PutRoleRequest& request);
  Result<v1::ListRolesResponse> List() const;
  Result<v1::DeleteRoleResponse> Delete(const Caller& caller, const v1::DeleteRoleRequest& request);

 private:
  Roles(store::Registry* registry, const Clock* clock) : registry_(registry), clock_(clock) {}

  store::Registry* registry_;
  const Clock* clock_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, store::RoleRow, std::less<>> own_;  // by name
};

}  // namespace headway::server
