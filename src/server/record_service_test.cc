#include "server/record_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/test_scratch_dir.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "model/packed_records.h"
#include "server/run_ledger.h"
#include "server/upkeep.h"
#include "store/directory/blob_store.h"
#include "store/sqlite/record_store.h"

namespace headway::server {
namespace {

/// A store that counts how many slots are read.
class CountingStore : public store::RecordStore {
 public:
  explicit CountingStore(store::RecordStore* store) : store_(store) {}

  Status Append(std::span<const store::Batch> batches) override { return store_->Append(batches); }
  Result<store::Journal> FindJournal(const JournalUid& uid) override {
    return store_->FindJournal(uid);
  }
  Result<std::string> ReadSlots(const JournalUid& uid, std::uint64_t first_slot,
                                std::uint64_t count) override {
    Result<std::string> slots = store_->ReadSlots(uid, first_slot, count);
    if (slots.ok()) read += slots->size() / store::kSlotBytes;
    return slots;
  }
  Result<std::vector<store::Journal>> ListJournals(const RunUid& uid) override {
    return store_->ListJournals(uid);
  }
  Result<bool> WasPurged(const RunUid& uid) override { return store_->WasPurged(uid); }
  Result<bool> GiveBackRoom() override { return store_->GiveBackRoom(); }
  Result<std::uint64_t> StoredBytes(const RunUid& uid) override { return store_->StoredBytes(uid); }

  std::uint64_t read = 0;

 private:
  store::RecordStore* store_;
};

class RecordServiceTest : public testing::Test {
 protected:
  RecordServiceTest() {
    auto opened = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    ledgers_ = std::make_unique<RunLedgers>(LedgerStores{store_.get()}, &clock_);
    blobs_ = store::OpenDirectoryBlobStore(dir_.path(), &clock_).value();
    upkeep_ = std::make_unique<Upkeep>(store_.get(), blobs_.get(), ledgers_.get(), &clock_,
                                       std::function<void(const Status&)>());
    registry_ = std::make_unique<RunRegistry>(store_.get(), upkeep_.get(), &clock_);
    service_ = std::make_unique<RecordService>(registry_.get(), store_.get(), &clock_);
    run_uid_ = RandomUid<RunUid>();
  }

  // A journal of the run with so many steps, whose writer lives.
  std::unique_ptr<journal::JournalWriter> Write(std::int64_t rank, int steps) {
    journal::WriterOptions options;
    options.clock = &clock_;
    options.header.project = "default";
    options.header.run = "r";
    options.header.run_uid = run_uid_;
    options.header.rank = rank;
    auto writer = journal::JournalWriter::Create(dir_.path(), options);
    HEADWAY_CHECK(writer.ok());
    Add(writer->get(), steps);
    return *std::move(writer);
  }

  void Add(journal::JournalWriter* writer, int steps) {
    const std::uint64_t first = writer->next_seq();
    for (int step = 0; step < steps; ++step) {
      clock_.Advance(kNanosPerSecond);
      writer->Append(journal::MetaHigh(RecordType::kStepStart, 0), writer->Now(), step, 0);
    }
    Send(writer, first);
  }

  // The slots from `first` on, up to `end`; that of `hole` is missing.
  void Send(journal::JournalWriter* writer, std::uint64_t first,
            std::optional<std::uint64_t> hole = {}, std::optional<std::uint64_t> end = {}) {
    const Result<UniqueFd> fd = OpenForReading(writer->path());
    std::string bytes(journal::SlotOffset(end.value_or(writer->next_seq())), '\0');
    ASSERT_TRUE(ReadAt(fd->get(), bytes.data(), bytes.size(), 0, "").ok());
    if (hole) bytes.replace(journal::SlotOffset(*hole), journal::kSlotBytes, 32, '\0');
    const Result<journal::Header> header = journal::ReadHeader(writer->path());
    ASSERT_TRUE(header.ok());
    const store::Batch batch = {.identity = {.uid = header->uid,
                                             .run_uid = run_uid_,
                                             .project = "default",
                                             .run = "r",
                                             .start = header->anchor.wall.ns,
                                             .header = bytes.substr(0, journal::kHeaderBytes)},
                                .first_slot = first,
                                .slots = std::string_view(bytes).substr(journal::SlotOffset(first)),
                                .counters = bytes.substr(journal::kLiveOffset, 24),
                                .writer = Liveness::kAlive,
                                .heard = clock_.Wall().ns};
    ASSERT_TRUE(store_->Append(std::span(&batch, 1)).ok());
  }

  v1::ListRecordsResponse Page(int size, const std::string& token, bool packed = false) {
    v1::ListRecordsRequest request;
    request.set_run("r");
    request.set_page_size(size);
    request.set_page_token(token);
    request.set_packed(packed);
    const Result<v1::ListRecordsResponse> page = service_->ListRecords({}, request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    return page.ok() ? *page : v1::ListRecordsResponse();
  }

  // "rank:step" of all records, by pages of that size; `forget`: with a new service each time.
  std::string All(int size, bool forget = false) {
    std::string all;
    std::string rank;
    std::string token;
    do {
      const v1::ListRecordsResponse page = Page(size, token);
      int count = 0;
      for (const v1::JournalRecords& part : page.journals()) {
        if (!part.header().empty()) {
          std::string bytes = part.header();
          bytes.resize(journal::kHeaderBytes, '\0');
          const Result<journal::Header> header = journal::DecodeHeader(
              reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "header");
          EXPECT_TRUE(header.ok()) << header.status().ToString();
          EXPECT_EQ(part.writer(), v1::WRITER_STATE_ALIVE);
          rank = std::to_string(header->rank);
        }
        for (const v1::Record& record : part.records()) {
          all += rank + ":" + std::to_string(record.a()) + " ";
          ++count;
        }
      }
      EXPECT_LE(count, size);
      token = page.next_page_token();
      if (forget)
        service_ = std::make_unique<RecordService>(registry_.get(), store_.get(), &clock_);
    } while (!token.empty());
    return all;
  }

  struct Told {
    std::int64_t time = 0;
    std::string text;

    friend bool operator==(const Told&, const Told&) = default;
  };

  // All records of a range, or of all time, by pages of that size.
  std::vector<Told> InRange(RecordService* service, const std::optional<TimeRange>& range, int size,
                            bool packed = false) {
    std::vector<Told> all;
    std::map<std::string, std::string> ranks;
    v1::ListRecordsRequest request;
    request.set_run("r");
    request.set_page_size(size);
    request.set_packed(packed);
    if (range) {
      request.set_from_time(range->first);
      request.set_to_time(range->second);
    }
    do {
      const Result<v1::ListRecordsResponse> page = service->ListRecords({}, request);
      EXPECT_TRUE(page.ok()) << page.status().ToString();
      if (!page.ok()) return all;
      int count = 0;
      for (const v1::JournalRecords& part : page->journals()) {
        if (range) {
          EXPECT_NE(part.header(), "");
        }
        if (!part.header().empty()) {
          std::string bytes = part.header();
          bytes.resize(journal::kHeaderBytes, '\0');
          ranks[part.uid()] =
              std::to_string(journal::DecodeHeader(reinterpret_cast<const std::byte*>(bytes.data()),
                                                   bytes.size(), "header")
                                 ->rank);
        }
        std::vector<Record> unpacked;
        NameTable names;
        std::vector<NameId> ids = {0};
        for (const std::string& name : page->names()) ids.push_back(names.Intern(name));
        EXPECT_TRUE(ReadPacked(part.packed(), 0, ids, &unpacked).ok());
        const auto tell = [&](std::int64_t time, std::uint64_t seq, std::int64_t a,
                              std::string_view name) {
          all.push_back({time, ranks[part.uid()] + ":" + std::to_string(seq) + ":" +
                                   std::to_string(a) + ":" + std::string(name)});
          ++count;
        };
        for (const v1::Record& record : part.records()) {
          const int name = static_cast<int>(record.name());
          tell(record.time_ns(), record.seq(), record.a(), name > 0 ? page->names(name - 1) : "");
        }
        for (const Record& record : unpacked) {
          tell(record.time_ns, record.seq, record.a, names.Text(record.name));
        }
      }
      EXPECT_LE(count, size);
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return all;
  }

  // Somebody who follows the run, by pages of that size; `forget`: with a new service each time.
  class Following {
   public:
    Following(RecordServiceTest* test, int size, bool forget)
        : test_(test), size_(size), forget_(forget) {}

    // "rank:step" of all records that are new, and what is told beside them.
    std::string Read(int pages = 1000) {
      std::string all;
      v1::ListRecordsResponse page;
      do {
        v1::ListRecordsRequest request;
        request.set_run("r");
        request.set_page_size(size_);
        request.set_page_token(token_);
        request.set_follow(true);
        const Result<v1::ListRecordsResponse> got = test_->service_->ListRecords({}, request);
        EXPECT_TRUE(got.ok()) << got.status().ToString();
        if (!got.ok()) return all;
        page = *got;
        if (page.anew() || (token_.empty() && page.journals_size() > 0)) all += "anew ";
        for (const v1::JournalRecords& part : page.journals()) all += Describe(part);
        token_ = page.next_page_token();
        if (forget_) {
          test_->service_ = std::make_unique<RecordService>(test_->registry_.get(),
                                                            test_->store_.get(), &test_->clock_);
        }
      } while (!page.current() && --pages > 0);
      return all;
    }

   private:
    std::string Describe(const v1::JournalRecords& part) {
      if (!part.header().empty()) {
        std::string bytes = part.header();
        bytes.resize(journal::kHeaderBytes, '\0');
        const Result<journal::Header> header = journal::DecodeHeader(
            reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "header");
        EXPECT_TRUE(header.ok()) << header.status().ToString();
        ranks_[part.uid()] = std::to_string(header->rank);
      }
      const std::string rank = ranks_[part.uid()];
      std::string all;
      for (const v1::Record& record : part.records()) {
        all += rank + ":" + std::to_string(record.a()) + " ";
      }
      if (part.writer() == v1::WRITER_STATE_DEAD) all += rank + " is dead ";
      return all;
    }

    RecordServiceTest* test_;
    int size_;
    bool forget_;
    std::string token_;
    std::map<std::string, std::string> ranks_;
  };

  ScratchDir dir_;
  FakeClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::BlobStore> blobs_;
  std::unique_ptr<RunLedgers> ledgers_;
  std::unique_ptr<Upkeep> upkeep_;
  std::unique_ptr<RunRegistry> registry_;
  std::unique_ptr<RecordService> service_;
  RunUid run_uid_;
};

TEST_F(RecordServiceTest, PagesJoin) {
  const auto first = Write(0, 5);
  const auto second = Write(1, 3);
  const std::string whole = "0:0 0:1 0:2 0:3 0:4 1:0 1:1 1:2 ";
  for (const int size : {1, 2, 3, 5, 8, 100}) {
    EXPECT_EQ(All(size), whole) << size;
    EXPECT_EQ(All(size, true), whole) << size;
  }
  EXPECT_EQ(service_->waiting(), 0u);
}

TEST_F(RecordServiceTest, WhatComesMeanwhileIsOfTheNextReading) {
  const auto writer = Write(0, 4);
  const v1::ListRecordsResponse page = Page(3, "");
  EXPECT_EQ(service_->waiting(), 1u);
  Add(writer.get(), 2);
  const v1::ListRecordsResponse rest = Page(100, page.next_page_token());
  EXPECT_EQ(rest.next_page_token(), "");
  ASSERT_EQ(rest.journals_size(), 1);
  EXPECT_EQ(rest.journals(0).records_size(), 1);
  EXPECT_EQ(All(100), "0:0 0:1 0:2 0:3 0:0 0:1 ");
}

TEST_F(RecordServiceTest, PackedIsTheSame) {
  const auto writer = Write(0, 6);
  const v1::ListRecordsResponse plain = Page(100, "");
  const v1::ListRecordsResponse packed = Page(100, "", true);
  ASSERT_EQ(packed.journals_size(), 1);
  EXPECT_EQ(packed.journals(0).records_size(), 0);
  std::vector<Record> records;
  ASSERT_TRUE(ReadPacked(packed.journals(0).packed(), 0, {0}, &records).ok());
  ASSERT_EQ(static_cast<int>(records.size()), plain.journals(0).records_size());
  for (int i = 0; i < plain.journals(0).records_size(); ++i) {
    const v1::Record& one = plain.journals(0).records(i);
    const Record& other = records[static_cast<std::size_t>(i)];
    EXPECT_EQ(one.type(), static_cast<std::uint32_t>(other.type));
    EXPECT_EQ(one.seq(), other.seq);
    EXPECT_EQ(one.time_ns(), other.time_ns);
    EXPECT_EQ(one.a(), other.a);
    EXPECT_EQ(one.b(), other.b);
  }
}

TEST_F(RecordServiceTest, ReadersThatWaitAreBounded) {
  const auto writer = Write(0, 100);
  std::string token = Page(1, "").next_page_token();
  for (int i = 0; i < 100; ++i) Page(2 + i % 90, "");
  EXPECT_EQ(service_->waiting(), limits::kRecordsReaders);
  // The one that waited the longest goes on all the same.
  const v1::ListRecordsResponse page = Page(1, token);
  ASSERT_EQ(page.journals_size(), 1);
  EXPECT_EQ(page.journals(0).records(0).a(), 1);
  EXPECT_EQ(page.journals(0).header(), "");
}

TEST_F(RecordServiceTest, TokensOfNoAnswerAreRefused) {
  const auto writer = Write(0, 3);
  const std::string uid(32, '0');
  for (const std::string& token :
       {std::string("x"), std::string("/"), std::string("1"), uid + "/0", std::string("follow/"),
        "follow/" + uid, "follow/" + uid + "/x", "follow/" + uid + "/" + uid + ":1:2:3/"}) {
    for (const bool follow : {false, true}) {
      if (!follow && token.starts_with("follow/")) continue;
      v1::ListRecordsRequest request;
      request.set_run("r");
      request.set_page_token(token);
      request.set_follow(follow);
      EXPECT_EQ(service_->ListRecords({}, request).status().code(), Code::kInvalidArgument)
          << token;
    }
  }
}

TEST_F(RecordServiceTest, WhatComesBetweenTwoPagesIsNotMissed) {
  const auto first = Write(0, 3);
  const auto second = Write(1, 3);
  for (const bool forget : {false, true}) {
    Following following(this, 4, forget);
    std::string all = following.Read(1);
    Add(first.get(), 2);
    Add(second.get(), 1);
    all += following.Read();
    EXPECT_EQ(std::ranges::count(all, ':'), forget ? 12 : 9) << all;
  }
}

TEST_F(RecordServiceTest, WhoFollowsGetsWhatIsNew) {
  for (const int size : {1, 3, 100}) {
    for (const bool forget : {false, true}) {
      run_uid_ = RandomUid<RunUid>();
      Following following(this, size, forget);
      const auto first = Write(0, 5);
      EXPECT_EQ(following.Read(), "anew 0:0 0:1 0:2 0:3 0:4 ");
      EXPECT_EQ(following.Read(), "");
      const auto second = Write(1, 2);
      Add(first.get(), 2);
      EXPECT_EQ(following.Read(), "0:0 0:1 1:0 1:1 ");
      Add(second.get(), 1);
      EXPECT_EQ(following.Read(), "1:0 ");
      clock_.Advance(2 * limits::kServerSilenceSeconds * kNanosPerSecond);
      EXPECT_EQ(following.Read(), "0 is dead 1 is dead ");
      Add(second.get(), 1);
      EXPECT_EQ(following.Read(), "1:0 ");
      EXPECT_EQ(service_->following(), forget ? 0u : 1u);
      service_ = std::make_unique<RecordService>(registry_.get(), store_.get(), &clock_);
    }
  }
}

TEST_F(RecordServiceTest, ARangeOfTimeHasItsRecords) {
  auto first = Write(0, 0);
  for (int step = 0; step < 40'000; ++step) {
    clock_.Advance(kNanosPerSecond);
    first->Append(journal::MetaHigh(RecordType::kStepStart, 0), first->Now(), step, 0);
    if (step % 1'000 != 0) continue;
    const std::uint32_t name = first->Intern("name" + std::to_string(step % 7'000));
    first->Append(
        journal::MetaHigh(RecordType::kSpanBegin, SpanKind::kCustom, Blocking::kDefault, 0),
        first->Now(), 0, name);
  }
  Send(first.get(), 0);
  auto second = Write(1, 9'000);
  Add(first.get(), 200);  // in between

  std::vector<Told> whole = InRange(service_.get(), {}, 100'000);
  ASSERT_GT(whole.size(), 49'000u);
  const std::int64_t begin = whole.front().time;
  const std::int64_t end = whole.back().time;
  std::mt19937_64 random(1);
  CountingStore counting(store_.get());
  RecordService knows(registry_.get(), &counting, &clock_);
  const auto wanted = [&whole](const TimeRange& range) {
    std::vector<Told> some;
    for (const Told& one : whole) {
      if (one.time >= range.first && one.time < range.second) some.push_back(one);
    }
    return some;
  };
  for (int i = 0; i < 40; ++i) {
    const auto any = [&] {
      return begin - 10 +
             static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end - begin + 20));
    };
    TimeRange range(any(), any());
    if (range.second < range.first) std::swap(range.first, range.second);
    if (i % 2 == 0) range.second = std::min(range.second, range.first + 50 * kNanosPerSecond);
    const int size = i % 4 == 0 ? 7 : 20'000;
    EXPECT_TRUE(InRange(&knows, range, i % 2 == 0 ? size : 20'000, i % 3 == 0) == wanted(range))
        << i;
    // By one that knows nothing, and forgets who waits.
    RecordService fresh(registry_.get(), store_.get(), &clock_);
    EXPECT_TRUE(InRange(&fresh, range, 20'000) == wanted(range)) << i;
    if (i == 20) {
      Add(second.get(), 300);
      Add(first.get(), 9'000);
      whole = InRange(service_.get(), {}, 100'000);
    }
  }
  // What was read once is not read again.
  const TimeRange all(begin, std::ranges::max(whole, {}, &Told::time).time + 1);
  EXPECT_TRUE(InRange(&knows, all, 100'000) == whole);
  const TimeRange early(begin + 5 * kNanosPerSecond, begin + 9 * kNanosPerSecond);
  counting.read = 0;
  EXPECT_TRUE(InRange(&knows, early, 100) == wanted(early));
  EXPECT_LE(counting.read, 20'000u);
  counting.read = 0;
  EXPECT_TRUE(InRange(&knows, TimeRange(begin - 9, begin - 5), 100).empty());
  EXPECT_EQ(counting.read, 0u);
}

TEST_F(RecordServiceTest, ARecordThatComesLateIsInItsRange) {
  const auto writer = Write(0, 0);
  for (int step = 0; step < 100; ++step) {
    clock_.Advance(kNanosPerSecond);
    writer->Append(journal::MetaHigh(RecordType::kStepStart, 0), writer->Now(), step, 0);
  }
  Send(writer.get(), 0, /*hole=*/50);
  const std::vector<Told> most = InRange(service_.get(), {}, 1'000);
  const TimeRange all(most.front().time, most.back().time + 1);
  const TimeRange around(most[49].time + 1, most[50].time);
  EXPECT_EQ(InRange(service_.get(), all, 1'000).size(), 99u);
  EXPECT_TRUE(InRange(service_.get(), around, 1'000).empty());
  Send(writer.get(), 50, {}, /*end=*/51);
  EXPECT_EQ(InRange(service_.get(), all, 1'000).size(), 100u);
  EXPECT_EQ(InRange(service_.get(), around, 1'000).size(), 1u);
}

TEST_F(RecordServiceTest, RangesThatAreNone) {
  const auto writer = Write(0, 3);
  v1::ListRecordsRequest request;
  request.set_run("r");
  request.set_from_time(2);
  request.set_to_time(1);
  EXPECT_EQ(service_->ListRecords({}, request).status().code(), Code::kInvalidArgument);
  request.set_to_time(2);
  ASSERT_TRUE(service_->ListRecords({}, request).ok());
  EXPECT_EQ(service_->ListRecords({}, request)->journals_size(), 0);
  request.set_follow(true);
  EXPECT_EQ(service_->ListRecords({}, request).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::server
