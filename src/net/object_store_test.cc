#include "net/object_store.h"

#include <gtest/gtest.h>

#include "net/aws_signature.h"
#include "net/test_http.h"

namespace headway::net {
namespace {

class ObjectStoreTest : public testing::Test {
 protected:
  Result<std::unique_ptr<RemoteObject>> Open(const char* url) {
    return OpenObject(url, {.writer = "w1"}, &google, &http, &clock);
  }
  MonoNs Soon() const { return clock.Mono() + 10 * kNanosPerSecond; }

  FakeClock clock;
  FakeHttp http;
  GoogleAuth google{&http, &clock, {.access_token = "t"}};
  ScopedVariable variables[7] = {
      {"STORAGE_EMULATOR_HOST", nullptr}, {"AWS_ENDPOINT_URL_S3", nullptr},
      {"AWS_ENDPOINT_URL", nullptr},      {"AWS_REGION", "eu-west-1"},
      {"AWS_ACCESS_KEY_ID", "AK"},        {"AWS_SECRET_ACCESS_KEY", "SK"},
      {"AWS_SESSION_TOKEN", nullptr}};
};

TEST_F(ObjectStoreTest, NamesThatCantBe) {
  for (const char* const url :
       {"gs://", "gs://b", "gs://b/", "gs://b/x/", "s3://b?c/x", "http://x/y"}) {
    EXPECT_EQ(Open(url).status().code(), Code::kInvalidArgument) << url;
  }
  const ScopedVariable no_key("AWS_ACCESS_KEY_ID", nullptr);
  EXPECT_EQ(Open("s3://b/x").status().code(), Code::kUnauthenticated);
}

TEST_F(ObjectStoreTest, GsNamesTheGenerationItReplaces) {
  const auto object = *Open("gs://b/dir/a b");
  http.Answer(200, R"({"generation": "11"})");
  EXPECT_TRUE(object->Put("one", Soon()).ok());
  http.Answer(200, R"({"generation": "12"})");
  EXPECT_TRUE(object->Put("two", Soon()).ok());
  ASSERT_EQ(http.sent.size(), 2U);
  EXPECT_EQ(http.sent[0].url,
            "https://storage.googleapis.com/upload/storage/v1/b/b/o?uploadType=multipart"
            "&ifGenerationMatch=0&fields=generation");
  EXPECT_EQ(http.sent[0].Header("Authorization"), "Bearer t");
  EXPECT_NE(http.sent[0].body.find(R"("name":"dir/a b")"), std::string::npos);
  EXPECT_NE(http.sent[0].body.find("\r\n\r\none\r\n"), std::string::npos);
  EXPECT_NE(http.sent[1].url.find("ifGenerationMatch=11&"), std::string::npos);
}

TEST_F(ObjectStoreTest, GsGoesOnWithItsOwnObjectOnly) {
  const auto object = *Open("gs://b/a");
  http.Answer(412);
  http.Answer(200, R"({"generation": "7", "metadata": {"headway-writer": "w1"}})");
  http.Answer(200, R"({"generation": "8"})");
  EXPECT_TRUE(object->Put("one", Soon()).ok());  // the answer to an earlier try got lost
  EXPECT_EQ(http.sent[1].url,
            "https://storage.googleapis.com/storage/v1/b/b/o/a?fields=generation,metadata");
  EXPECT_NE(http.sent[2].url.find("ifGenerationMatch=7&"), std::string::npos);

  http.Answer(412);
  http.Answer(200, R"({"generation": "9", "metadata": {"headway-writer": "w2"}})");
  EXPECT_EQ(object->Put("two", Soon()).code(), Code::kAlreadyExists);
  EXPECT_TRUE(http.answers.empty());

  http.Answer(412);
  http.Answer(404);  // removed
  http.Answer(200, R"({"generation": "10"})");
  EXPECT_TRUE(object->Put("two", Soon()).ok());
  EXPECT_NE(http.sent.back().url.find("ifGenerationMatch=0&"), std::string::npos);
}

TEST_F(ObjectStoreTest, GsErrors) {
  const auto object = *Open("gs://b/a");
  http.Answer(403, R"({"error": {"message": "no storage.objects.create"}})");
  const Status denied = object->Put("one", Soon());
  EXPECT_EQ(denied.code(), Code::kPermissionDenied);
  EXPECT_NE(denied.message().find("no storage.objects.create"), std::string::npos);
  http.Answer(503);
  EXPECT_EQ(object->Put("one", Soon()).code(), Code::kUnavailable);
  http.Fail({Code::kUnavailable, "no answer"});
  EXPECT_EQ(object->Put("one", Soon()).code(), Code::kUnavailable);
}

TEST_F(ObjectStoreTest, AnEmulatorFarAwayGetsNoToken) {
  const ScopedVariable emulator("STORAGE_EMULATOR_HOST", "http://gcs:4443");
  const auto object = *Open("gs://b/a");
  http.Answer(200, R"({"generation": "1"})");
  EXPECT_TRUE(object->Put("one", Soon()).ok());
  EXPECT_TRUE(http.sent[0].url.starts_with("http://gcs:4443/upload/"));
  EXPECT_EQ(http.sent[0].Header("Authorization"), "");
}

TEST_F(ObjectStoreTest, S3Preconditions) {
  const auto object = *Open("s3://b/dir/a b");
  http.Answer(200, "", {{"etag", "\"e1\""}});
  EXPECT_TRUE(object->Put("one", Soon()).ok());
  http.Answer(200, "", {{"etag", "\"e2\""}});
  EXPECT_TRUE(object->Put("two", Soon()).ok());
  EXPECT_EQ(http.sent[0].url, "https://b.s3.eu-west-1.amazonaws.com/dir/a%20b");
  EXPECT_EQ(http.sent[0].Header("If-None-Match"), "*");
  EXPECT_EQ(http.sent[1].Header("If-Match"), "\"e1\"");
  EXPECT_EQ(http.sent[1].Header("If-None-Match"), "");

  http.Answer(412);
  http.Answer(200, "", {{"x-amz-meta-headway-writer", "w2"}, {"etag", "\"e3\""}});
  EXPECT_EQ(object->Put("three", Soon()).code(), Code::kAlreadyExists);
  EXPECT_EQ(http.sent.back().method, "HEAD");
}

TEST_F(ObjectStoreTest, S3WithoutPreconditions) {
  const auto object = *Open("s3://b/a");
  http.Answer(501, "<Code>NotImplemented</Code>");
  http.Answer(404);
  http.Answer(200, "", {{"etag", "\"e\""}});
  EXPECT_TRUE(object->Put("one", Soon()).ok());
  EXPECT_EQ(http.sent[2].Header("If-None-Match"), "");
  http.Answer(200, "", {{"etag", "\"f\""}});
  EXPECT_TRUE(object->Put("two", Soon()).ok());
  EXPECT_EQ(http.sent[3].Header("If-Match"), "");
}

TEST_F(ObjectStoreTest, S3EndpointsAndRegions) {
  const ScopedVariable endpoint("AWS_ENDPOINT_URL", "http://minio:9000/");
  const auto object = *Open("s3://b/a");
  http.Answer(301, "", {{"x-amz-bucket-region", "us-west-2"}});
  const Status status = object->Put("one", Soon());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("us-west-2"), std::string::npos);
  EXPECT_EQ(http.sent[0].url, "http://minio:9000/b/a");
}

// The example "GET Object" of the documentation of Signature Version 4 for S3.
TEST(AwsSignatureTest, TheDocumentedExample) {
  Request request;
  request.url = "https://examplebucket.s3.amazonaws.com/test.txt";
  request.headers = {{"Range", "bytes=0-9"}};
  SignAws({"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""}, "us-east-1",
          "s3", {1'369'353'600 * kNanosPerSecond}, &request);
  EXPECT_EQ(request.headers.back().second,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

}  // namespace
}  // namespace headway::net
