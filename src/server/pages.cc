#include "server/pages.h"

#include <algorithm>
#include <string>

namespace headway::server {
namespace {

constexpr std::string_view kIndex = "/index.html";
constexpr std::string_view kAssets = "/assets/";
// The views that have an address: these, and whatever is below the last one.
constexpr std::string_view kStart = "/";
constexpr std::string_view kCompare = "/compare";
constexpr std::string_view kRuns = "/runs";

// Only files of this server, and no script or style within the page itself; nobody frames it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

bool IsView(std::string_view path) {
  if (path == kStart || path == kCompare || path == kRuns) return true;
  return path.starts_with(kRuns) && path[kRuns.size()] == '/';
}

// RFC 9110, 13.1.2: "*", or tags of which each may be weak (W/"..."). Ours hold no comma.
bool Holds(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag) return true;
  }
  return false;
}

HttpResponse Plain(int status, std::string body) {
  HttpResponse response = {.status = status, .body = std::move(body)};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  return response;
}

struct Form {
  std::string_view body;
  std::string_view encoding;  // empty: as it is
  std::string_view tag;       // what tells it apart
};

// The smallest one that the client takes.
Form FormOf(const PageFile& file, const HttpRequest& request) {
  if (!file.brotli.empty() && Accepts(request, "br")) return {file.brotli, "br", "-br"};
  if (!file.gzip.empty() && Accepts(request, "gzip")) return {file.gzip, "gzip", "-gz"};
  return {file.body, "", ""};
}

HttpResponse Whole(const PageFile& file, const Form& form) {
  HttpResponse response = {.type = std::string(file.type), .fixed_body = form.body};
  if (!form.encoding.empty()) response.headers.emplace_back("Content-Encoding", form.encoding);
  return response;
}

void Protect(HttpResponse* response) {
  response->headers.emplace_back("Content-Security-Policy", kPolicy);
  response->headers.emplace_back("Referrer-Policy", "no-referrer");
  response->headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response->headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace

const PageFile* Pages::Find(std::string_view path) const {
  const auto found = std::ranges::find(files_, path, &PageFile::path);
  return found == files_.end() ? nullptr : &*found;
}

bool Pages::Has(std::string_view path) const {
  return IsView(path) || path.starts_with(kAssets) || Find(path) != nullptr;
}

HttpResponse Pages::OrPage(HttpResponse text, const HttpRequest& request) const {
  constexpr std::string_view kVary = "Accept, Accept-Encoding";
  const PageFile* const index = Find(kIndex);
  if (index == nullptr || text.status == 405 ||
      request.Header("accept").find("text/html") == std::string_view::npos) {
    text.headers.emplace_back("Vary", kVary);
    return text;
  }
  HttpResponse page = Whole(*index, FormOf(*index, request));
  page.status = text.status;
  page.headers.emplace_back("Vary", kVary);
  page.headers.emplace_back("Cache-Control", "no-store");
  Protect(&page);
  return page;
}

HttpResponse Pages::Answer(const HttpRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = Plain(405, "only GET and HEAD are answered\n");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  const PageFile* const file = Find(IsView(request.path) ? kIndex : std::string_view(request.path));
  if (file == nullptr && files_.empty()) {
    return Plain(404,
                 "This server was built without its page (HEADWAY_UI=OFF). All else is here: "
                 "headway goodput --server, and the methods that docs/server.md lists.\n");
  }
  if (file == nullptr) return Plain(404, "there is no such file\n");

  const Form form = FormOf(*file, request);
  const std::string tag = "\"" + std::string(file->hash) + std::string(form.tag) + "\"";
  HttpResponse response = Holds(request.Header("if-none-match"), tag) ? HttpResponse{.status = 304}
                                                                      : Whole(*file, form);
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Cache-Control",
                                file->forever ? "public, max-age=31536000, immutable" : "no-cache");
  Protect(&response);
  return response;
}

}  // namespace headway::server
