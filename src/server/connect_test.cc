#include "server/connect.h"

#include <gtest/gtest.h>
#include <headway/v1/run_service.pb.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "base/limits.h"
#include "server/gzip.h"

namespace headway::server {
namespace {

constexpr char kPath[] = "/headway.v1.RunService/GetRun";

HttpRequest Asking(std::string body, const std::string& type = "application/json") {
  return {.method = "POST",
          .path = kPath,
          .query = {},
          .headers = {{"content-type", type}, {"authorization", "Bearer good"}},
          .body = std::move(body),
          .peer = {}};
}

class ConnectTest : public testing::Test {
 protected:
  ConnectTest() {
    router_.Add<v1::GetRunRequest, v1::Run>(
        "headway.v1.RunService.GetRun", Permission::kRunsGet, Scope::kByRequest,
        [this](const Caller& caller, const v1::GetRunRequest& request) -> Result<v1::Run> {
          asked_.push_back(caller.name + ":" + request.project() + "/" + request.run());
          if (!error_.ok()) return error_;
          v1::Run run;
          run.set_label(request.run());
          run.set_start(1LL << 60);
          return run;
        });
  }

  Status error_;
  std::vector<std::string> asked_;
  ConnectRouter router_{[](const HttpRequest& head) -> Result<Caller> {
    if (head.Header("authorization") == "Bearer good") {
      return Caller{.name = "somebody", .permissions = Permissions::All()};
    }
    return Status(Code::kUnauthenticated, "who are you?");
  }};
};

TEST_F(ConnectTest, AnswersInTheFormThatWasAsked) {
  HttpResponse answer = router_.Answer(Asking(R"({"project": "p", "run": "r"})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.type, "application/json");
  EXPECT_NE(answer.body.find(R"("start":"1152921504606846976")"), std::string::npos) << answer.body;
  EXPECT_EQ(router_.Answer(Asking("", "application/json; charset=utf-8")).status, 200);

  v1::GetRunRequest request;
  request.set_run("q");
  answer = router_.Answer(Asking(request.SerializeAsString(), "application/proto"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.type, "application/proto");
  v1::Run run;
  ASSERT_TRUE(run.ParseFromString(answer.body));
  EXPECT_EQ(run.label(), "q");
  EXPECT_EQ(asked_, (std::vector<std::string>{"somebody:p/r", "somebody:/", "somebody:/q"}));
}

TEST_F(ConnectTest, TakesCompressedBodies) {
  const std::string body = R"({"run": "r"})";
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), 1));
  HttpRequest request = Asking(packed);
  request.headers.emplace_back("content-encoding", "zstd");
  EXPECT_EQ(router_.Answer(request).status, 200);
  EXPECT_EQ(asked_, std::vector<std::string>{"somebody:/r"});
  request.body.pop_back();
  EXPECT_EQ(router_.Answer(request).status, 400);
  request.body = "not zstd";
  EXPECT_EQ(router_.Answer(request).status, 400);
}

TEST_F(ConnectTest, TakesGzip) {
  const std::string body = R"({"run": "r"})";
  const std::string packed = *Gzip(body);
  const std::size_t half = packed.size() / 2;
  HttpRequest request = Asking(packed);
  request.headers.emplace_back("content-encoding", "gzip");
  EXPECT_EQ(router_.Answer(request).status, 200);
  EXPECT_EQ(asked_, std::vector<std::string>{"somebody:/r"});
  for (const std::string& bad :
       {packed.substr(0, half), packed.substr(0, packed.size() - 1), packed + "x", body}) {
    request.body = bad;
    EXPECT_EQ(router_.Answer(request).status, 400) << bad;
  }
  for (std::size_t i = packed.size() - 8; i < packed.size(); ++i) {  // its checksum and its length
    request.body = packed;
    request.body[i] ^= 1;
    EXPECT_EQ(router_.Answer(request).status, 400) << i;
  }
  request.body = "";
  EXPECT_EQ(router_.Answer(request).status, 200);
}

TEST_F(ConnectTest, GzipIsUndone) {
  for (const std::size_t size : {0u, 1u, 1000u, 262143u, 262144u, 262145u, 1000000u}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; i += 7) text[i] = static_cast<char>(i * i >> 5);
    EXPECT_EQ(*Gunzip(*Gzip(text), size), text) << size;
    if (size > 0) {
      EXPECT_EQ(Gunzip(*Gzip(text), size - 1).status().code(), Code::kInvalidArgument) << size;
    }
    EXPECT_EQ(*Gunzip(*Gzip(text) + *Gzip("b"), size + 1), text + "b") << size;
  }
  // A thousand times its size, and more: no more is held than the limit.
  const std::string bomb = *Gzip(std::string(std::size_t{8} << 20, '\0'));
  EXPECT_LT(bomb.size(), 100'000u);
  EXPECT_FALSE(Gunzip(bomb, 1 << 20).ok());
}

TEST_F(ConnectTest, CompressesLongAnswersForWhoTakesThat) {
  const std::string name(5000, 'r');
  HttpRequest request = Asking(R"({"run": ")" + name + R"("})");
  const std::string plain = router_.Answer(request).body;
  EXPECT_NE(plain.find(name), std::string::npos);
  request.headers.emplace_back("accept-encoding", "");
  for (const char* refused : {"br", "gzip;q=0", "gzip; q=0.000", "identity", "*;q=0", ";", ","}) {
    request.headers.back().second = refused;
    EXPECT_EQ(router_.Answer(request).body, plain) << refused;
  }
  for (const char* taken : {"gzip", "br, GZIP", "gzip;q=0.05", "deflate , gzip ; Q=1", "*"}) {
    request.headers.back().second = taken;
    const HttpResponse answer = router_.Answer(request);
    ASSERT_EQ(answer.headers.size(), 1u) << taken;
    EXPECT_EQ(answer.headers[0].second, "gzip");
    EXPECT_LT(answer.body.size(), 500u);
    EXPECT_EQ(*Gunzip(answer.body, plain.size()), plain);
  }
  request.body = R"({"run": "r"})";
  EXPECT_TRUE(router_.Answer(request).headers.empty());
}

TEST_F(ConnectTest, AnswersNobodyWhoHasGone) {
  HttpRequest request = Asking("{}");
  request.headers.emplace_back("connect-timeout-ms", "250");
  request.waited_ns = 249'999'999;
  EXPECT_EQ(router_.Answer(request).status, 200);
  request.waited_ns = 250'000'000;
  const HttpResponse late = router_.Answer(request);
  EXPECT_EQ(late.status, 504);
  EXPECT_TRUE(late.body.starts_with(R"({"code":"deadline_exceeded")")) << late.body;
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(ConnectTest, RefusesByTheHead) {
  struct Case {
    const char* what;
    void (*change)(HttpRequest*);
    int status;
  };
  const Case cases[] = {
      {"nobody", [](HttpRequest* r) { r->headers.pop_back(); }, 401},
      {"nobody, and no such method",
       [](HttpRequest* r) {
         r->headers.pop_back();
         r->path = "/x";
       },
       401},
      {"no such method", [](HttpRequest* r) { r->path = "/headway.v1.RunService/Get"; }, 501},
      {"a name with dots", [](HttpRequest* r) { r->path = "/headway.v1.RunService.GetRun"; }, 501},
      {"GET", [](HttpRequest* r) { r->method = "GET"; }, 405},
      {"a type", [](HttpRequest* r) { r->headers[0].second = "text/json"; }, 415},
      {"no type", [](HttpRequest* r) { r->headers.erase(r->headers.begin()); }, 415},
      {"an encoding", [](HttpRequest* r) { r->headers.emplace_back("content-encoding", "br"); },
       501},
      {"a version",
       [](HttpRequest* r) { r->headers.emplace_back("connect-protocol-version", "2"); }, 400},
      {"a time that is none",
       [](HttpRequest* r) { r->headers.emplace_back("connect-timeout-ms", "1s"); }, 400},
      {"no time", [](HttpRequest* r) { r->headers.emplace_back("connect-timeout-ms", "0"); }, 400},
      {"too much time",
       [](HttpRequest* r) { r->headers.emplace_back("connect-timeout-ms", "12345678901"); }, 400},
  };
  for (const Case& c : cases) {
    HttpRequest request = Asking("{}");
    c.change(&request);
    const std::optional<HttpResponse> refusal = router_.Refuse(request);
    ASSERT_TRUE(refusal.has_value()) << c.what;
    EXPECT_EQ(refusal->status, c.status) << c.what;
    EXPECT_EQ(router_.Answer(request).status, c.status) << c.what;
  }
  EXPECT_FALSE(router_.Refuse(Asking("{}")).has_value());
  EXPECT_TRUE(asked_.empty());
}

TEST_F(ConnectTest, BodiesThatAreNoRequest) {
  for (const char* body : {"{", "[]", "1", R"({"nope": 1})", R"({"run": 1})", "\xff", "{}{}"}) {
    const HttpResponse answer = router_.Answer(Asking(body));
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_TRUE(answer.body.starts_with(R"({"code":"invalid_argument")")) << answer.body;
  }
  EXPECT_EQ(router_.Answer(Asking("\x0a\xff", "application/proto")).status, 400);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(ConnectTest, ALinkCallsWhatIsAboutItsRunOnly) {
  const RunUid uid = RandomUid<RunUid>();
  ConnectRouter router([&](const HttpRequest&) -> Result<Caller> {
    return Caller{.name = "link 1",
                  .permissions = Permissions(Permission::kRunsGet),
                  .project = "p",
                  .link = "1",
                  .run_uid = uid};
  });
  std::vector<std::string> asked;
  const auto add = [&](const char* name, Scope scope) {
    router.Add<v1::GetRunRequest, v1::Run>(
        name, Permission::kRunsGet, scope,
        [&](const Caller&, const v1::GetRunRequest& request) -> Result<v1::Run> {
          asked.push_back(request.project() + "/" + request.run());
          return v1::Run();
        });
  };
  add("headway.v1.RunService.GetRun", Scope::kOneRun);
  add("headway.v1.RunService.ByRequest", Scope::kByRequest);
  add("headway.v1.RunService.ByMethod", Scope::kByMethod);
  EXPECT_EQ(router.Answer(Asking("{}")).status, 200);
  EXPECT_EQ(router.Answer(Asking(R"({"project": "q"})")).status, 200);
  EXPECT_EQ(router.Answer(Asking(R"({"project": "p", "run": "r"})")).status, 200);
  EXPECT_EQ(router.Answer(Asking(R"({"project": "q", "run": "r"})")).status, 403);
  const std::string own = "p/" + ToHex(uid);
  EXPECT_EQ(asked, (std::vector<std::string>{own, own, "p/r"}));
  for (const char* path : {"/headway.v1.RunService/ByRequest", "/headway.v1.RunService/ByMethod"}) {
    HttpRequest request = Asking(R"({"project": "p", "run": "r"})");
    request.path = path;
    EXPECT_EQ(router.Refuse(request)->status, 403) << path;
  }
  // What is not written down is not done.
  std::vector<std::string> used;
  Status written = OkStatus();
  router.OnLinkUse([&](const Caller& caller) {
    used.push_back(caller.link);
    return written;
  });
  EXPECT_EQ(router.Answer(Asking("{}")).status, 200);
  written = {Code::kResourceExhausted, "the disk is full"};
  EXPECT_EQ(router.Answer(Asking("{}")).status, 429);
  EXPECT_EQ(used, (std::vector<std::string>{"1", "1"}));
  EXPECT_EQ(asked.size(), 4u);
}

TEST_F(ConnectTest, TellsErrors) {
  struct Case {
    Code code;
    int status;
    const char* name;
  };
  const Case cases[] = {{Code::kNotFound, 404, "not_found"},
                        {Code::kInvalidArgument, 400, "invalid_argument"},
                        {Code::kPermissionDenied, 403, "permission_denied"},
                        {Code::kResourceExhausted, 429, "resource_exhausted"},
                        {Code::kUnavailable, 503, "unavailable"},
                        {Code::kDataLoss, 500, "data_loss"}};
  for (const Case& c : cases) {
    error_ = {c.code, "so \"it\" is"};
    const HttpResponse answer = router_.Answer(Asking("{}"));
    EXPECT_EQ(answer.status, c.status) << c.name;
    EXPECT_EQ(answer.body, std::string(R"({"code":")") + c.name + R"(","message":"so \"it\" is"})");
    EXPECT_EQ(answer.type, "application/json");
  }
}

}  // namespace
}  // namespace headway::server
