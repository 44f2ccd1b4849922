#include "server/links.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/names.h"
#include "base/sha256.h"
#include "base/time_format.h"
#include "server/tokens.h"

namespace headway::server {
namespace {

constexpr int kLinksPageDefault = 100;
constexpr std::int64_t kHourNs = 3600 * kNanosPerSecond;
constexpr std::int64_t kDayNs = 24 * kHourNs;
// What may stand behind a URL's "#" as it is.
constexpr std::string_view kOfFragments =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%";

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

v1::Link ToProto(const store::LinkRow& row) {
  v1::Link link;
  link.set_id(row.id);
  link.set_project(row.project);
  link.set_run(row.run);
  link.set_run_uid(ToHex(row.run_uid));
  link.set_view(row.view);
  link.set_creator(row.creator);
  link.set_created(row.created);
  link.set_expires(row.expires);
  link.set_revoked(row.revoked);
  link.set_used(row.used);
  return link;
}

store::AuditRow Done(const std::string& who, std::string_view action, const store::LinkRow& link,
                     std::int64_t when) {
  return {.time = when,
          .who = who,
          .action = std::string(action),
          .what = "link " + link.id + ", run \"" + link.run + "\", " + ToHex(link.run_uid) +
                  ", until " + FormatTime(WallNs{link.expires}),
          .project = link.project};
}

// Newer ones before.
bool IsBefore(const store::LinkRow& a, const store::LinkRow& b) {
  return std::tie(a.created, a.id) > std::tie(b.created, b.id);
}

HttpResponse Page(int status, std::string text) {
  HttpResponse response{.status = status, .body = std::move(text)};
  // The address is the secret: it goes nowhere else from here.
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace

Result<std::unique_ptr<Links>> Links::Load(store::Registry* registry, const Clock* clock) {
  Result<std::vector<store::LinkRow>> rows = registry->ListLinks();
  if (!rows.ok()) return rows.status();
  std::unique_ptr<Links> links(new Links(registry, clock));
  for (store::LinkRow& row : *rows) links->Keep(std::move(row));
  return links;
}

void Links::Keep(store::LinkRow row) {
  ids_.emplace(row.hash, row.id);
  std::string id = row.id;
  links_.emplace(std::move(id), std::move(row));
}

void Links::AddTo(ConnectRouter* router, RunRegistry* runs) {
  runs_ = runs;
  runs->OnDelete([this](const RunUid& run) { EndOf(run); });
  router->OnLinkUse([this](const Caller& caller) { return NoteUse(caller); });
  router->Add<v1::CreateLinkRequest, v1::CreateLinkResponse>(
      "headway.v1.LinkService.CreateLink", Permission::kLinksCreate, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return Create(caller, request); });
  router->Add<v1::ListLinksRequest, v1::ListLinksResponse>(
      "headway.v1.LinkService.ListLinks", Permission::kLinksList, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return List(caller, request); });
  router->Add<v1::RevokeLinkRequest, v1::RevokeLinkResponse>(
      "headway.v1.LinkService.RevokeLink", Permission::kLinksRevoke, Scope::kByMethod,
      [this](const Caller& caller, const auto& request) { return Revoke(caller, request); });
}

Result<std::optional<Caller>> Links::Find(const std::array<std::uint8_t, 32>& hash) const {
  const std::shared_lock lock(mutex_);
  const auto found = ids_.find(hash);
  if (found == ids_.end()) return std::optional<Caller>();
  const store::LinkRow& row = links_.at(found->second);
  if (row.revoked != 0) {
    return Status(Code::kUnauthenticated, "this link was revoked, or its run deleted");
  }
  if (clock_->Wall().ns >= row.expires) {
    return Status(Code::kUnauthenticated, "this link has expired");
  }
  Caller caller;
  caller.name = "link " + row.id;
  caller.role = "link";
  caller.permissions = Permissions(Permission::kRunsGet);
  caller.project = row.project;
  caller.run = row.run;
  caller.expires = row.expires;
  caller.link = row.id;
  caller.run_uid = row.run_uid;
  return std::optional(std::move(caller));
}

Result<v1::CreateLinkResponse> Links::Create(const Caller& caller,
                                             const v1::CreateLinkRequest& request) {
  if (!caller.permissions.Has(Permission::kRunsGet)) {
    return Status(Code::kPermissionDenied,
                  "a link shows a run, and the role " + caller.role + " may read none");
  }
  if (request.lifetime_ns() < 0 || request.lifetime_ns() > limits::kLinkDaysMost * kDayNs) {
    return Bad("lifetime_ns is above 0 and at most " + std::to_string(limits::kLinkDaysMost) +
               " days, or 0");
  }
  if (request.view().size() > limits::kLinkViewBytes ||
      request.view().find_first_not_of(kOfFragments) != std::string::npos) {
    return Bad("a view is a URL's fragment of at most " + std::to_string(limits::kLinkViewBytes) +
               " bytes: letters, digits and -._~!$&'()*+,;=:@/?%");
  }
  const Result<store::RunRow> run =
      runs_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  if (run->deleted != 0) {
    return Status(Code::kFailedPrecondition, "run \"" + run->name + "\" is deleted");
  }
  const std::string secret = MakeSecret("hw_link_");
  store::LinkRow row;
  row.hash = Sha256(secret);
  row.id = MakeId();
  row.run_uid = run->uid;
  row.project = run->project;
  row.run = run->name;
  row.view = request.view();
  row.creator = caller.name;
  row.created = clock_->Wall().ns;
  row.expires = row.created +
                (request.lifetime_ns() == 0 ? limits::kLinkDays * kDayNs : request.lifetime_ns());
  if (caller.expires != 0) row.expires = std::min(row.expires, caller.expires);
  const std::unique_lock lock(mutex_);
  HEADWAY_RETURN_IF_ERROR(ForgetOld(row.created));
  if (links_.size() >= limits::kLinks) {
    return Status(Code::kResourceExhausted,
                  "there are " + std::to_string(limits::kLinks) + " links already");
  }
  HEADWAY_RETURN_IF_ERROR(registry_->AddLink(
      row, Done(caller.name, PermissionName(Permission::kLinksCreate), row, row.created)));
  Keep(row);
  v1::CreateLinkResponse response;
  *response.mutable_link() = ToProto(row);
  response.set_secret(secret);
  response.set_path(std::string(kPath) + secret + (row.view.empty() ? "" : "#" + row.view));
  return response;
}

Result<v1::ListLinksResponse> Links::List(const Caller& caller,
                                          const v1::ListLinksRequest& request) const {
  const Result<std::size_t> size =
      PageSize(request.page_size(), kLinksPageDefault, limits::kLinksPage);
  if (!size.ok()) return size.status();
  std::vector<store::LinkRow> rows;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [id, row] : links_) {
      if (caller.Covers(row.project, row.run)) rows.push_back(row);
    }
  }
  std::ranges::sort(rows, IsBefore);
  auto next = rows.begin();
  if (!request.page_token().empty()) {
    next = std::ranges::find(rows, request.page_token(), &store::LinkRow::id);
    if (next == rows.end()) return Bad("the page_token is none of an answer to this question");
    ++next;
  }
  v1::ListLinksResponse response;
  for (; next != rows.end(); ++next) {
    if (static_cast<std::size_t>(response.links_size()) == *size) {
      response.set_next_page_token(std::prev(next)->id);
      break;
    }
    *response.add_links() = ToProto(*next);
  }
  return response;
}

Result<v1::RevokeLinkResponse> Links::Revoke(const Caller& caller,
                                             const v1::RevokeLinkRequest& request) {
  const std::unique_lock lock(mutex_);
  const auto found = links_.find(request.id());
  if (found == links_.end() || !caller.Covers(found->second.project, found->second.run)) {
    return Status(Code::kNotFound, "there is no link \"" + request.id() + "\"");
  }
  store::LinkRow& row = found->second;
  const std::int64_t now = clock_->Wall().ns;
  HEADWAY_RETURN_IF_ERROR(registry_->RevokeLink(
      row.id, now, Done(caller.name, PermissionName(Permission::kLinksRevoke), row, now)));
  if (row.revoked == 0) row.revoked = now;
  v1::RevokeLinkResponse response;
  *response.mutable_link() = ToProto(row);
  return response;
}

Status Links::NoteUse(const Caller& caller) {
  const std::int64_t now = clock_->Wall().ns;
  // Nothing: it need not be written down now.
  const auto find_due = [&]() -> store::LinkRow* {
    const auto found = links_.find(caller.link);
    if (found == links_.end()) return nullptr;
    store::LinkRow& row = found->second;
    const bool due = row.used == 0 || now - row.used >= limits::kLinkUseHours * kHourNs;
    return due ? &row : nullptr;
  };
  {
    const std::shared_lock lock(mutex_);
    if (find_due() == nullptr) return OkStatus();
  }
  const std::unique_lock lock(mutex_);
  store::LinkRow* const row = find_due();
  if (row == nullptr) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(
      registry_->UseLink(row->id, now, Done(caller.name, "links.use", *row, now)));
  row->used = now;
  return OkStatus();
}

void Links::EndOf(const RunUid& run) {
  const std::unique_lock lock(mutex_);
  const std::int64_t now = clock_->Wall().ns;
  for (auto& [id, row] : links_) {
    if (row.run_uid == run && row.revoked == 0) row.revoked = now;
  }
}

Status Links::ForgetOld(std::int64_t now) {
  const std::int64_t before = now - limits::kLinkForgottenDays * kDayNs;
  const auto old = [before](const auto& entry) { return entry.second.expires < before; };
  if (std::ranges::none_of(links_, old)) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(registry_->ForgetLinks(before));
  std::erase_if(ids_, [&](const auto& entry) { return old(*links_.find(entry.second)); });
  std::erase_if(links_, old);
  return OkStatus();
}

HttpResponse Links::AnswerPage(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = Page(405, "only GET and HEAD are answered\n");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  const Result<std::optional<Caller>> caller =
      Find(Sha256(std::string_view(request.path).substr(kPath.size())));
  if (!caller.ok()) return Page(410, caller.status().message() + "\n");
  if (!*caller) return Page(404, "this server does not know the link\n");
  const Result<store::RunRow> run =
      runs_->Find(**caller, (*caller)->project, ToHex((*caller)->run_uid));
  if (!run.ok()) {
    return run.status().code() == Code::kPermissionDenied
               ? Page(410, "the run of this link is not there any more\n")
               : Page(500, "the run of this link can't be read now\n");
  }
  if (!NoteUse(**caller).ok()) return Page(503, "this server can't write down now who asks\n");
  const std::string of_run = ToHex(run->uid) + " --project " + ShellWord(run->project);
  return Page(200, "run \"" + run->name + "\" of project \"" + run->project + "\", until " +
                       FormatTime(WallNs{(*caller)->expires}) +
                       "\n\nThe last part of this address (from hw_link_ on, without what follows "
                       "a #) is a token that reads\nthis run and nothing else:\n\n"
                       "  export HEADWAY_SERVER=...   # this address up to /share\n"
                       "  export HEADWAY_TOKEN=...\n"
                       "  headway goodput " +
                       of_run + "\n  headway metrics " + of_run + "\n");
}

}  // namespace headway::server
