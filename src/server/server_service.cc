#include "server/server_service.h"

#include <sys/statvfs.h>

#include <cstdint>
#include <string>

#include "server/permissions.h"

namespace headway::server {

void ServerService::AddTo(ConnectRouter* router) {
  router->Add<v1::GetServerRequest, v1::GetServerResponse>(
      "headway.v1.ServerService.GetServer", Permission::kServerGet, Scope::kByMethod,
      [this](const Caller& caller, const auto&) -> Result<v1::GetServerResponse> {
        return GetServer(caller);
      });
}

v1::GetServerResponse ServerService::GetServer(const Caller& caller) const {
  v1::GetServerResponse response;
  response.set_version(HEADWAY_VERSION);
  response.set_time(clock_->Wall().ns);
  v1::ServerCaller* const who = response.mutable_caller();
  who->set_name(caller.name);
  who->set_role(caller.role);
  for (const Permission permission : AllPermissions()) {
    if (caller.permissions.Has(permission)) {
      who->add_permissions(std::string(PermissionName(permission)));
    }
  }
  who->set_project(caller.project);
  who->set_run(caller.run);
  who->set_expires(caller.expires);
  struct statvfs space;
  if (::statvfs(dir_.c_str(), &space) == 0) {
    response.set_free_bytes(static_cast<std::int64_t>(space.f_bavail * space.f_frsize));
    response.set_total_bytes(static_cast<std::int64_t>(space.f_blocks * space.f_frsize));
  }
  return response;
}

}  // namespace headway::server
