#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/blob_limits.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/uid.h"
#include "store/blob_store.h"

/// What every BlobStore must do. An implementation's test says
///
///   INSTANTIATE_TYPED_TEST_SUITE_P(Directory, BlobStoreConformance, DirectoryPlace);
///
/// in namespace headway::store. A Place is made anew for each test, has no store in it at first and
/// takes away with it what there is at the end. `std::unique_ptr<BlobStore> Open(const Clock*)`
/// makes the store or opens what was kept; the store that it returned before is gone by then.

namespace headway::store {

inline RunUid TestRun(int n) { return DeriveUid<RunUid>("run " + std::to_string(n)); }

/// Bytes that look like no others: `count` of them.
inline std::string TestBytes(std::uint64_t count, std::uint64_t salt = 0) {
  std::mt19937_64 random(salt * 1'000'003 + count);
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = random();
    for (std::size_t j = i; j < std::min(i + 8, bytes.size()); ++j, word >>= 8) {
      bytes[j] = static_cast<char>(word);
    }
  }
  return bytes;
}

/// Writes a blob, in pieces of up to `piece` bytes.
inline Result<BlobInfo> PutBlob(BlobStore* store, const RunUid& run, std::string_view name,
                                std::string_view bytes, std::size_t piece = ~std::size_t{0}) {
  Result<std::unique_ptr<BlobWriter>> writer = store->Begin(run, name);
  if (!writer.ok()) return writer.status();
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view some = bytes.substr(at, piece);
    HEADWAY_RETURN_IF_ERROR((*writer)->Append(some));
    at += some.size();
  }
  return (*writer)->Finish();
}

template <typename Place>
class BlobStoreConformance : public testing::Test {
 protected:
  BlobStoreConformance() { Reopen(); }

  void Reopen() {
    store_.reset();
    store_ = place_.Open(&clock_);
    HEADWAY_CHECK(store_ != nullptr);
  }
  std::string ReadAll(const RunUid& run, std::string_view name) {
    const Result<std::string> bytes = store_->Read(run, name, 0, ~std::uint64_t{0});
    EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
    return bytes.ok() ? *bytes : "";
  }
  /// Those of a run, page by page.
  std::vector<BlobInfo> ListAll(const RunUid& run, std::string_view prefix = {},
                                std::size_t count = 1000) {
    std::vector<BlobInfo> all;
    std::string after;
    do {
      const Result<BlobPage> page = store_->List(run, prefix, after, count);
      EXPECT_TRUE(page.ok()) << page.status().ToString();
      if (!page.ok()) break;
      EXPECT_LE(page->blobs.size(), count);
      EXPECT_TRUE(page->damaged.empty());
      EXPECT_TRUE(page->next.empty() || page->next > after);
      all.insert(all.end(), page->blobs.begin(), page->blobs.end());
      after = page->next;
    } while (!after.empty());
    return all;
  }
  std::vector<std::string> NamesOf(const RunUid& run, std::string_view prefix = {}) {
    std::vector<std::string> names;
    for (const BlobInfo& blob : ListAll(run, prefix)) names.push_back(blob.name);
    return names;
  }
  void ExpectNothingOf(const RunUid& run) {
    EXPECT_TRUE(ListAll(run).empty());
    EXPECT_EQ(*store_->BytesOf(run), 0u);
    EXPECT_EQ(*store_->DeleteRun(run), 0u);
    EXPECT_EQ(store_->Stat(run, "a").status().code(), Code::kNotFound);
    EXPECT_EQ(store_->Open(run, "a").status().code(), Code::kNotFound);
    EXPECT_EQ(store_->Read(run, "a", 0, 1).status().code(), Code::kNotFound);
    EXPECT_EQ(store_->Delete(run, "a").code(), Code::kNotFound);
  }
  void ExpectSound(std::uint64_t blobs) {
    const Result<BlobCheck> check = store_->Check();
    ASSERT_TRUE(check.ok()) << check.status().ToString();
    EXPECT_EQ(check->blobs, blobs);
    EXPECT_EQ(check->damaged, 0u) << check->problems[0].ToString();
  }

  FakeClock clock_;
  Place place_;
  std::unique_ptr<BlobStore> store_;
};
TYPED_TEST_SUITE_P(BlobStoreConformance);

TYPED_TEST_P(BlobStoreConformance, AnEmptyStoreHasNothing) {
  this->ExpectNothingOf(TestRun(0));
  this->ExpectSound(0);
  this->Reopen();
  this->ExpectNothingOf(TestRun(0));
}

TYPED_TEST_P(BlobStoreConformance, KeepsWhatItIsTold) {
  const RunUid run = TestRun(0);
  int n = 0;
  for (const std::size_t size :
       {0, 1, 1000, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 1 << 20, 3'000'000}) {
    for (const std::size_t piece : {~std::size_t{0}, std::size_t{1} << 18, std::size_t{70'001}}) {
      const std::string name = "profile/" + std::to_string(n++);
      const std::string bytes = TestBytes(size, 1);
      this->clock_.Advance(1);
      const Result<BlobInfo> kept = PutBlob(this->store_.get(), run, name, bytes, piece);
      ASSERT_TRUE(kept.ok()) << kept.status().ToString();
      const BlobInfo expected = {.name = name,
                                 .bytes = size,
                                 .crc32c = Crc32c(bytes.data(), bytes.size()),
                                 .time = this->clock_.Wall().ns};
      EXPECT_EQ(*kept, expected);
      EXPECT_EQ(*this->store_->Stat(run, name), expected);
      EXPECT_TRUE(this->ReadAll(run, name) == bytes);
      if (n % 5 == 0) this->Reopen();
      EXPECT_EQ(*this->store_->Stat(run, name), expected);
      EXPECT_TRUE(this->ReadAll(run, name) == bytes);
    }
  }
  EXPECT_EQ(this->store_->Stat(TestRun(1), "profile/0").status().code(), Code::kNotFound);
  this->ExpectSound(static_cast<std::uint64_t>(n));
}

TYPED_TEST_P(BlobStoreConformance, ReadsAnyPart) {
  const std::string bytes = TestBytes(1'000'000);
  ASSERT_TRUE(PutBlob(this->store_.get(), TestRun(0), "b", bytes).ok());
  const Result<std::unique_ptr<BlobReader>> reader = this->store_->Open(TestRun(0), "b");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->info().bytes, bytes.size());
  std::mt19937_64 random(7);
  const auto expect = [&](std::uint64_t offset, std::uint64_t size) {
    const std::string part = offset < bytes.size() ? bytes.substr(offset, size) : "";
    EXPECT_TRUE(*this->store_->Read(TestRun(0), "b", offset, size) == part)
        << offset << " " << size;
    EXPECT_TRUE(*(*reader)->Read(offset, size) == part) << offset << " " << size;
  };
  for (int i = 0; i < 300; ++i) expect(random() % 1'100'000, random() % 600'000);
  for (const std::uint64_t edge : {std::uint64_t{0}, std::uint64_t{1} << 18, std::uint64_t{1} << 19,
                                   std::uint64_t{1'000'000}, ~std::uint64_t{0} - 1}) {
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 18, ~std::uint64_t{0}}) {
      for (const int by : {-1, 0, 1}) {
        if (edge > 0 || by >= 0) expect(edge + static_cast<std::uint64_t>(by), size);
      }
    }
  }
}

TYPED_TEST_P(BlobStoreConformance, NothingIsSeenBeforeItIsFinished) {
  const RunUid run = TestRun(0);
  ASSERT_TRUE(PutBlob(this->store_.get(), run, "old", "before").ok());
  for (const char* const name : {"new", "old"}) {
    Result<std::unique_ptr<BlobWriter>> writer = this->store_->Begin(run, name);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Append(TestBytes(1'000'000)).ok());
    EXPECT_EQ(this->NamesOf(run), std::vector<std::string>{"old"});
    EXPECT_EQ(this->ReadAll(run, "old"), "before");
    EXPECT_LT(*this->store_->BytesOf(run), 2000u);
    writer->reset();  // abandoned
    EXPECT_EQ(this->NamesOf(run), std::vector<std::string>{"old"});
    EXPECT_EQ(this->ReadAll(run, "old"), "before");
  }
  this->ExpectSound(1);
  this->ExpectNothingOf(TestRun(1));
}

TYPED_TEST_P(BlobStoreConformance, WhatIsFinishedIsFinished) {
  const RunUid run = TestRun(0);
  auto writer = *this->store_->Begin(run, "b");
  ASSERT_TRUE(writer->Append("one").ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(writer->Append("two").code(), Code::kFailedPrecondition);
  EXPECT_EQ(writer->Finish().status().code(), Code::kFailedPrecondition);
  writer.reset();
  EXPECT_EQ(this->ReadAll(run, "b"), "one");
}

TYPED_TEST_P(BlobStoreConformance, WhatIsNotAsItWasToldIsRefused) {
  const RunUid run = TestRun(0);
  const std::string bytes = TestBytes(300'000);
  ASSERT_TRUE(PutBlob(this->store_.get(), run, "b", "before").ok());
  struct Case {
    std::optional<std::uint64_t> expected;
    std::optional<std::uint32_t> crc32c;
    bool good;
  };
  const std::uint32_t right = Crc32c(bytes.data(), bytes.size());
  for (const Case& one :
       {Case{299'999, right, false}, Case{300'001, right, false}, Case{300'000, right ^ 1, false},
        Case{{}, 0, false}, Case{0, {}, false}, Case{300'000, right, true}, Case{{}, right, true},
        Case{300'000, {}, true}}) {
    auto writer = *this->store_->Begin(run, "b", one.expected);
    const Status appended = writer->Append(bytes);
    const Status finished = writer->Finish(one.crc32c).status();
    EXPECT_EQ(finished.code(), one.good ? Code::kOk : Code::kInvalidArgument);
    if (!appended.ok()) {
      EXPECT_EQ(finished.message(), appended.message());
    }
    writer.reset();
    EXPECT_EQ(this->store_->Stat(run, "b")->bytes, one.good ? 300'000u : 6u);
    if (one.good) {
      ASSERT_TRUE(PutBlob(this->store_.get(), run, "b", "before").ok());
    }
  }
  EXPECT_EQ(this->store_->Begin(run, "c", limits::kBlobBytes + 1).status().code(),
            Code::kResourceExhausted);
  EXPECT_EQ(this->NamesOf(run), std::vector<std::string>{"b"});
}

TYPED_TEST_P(BlobStoreConformance, NamesAreNeverPaths) {
  const RunUid run = TestRun(0);
  const std::string longest(limits::kBlobNameBytes, 'x');
  for (const std::string& name : {std::string(),
                                  std::string("/"),
                                  std::string("/a"),
                                  std::string("a/"),
                                  std::string("a//b"),
                                  std::string("."),
                                  std::string(".."),
                                  std::string("../a"),
                                  std::string("a/.."),
                                  std::string("a/../../b"),
                                  std::string("a/./b"),
                                  std::string("a\0b", 3),
                                  std::string("a\n"),
                                  std::string("\x7f"),
                                  std::string("\xc2\x85"),
                                  std::string("\xff"),
                                  std::string("a\xc0\xaf"),
                                  std::string("\xed\xa0\x80"),
                                  std::string("a\xe2\x80\xae"),
                                  longest + "x"}) {
    EXPECT_EQ(CheckBlobName(name).code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store_->Begin(run, name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store_->Open(run, name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store_->Stat(run, name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store_->Read(run, name, 0, 1).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(this->store_->Delete(run, name).code(), Code::kInvalidArgument) << name;
  }
  this->ExpectNothingOf(run);
  // All else is a name, and each one is another.
  std::string many_bytes;
  while (many_bytes.size() + 3 <= limits::kBlobNameBytes) many_bytes += "\xe2\x82\xac";
  std::vector<std::string> names = {"a",
                                    "A",
                                    "a/b",
                                    "a%2Fb",
                                    "a/b/c",
                                    ".a",
                                    "...",
                                    "a/.b",
                                    "..a",
                                    "%",
                                    "%2E",
                                    "a b",
                                    "unfinished",
                                    ".lock",
                                    "a\\b",
                                    "C:",
                                    "con",
                                    "*",
                                    "a?",
                                    "-rf",
                                    "~",
                                    longest,
                                    many_bytes,
                                    many_bytes + "a",
                                    many_bytes + "b",
                                    std::string(100, '%'),
                                    "\xc3\xa9",
                                    "e\xcc\x81",
                                    "x.part",
                                    "0123456789abcdef0123456789abcdef.part",
                                    "0123456789abcdef0123456789abcdef"};
  for (const std::string& name : names) {
    const Result<BlobInfo> kept = PutBlob(this->store_.get(), run, name, name);
    ASSERT_TRUE(kept.ok()) << name << ": " << kept.status().ToString();
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(this->NamesOf(run), names);
  this->Reopen();
  EXPECT_EQ(this->NamesOf(run), names);
  for (const std::string& name : names) EXPECT_EQ(this->ReadAll(run, name), name);
  EXPECT_EQ(this->NamesOf(run, "a/"), (std::vector<std::string>{"a/.b", "a/b", "a/b/c"}));
  EXPECT_EQ(this->NamesOf(run, many_bytes).size(), 3u);
  // What lists are asked for is no name, and may be anything.
  EXPECT_TRUE(this->NamesOf(run, "../").empty());
  EXPECT_EQ(this->store_->List(run, "", std::string("a/\0", 3), 1)->blobs.at(0).name, "a/.b");
  for (const std::string& name : names) ASSERT_TRUE(this->store_->Delete(run, name).ok()) << name;
  this->ExpectNothingOf(run);
}

TYPED_TEST_P(BlobStoreConformance, ListsInPages) {
  constexpr int kBlobs = 10'000;
  constexpr int kThreads = 8;
  const RunUid run = TestRun(0);
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  const auto name_of = [](int i) { return (i % 2 == 0 ? "even/" : "odd/") + std::to_string(i); };
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < kBlobs; i += kThreads) {
        if (!PutBlob(this->store_.get(), run, name_of(i), std::to_string(i)).ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(failed, 0);
  ASSERT_TRUE(PutBlob(this->store_.get(), TestRun(1), "even/1", "another run's").ok());
  std::vector<std::string> names;
  for (int i = 0; i < kBlobs; ++i) names.push_back(name_of(i));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(this->NamesOf(run), names);
  std::vector<BlobInfo> all = this->ListAll(run, {}, 4'999);
  ASSERT_EQ(all.size(), names.size());
  for (const BlobInfo& blob : all) {
    const std::string text = blob.name.substr(blob.name.find('/') + 1);
    EXPECT_EQ(blob.bytes, text.size());
    EXPECT_EQ(blob.crc32c, Crc32c(text.data(), text.size()));
  }
  EXPECT_EQ(this->NamesOf(run, "even/").size(), kBlobs / 2);
  EXPECT_EQ(this->NamesOf(run, "odd/99").size(), 1 + 5 + 50u);
  EXPECT_TRUE(this->NamesOf(run, "odd/99x").empty());
  const Result<BlobPage> last = this->store_->List(run, "", names[names.size() - 2], 1);
  EXPECT_EQ(last->blobs.at(0).name, names.back());
  EXPECT_EQ(last->next, "");
  EXPECT_TRUE(this->store_->List(run, "", names.back(), 5)->blobs.empty());
  EXPECT_EQ(this->store_->List(run, "", "", 0).status().code(), Code::kInvalidArgument);
  this->ExpectSound(kBlobs + 1);
  // They go step by step, and are fewer after each.
  std::uint64_t left = *this->store_->BytesOf(run);
  int steps = 0;
  while (left > 0) {
    const Result<std::uint64_t> now = this->store_->DeleteRun(run);
    ASSERT_TRUE(now.ok()) << now.status().ToString();
    ASSERT_LT(*now, left);
    EXPECT_EQ(*this->store_->BytesOf(run), *now);
    left = *now;
    ++steps;
  }
  EXPECT_GT(steps, 5);
  this->ExpectNothingOf(run);
  EXPECT_EQ(this->NamesOf(TestRun(1)), std::vector<std::string>{"even/1"});
}

TYPED_TEST_P(BlobStoreConformance, WhatIsWrittenWhileItsRunIsRemovedIsNotKept) {
  const RunUid run = TestRun(0);
  ASSERT_TRUE(PutBlob(this->store_.get(), run, "a", "1").ok());
  auto before = *this->store_->Begin(run, "b");
  auto other = *this->store_->Begin(TestRun(1), "b");
  ASSERT_TRUE(before->Append("2").ok());
  ASSERT_TRUE(other->Append("3").ok());
  EXPECT_EQ(*this->store_->DeleteRun(run), 0u);
  EXPECT_EQ(before->Finish().status().code(), Code::kAborted);
  EXPECT_TRUE(other->Finish().ok());
  this->ExpectNothingOf(run);
  // The store does not know which runs there are.
  EXPECT_TRUE(PutBlob(this->store_.get(), run, "b", "4").ok());
  EXPECT_EQ(this->ReadAll(run, "b"), "4");
  this->ExpectSound(2);
}

TYPED_TEST_P(BlobStoreConformance, TellsHowMuchItKeeps) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t size = static_cast<std::uint64_t>(i) * 100'000;
    ASSERT_TRUE(
        PutBlob(this->store_.get(), TestRun(0), "b" + std::to_string(i), TestBytes(size)).ok());
    bytes += size;
    const std::uint64_t told = *this->store_->BytesOf(TestRun(0));
    EXPECT_GE(told, bytes);
    EXPECT_LE(told, bytes + bytes / 1000 + static_cast<std::uint64_t>(i + 1) * 1024);
  }
  EXPECT_EQ(*this->store_->BytesOf(TestRun(1)), 0u);
  const std::uint64_t before = *this->store_->BytesOf(TestRun(0));
  ASSERT_TRUE(PutBlob(this->store_.get(), TestRun(0), "b19", "").ok());
  EXPECT_LE(*this->store_->BytesOf(TestRun(0)), before - 1'900'000);
}

TYPED_TEST_P(BlobStoreConformance, ReadersKeepWhatTheyOpened) {
  const RunUid run = TestRun(0);
  const std::string old = TestBytes(700'000, 1);
  ASSERT_TRUE(PutBlob(this->store_.get(), run, "b", old).ok());
  auto reader = *this->store_->Open(run, "b");
  ASSERT_TRUE(PutBlob(this->store_.get(), run, "b", "new").ok());
  const auto expect_old = [&] {
    const Result<std::string> bytes = reader->Read(500'000, 100);
    // Or it says so.
    if (bytes.ok()) {
      EXPECT_EQ(*bytes, old.substr(500'000, 100));
    } else {
      EXPECT_EQ(bytes.status().code(), Code::kAborted) << bytes.status().ToString();
    }
  };
  expect_old();
  EXPECT_EQ(this->ReadAll(run, "b"), "new");
  ASSERT_TRUE(this->store_->Delete(run, "b").ok());
  expect_old();
  EXPECT_EQ(this->store_->Open(run, "b").status().code(), Code::kNotFound);
}

// Each one that was read was written as a whole by one of them, and the last to finish stays.
TYPED_TEST_P(BlobStoreConformance, TwoWritersOfOneNameAndReaders) {
  const RunUid run = TestRun(0);
  constexpr int kWriters = 3;
  constexpr int kRounds = 40;
  const auto bytes_of = [](int writer, int round) {
    const auto n = static_cast<std::uint64_t>(writer * 1000 + round);
    return std::to_string(n) + ":" + TestBytes(n * 997 % 600'000, n);
  };
  ASSERT_TRUE(PutBlob(this->store_.get(), run, "b", bytes_of(0, 0)).ok());
  std::atomic<int> running = kWriters;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      for (int round = 0; round < kRounds; ++round) {
        if (!PutBlob(this->store_.get(), run, "b", bytes_of(w, round), 100'000).ok()) ++wrong;
      }
      --running;
    });
  }
  int reads = 0;
  while (running > 0 || reads < 10) {
    const Result<std::unique_ptr<BlobReader>> reader = this->store_->Open(run, "b");
    if (!reader.ok()) {
      ++wrong;
      break;
    }
    const Result<std::string> bytes = (*reader)->Read(0, ~std::uint64_t{0});
    if (!bytes.ok() && bytes.status().code() == Code::kAborted) continue;
    const int n = bytes.ok() ? std::stoi(*bytes) : 0;
    if (!bytes.ok() || *bytes != bytes_of(n / 1000, n % 1000)) ++wrong;
    ++reads;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // Of two that are open at once the one that finishes last wins.
  auto first = *this->store_->Begin(run, "b");
  auto second = *this->store_->Begin(run, "b");
  ASSERT_TRUE(second->Append("second").ok());
  ASSERT_TRUE(first->Append("first").ok());
  ASSERT_TRUE(second->Finish().ok());
  ASSERT_TRUE(first->Finish().ok());
  EXPECT_EQ(this->ReadAll(run, "b"), "first");
  EXPECT_EQ(this->NamesOf(run), std::vector<std::string>{"b"});
  this->ExpectSound(1);
}

TYPED_TEST_P(BlobStoreConformance, BehavesLikeAMap) {
  std::mt19937_64 random(11);
  struct Kept {
    std::string bytes;
    std::int64_t time = 0;
  };
  std::map<int, std::map<std::string, Kept>> model;
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  const auto name = [&] {
    static constexpr const char* kParts[] = {"a", "b/", "c.pb", "\xe2\x82\xac", "%41", "_"};
    std::string text = std::to_string(pick(4));
    for (std::uint64_t i = pick(4); i > 0; --i) text += kParts[pick(6)];
    return text + "z";
  };
  const auto size = [&] { return pick(8) == 0 ? pick(900'000) : pick(3'000); };
  for (int i = 0; i < 2'000; ++i) {
    const int n = static_cast<int>(pick(4));
    const RunUid run = TestRun(n);
    std::map<std::string, Kept>& blobs = model[n];
    const std::string one = name();
    const auto there = blobs.find(one);
    const std::uint64_t what = pick(100);
    this->clock_.Advance(1);
    if (what < 45) {
      const std::string bytes = TestBytes(size(), random());
      auto writer = *this->store_->Begin(
          run, one, pick(2) == 0 ? std::nullopt : std::optional<std::uint64_t>(bytes.size()));
      for (std::size_t at = 0; at < bytes.size();) {
        const std::string_view some = std::string_view(bytes).substr(at, 1 + pick(bytes.size()));
        ASSERT_TRUE(writer->Append(some).ok());
        at += some.size();
      }
      if (pick(6) == 0) continue;  // abandoned
      ASSERT_TRUE(writer->Finish(Crc32c(bytes.data(), bytes.size())).ok());
      blobs[one] = {bytes, this->clock_.Wall().ns};
    } else if (what < 60) {
      const std::uint64_t offset = pick(4'000);
      const std::uint64_t count = pick(400'000);
      const Result<std::string> bytes = this->store_->Read(run, one, offset, count);
      if (there == blobs.end()) {
        EXPECT_EQ(bytes.status().code(), Code::kNotFound);
      } else {
        const std::string& all = there->second.bytes;
        EXPECT_TRUE(*bytes == (offset < all.size() ? all.substr(offset, count) : ""));
      }
    } else if (what < 75) {
      const std::string prefix = pick(2) == 0 ? "" : one.substr(0, pick(one.size()));
      const std::string after = pick(2) == 0 ? "" : name();
      const std::size_t count = 1 + pick(20);
      std::vector<BlobInfo> expected;
      std::string next;
      for (const auto& [key, kept] : blobs) {
        if (!key.starts_with(prefix) || key <= after) continue;
        if (expected.size() == count) {
          next = expected.back().name;
          break;
        }
        expected.push_back(
            {key, kept.bytes.size(), Crc32c(kept.bytes.data(), kept.bytes.size()), kept.time});
      }
      const Result<BlobPage> page = this->store_->List(run, prefix, after, count);
      ASSERT_TRUE(page.ok());
      EXPECT_EQ(page->blobs, expected);
      EXPECT_EQ(page->next, next);
    } else if (what < 93) {
      const Status status = this->store_->Delete(run, one);
      EXPECT_EQ(status.code(), there == blobs.end() ? Code::kNotFound : Code::kOk);
      blobs.erase(one);
    } else if (what < 97) {
      this->Reopen();
    } else if (what < 98) {
      while (*this->store_->DeleteRun(run) > 0) {
      }
      blobs.clear();
    } else {
      std::uint64_t all = 0;
      for (const auto& [_, each] : model) all += each.size();
      this->ExpectSound(all);
    }
    std::uint64_t bytes = 0;
    for (const auto& [_, kept] : blobs) bytes += kept.bytes.size();
    EXPECT_GE(*this->store_->BytesOf(run), bytes);
    EXPECT_EQ(*this->store_->BytesOf(run) == 0, blobs.empty());
  }
  for (const auto& [n, blobs] : model) {
    std::vector<std::string> names;
    for (const auto& [key, kept] : blobs) {
      names.push_back(key);
      EXPECT_TRUE(this->ReadAll(TestRun(n), key) == kept.bytes) << key;
    }
    EXPECT_GT(names.size(), 3u);
    EXPECT_EQ(this->NamesOf(TestRun(n)), names);
  }
}

REGISTER_TYPED_TEST_SUITE_P(BlobStoreConformance, AnEmptyStoreHasNothing, KeepsWhatItIsTold,
                            ReadsAnyPart, NothingIsSeenBeforeItIsFinished, WhatIsFinishedIsFinished,
                            WhatIsNotAsItWasToldIsRefused, NamesAreNeverPaths, ListsInPages,
                            WhatIsWrittenWhileItsRunIsRemovedIsNotKept, TellsHowMuchItKeeps,
                            ReadersKeepWhatTheyOpened, TwoWritersOfOneNameAndReaders,
                            BehavesLikeAMap);

}  // namespace headway::store
