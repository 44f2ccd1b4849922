#include "journal/format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/limits.h"
#include "journal/test_files.h"

namespace headway::journal {
namespace {

Header FullHeader() {
  Header h = GoldenHeader();
  h.origin = Origin::kSupervisor;
  h.rank = 3;
  h.local_rank = 1;
  h.writer_name = "worker";
  h.destination = "/data/runs";
  h.cluster = "alps";
  h.location = "eu-west-1a";
  return h;
}

TEST(FormatTest, HeaderSurvivesTheRoundTrip) {
  const Header h = FullHeader();
  const auto bytes = EncodeHeader(h);
  const Result<Header> d = DecodeHeader(bytes.data(), bytes.size(), "f");
  ASSERT_TRUE(d.ok()) << d.status().ToString();
  EXPECT_EQ(EncodeHeader(*d), bytes);
  EXPECT_EQ(d->uid, h.uid);
  EXPECT_EQ(d->run_uid, h.run_uid);
  EXPECT_EQ(d->boot_id, h.boot_id);
  EXPECT_EQ(d->origin, h.origin);
  EXPECT_TRUE(d->locked && d->mapped && !d->event_file);
  EXPECT_EQ(d->anchor.wall, h.anchor.wall);
  EXPECT_EQ(d->anchor.mono, h.anchor.mono);
  EXPECT_EQ(d->rank, h.rank);
  EXPECT_EQ(d->local_rank, h.local_rank);
  EXPECT_EQ(d->world_size, h.world_size);
  EXPECT_EQ(d->attempt_index, h.attempt_index);
  EXPECT_EQ(d->pid, h.pid);
  EXPECT_EQ(d->tid, h.tid);
  EXPECT_EQ(d->pid_start, h.pid_start);
  EXPECT_EQ(d->pid_namespace, h.pid_namespace);
  EXPECT_EQ(d->device, h.device);
  EXPECT_EQ(d->inode, h.inode);
  for (auto member : {&Header::project, &Header::run, &Header::attempt_key, &Header::host,
                      &Header::writer_name, &Header::job_id, &Header::destination,
                      &Header::software, &Header::cluster, &Header::location}) {
    EXPECT_FALSE((h.*member).empty());
    EXPECT_EQ(*d.*member, h.*member);
  }
}

TEST(FormatTest, LongestStringsFit) {
  Header h = FullHeader();
  const std::string longest(limits::kNameBytes, 'x');
  for (auto member :
       {&Header::project, &Header::run, &Header::attempt_key, &Header::host, &Header::writer_name,
        &Header::job_id, &Header::software, &Header::cluster, &Header::location}) {
    h.*member = longest + "cut";
  }
  h.destination = std::string(1024, 'd');
  const auto bytes = EncodeHeader(h);
  const Result<Header> d = DecodeHeader(bytes.data(), bytes.size(), "f");
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->project, longest);
  EXPECT_EQ(d->software, longest);
  EXPECT_EQ(d->destination, h.destination);
}

TEST(FormatTest, EveryBitOfTheHeaderIsGuarded) {
  const auto good = EncodeHeader(FullHeader());
  for (std::size_t bit = 0; bit < kLiveOffset * 8; bit += 7) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(DecodeHeader(bytes.data(), bytes.size(), "f").ok()) << "bit " << bit;
  }
  auto bytes = good;
  bytes[kLiveDroppedOffset] = std::byte{5};  // what changes while the journal lives
  EXPECT_TRUE(DecodeHeader(bytes.data(), bytes.size(), "f").ok());
}

TEST(FormatTest, EachProblemOfAHeaderHasItsOwnAnswer) {
  const auto good = EncodeHeader(FullHeader());
  auto newer = good;
  newer[8] = std::byte{7};
  newer[12] = std::byte{5};        // what counts is the version that a reader must know
  auto newer_but_readable = good;  // a later minor version: only what it says may not be trusted
  auto flipped = good;
  flipped[300] ^= std::byte{1};
  std::string foreign = "PK\x03\x04 some archive";
  const struct {
    std::string what;
    const std::byte* data;
    std::size_t size;
    Code code;
    std::string text;
  } kCases[] = {
      {"empty", good.data(), 0, Code::kDataLoss, "empty file"},
      {"truncated in the signature", good.data(), 5, Code::kDataLoss,
       "truncated header: the file ends at byte 5 of the 4096"},
      {"truncated", good.data(), 4095, Code::kDataLoss,
       "truncated header: the file ends at byte 4095 of the 4096"},
      {"foreign", reinterpret_cast<const std::byte*>(foreign.data()), foreign.size(),
       Code::kDataLoss, "not a headway journal"},
      {"newer", newer.data(), newer.size(), Code::kDataLoss, "journal format 5 (byte 12)"},
      {"newer and truncated", newer.data(), 100, Code::kDataLoss, "journal format 5 (byte 12)"},
      {"flipped", flipped.data(), flipped.size(), Code::kDataLoss, "damaged header"},
  };
  for (const auto& c : kCases) {
    const Status status = DecodeHeader(c.data, c.size, "dir/f.hwj").status();
    EXPECT_EQ(status.code(), c.code) << c.what;
    EXPECT_NE(status.message().find(c.text), std::string::npos) << status.message();
    EXPECT_TRUE(status.message().starts_with("dir/f.hwj: ")) << status.message();
  }
  EXPECT_TRUE(DecodeHeader(newer_but_readable.data(), good.size(), "f").ok());
}

TEST(FormatTest, SpanEndsPackBeginAndName) {
  for (const std::int64_t begin : {kNoHandle, std::int64_t{0}, std::int64_t{1} << 31}) {
    for (const std::uint32_t name : {0u, 1u, kMaxNameId}) {
      const std::int64_t b = PackSpanEnd(begin, name);
      EXPECT_EQ(SpanEndBegin(b), begin);
      EXPECT_EQ(SpanEndName(b), name);
    }
  }
}

TEST(FormatTest, ChecksumDependsOnJournalAndPlace) {
  const std::uint32_t a = SaltOf(DeriveUid<JournalUid>("a"));
  const std::uint32_t b = SaltOf(DeriveUid<JournalUid>("b"));
  EXPECT_NE(SlotCrc(a, 0, 1, 2, 3, 4), SlotCrc(b, 0, 1, 2, 3, 4));
  for (std::uint64_t i = 1; i < 1000; ++i) {
    EXPECT_NE(SlotCrc(a, 0, 1, 2, 3, 4), SlotCrc(a, i, 1, 2, 3, 4));
  }
}

TEST(FormatTest, WriterOfAHeader) {
  Header h = FullHeader();
  Writer w = ToModelWriter(h);
  EXPECT_EQ(w.uid, ToHex(h.uid));
  EXPECT_EQ(w.name, "worker");
  EXPECT_EQ(w.rank, 3);
  EXPECT_TRUE(w.monotonic);
  h.writer_name.clear();
  h.origin = Origin::kRecorder;
  EXPECT_EQ(ToModelWriter(h).name, "rank 3");
  h.rank = -1;
  EXPECT_EQ(ToModelWriter(h).name, "node1:4242");
  h.origin = Origin::kImport;
  EXPECT_FALSE(ToModelWriter(h).monotonic);
}

}  // namespace
}  // namespace headway::journal
