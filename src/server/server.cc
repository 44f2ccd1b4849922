#include "server/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/limits.h"
#include "base/time_format.h"
#include "formats/otlp/writer.h"
#include "formats/prometheus/writer.h"
#include "net/url.h"
#include "server/access.h"
#include "server/config_service.h"
#include "server/connect.h"
#include "server/event_service.h"
#include "server/fleet_service.h"
#include "server/foreign_points.h"
#include "server/http_server.h"
#include "server/journal_service.h"
#include "server/links.h"
#include "server/live_hub.h"
#include "server/live_service.h"
#include "server/operation_service.h"
#include "server/pages.h"
#include "server/process_service.h"
#include "server/profile_service.h"
#include "server/project_service.h"
#include "server/record_service.h"
#include "server/roles.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "server/run_service.h"
#include "server/series_service.h"
#include "server/server_metrics.h"
#include "server/server_service.h"
#include "server/tokens.h"
#include "server/upkeep.h"
#include "server/view_service.h"

namespace headway::server {
namespace {

// Most of their time they wait for the disk, and those that wait share what it does.
constexpr int kWorkers = 16;

constexpr char kHealth[] = "/healthz";
constexpr char kMetrics[] = "/metrics";
constexpr std::chrono::seconds kSaveTime(5);  // that ledgers are saved for at the end

bool IsLoopback(const std::string& address) {
  if (address == "localhost") return true;
  in_addr v4;
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::vector<std::string> PathsOf(const ConnectRouter& router) {
  std::vector<std::string> paths = router.Paths();
  paths.insert(paths.end(), {kHealth, kMetrics, std::string(ForeignPoints::kRemoteWrite),
                             std::string(ForeignPoints::kOtlp), LiveService::kPath});
  return paths;
}

std::uint64_t SizeOnDisk(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
}

Result<std::optional<ServerCertificate>> FindCertificate(const ServerOptions& options,
                                                         const Clock* clock, TlsFiles* files) {
  if (!options.own_certificate && !options.tls) return std::optional<ServerCertificate>();
  ServerCertificate found;
  found.own = options.own_certificate;
  const std::vector<std::string> names = NamesOfServer(options.address, options.names);
  if (options.tls) *files = *options.tls;
  if (options.own_certificate) {
    Result<TlsFiles> made = MakeTlsFiles(options.dir, names, clock->Wall());
    if (!made.ok()) return made.status();
    *files = *std::move(made);
    Result<std::vector<std::string>> missing = NamesMissing(files->certificate, names);
    if (!missing.ok()) return missing.status();
    found.names_missing = *std::move(missing);
  }
  Result<TlsIdentity> identity = LoadTls(*files);
  if (!identity.ok()) return identity.status();
  found.path = files->certificate;
  found.facts = std::move(identity->certificate);
  return std::optional(std::move(found));
}

}  // namespace

struct Server::Impl {
  Impl(Access access_found, std::unique_ptr<store::Store> opened,
       std::unique_ptr<store::BlobStore> blobs_opened, std::unique_ptr<Roles> roles_found,
       std::unique_ptr<Tokens> tokens_found, std::unique_ptr<Links> links_found,
       std::span<const PageFile> page, const std::string& dir, const Clock* clock_given)
      : access(std::move(access_found)),
        store(std::move(opened)),
        blobs(std::move(blobs_opened)),
        ledgers({store.get(), store.get(), store.get()}, clock_given),
        hub(store.get(), &ledgers, clock_given, [this](const Status& status) { Log(status); }),
        journals(store.get(), clock_given),
        upkeep(store.get(), blobs.get(), &ledgers, clock_given,
               [this](const Status& status) { Log(status); }),
        registry(store.get(), &upkeep, clock_given),
        runs(&registry, &ledgers, clock_given),
        views(&registry, &ledgers, clock_given),
        configs(&registry, &ledgers, store.get(), clock_given),
        processes(&registry, &ledgers, store.get(), clock_given),
        fleet(store.get(), clock_given),
        records(&registry, store.get(), clock_given),
        series(store.get(), &registry, &ledgers, clock_given),
        foreign(
            store.get(), &registry,
            [this](const HttpRequest& head) { return access.Authenticate(head); },
            [this](const Status& status) { Log(status); }, &large),
        projects(store.get(), clock_given),
        operations(store.get(), &upkeep, clock_given),
        events(store.get(), &registry, clock_given),
        profiles(store.get(), &registry, clock_given),
        itself(dir, clock_given),
        roles(std::move(roles_found)),
        tokens(std::move(tokens_found)),
        links(std::move(links_found)),
        pages(page),
        router([this](const HttpRequest& head) { return access.Authenticate(head); },
               [this](const Status& status) { Log(status); }, &large),
        live([this](const HttpRequest& head) { return access.Authenticate(head); },
             [this](const Caller& caller) { return links->NoteUse(caller); }, &registry, &hub),
        clock(clock_given) {
    access.Use(tokens.get(), links.get());
    roles->AddTo(&router);
    tokens->AddTo(&router);
    links->AddTo(&router, &registry);
    journals.AddTo(&router);
    registry.AddTo(&router);
    runs.AddTo(&router);
    views.AddTo(&router);
    configs.AddTo(&router);
    processes.AddTo(&router);
    fleet.AddTo(&router);
    records.AddTo(&router);
    series.AddTo(&router);
    projects.AddTo(&router);
    operations.AddTo(&router);
    events.AddTo(&router);
    profiles.AddTo(&router);
    itself.AddTo(&router);
    journals.OnRecords([this](const RunUid& run, bool turns) {
      if (turns) upkeep.Hurry(run);
      hub.RecordsCame(run);
    });
    series.OnPoints([this](const RunUid& run) { hub.RecordsCame(run); });
    foreign.OnPoints([this](const RunUid& run) { hub.RecordsCame(run); });
    registry.OnChange([this](const RunUid& run) { hub.RunChanged(run); });
    upkeep.OnChange([this](const RunUid& run) { hub.RunChanged(run); });
    metrics.emplace(PathsOf(router), clock);
  }

  ~Impl() { hub.Stop(); }  // what it calls is still there
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // What is asked for by its path alone.
  bool IsPage(std::string_view path) const {
    return path == kHealth || path == kMetrics || SeesToItself(path);
  }
  // Also to what is no GET.
  bool SeesToItself(std::string_view path) const {
    return path == LiveService::kPath || path.starts_with(Links::kPath) || pages.Has(path);
  }

  // A page of anybody's may have a browser ask under a name of its own that leads to this machine:
  // without access control only names of this machine are answered.
  std::optional<HttpResponse> RefuseByName(const HttpRequest& head) const {
    if (!token_path.empty()) return std::nullopt;
    const auto is_ours = [](std::string_view authority) {
      return net::IsLoopback("http://" + std::string(authority));
    };
    const std::string_view origin = head.Header("origin");
    const bool from_here = origin.empty() || is_ours(net::AuthorityOf(origin));
    if (from_here && is_ours(head.Header("host"))) return std::nullopt;
    return ErrorResponse({Code::kPermissionDenied,
                          "a server without access control is asked as localhost or 127.0.0.1, by "
                          "pages of this machine only"});
  }

  // Whatever needs no body is known by the head.
  std::optional<HttpResponse> RefuseByHead(const HttpRequest& head) const {
    if (std::optional<HttpResponse> refusal = RefuseByName(head)) return refusal;
    if (ForeignPoints::Has(head.path)) return foreign.Refuse(head);
    if (!IsPage(head.path)) return router.Refuse(head);
    if (SeesToItself(head.path)) return std::nullopt;
    if (head.method == "GET" || head.method == "HEAD") return std::nullopt;
    HttpResponse refusal{.status = 405, .body = "only GET and HEAD are answered\n"};
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }

  std::size_t BodyLimit(const HttpRequest& head) const {
    return ForeignPoints::Has(head.path) ? limits::kServerRequestBytes
                                         : router.BodyLimit(head.path);
  }

  HttpResponse Dress(std::string_view path, HttpResponse refusal) const {
    // Prometheus takes a 429 for a refusal, unless it is told not to.
    if (ForeignPoints::Has(path)) {
      if (refusal.status == 429) refusal.status = 503;
      return refusal;
    }
    if (!router.Has(path)) return refusal;
    const Code code = refusal.status == 429 ? Code::kResourceExhausted : Code::kInvalidArgument;
    std::string_view line = refusal.body;
    line.remove_suffix(line.ends_with('\n') ? 1 : 0);
    HttpResponse dressed = ErrorResponse({code, std::string(line)});
    dressed.status = refusal.status;
    dressed.headers.insert(dressed.headers.end(), refusal.headers.begin(), refusal.headers.end());
    return dressed;
  }

  HttpResponse Answer(const HttpRequest& request) {
    HttpResponse response = Respond(request);
    // Where the server keeps what it has its log tells. (A protobuf would have to be taken apart.)
    if (response.status >= 429 && response.type != otlp::kProtobufContentType) {
      HideDirectory(&response.body);
    }
    return response;
  }

  void HideDirectory(std::string* text) const {
    constexpr std::string_view kHidden = "DIR/server/";
    const std::string directory = store_path.substr(0, store_path.rfind('/') + 1);
    if (directory.empty()) return;
    for (std::size_t at = 0; (at = text->find(directory, at)) != std::string::npos;) {
      text->replace(at, directory.size(), kHidden);
      at += kHidden.size();
    }
  }

  HttpResponse Respond(const HttpRequest& request) {
    if (std::optional<HttpResponse> refusal = RefuseByName(request)) return *std::move(refusal);
    if (ForeignPoints::Has(request.path)) return foreign.Answer(request);
    if (!IsPage(request.path)) return router.Answer(request);  // which refuses by the head, too
    if (std::optional<HttpResponse> refusal = RefuseByHead(request)) return *std::move(refusal);
    if (request.path.starts_with(Links::kPath)) {
      return pages.OrPage(links->AnswerPage(request), request);
    }
    if (request.path == LiveService::kPath) return live.Answer(request);
    if (pages.Has(request.path)) return pages.Answer(request);
    return request.path == kHealth ? Health() : Metrics(request);
  }

  // Whoever asks also learns whether all else wants a token.
  HttpResponse Health() const {
    HttpResponse response = {.body = "ok\n"};
    if (!token_path.empty()) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }

  // They are of all projects.
  HttpResponse Metrics(const HttpRequest& request) const {
    const Result<Caller> caller = access.Authenticate(request);
    if (!caller.ok()) return ErrorResponse(caller.status());
    if (!caller->permissions.Has(Permission::kServerMetrics)) {
      return ErrorResponse({Code::kPermissionDenied,
                            "the role " + caller->role + " has no permission server.metrics"});
    }
    if (!caller->project.empty()) {
      return ErrorResponse({Code::kPermissionDenied, "metrics are of all projects, and " +
                                                         OnlyItsProject(*caller).message()});
    }
    HttpResponse response = {.type = std::string(prometheus::kContentType)};
    response.body =
        metrics->Write({.http = &http_stats,
                        .journals = &journals.counts(),
                        .points = &foreign.counts(),
                        .ledgers = ledgers.held(),
                        .ledger_bytes = ledgers.bytes(),
                        .live = hub.counts(),
                        .store_bytes = SizeOnDisk(store_path) + SizeOnDisk(store_path + "-wal")});
    return response;
  }

  // At most a line a second, however many ask.
  void Log(const Status& status) {
    const std::lock_guard lock(log_mutex);
    const MonoNs now = clock->Mono();
    if (last_log && now - *last_log < kNanosPerSecond) return;
    last_log = now;
    Tell(status.message());
  }

  void Tell(const std::string& line) const {
    std::fprintf(stderr, "headway serve: %s %s\n", FormatTime(clock->Wall()).c_str(), line.c_str());
  }

  void TellOfCertificate(const Status& status) const {
    Tell(status.ok()
             ? "the new certificate in " + certificate->path + " counts from now on"
             : "a new certificate is no good, and the one before stays: " + status.message());
  }

  Access access;
  std::string token_path;
  std::string store_path;
  bool is_loopback = false;
  std::optional<ServerCertificate> certificate;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<store::BlobStore> blobs;
  RunLedgers ledgers;
  LiveHub hub;  // before those that tell it
  JournalService journals;
  std::mutex log_mutex;
  std::optional<MonoNs> last_log;
  Upkeep upkeep;
  RunRegistry registry;
  RunService runs;
  ViewService views;
  ConfigService configs;
  ProcessService processes;
  FleetService fleet;
  RecordService records;
  SeriesService series;
  LargeRequests large;
  ForeignPoints foreign;
  ProjectService projects;
  OperationService operations;
  EventService events;
  ProfileService profiles;
  ServerService itself;
  std::unique_ptr<Roles> roles;
  std::unique_ptr<Tokens> tokens;
  std::unique_ptr<Links> links;
  Pages pages;
  ConnectRouter router;
  LiveService live;
  const Clock* clock;
  std::optional<ServerMetrics> metrics;
  HttpStats http_stats;
  std::unique_ptr<HttpServer> http;  // last: it calls the others
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                              std::unique_ptr<store::Store> store,
                                              std::unique_ptr<store::BlobStore> blobs,
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
  HttpServerOptions http_options = {
      .address = options.address, .port = options.port, .workers = kWorkers};
  TlsFiles files;
  Result<std::optional<ServerCertificate>> certificate = FindCertificate(options, clock, &files);
  if (!certificate.ok()) return certificate.status();
  if (*certificate) http_options.tls = files;
  Result<std::unique_ptr<Roles>> roles = Roles::Load(store.get(), clock);
  if (!roles.ok()) return roles.status();
  Result<std::unique_ptr<Tokens>> tokens = Tokens::Load(store.get(), roles->get(), clock);
  if (!tokens.ok()) return tokens.status();
  Result<std::unique_ptr<Links>> links = Links::Load(store.get(), clock);
  if (!links.ok()) return links.status();
  auto impl = std::make_unique<Impl>(std::move(access), std::move(store), std::move(blobs),
                                     *std::move(roles), *std::move(tokens), *std::move(links),
                                     options.page, options.dir, clock);
  impl->token_path = std::move(token_path);
  impl->store_path = options.store_path;
  impl->is_loopback = IsLoopback(options.address);
  impl->certificate = *std::move(certificate);
  Impl* const raw = impl.get();
  http_options.stats = &impl->http_stats;
  http_options.on_tls_files = [raw](const Status& status) { raw->TellOfCertificate(status); };
  http_options.dress = [raw](std::string_view path, HttpResponse refusal) {
    return raw->Dress(path, std::move(refusal));
  };
  http_options.on_answer = [raw](const HttpOutcome& outcome) { raw->metrics->Count(outcome); };
  Result<std::unique_ptr<HttpServer>> http = HttpServer::Start(
      http_options,
      [raw](const HttpRequest& head) -> BodyVerdict {
        if (raw->IsPage(head.path)) return {.refusal = raw->RefuseByName(head)};
        return {.limit = raw->BodyLimit(head), .refusal = raw->RefuseByHead(head)};
      },
      [raw](const HttpRequest& request) { return raw->Answer(request); });
  if (!http.ok()) return http.status();
  impl->http = *std::move(http);
  impl->upkeep.Start();
  impl->hub.Start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->http->port(); }
const std::string& Server::token_path() const { return impl_->token_path; }
const std::optional<ServerCertificate>& Server::certificate() const { return impl_->certificate; }
bool Server::is_loopback() const { return impl_->is_loopback; }
void Server::Stop(int grace_seconds) {
  impl_->http->Stop(grace_seconds);
  const Status saved = impl_->ledgers.SaveAll(kSaveTime);
  if (!saved.ok()) impl_->Log(saved);
}

}  // namespace headway::server
