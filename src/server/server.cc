#include "server/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/limits.h"
#include "base/time_format.h"
#include "server/access.h"
#include "server/connect.h"
#include "server/http_server.h"
#include "server/journal_service.h"
#include "server/links.h"
#include "server/operation_service.h"
#include "server/project_service.h"
#include "server/roles.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "server/run_service.h"
#include "server/tokens.h"
#include "server/upkeep.h"

namespace headway::server {
namespace {

constexpr std::string_view kHealth = "/healthz";

bool IsLoopback(const std::string& address) {
  if (address == "localhost") return true;
  in_addr v4;
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

struct Server::Impl {
  Impl(Access access_found, std::unique_ptr<store::Store> opened,
       std::unique_ptr<Roles> roles_found, std::unique_ptr<Tokens> tokens_found,
       std::unique_ptr<Links> links_found, const Clock* clock_given)
      : access(std::move(access_found)),
        store(std::move(opened)),
        ledgers(store.get(), clock_given),
        journals(store.get(), clock_given),
        upkeep(store.get(), &ledgers, clock_given, [this](const Status& status) { Log(status); }),
        registry(store.get(), &upkeep, clock_given),
        runs(&registry, &ledgers, clock_given),
        projects(store.get(), clock_given),
        operations(store.get(), &upkeep, clock_given),
        roles(std::move(roles_found)),
        tokens(std::move(tokens_found)),
        links(std::move(links_found)),
        router([this](const HttpRequest& head) { return access.Authenticate(head); },
               [this](const Status& status) { Log(status); }),
        clock(clock_given) {
    access.Use(tokens.get(), links.get());
    roles->AddTo(&router);
    tokens->AddTo(&router);
    links->AddTo(&router, &registry);
    journals.AddTo(&router);
    registry.AddTo(&router);
    runs.AddTo(&router);
    projects.AddTo(&router);
    operations.AddTo(&router);
  }

  // Whatever needs no body is known by the head.
  std::optional<HttpResponse> AnswerByHead(const HttpRequest& head) const {
    if (head.path == kHealth) {
      if (head.method == "GET" || head.method == "HEAD") return HttpResponse{.body = "ok\n"};
      HttpResponse refusal{.status = 405, .body = "only GET and HEAD are answered\n"};
      refusal.headers.emplace_back("Allow", "GET, HEAD");
      return refusal;
    }
    return router.Refuse(head);
  }

  HttpResponse Answer(const HttpRequest& request) {
    if (request.path == kHealth) return *AnswerByHead(request);
    if (request.path.starts_with(Links::kPath)) return links->AnswerPage(request);
    return router.Answer(request);  // which refuses by the head, too
  }

  // At most a line a second, however many ask.
  void Log(const Status& status) {
    const std::lock_guard lock(log_mutex);
    const MonoNs now = clock->Mono();
    if (last_log && now - *last_log < kNanosPerSecond) return;
    last_log = now;
    std::fprintf(stderr, "headway serve: %s %s\n", FormatTime(clock->Wall()).c_str(),
                 status.message().c_str());
  }

  Access access;
  std::string token_path;
  std::unique_ptr<store::Store> store;
  RunLedgers ledgers;
  JournalService journals;
  std::mutex log_mutex;
  std::optional<MonoNs> last_log;
  Upkeep upkeep;
  RunRegistry registry;
  RunService runs;
  ProjectService projects;
  OperationService operations;
  std::unique_ptr<Roles> roles;
  std::unique_ptr<Tokens> tokens;
  std::unique_ptr<Links> links;
  ConnectRouter router;
  const Clock* clock;
  std::unique_ptr<HttpServer> http;  // last: it calls the others
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                              std::unique_ptr<store::Store> store,
                                              const Clock* clock) {
  if (!options.access_control && !IsLoopback(options.address)) {
    return Status(Code::kInvalidArgument,
                  "a server without access control listens on this machine only (127.0.0.1), not "
                  "on " +
                      options.address);
  }
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(options.dir));
  std::string token_path;
  Access access = Access::Open();
  if (options.access_control) {
    token_path = JoinPath(options.dir, "admin-token");
    Result<Access> found = Access::WithTokenFile(token_path);
    if (!found.ok()) return found.status();
    access = *std::move(found);
  }
  Result<std::unique_ptr<Roles>> roles = Roles::Load(store.get(), clock);
  if (!roles.ok()) return roles.status();
  Result<std::unique_ptr<Tokens>> tokens = Tokens::Load(store.get(), roles->get(), clock);
  if (!tokens.ok()) return tokens.status();
  Result<std::unique_ptr<Links>> links = Links::Load(store.get(), clock);
  if (!links.ok()) return links.status();
  auto impl = std::make_unique<Impl>(std::move(access), std::move(store), *std::move(roles),
                                     *std::move(tokens), *std::move(links), clock);
  impl->token_path = std::move(token_path);
  Impl* const raw = impl.get();
  Result<std::unique_ptr<HttpServer>> http = HttpServer::Start(
      {.address = options.address, .port = options.port},
      [raw](const HttpRequest& head) -> BodyVerdict {
        if (head.path == kHealth || head.path.starts_with(Links::kPath)) return {};
        return {.limit = limits::kServerRequestBytes, .refusal = raw->AnswerByHead(head)};
      },
      [raw](const HttpRequest& request) { return raw->Answer(request); });
  if (!http.ok()) return http.status();
  impl->http = *std::move(http);
  impl->upkeep.Start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->http->port(); }
const std::string& Server::token_path() const { return impl_->token_path; }
void Server::Stop(int grace_seconds) { impl_->http->Stop(grace_seconds); }

}  // namespace headway::server
