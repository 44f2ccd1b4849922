#include "server/message_parts.h"

#include <gtest/gtest.h>
#include <headway/v1/journal_service.pb.h>
#include <headway/v1/series_service.pb.h>

#include <memory>
#include <string>
#include <vector>

namespace headway::server {
namespace {

const google::protobuf::Descriptor& Points() { return *v1::WritePointsRequest::descriptor(); }

TEST(MessageParts, ThoseOfUsualRequestsAreFew) {
  v1::WritePointsRequest request;
  v1::PointFrame* const frame = request.add_frames();
  for (int i = 0; i < 60'000; ++i) frame->add_times(i << 20);
  for (int i = 0; i < 200; ++i) {
    v1::PointColumn* const column = frame->add_columns();
    column->set_name("m");
    (*column->mutable_labels())["device"] = std::to_string(i);
    for (int k = 0; k < 60'000; ++k) column->add_values(k);
  }
  const std::string bytes = request.SerializeAsString();
  EXPECT_GT(bytes.size(), std::size_t{90} << 20);
  EXPECT_TRUE(CheckParts(Points(), bytes).ok());
  v1::AppendJournalsRequest journals;
  for (int i = 0; i < 512; ++i)
    journals.add_pieces()->add_packed()->set_bytes(std::string(9'000, 'x'));
  EXPECT_TRUE(CheckParts(*journals.GetDescriptor(), journals.SerializeAsString()).ok());
}

TEST(MessageParts, ManySmallOnesAreRefusedWhereverTheyLie) {
  const std::string two("\x2a\x00", 2);  // a frame with nothing in it
  std::string bytes;
  for (std::size_t i = 0; i < limits::kMessageParts; ++i) bytes += two;
  EXPECT_TRUE(CheckParts(Points(), bytes).ok());
  EXPECT_EQ(CheckParts(Points(), bytes + two).code(), Code::kInvalidArgument);
  // In a frame, as fields that nobody knows, and as texts.
  v1::WritePointsRequest outer;
  v1::PointFrame inner;
  for (std::size_t i = 0; i < limits::kMessageParts; ++i) inner.add_columns();
  *outer.add_frames() = inner;
  EXPECT_EQ(CheckParts(Points(), outer.SerializeAsString()).code(), Code::kInvalidArgument);
  std::string unknown;
  for (std::size_t i = 0; i <= limits::kMessageParts; ++i) unknown += std::string("\x78\x00", 2);
  EXPECT_EQ(CheckParts(Points(), unknown).code(), Code::kInvalidArgument);
}

TEST(MessageParts, WhatCannotBeTakenApart) {
  const std::string groups(1 << 20, '\x0b');
  EXPECT_EQ(CheckParts(Points(), groups).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckParts(Points(), std::string(1 << 20, '\xff')).code(), Code::kInvalidArgument);
}

TEST(MessageParts, OfJson) {
  std::string list = "{\"names\": [";
  for (std::size_t i = 0; i < limits::kMessageParts - 2; ++i) list += "\"\",";
  EXPECT_TRUE(CheckJsonParts(list + "\"\"]}").ok());
  EXPECT_EQ(CheckJsonParts(list + "\"\",\"\"]}").code(), Code::kInvalidArgument);
  EXPECT_TRUE(CheckJsonParts(std::string(1 << 24, ' ')).ok());
}

TEST(LargeRequests, SomeAtOnce) {
  LargeRequests all;
  {
    std::vector<std::unique_ptr<LargeRequests::Leave>> leaves;
    for (int i = 0; i < limits::kServerLargeRequests; ++i) {
      leaves.push_back(std::make_unique<LargeRequests::Leave>(&all, limits::kServerLargeBytes));
      EXPECT_TRUE(leaves.back()->status().ok());
    }
    EXPECT_EQ(LargeRequests::Leave(&all, limits::kServerLargeBytes).status().code(),
              Code::kResourceExhausted);
    EXPECT_TRUE(LargeRequests::Leave(&all, limits::kServerLargeBytes - 1).status().ok());
    leaves.pop_back();
    EXPECT_TRUE(LargeRequests::Leave(&all, limits::kServerLargeBytes).status().ok());
  }
  EXPECT_TRUE(LargeRequests::Leave(&all, limits::kServerLargeBytes).status().ok());
}

}  // namespace
}  // namespace headway::server
