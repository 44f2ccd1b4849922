#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/server_runs.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/role_service.pb.h>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/server_call.h"
#include "cli/table.h"
#endif

/// `headway roles ...`: what tokens of a server may do.

namespace headway::cli {
namespace {

#ifdef HEADWAY_REMOTE

std::string PermissionsOf(const v1::Role& role) {
  std::string text;
  for (const std::string& one : role.permissions()) text += (text.empty() ? "" : ", ") + one;
  return text;
}

void WriteRole(const v1::Role& role, JsonWriter* json) {
  const auto time = [json](const char* name, std::int64_t ns) {
    json->Key(name);
    ns == 0 ? json->Null() : json->String(FormatTime(WallNs{ns}));
  };
  json->BeginObject().Field("name", role.name()).Key("permissions").BeginArray();
  for (const std::string& one : role.permissions()) json->String(one);
  json->EndArray().Field("built_in", role.built_in()).Field("creator", role.creator());
  time("create_time", role.create_time());
  time("update_time", role.update_time());
  json->EndObject();
}

Status Put(const Context& context, const Place& place, const std::string& name,
           const std::vector<std::string>& permissions) {
  v1::PutRoleRequest request;
  request.set_name(name);
  for (const std::string& one : permissions) request.add_permissions(one);
  v1::Role role;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RoleService.PutRole", request, &role));
  if (!place.json) {
    *context.out << "role " << role.name() << ": " << PermissionsOf(role) << "\n";
    return OkStatus();
  }
  std::string text;
  JsonWriter json(&text, 1);
  WriteRole(role, &json);
  *context.out << text << "\n";
  return OkStatus();
}

Status List(const Context& context, const Place& place) {
  v1::ListRolesResponse response;
  HEADWAY_RETURN_IF_ERROR(
      CallServer(place, "RoleService.ListRoles", v1::ListRolesRequest(), &response));
  if (!place.json) {
    for (const v1::Role& role : response.roles()) {
      *context.out << role.name() << ": " << PermissionsOf(role) << "\n";
    }
    return OkStatus();
  }
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject().Key("roles").BeginArray();
  for (const v1::Role& role : response.roles()) WriteRole(role, &json);
  json.EndArray().EndObject();
  *context.out << text << "\n";
  return OkStatus();
}

Status Delete(const Context& context, const Place& place, const std::string& name) {
  v1::DeleteRoleRequest request;
  request.set_name(name);
  v1::DeleteRoleResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "RoleService.DeleteRole", request, &response));
  if (!place.json) *context.out << "role " << name << " is no more\n";
  return OkStatus();
}

#else

Status Put(const Context&, const Place&, const std::string&, const std::vector<std::string>&) {
  return NoServersBuilt();
}
Status List(const Context&, const Place&) { return NoServersBuilt(); }
Status Delete(const Context&, const Place&, const std::string&) { return NoServersBuilt(); }

#endif

void DescribeServerOfRoles(Description* description, Place* place) {
  description->Option("--server", "URL", &place->server,
                      "the server (HEADWAY_SERVER), as whoever HEADWAY_TOKEN says");
  description->Flag("--json", &place->json, "JSON");
}

class RolesCreateCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Makes a role of a server: a name for what tokens may do (headway tokens create --role). "
        "One that is there may do what is said now, and nothing else, also by tokens that have it "
        "already. Nobody defines a role that may do more than they.");
    description->Positional("NAME", &name_, "a-z, 0-9, \"-\", \"_\" and \".\"");
    description->Option("--permission", "PERMISSION", &permissions_,
                        "such as runs.list; may be given several times");
    DescribeServerOfRoles(description, &place_);
    description->Example(
        "headway roles create dashboard --permission runs.list --permission runs.get",
        "reads runs, and neither projects nor operations");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "roles are"));
    HEADWAY_RETURN_IF_ERROR(Put(context, place_, name_, permissions_));
    return 0;
  }

 private:
  std::string name_;
  std::vector<std::string> permissions_;
  Place place_;
};

class RolesListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("The roles of a server, the built-in ones first, and what each may do.");
    DescribeServerOfRoles(description, &place_);
    description->Example("headway roles list", "what tokens may be made for");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "roles are"));
    HEADWAY_RETURN_IF_ERROR(List(context, place_));
    return 0;
  }

 private:
  Place place_;
};

class RolesDeleteCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("Deletes a role that no token has any more which is still good.");
    description->Positional("NAME", &name_, "as headway roles list shows it");
    DescribeServerOfRoles(description, &place_);
    description->Example("headway roles delete dashboard", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "roles are"));
    HEADWAY_RETURN_IF_ERROR(Delete(context, place_, name_));
    return 0;
  }

 private:
  std::string name_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeRolesCreate() { return std::make_unique<RolesCreateCommand>(); }
std::unique_ptr<Command> MakeRolesList() { return std::make_unique<RolesListCommand>(); }
std::unique_ptr<Command> MakeRolesDelete() { return std::make_unique<RolesDeleteCommand>(); }

}  // namespace headway::cli
