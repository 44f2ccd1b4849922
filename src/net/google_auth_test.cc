#include "net/google_auth.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/json_writer.h"
#include "base/test_scratch_dir.h"
#include "net/library.h"
#include "net/rsa_signer.h"
#include "net/test_http.h"

namespace headway::net {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

// An RSA key of 2048 bits, in PEM, for these tests and nothing else.
std::string MakeKey() {
  const Result<Library> crypto = Library::Load({"libcrypto.so.3", "libcrypto.so.1.1"}, "");
  decltype(&EVP_PKEY_CTX_new_id) context_new = nullptr;
  decltype(&EVP_PKEY_CTX_free) context_free = nullptr;
  decltype(&EVP_PKEY_keygen_init) keygen_init = nullptr;
  decltype(&EVP_PKEY_keygen) keygen = nullptr;
  decltype(&EVP_PKEY_free) key_free = nullptr;
  decltype(&BIO_new) bio_new = nullptr;
  decltype(&BIO_free) bio_free = nullptr;
  decltype(&BIO_s_mem) memory = nullptr;
  decltype(&PEM_write_bio_PKCS8PrivateKey) write = nullptr;
  decltype(&BIO_read) read = nullptr;
  EXPECT_TRUE(crypto->Find("EVP_PKEY_CTX_new_id", &context_new).ok());
  EXPECT_TRUE(crypto->Find("EVP_PKEY_CTX_free", &context_free).ok());
  EXPECT_TRUE(crypto->Find("EVP_PKEY_keygen_init", &keygen_init).ok());
  EXPECT_TRUE(crypto->Find("EVP_PKEY_keygen", &keygen).ok());
  EXPECT_TRUE(crypto->Find("EVP_PKEY_free", &key_free).ok());
  EXPECT_TRUE(crypto->Find("BIO_new", &bio_new).ok());
  EXPECT_TRUE(crypto->Find("BIO_free", &bio_free).ok());
  EXPECT_TRUE(crypto->Find("BIO_s_mem", &memory).ok());
  EXPECT_TRUE(crypto->Find("PEM_write_bio_PKCS8PrivateKey", &write).ok());
  EXPECT_TRUE(crypto->Find("BIO_read", &read).ok());
  EVP_PKEY_CTX* const context = context_new(EVP_PKEY_RSA, nullptr);
  EVP_PKEY* key = nullptr;
  EXPECT_EQ(keygen_init(context), 1);
  EXPECT_EQ(keygen(context, &key), 1);
  context_free(context);
  BIO* const bio = bio_new(memory());
  EXPECT_EQ(write(bio, key, nullptr, nullptr, 0, nullptr, nullptr), 1);
  key_free(key);
  std::string pem(8192, '\0');
  pem.resize(static_cast<std::size_t>(read(bio, pem.data(), static_cast<int>(pem.size()))));
  bio_free(bio);
  return pem;
}

const std::string& TestKey() {
  static const std::string key = MakeKey();
  return key;
}

class GoogleAuthTest : public testing::Test {
 protected:
  std::string Write(const std::string& json) {
    std::string path = scratch.path() + "/credentials.json";
    std::ofstream(path) << json;
    return path;
  }
  std::string ServiceAccount(const std::string& token_uri) {
    std::string json;
    JsonWriter(&json)
        .BeginObject()
        .Field("type", "service_account")
        .Field("project_id", "p1")
        .Field("client_email", "a@p1.iam.gserviceaccount.com")
        .Field("private_key_id", "k1")
        .Field("private_key", TestKey())
        .Field("token_uri", token_uri)
        .EndObject();
    return Write(json);
  }
  MonoNs Soon() const { return clock.Mono() + 10 * kSecond; }

  const ScratchDir scratch;
  FakeClock clock;
  FakeHttp http;
  ScopedVariable no_metadata{"GCE_METADATA_HOST", nullptr};
};

TEST_F(GoogleAuthTest, ServiceAccountTokensAreKeptUntilAMinuteBeforeTheirEnd) {
  GoogleAuth auth(&http, &clock,
                  {.credentials_file = ServiceAccount("https://oauth2.googleapis.com/token")});
  http.Answer(200, R"({"access_token": "t1", "expires_in": 3599, "token_type": "Bearer"})");
  EXPECT_EQ(*auth.Token(Soon()), "t1");
  ASSERT_EQ(http.sent.size(), 1U);
  EXPECT_EQ(http.sent[0].url, "https://oauth2.googleapis.com/token");
  EXPECT_TRUE(http.sent[0].body.starts_with(
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=eyJhbGciOiJSUz"))
      << http.sent[0].body;
  clock.Advance(3538 * kSecond);
  EXPECT_EQ(*auth.Token(Soon()), "t1");
  EXPECT_EQ(http.sent.size(), 1U);
  clock.Advance(kSecond);
  http.Answer(200, R"({"access_token": "t2", "expires_in": 3599})");
  EXPECT_EQ(*auth.Token(Soon()), "t2");
  EXPECT_EQ(auth.Description(), "the service account a@p1.iam.gserviceaccount.com");
  EXPECT_EQ(auth.LookUpMachine(Soon()).project_id, "p1");
}

TEST_F(GoogleAuthTest, ARefusedTokenIsFetchedAnewOnce) {
  GoogleAuth auth(&http, &clock, {.credentials_file = ServiceAccount("http://127.0.0.1:1/token")});
  http.Answer(200, R"({"access_token": "t1", "expires_in": 3599})");
  http.Answer(401, "");
  http.Answer(200, R"({"access_token": "t2", "expires_in": 3599})");
  http.Answer(401, "still not");
  const Result<Response> response = auth.Send({.url = "https://h/x"}, Soon());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 401);
  ASSERT_EQ(http.sent.size(), 4U);
  EXPECT_EQ(http.sent[1].Header("Authorization"), "Bearer t1");
  EXPECT_EQ(http.sent[3].Header("Authorization"), "Bearer t2");
}

TEST_F(GoogleAuthTest, AFixedTokenIsNotFetchedAnew) {
  GoogleAuth auth(&http, &clock, {.access_token = "fixed-token"});
  http.Answer(401, "what is fixed-token?");
  const Result<Response> response = auth.Send({.url = "https://h/x"}, Soon());
  EXPECT_EQ(response->status, 401);
  EXPECT_EQ(response->body, "what is [masked]?");
  EXPECT_EQ(http.sent.size(), 1U);
}

TEST_F(GoogleAuthTest, TokensDoNotTravelInClear) {
  GoogleAuth auth(&http, &clock, {.access_token = "fixed"});
  const Status status = auth.Send({.url = "http://example.com/x"}, Soon()).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message().find("fixed"), std::string::npos);
  EXPECT_TRUE(http.sent.empty());
  http.Answer(200);
  EXPECT_TRUE(auth.Send({.url = "http://localhost:1/x"}, Soon()).ok());
  GoogleAuth willing(&http, &clock, {.access_token = "fixed", .allow_plain_http = true});
  http.Answer(200);
  EXPECT_TRUE(willing.Send({.url = "http://example.com/x"}, Soon()).ok());
}

TEST_F(GoogleAuthTest, RefusalsOfTheTokenServer) {
  GoogleAuth auth(&http, &clock, {.credentials_file = ServiceAccount("http://127.0.0.1:1/token")});
  http.Answer(400, R"({"error": "invalid_grant", "error_description": "Invalid JWT Signature."})");
  const Status refused = auth.Token(Soon()).status();
  EXPECT_EQ(refused.code(), Code::kUnauthenticated);
  EXPECT_NE(refused.message().find("Invalid JWT Signature. (invalid_grant)"), std::string::npos);
  http.Answer(503);
  EXPECT_EQ(auth.Token(Soon()).status().code(), Code::kUnavailable);
  http.Answer(200, "{}");
  EXPECT_EQ(auth.Token(Soon()).status().code(), Code::kUnavailable);
}

TEST_F(GoogleAuthTest, ALoginOfAUserIsRefreshed) {
  GoogleAuth auth(&http, &clock,
                  {.credentials_file = Write(R"({"type": "authorized_user", "client_id": "id&",
                     "client_secret": "client-secret&", "refresh_token": "r", "quota_project_id": "q"})")});
  http.Answer(200, R"({"access_token": "t", "expires_in": 3599})");
  EXPECT_EQ(*auth.Token(Soon()), "t");
  EXPECT_EQ(
      http.sent[0].body,
      "grant_type=refresh_token&client_id=id%26&client_secret=client-secret%26&refresh_token=r");
  EXPECT_EQ(http.sent[0].url, "https://oauth2.googleapis.com/token");
  clock.Advance(3600 * kSecond);
  http.Answer(400, R"({"error": "invalid_grant: client-secret&"})");
  EXPECT_NE(auth.Token(Soon()).status().message().find("400: invalid_grant: [masked]"),
            std::string::npos);
}

TEST_F(GoogleAuthTest, UnusableCredentials) {
  const auto fault = [&](const std::string& path) {
    GoogleAuth auth(&http, &clock, {.credentials_file = path});
    return auth.Token(Soon()).status();
  };
  EXPECT_EQ(fault("/nowhere.json").code(), Code::kNotFound);
  EXPECT_EQ(fault(Write("[]")).code(), Code::kUnauthenticated);
  EXPECT_NE(fault(Write(R"({"type": "external_account"})")).message().find("external_account"),
            std::string::npos);
  EXPECT_EQ(fault(Write(R"({"type": "service_account", "private_key": "no key",
                            "client_email": "a@b"})"))
                .code(),
            Code::kUnauthenticated);
  EXPECT_EQ(
      fault(Write(R"({"type": "service_account", "token_uri": "http://example.com"})")).code(),
      Code::kUnauthenticated);
  EXPECT_TRUE(http.sent.empty());
}

TEST_F(GoogleAuthTest, MetadataServer) {
  GoogleAuth auth(&http, &clock, {});
  const Headers flavor{{"metadata-flavor", "Google"}};
  http.Answer(200, "p9", flavor);
  http.Answer(200, "projects/9/zones/us-central1-a\n", flavor);
  http.Answer(200, "projects/9/machineTypes/ct5lp-hightpu-4t", flavor);
  http.Answer(404, "no such attribute", flavor);
  const GoogleMachine machine = auth.LookUpMachine(Soon());
  EXPECT_EQ(machine.project_id, "p9");
  EXPECT_EQ(machine.zone, "us-central1-a");
  EXPECT_EQ(machine.machine_type, "ct5lp-hightpu-4t");
  EXPECT_EQ(machine.cluster_name, "");
  EXPECT_EQ(http.sent[0].url, "http://169.254.169.254/computeMetadata/v1/project/project-id");
  EXPECT_EQ(http.sent[0].Header("Metadata-Flavor"), "Google");
  EXPECT_TRUE(http.sent[0].direct);
  http.Answer(200, R"({"access_token": "m", "expires_in": 3599})", flavor);
  EXPECT_EQ(*auth.Token(Soon()), "m");
  clock.Advance(3600 * kSecond);
  http.Fail({Code::kUnavailable, "slow"});
  EXPECT_EQ(auth.Token(Soon()).status().code(), Code::kUnavailable);  // it was there before
}

TEST_F(GoogleAuthTest, OffGoogleCloudItIsAskedOnce) {
  for (const bool other_cloud : {false, true}) {
    FakeHttp none;
    GoogleAuth auth(&none, &clock, {});
    if (other_cloud) {
      none.Answer(200, "who are you");
    } else {
      none.Fail({Code::kUnavailable, "no route"});
    }
    EXPECT_EQ(auth.Token(Soon()).status().code(), Code::kUnauthenticated);
    EXPECT_EQ(auth.Token(Soon()).status().code(), Code::kUnauthenticated);
    EXPECT_EQ(auth.LookUpMachine(Soon()).project_id, "");
    EXPECT_EQ(none.sent.size(), 1U);
  }
}

TEST(RsaSignerTest, Base64Url) {
  EXPECT_EQ(Base64Url(""), "");
  EXPECT_EQ(Base64Url("f"), "Zg");
  EXPECT_EQ(Base64Url("fo"), "Zm8");
  EXPECT_EQ(Base64Url("foo"), "Zm9v");
  EXPECT_EQ(Base64Url("\xfb\xff"), "-_8");
}

TEST(LibraryTest, WhatIsMissingIsSaid) {
  const Status missing = Library::Load({"libnone.so.9", "libnone.so.8"}, "install none").status();
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_NE(missing.message().find("libnone.so.9"), std::string::npos);
  EXPECT_NE(missing.message().find("install none"), std::string::npos);
  const Result<Library> libc = Library::Load({"libc.so.6"}, "");
  void (*function)() = nullptr;
  EXPECT_TRUE(libc->Find("abort", &function).ok());
  EXPECT_EQ(libc->Find("no_such_function", &function).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace headway::net
