#include "server/pages.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace headway::server {
namespace {

constexpr std::array<PageFile, 3> kFiles = {{
    {.path = "/index.html",
     .type = "text/html; charset=utf-8",
     .hash = "abc",
     .body = "<html>",
     .gzip = "I-gzip",
     .brotli = "I-br"},
    {.path = "/assets/a-1.js",
     .type = "text/javascript; charset=utf-8",
     .hash = "def",
     .body = "script",
     .gzip = "S-gzip",
     .brotli = "S-br",
     .forever = true},
    {.path = "/icon.svg",
     .type = "image/svg+xml",
     .hash = "g",
     .body = "icon",
     .gzip = {},
     .brotli = {}},
}};

HttpRequest Get(std::string path, std::vector<std::pair<std::string, std::string>> headers = {}) {
  return {.method = "GET",
          .path = std::move(path),
          .query = {},
          .headers = std::move(headers),
          .body = {},
          .peer = {}};
}

std::string HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [known, value] : response.headers) {
    if (known == name) return value;
  }
  return "";
}

TEST(Pages, ViewsAreTheIndex) {
  const Pages pages(kFiles);
  for (const char* path : {"/", "/runs", "/runs/", "/runs/a", "/runs/a/b%2f", "/index.html"}) {
    ASSERT_TRUE(pages.Has(path)) << path;
    const HttpResponse answer = pages.Answer(Get(path));
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.Body(), "<html>") << path;
    EXPECT_EQ(answer.type, "text/html; charset=utf-8");
    EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "no-cache");
  }
  for (const char* path : {"", "/runsx", "/run", "/v1/metrics", "/healthz", "/metrics", "/share/x",
                           "/headway.v1.RunService/GetRun", "//", "/Runs", "/icon.svg/"}) {
    EXPECT_FALSE(pages.Has(path)) << path;
  }
}

TEST(Pages, FilesWithAHashInTheirNameAreKeptForEver) {
  const Pages pages(kFiles);
  const HttpResponse asset = pages.Answer(Get("/assets/a-1.js"));
  EXPECT_EQ(asset.Body(), "script");
  EXPECT_EQ(HeaderOf(asset, "Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(HeaderOf(pages.Answer(Get("/icon.svg")), "Cache-Control"), "no-cache");
  // One of another version of the page: never the index in its place.
  ASSERT_TRUE(pages.Has("/assets/a-0.js"));
  EXPECT_EQ(pages.Answer(Get("/assets/a-0.js")).status, 404);
  EXPECT_EQ(HeaderOf(pages.Answer(Get("/assets/a-0.js")), "Cache-Control"), "no-store");
  EXPECT_EQ(pages.Answer(Get("/assets/../index.html")).status, 404);
}

TEST(Pages, TheSmallestFormThatIsTaken) {
  const Pages pages(kFiles);
  struct Case {
    const char* accepts;
    const char* body;
    const char* encoding;
    const char* tag;
  };
  const Case cases[] = {
      {"gzip, deflate, br, zstd", "S-br", "br", "\"def-br\""},
      {"gzip, deflate", "S-gzip", "gzip", "\"def-gz\""},
      {"br;q=0, gzip", "S-gzip", "gzip", "\"def-gz\""},
      {"*", "S-br", "br", "\"def-br\""},
      {"identity", "script", "", "\"def\""},
      {"", "script", "", "\"def\""},
      {"zstd", "script", "", "\"def\""},
  };
  for (const Case& c : cases) {
    const HttpResponse answer =
        pages.Answer(Get("/assets/a-1.js", {{"accept-encoding", c.accepts}}));
    EXPECT_EQ(answer.Body(), c.body) << c.accepts;
    EXPECT_EQ(HeaderOf(answer, "Content-Encoding"), c.encoding) << c.accepts;
    EXPECT_EQ(HeaderOf(answer, "ETag"), c.tag) << c.accepts;
    EXPECT_EQ(HeaderOf(answer, "Vary"), "Accept-Encoding");
  }
  EXPECT_EQ(pages.Answer(Get("/icon.svg", {{"accept-encoding", "br"}})).Body(), "icon");
}

TEST(Pages, WhatTheClientHasIsNotSentAgain) {
  const Pages pages(kFiles);
  for (const char* tags : {"\"abc-br\"", "W/\"abc-br\"", "\"x\", \"abc-br\"", "*", " * "}) {
    const HttpResponse answer =
        pages.Answer(Get("/", {{"accept-encoding", "br"}, {"if-none-match", tags}}));
    EXPECT_EQ(answer.status, 304) << tags;
    EXPECT_EQ(answer.Body(), "") << tags;
    EXPECT_EQ(HeaderOf(answer, "ETag"), "\"abc-br\"");
    EXPECT_EQ(HeaderOf(answer, "Content-Encoding"), "");
    EXPECT_NE(HeaderOf(answer, "Content-Security-Policy"), "");
  }
  // Another form of it, another version, or no tag.
  for (const char* tags : {"\"abc\"", "\"abc-gz\"", "abc-br", "", ",", "W/", "\"abc-br"}) {
    const HttpResponse answer =
        pages.Answer(Get("/", {{"accept-encoding", "br"}, {"if-none-match", tags}}));
    EXPECT_EQ(answer.status, 200) << tags;
  }
}

TEST(Pages, ALinkShowsBrowsersThePage) {
  const Pages pages(kFiles);
  const HttpResponse text = {.status = 410, .body = "it ended\n"};
  const auto ask = [&](const char* accept) {
    return pages.OrPage(text, Get("/share/x", {{"accept", accept}, {"accept-encoding", "br"}}));
  };
  const HttpResponse page = ask("text/html,application/xhtml+xml,*/*;q=0.8");
  EXPECT_EQ(page.Body(), pages.Answer(Get("/", {{"accept-encoding", "br"}})).Body());
  EXPECT_EQ(page.status, 410);
  EXPECT_EQ(HeaderOf(page, "Cache-Control"), "no-store");
  EXPECT_EQ(HeaderOf(page, "Referrer-Policy"), "no-referrer");
  EXPECT_EQ(HeaderOf(page, "ETag"), "");
  EXPECT_NE(HeaderOf(page, "Content-Security-Policy"), "");
  for (const char* accept : {"", "*/*", "application/json"}) {
    EXPECT_EQ(ask(accept).Body(), "it ended\n") << accept;
    EXPECT_EQ(HeaderOf(ask(accept), "Vary"), "Accept, Accept-Encoding");
  }
  EXPECT_EQ(Pages({}).OrPage(text, Get("/share/x", {{"accept", "text/html"}})).Body(),
            "it ended\n");
}

TEST(Pages, NothingFromElsewhere) {
  const Pages pages(kFiles);
  for (const char* path : {"/", "/assets/a-1.js", "/assets/none"}) {
    const HttpResponse answer = pages.Answer(Get(path));
    const std::string policy = HeaderOf(answer, "Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none'; ")) << path;
    EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(policy.find("http"), std::string::npos);
  }
  EXPECT_EQ(HeaderOf(pages.Answer(Get("/")), "Referrer-Policy"), "no-referrer");
}

TEST(Pages, OnlyReads) {
  const Pages pages(kFiles);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
    HttpRequest request = Get("/");
    request.method = method;
    const HttpResponse answer = pages.Answer(request);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(HeaderOf(answer, "Allow"), "GET, HEAD");
  }
  HttpRequest request = Get("/");
  request.method = "HEAD";
  EXPECT_EQ(pages.Answer(request).Body(), "<html>");  // its length is told
}

TEST(Pages, WithoutAPageItSaysSo) {
  const Pages pages({});
  EXPECT_FALSE(pages.Has("/index.html"));
  ASSERT_TRUE(pages.Has("/"));
  const HttpResponse answer = pages.Answer(Get("/"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("built without its page"), std::string::npos);
}

}  // namespace
}  // namespace headway::server
