#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "ledger/lead_place.h"
#include "ledger/ledger.h"
#include "ledger/slabs.h"

// Of random histories tests/property has more; these are long enough for many pages.

namespace headway::ledger {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// A place for pages.
class Shelf {
 public:
  Status Put(PageId page, std::string_view bytes) {
    EXPECT_TRUE(pages.emplace(page, bytes).second) << page;
    put += 1;
    return OkStatus();
  }
  ReadPage Reader() {
    return [this](PageId page) -> Result<std::string> {
      read += 1;
      const auto found = pages.find(page);
      if (found == pages.end()) return Status(Code::kNotFound, "no such page");
      return found->second;
    };
  }
  Snapshot Take(Ledger* ledger, std::size_t least_page = 1024) {
    put = 0;
    Result<Snapshot> taken = ledger->TakeSnapshot(
        [this](PageId page, std::string_view bytes) { return Put(page, bytes); }, least_page);
    EXPECT_TRUE(taken.ok()) << taken.status().ToString();
    return std::move(taken).value();
  }
  Ledger Restored(const Snapshot& snapshot) {
    read = 0;
    Result<Ledger> ledger = Ledger::Restore(snapshot.head, Reader());
    EXPECT_TRUE(ledger.ok()) << ledger.status().ToString();
    return std::move(ledger).value();
  }
  void KeepOnly(const Snapshot& snapshot) {
    std::erase_if(pages, [&snapshot](const auto& page) {
      return !std::ranges::binary_search(snapshot.pages, page.first);
    });
  }

  std::map<PageId, std::string> pages;
  int put = 0;
  int read = 0;
};

/// Writes steps of a training job, each with a span of data loading, and what else is told to it.
class Job {
 public:
  explicit Job(Ledger* ledger, const std::string& key = "job/1") {
    Writer writer;
    writer.uid = key + "/0";
    writer.rank = 0;
    writer.attempt_key = key;
    writer_ = ledger->AddWriter(writer);
    Add(RecordType::kJobStart);
  }
  Record& Add(RecordType type, std::int64_t a = 0) {
    Record& record = records.emplace_back();
    record.type = type;
    record.writer = writer_;
    record.seq = seq_++;
    record.time_ns = now += kMs;
    record.a = a;
    return record;
  }
  void Steps(std::int64_t from, std::int64_t count) {
    for (std::int64_t step = from; step < from + count; ++step) {
      Add(RecordType::kStepStart, step);
      Record& begin = Add(RecordType::kSpanBegin, kNoStep);
      begin.span = SpanKind::kDataLoading;
      const auto handle = static_cast<std::int64_t>(begin.seq);
      now += step * 7919 % 1000 * 10'000;
      Record& end = Add(RecordType::kSpanEnd, kNoStep);
      end.span = SpanKind::kDataLoading;
      end.b = handle;
      now += 100 * kMs + step * 104'729 % 1000 * 1000;
    }
  }

  std::vector<Record> records;
  std::int64_t now = 1'700'000'000'000 * kMs;

 private:
  WriterId writer_ = 0;
  std::uint64_t seq_ = 0;
};

std::string Answer(Ledger* ledger, const Query& query = {}) {
  return ToJson(ledger->MakeReport(query)) + ToJson(ledger->Timeline(query)) +
         ToJson(ledger->Steps(query));
}

/// `bytes` with a checksum that fits them.
std::string Signed(std::string bytes) {
  const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

std::string Unsigned(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(std::uint32_t));
  return bytes;
}

TEST(SnapshotTest, ALongRunNeedsAHandfulOfPages) {
  constexpr std::int64_t kSteps = 300'000;
  Ledger ledger;
  Job job(&ledger);
  job.Steps(0, kSteps);
  ledger.Add(job.records);
  const std::string report = ToJson(ledger.MakeReport());
  Shelf shelf;
  const Snapshot snapshot = shelf.Take(&ledger);
  EXPECT_LT(snapshot.head.size(), 300U << 10);
  EXPECT_GT(snapshot.pages.size(), 50U);
  for (const auto& [page, bytes] : shelf.pages) EXPECT_LE(bytes.size(), 128U << 10);

  Ledger restored = shelf.Restored(snapshot);
  EXPECT_EQ(ToJson(restored.MakeReport()), report);
  EXPECT_LE(shelf.read, 2);
  EXPECT_LT(restored.MemoryBytes(), 2U << 20);
  job.records.clear();
  job.Steps(kSteps, 1000);
  ledger.Add(job.records);
  restored.Add(job.records);
  EXPECT_EQ(ToJson(restored.MakeReport()), ToJson(ledger.MakeReport()));
  EXPECT_LE(shelf.read, 2);

  // Of what was there only the ends are written again.
  EXPECT_LE((shelf.Take(&restored), shelf.put), 3);

  shelf.read = 0;
  Query query;
  query.window = {{*ledger.LastTime() - 20'000'000 * kMs, *ledger.LastTime() - 10'000'000 * kMs}};
  EXPECT_EQ(ToJson(restored.MakeReport(query)), ToJson(ledger.MakeReport(query)));
  EXPECT_LE(shelf.read, 6);
  query.window.reset();
  query.as_of = *ledger.LastTime() - 15'000'000 * kMs;
  EXPECT_EQ(ToJson(restored.MakeReport(query)), ToJson(ledger.MakeReport(query)));
  EXPECT_GT(restored.MemoryBytes(), 3U << 20);
  restored.ReleasePages();
  EXPECT_LT(restored.MemoryBytes(), 2U << 20);
  EXPECT_EQ(Answer(&restored), Answer(&ledger));
}

TEST(SnapshotTest, EarlierAttemptsNeedNoPages) {
  Ledger ledger;
  std::int64_t now = 0;
  for (int attempt = 0; attempt < 40; ++attempt) {
    Job job(&ledger, "job/" + std::to_string(attempt));
    if (now != 0) job.now = now + 1000 * kMs;
    job.records.front().time_ns = job.now;
    job.Steps(attempt * 900, 1000);  // the last hundred are lost
    now = job.now;
    ledger.Add(job.records);
  }
  const std::string report = ToJson(ledger.MakeReport());
  Shelf shelf;
  Ledger restored = shelf.Restored(shelf.Take(&ledger));
  EXPECT_EQ(ToJson(restored.MakeReport()), report);
  EXPECT_LE(shelf.read, 9);  // of the last attempts' steps
}

TEST(SnapshotTest, LateRecordsReachBackThroughPages) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Ledger stays;
    Ledger moves;
    Job job(&stays);
    (void)Job(&moves);
    std::int64_t step = 0;
    for (int part = 0; part < 60; ++part) {
      job.Steps(step, 50 + random() % 400);
      step += 50;
      if (random() % 4 == 0) {
        Record& span = job.Add(RecordType::kSpanBegin, kNoStep);
        span.span = SpanKind::kCustom;
        span.blocking = Blocking::kYes;
      }
      if (random() % 4 == 0) step -= 200;  // a rollback
      step = std::max<std::int64_t>(step, 0);
    }
    // Some come late, by much or little, some twice.
    std::vector<Record> records = job.records;
    for (int i = 0; i < 12; ++i) {
      const std::size_t from = random() % records.size();
      const std::size_t to = std::min(records.size() - 1, from + random() % 3000);
      std::rotate(records.begin() + static_cast<std::ptrdiff_t>(from),
                  records.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                  records.begin() + static_cast<std::ptrdiff_t>(to) + 1);
      records.insert(records.begin() + static_cast<std::ptrdiff_t>(to), records[from]);
    }
    Shelf shelf;
    for (std::size_t at = 0; at < records.size();) {
      const std::size_t size = std::min<std::size_t>(records.size() - at, random() % 4000 + 1);
      const auto some = std::span<const Record>(records).subspan(at, size);
      stays.Add(some);
      moves.Add(some);
      at += size;
      const Snapshot snapshot = shelf.Take(&moves, random() % 2048);
      shelf.KeepOnly(snapshot);
      ASSERT_EQ(shelf.pages.size(), snapshot.pages.size());
      if (random() % 3 != 0) moves = shelf.Restored(snapshot);
      if (random() % 2 == 0) moves.SetReadPage(shelf.Reader());
      if (random() % 2 == 0) moves.ReleasePages();
      if (random() % 4 == 0) {
        ASSERT_EQ(Answer(&moves), Answer(&stays)) << at;
      }
    }
    ASSERT_EQ(Answer(&moves), Answer(&stays));
  }
}

TEST(SnapshotTest, APlaceFromBeforeNeverMatches) {
  Ledger ledger;
  Job job(&ledger);
  job.Steps(0, 10);
  ledger.Add(job.records);
  LeadPlace place;
  EXPECT_TRUE(ledger.VisitLeads(&place, [](const Record&) { return true; }));
  Ledger restored = Ledger::Restore(ledger.Pack()).value();
  EXPECT_FALSE(restored.VisitLeads(&place, [](const Record&) { return true; }));
  LeadPlace fresh;
  std::size_t visited = 0;
  EXPECT_TRUE(restored.VisitLeads(&fresh, [&visited](const Record&) { return ++visited > 0; }));
  EXPECT_EQ(visited, job.records.size());
}

TEST(SnapshotTest, APageThatIsLostOrDamagedIsSaid) {
  Ledger ledger;
  Job job(&ledger);
  job.Steps(0, 20'000);
  ledger.Add(job.records);
  Shelf shelf;
  const Snapshot snapshot = shelf.Take(&ledger);
  Query past;
  past.as_of = job.records[100].time_ns;
  {
    Shelf damaged = shelf;
    for (auto& [page, bytes] : damaged.pages) bytes[bytes.size() / 2] ^= 4;
    Ledger restored = damaged.Restored(snapshot);
    try {
      restored.MakeReport(past);
      FAIL() << "a damaged page was read";
    } catch (const PageLost& lost) {
      EXPECT_EQ(lost.status().code(), Code::kDataLoss) << lost.what();
    }
  }
  Shelf empty;
  Ledger restored = empty.Restored(snapshot);
  try {
    restored.MakeReport(past);
    FAIL() << "a missing page was read";
  } catch (const PageLost& lost) {
    EXPECT_EQ(lost.status().code(), Code::kNotFound) << lost.what();
  }
}

TEST(SnapshotTest, AFailedPutIsTriedAgain) {
  Ledger ledger;
  Job job(&ledger);
  job.Steps(0, 20'000);
  ledger.Add(job.records);
  Shelf shelf;
  int left = 3;
  const Result<Snapshot> failed = ledger.TakeSnapshot([&](PageId page, std::string_view bytes) {
    if (left-- == 0) return Status(Code::kUnavailable, "full");
    return shelf.Put(page, bytes);
  });
  EXPECT_EQ(failed.status().code(), Code::kUnavailable);
  EXPECT_EQ(shelf.pages.size(), 3U);
  const Snapshot snapshot = shelf.Take(&ledger);
  EXPECT_EQ(shelf.pages.size(), snapshot.pages.size());
  Ledger restored = shelf.Restored(snapshot);
  EXPECT_EQ(Answer(&restored), Answer(&ledger));
}

TEST(SnapshotTest, FindsDamage) {
  Ledger ledger;
  Job job(&ledger);
  job.Steps(0, 20);
  ledger.Add(job.records);
  const std::string bytes = ledger.Pack();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_EQ(Ledger::Restore(damaged).status().code(), Code::kDataLoss) << i;
    EXPECT_EQ(Ledger::Restore(std::string_view(bytes).substr(0, i)).status().code(),
              Code::kDataLoss);
  }
  const std::string plain = Unsigned(bytes);
  for (std::size_t size = 8; size < plain.size(); ++size) {  // cut, and signed all the same
    EXPECT_EQ(Ledger::Restore(Signed(plain.substr(0, size))).status().code(), Code::kDataLoss)
        << size;
  }
  EXPECT_EQ(Ledger::Restore(Signed(plain + "x")).status().code(), Code::kDataLoss);
  // Whatever stands there: an error or a ledger. Numbers may be anything, and their sums beyond
  // all, which a build with sanitizers would mind.
#ifdef __SANITIZE_ADDRESS__
  constexpr bool kAsk = false;
#else
  constexpr bool kAsk = true;
#endif
  for (std::size_t i = 9; i < plain.size(); ++i) {
    for (const char other : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string changed = plain;
      changed[i] = other;
      Result<Ledger> restored = Ledger::Restore(Signed(changed));
      if (!restored.ok()) continue;
      try {
        if (kAsk) restored->MakeReport();
      } catch (const PageLost&) {  // of records or rows that cannot be
      }
    }
  }
}

TEST(SnapshotTest, LeavesNewerVersionsAlone) {
  std::string bytes = Unsigned(Ledger().Pack());
  bytes[8] += 1;  // the version follows the magic
  EXPECT_EQ(Ledger::Restore(Signed(bytes)).status().code(), Code::kUnimplemented);
  bytes[8] -= 2;
  EXPECT_EQ(Ledger::Restore(Signed(bytes)).status().code(), Code::kDataLoss);
}

// One history with nearly everything in it. A server keeps snapshots over an upgrade: where this
// fails, what is kept or what is derived has changed, so raise kVersion in ledger.cc, and only then
// put the new checksum here.
TEST(SnapshotTest, OneVersionIsOneFormatAndOneDerivation) {
  Ledger ledger;
  ledger.SetSupervised(true);
  std::mt19937 random(7);  // the standard says which numbers it gives
  const NameId names[] = {ledger.InternName("eval"), ledger.InternName("Eval"),
                          ledger.InternName("scale_up"), ledger.InternName("bad_line")};
  std::vector<WriterId> writers;
  for (int i = 0; i < 6; ++i) {
    Writer writer;
    writer.uid = "writer " + std::to_string(i);
    writer.rank = i % 3 - 1;
    writer.event_file = i >= 3;
    writer.host = "h";
    writer.pid = i + 1;
    writer.supervisor = i == 5;
    if (i < 2) writer.attempt_key = "job/" + std::to_string(i);
    writers.push_back(ledger.AddWriter(writer, static_cast<Liveness>(i % 3)));
  }
  std::vector<std::uint64_t> seq(writers.size(), 0);
  std::int64_t step = 0;
  std::vector<Record> records;
  for (int i = 0; i < 12'000; ++i) {
    Record record;
    record.writer = writers[i < 3000 ? 0 : random() % writers.size()];
    record.seq = seq[record.writer]++;
    record.time_ns = (i + static_cast<int>(random() % 3)) * 50 * kMs;
    const unsigned dice = random() % 64;
    record.type = dice < 30   ? RecordType::kStepStart
                  : dice < 40 ? RecordType::kSpanBegin
                  : dice < 48 ? RecordType::kSpanEnd
                              : static_cast<RecordType>(random() % 23);
    record.a = record.type == RecordType::kStepStart ? step++ : static_cast<int>(random() % 8);
    if (record.type == RecordType::kStepStart && random() % 128 == 0) step -= step % 16;
    record.b = record.type == RecordType::kExclude ? record.a + 5 : kNoHandle;
    if (record.type == RecordType::kExclude) {
      record.a = record.time_ns;
      record.b = record.a + 70 * kMs;
    }
    if (record.type == RecordType::kQuery) record.type = RecordType::kHeartbeat;
    record.span = static_cast<SpanKind>(random() % kSpanKindCount);
    record.blocking = static_cast<Blocking>(random() % 3);
    record.name = names[random() % 4];
    record.thread = random() % 32 == 0 ? 1 : 0;
    records.push_back(record);
  }
  ledger.Add(records);
  ledger.MakeReport();
  const std::string bytes = Unsigned(ledger.Pack());
  EXPECT_EQ(bytes[8], 3);
  EXPECT_EQ(Crc32c(bytes.data(), bytes.size()), 3'503'529'063U)
      << "what a snapshot keeps or what is derived has changed: raise kVersion in ledger.cc";
}

TEST(SlabsTest, AreCutAndGoOn) {
  Slabs slabs;
  for (int i = 0; i < 40; ++i) {
    slabs.MakeRoom(1000);
    slabs.back().bytes[slabs.back().used] = static_cast<std::uint8_t>(i);
    slabs.back().used += 1000;
  }
  const std::size_t before = slabs.MemoryBytes();
  const std::uint32_t kept = slabs.size() / 2;
  slabs.Cut(kept, 500);
  EXPECT_LT(slabs.MemoryBytes(), before);
  EXPECT_EQ(slabs.size(), kept);
  for (int i = 0; i < 200; ++i) {
    slabs.MakeRoom(1000);
    slabs.back().used += 1000;
  }
  EXPECT_EQ(slabs.Bytes(0)[0], 0);
  slabs.Cut(0, 0);
  EXPECT_EQ(slabs.MemoryBytes(), 0U);
}

}  // namespace
}  // namespace headway::ledger
