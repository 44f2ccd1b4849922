#include "model/packed_records.h"

#include <gtest/gtest.h>

#include <limits>

namespace headway {
namespace {

Record Sample() {
  Record record;
  record.type = RecordType::kSpanBegin;
  record.span = SpanKind::kCustom;
  record.blocking = Blocking::kNo;
  record.thread = 65'535;
  record.writer = 3;
  record.name = 2;
  record.seq = std::numeric_limits<std::uint64_t>::max() - 1;
  record.time_ns = kNoTime;
  record.a = -1;
  record.b = std::numeric_limits<std::int64_t>::max();
  return record;
}

TEST(PackedRecords, NothingIsLost) {
  std::string bytes;
  AppendPacked(Sample(), 1, &bytes);
  AppendPacked(Record(), 0, &bytes);
  ASSERT_EQ(bytes.size(), 2 * kPackedRecordBytes);
  std::vector<Record> records;
  ASSERT_TRUE(ReadPacked(bytes, 3, {0, 2}, &records).ok());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0], Sample());
  Record none;
  none.writer = 3;
  EXPECT_EQ(records[1], none);
}

TEST(PackedRecords, BytesAreAsDocumented) {
  Record record;
  record.type = RecordType::kStepStart;
  record.thread = 0x0102;
  record.seq = 5;
  record.time_ns = 0x1122334455667788;
  record.a = -2;
  std::string bytes;
  AppendPacked(record, 7, &bytes);
  const std::string expected(
      "\x03\0\0\0\x02\x01\0\0\0\0\0\0\x07\0\0\0\x05\0\0\0\0\0\0\0"
      "\x88\x77\x66\x55\x44\x33\x22\x11\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0",
      kPackedRecordBytes);
  EXPECT_EQ(bytes, expected);
}

TEST(PackedRecords, WhatIsNoneIsRefused) {
  std::string bytes;
  AppendPacked(Sample(), 1, &bytes);
  std::vector<Record> records;
  EXPECT_EQ(ReadPacked(bytes, 0, {0}, &records).code(), Code::kInvalidArgument);
  EXPECT_EQ(ReadPacked(bytes.substr(1), 0, {0, 1}, &records).code(), Code::kInvalidArgument);
  for (const std::size_t at : {0u, 1u, 2u}) {
    std::string newer = bytes;
    newer[at] = '\x7f';
    EXPECT_EQ(ReadPacked(newer, 0, {0, 1}, &records).code(), Code::kUnimplemented) << at;
  }
  EXPECT_TRUE(records.empty());
}

}  // namespace
}  // namespace headway
