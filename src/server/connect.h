#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "server/http_server.h"
#include "server/message_parts.h"
#include "server/permissions.h"

/// The unary Connect protocol: a method is a POST to `/<package>.<Service>/<Method>` whose body is
/// its request, as protobuf (application/proto) or JSON (application/json), and so is the answer.
/// Errors are JSON: {"code": "not_found", "message": "..."}.

namespace headway::server {

/// Who asks: known before anything of the body is looked at.
struct Caller {
  std::string name = {};         ///< for logs
  std::string role = {};         ///< for messages
  Permissions permissions = {};  ///< what it may do
  std::string project = {};      ///< only there; empty: everywhere
  std::string run = {};          ///< only with that run of it, by name; empty: with all
  std::int64_t expires = 0;      ///< wall time after which nobody is that any more; 0: none
  std::string link = {};         ///< id of the share link that it has; empty: it has a token
  RunUid run_uid = {};           ///< of a link: only this run, while it is not deleted
  bool json = false;  ///< the answer becomes JSON, which takes much memory while it is made

  /// Whether what is for this project (empty: all) and this run of it, by name (empty: all), is its
  /// own to give and to take.
  bool Covers(const std::string& of_project, const std::string& of_run) const {
    if (!project.empty() && of_project != project) return false;
    return run.empty() || of_run == run;
  }
};

/// What a caller is told that asks for something beyond the project, or the run, that its token is
/// for: PermissionDenied.
Status OnlyItsProject(const Caller& caller);
Status OnlyItsRun(const Caller& caller);

/// Who sees to it that a caller stays in its project.
enum class Scope : std::uint8_t {
  kByRequest,  ///< the field `project` of the request says which one it is about ("": "default")
  kOneRun,     ///< likewise; it only reads the run `run`, or those in `runs`, and finds them by
               ///< RunRegistry::Find, so that who has a link to one may ask about it
  kByMethod,   ///< the method itself; it also sees to `run`, as all do
};

/// Decides who asks by the request's head. Unauthenticated: nobody; PermissionDenied.
using Authenticate = std::function<Result<Caller>(const HttpRequest& head)>;

/// The methods there are, and how each is answered. Filled before it serves; then any thread.
class ConnectRouter {
 public:
  /// `log` (may be empty) is told what the operator should know: errors of the server itself.
  /// `large` (may be null) must outlive it.
  explicit ConnectRouter(Authenticate authenticate, std::function<void(const Status&)> log = {},
                         LargeRequests* large = nullptr)
      : authenticate_(std::move(authenticate)), log_(std::move(log)), large_(large) {}

  /// `name` is the full name of the method as in proto/, "headway.v1.RunService.GetReport".
  /// Only who has `permission` may call it.
  template <typename Request, typename Response>
  void Add(std::string_view name, Permission permission, Scope scope,
           std::function<Result<Response>(const Caller&, const Request&)> answer) {
    AddMethod(name, {permission, scope, [] { return std::make_unique<Request>(); },
                     [answer = std::move(answer)](const Caller& caller,
                                                  const google::protobuf::Message& request)
                         -> Result<std::unique_ptr<google::protobuf::Message>> {
                       Result<Response> response =
                           answer(caller, static_cast<const Request&>(request));
                       if (!response.ok()) return response.status();
                       return std::unique_ptr<google::protobuf::Message>(
                           std::make_unique<Response>(*std::move(response)));
                     }});
  }

  /// `use` is told of each call by a share link before that is answered; an error of it becomes
  /// the answer.
  void OnLinkUse(std::function<Status(const Caller&)> use) { link_use_ = std::move(use); }

  /// Whether the path is that of a method.
  bool Has(std::string_view path) const { return methods_.contains(path); }
  /// Those of all methods.
  std::vector<std::string> Paths() const;
  /// Answers any request; one that is for no method with 404.
  HttpResponse Answer(const HttpRequest& request) const;
  /// Answers one that is refused whatever its body says, before that is read; nothing otherwise.
  std::optional<HttpResponse> Refuse(const HttpRequest& head) const;
  /// Bytes that the body of a method's request may have, also when it is decompressed: who only
  /// reads asks in few words.
  std::size_t BodyLimit(std::string_view path) const;

 private:
  struct Method {
    Permission permission;
    Scope scope;
    std::function<std::unique_ptr<google::protobuf::Message>()> make;
    std::function<Result<std::unique_ptr<google::protobuf::Message>>(
        const Caller&, const google::protobuf::Message&)>
        answer;
  };

  void AddMethod(std::string_view name, Method method);

  Authenticate authenticate_;
  std::function<void(const Status&)> log_;
  LargeRequests* large_;
  std::function<Status(const Caller&)> link_use_;
  std::map<std::string, Method, std::less<>> methods_;  // by path
};

/// Of a Content-Type, in lower case, without parameters such as "; charset=utf-8".
std::string MediaType(std::string_view value);

/// Whether the server is at fault and not the call: that may come right by itself.
bool IsOfServer(Code code);

/// A message as JSON on one line, with the fields that are not set. Aborts on one that can't be
/// written: ours all can.
std::string MessageJson(const google::protobuf::Message& message);

/// An error as Connect tells it.
HttpResponse ErrorResponse(const Status& status);

}  // namespace headway::server
