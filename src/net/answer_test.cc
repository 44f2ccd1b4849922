#include "net/answer.h"

#include <gtest/gtest.h>

#include "base/percent.h"
#include "net/url.h"

namespace headway::net {
namespace {

Response Answer(int status, std::string body, Headers headers = {}) {
  return {status, std::move(headers), std::move(body)};
}

TEST(AnswerTest, CodesSayWhoActs) {
  const struct {
    int status;
    Code code;
  } kCases[] = {{200, Code::kOk},
                {204, Code::kOk},
                {301, Code::kFailedPrecondition},
                {400, Code::kInvalidArgument},
                {401, Code::kPermissionDenied},
                {403, Code::kPermissionDenied},
                {404, Code::kFailedPrecondition},
                {408, Code::kUnavailable},
                {429, Code::kUnavailable},
                {500, Code::kUnavailable},
                {503, Code::kUnavailable}};
  for (const auto& [status, code] : kCases) {
    EXPECT_EQ(StatusOf(Answer(status, ""), "x").code(), code) << status;
  }
}

TEST(AnswerTest, WordsOfTheServer) {
  EXPECT_EQ(StatusOf(Answer(403, R"({"error": {"code": 403, "message": "no \n permission",
                                     "status": "PERMISSION_DENIED"}})"),
                     "cannot send")
                .message(),
            "cannot send: the server answers 403: no permission (PERMISSION_DENIED)");
  EXPECT_EQ(WordsOf(Answer(400, R"({"error": "invalid_grant", "error_description": "bad key"})")),
            "bad key (invalid_grant)");
  EXPECT_EQ(WordsOf(Answer(403,
                           "<?xml?><Error><Code>AccessDenied</Code><Message>Access "
                           "Denied</Message></Error>")),
            "Access Denied (AccessDenied)");
  EXPECT_EQ(WordsOf(Answer(502, "<html>\r\n bad\x01\xff gateway")),
            "<html> bad \xef\xbf\xbd gateway");
  EXPECT_EQ(WordsOf(Answer(500, "")), "");
  EXPECT_LE(WordsOf(Answer(500, std::string(100'000, 'x'))).size(), 300U);
}

TEST(AnswerTest, TokensAreMasked) {
  EXPECT_EQ(MaskTokens("token ya29.a0Af_secret is old"), "token [masked] is old");
  EXPECT_EQ(MaskTokens("got \"Bearer 0123456789abc\"."), "got \"Bearer [masked]\".");
  EXPECT_EQ(MaskTokens("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOi.c2ln!"), "[masked]!");
  EXPECT_EQ(MaskTokens("a Bearer of news"), "a Bearer of news");
  EXPECT_EQ(MaskTokens("access_token=abcdefghijk"), "access_token=abcdefghijk");
  EXPECT_EQ(MaskTokens("\"access_token\": \"abcdefghijk\""), "\"access_token\": \"[masked]\"");
}

TEST(AnswerTest, KnownSecretsAreMaskedWhateverTheyLookLike) {
  Response response = Answer(400, "you sent hunter22, hunter22");
  MaskSecret("you", &response);
  MaskSecret("hunter22", &response);
  EXPECT_EQ(response.body, "you sent [masked], [masked]");
}

TEST(AnswerTest, RetryAfter) {
  const WallNs now{1'700'000'000 * kNanosPerSecond};
  const auto after = [&](const char* text) {
    return RetryAfterNs(Answer(429, "", {{"retry-after", text}}), now);
  };
  EXPECT_EQ(after("7"), 7 * kNanosPerSecond);
  EXPECT_EQ(after("-7"), 0);
  EXPECT_EQ(after("Tue, 14 Nov 2023 22:13:30 GMT"), 10 * kNanosPerSecond);
  EXPECT_EQ(after("Tue, 14 Nov 2023 22:13:10 GMT"), 0);
  EXPECT_EQ(after("Fri, 31 Dec 9999 23:59:59 GMT"), 366 * 86'400 * kNanosPerSecond);
  EXPECT_EQ(after("9000000000000000000"), 366 * 86'400 * kNanosPerSecond);
  EXPECT_EQ(after("99999999999999999999"), std::nullopt);
  EXPECT_EQ(after("soon"), std::nullopt);
  EXPECT_EQ(RetryAfterNs(Answer(429, ""), now), std::nullopt);
}

TEST(UrlTest, Loopback) {
  EXPECT_TRUE(IsLoopback("http://localhost"));
  EXPECT_TRUE(IsLoopback("http://127.0.0.1:80/x"));
  EXPECT_TRUE(IsLoopback("http://[::1]:80/x"));
  EXPECT_FALSE(IsLoopback("http://127.0.0.1.example.com/x"));
  EXPECT_FALSE(IsLoopback("http://127.0.evil.0/x"));
  EXPECT_FALSE(IsLoopback("http://localhost.example.com"));
  EXPECT_FALSE(IsLoopback("http://localhost@example.com"));
}

TEST(UrlTest, BaseUrls) {
  EXPECT_EQ(*MakeBaseUrl("x", "localhost:9"), "http://localhost:9");
  EXPECT_EQ(*MakeBaseUrl("x", "private.example.com/"), "https://private.example.com");
  EXPECT_EQ(*MakeBaseUrl("x", "http://host:1/base/"), "http://host:1/base");
  for (const char* const bad : {"", "ftp://host", "https://", "https://user:pw@host",
                                "https://host?a=b", "https://ho st"}) {
    const Status status = MakeBaseUrl("x", bad).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(status.message().find("pw"), std::string::npos);
  }
}

TEST(UrlTest, PercentEncoding) {
  EXPECT_EQ(PercentEncode("a/b c~\xc3\xa9"), "a%2Fb%20c~%C3%A9");
  EXPECT_EQ(PercentEncode("a/b", true), "a/b");
}

}  // namespace
}  // namespace headway::net
