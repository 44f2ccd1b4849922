#include "formats/otlp/answer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "formats/protobuf/wire.h"

namespace headway::otlp {
namespace {

std::string Protobuf(std::int64_t rejected, std::string_view message) {
  std::string partial;
  protobuf::AppendVarintField(1, static_cast<std::uint64_t>(rejected), &partial);
  protobuf::AppendBytesField(2, message, &partial);
  std::string response;
  protobuf::AppendBytesField(1, partial, &response);
  return response;
}

TEST(OtlpAnswerTest, SaysWhatWasRejectedInEitherEncoding) {
  for (const auto& [type, body] : {
           std::pair<std::string, std::string>("application/x-protobuf", Protobuf(7, "too old")),
           {"application/json; charset=utf-8",
            R"({"partialSuccess": {"rejectedDataPoints": "7", "errorMessage": "too old"}})"},
           {"application/json",
            R"({"partialSuccess": {"rejectedDataPoints": 7, "errorMessage": "too old"}})"},
       }) {
    const PartialSuccess partial = ReadPartialSuccess(type, body);
    EXPECT_EQ(partial.rejected_points, 7) << type;
    EXPECT_EQ(partial.message, "too old") << type;
  }
}

TEST(OtlpAnswerTest, OfAnythingElseNothingIsRejected) {
  for (const std::string& body :
       {std::string(), std::string("{}"), std::string("<html>"), std::string(3, '\xff'),
        Protobuf(-1, ""), Protobuf(0, ""), Protobuf(7, "cut").substr(0, 5),
        std::string(R"({"partialSuccess": null})"),
        std::string(R"({"partialSuccess": {"rejectedDataPoints": "many"}})"),
        std::string(R"({"partialSuccess": {"rejectedDataPoints": "-3"}})"),
        std::string(R"({"partialSuccess": {"rejectedDataPoints": 1e99}})")}) {
    EXPECT_EQ(ReadPartialSuccess("application/json", body).rejected_points, 0) << body;
    EXPECT_EQ(ReadPartialSuccess("application/x-protobuf", body).rejected_points, 0) << body;
  }
  // Words without rejected points are advice.
  EXPECT_EQ(ReadPartialSuccess("application/x-protobuf", Protobuf(0, "slow down")).message,
            "slow down");
}

}  // namespace
}  // namespace headway::otlp
