#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "base/uid.h"
#include "store/store.h"

/// What every RecordStore must do. An implementation's test says
///
///   INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, RecordStoreConformance, SqlitePlace);
///
/// in namespace headway::store. A Place is made anew for each test, has no store in it at first and
/// takes away with it what there is at the end. `std::unique_ptr<Store> Open()` makes the
/// store or opens what was kept; the store that it returned before is gone by then.

namespace headway::store {

/// A slot that differs from all others: its number, a salt, and what looks like a checksum.
inline std::string TestSlot(std::uint64_t slot, std::uint64_t salt) {
  std::uint64_t words[4] = {(slot + 1) * 0x9e3779b97f4a7c15ull ^ salt, slot * 1'000'003, slot,
                            salt};
  return {reinterpret_cast<const char*>(words), sizeof words};
}

/// Slots [first, first + count).
inline std::string TestSlots(std::uint64_t first, std::uint64_t count, std::uint64_t salt = 0) {
  std::string slots;
  slots.reserve(count * kSlotBytes);
  for (std::uint64_t i = 0; i < count; ++i) slots += TestSlot(first + i, salt);
  return slots;
}

/// The n-th journal of the run `run` in `project`.
inline JournalIdentity TestIdentity(const std::string& project, const std::string& run, int n = 0) {
  const std::string text = project + "/" + run;
  JournalIdentity identity;
  identity.run_uid = DeriveUid<RunUid>(text);
  identity.uid = DeriveUid<JournalUid>(text + "/" + std::to_string(n));
  identity.project = project;
  identity.run = run;
  identity.start = 1'700'000'000'000'000'000 + n;
  identity.header = std::string("header\0of ", 10) + text + std::to_string(n);
  identity.header.resize(3840);
  return identity;
}

inline Batch TestBatch(const JournalIdentity& identity, std::uint64_t first_slot,
                       std::string_view slots) {
  Batch batch;
  batch.identity = identity;
  batch.first_slot = first_slot;
  batch.slots = slots;
  batch.counters = std::string("\0counters", 9);
  batch.writer = Liveness::kAlive;
  batch.heard = 1'700'000'000'000'000'007;
  return batch;
}

inline AuditRow TestAudit(const std::string& what) {
  AuditRow audit;
  audit.what = what;
  return audit;
}

inline Status AppendOne(RecordStore* store, const Batch& batch) {
  return store->Append(std::span(&batch, 1));
}

inline void ExpectSame(const JournalIdentity& a, const JournalIdentity& b) {
  EXPECT_EQ(a.uid, b.uid);
  EXPECT_EQ(a.run_uid, b.run_uid);
  EXPECT_EQ(a.project, b.project);
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.start, b.start);
  EXPECT_TRUE(a.header == b.header);
}

template <typename Place>
class RecordStoreConformance : public testing::Test {
 protected:
  RecordStoreConformance() { Reopen(); }

  void Reopen() {
    store_.reset();
    store_ = place_.Open();
    HEADWAY_CHECK(store_ != nullptr);
  }
  Status Append(const JournalIdentity& identity, std::uint64_t first_slot, std::string_view slots) {
    return AppendOne(store_.get(), TestBatch(identity, first_slot, slots));
  }
  std::string ReadAll(const JournalIdentity& identity) {
    return store_->ReadSlots(identity.uid, 0, ~std::uint64_t{0}).value();
  }
  /// What `query` finds, page by page.
  std::vector<RunRow> Runs(RunQuery query) {
    std::vector<RunRow> all;
    do {
      const Result<RunPage> page = store_->ListRuns(query);
      EXPECT_TRUE(page.ok()) << page.status().ToString();
      if (!page.ok()) break;
      EXPECT_LE(page->runs.size(), query.count);
      all.insert(all.end(), page->runs.begin(), page->runs.end());
      query.after = page->next;
    } while (!query.after.empty());
    return all;
  }
  std::vector<RunRow> Runs(const std::string& project, const std::string& name = {}) {
    return Runs(RunQuery{.project = project, .name = name});
  }
  std::vector<std::string> Projects() {
    std::vector<std::string> names;
    const Result<std::vector<ProjectRow>> projects = store_->ListProjects();
    for (const ProjectRow& project : *projects) names.push_back(project.name);
    return names;
  }
  void ExpectNothingOf(const JournalIdentity& identity) {
    EXPECT_EQ(store_->FindJournal(identity.uid).status().code(), Code::kNotFound);
    EXPECT_EQ(store_->ReadSlots(identity.uid, 0, 1).status().code(), Code::kNotFound);
    EXPECT_EQ(store_->FindRun(identity.run_uid).status().code(), Code::kNotFound);
    EXPECT_TRUE(store_->ListJournals(identity.run_uid)->empty());
    EXPECT_TRUE(Runs(identity.project).empty());
    EXPECT_EQ(*store_->StoredBytes(identity.run_uid), 0u);
  }

  Place place_;
  std::unique_ptr<Store> store_;
};
TYPED_TEST_SUITE_P(RecordStoreConformance);

// A journal that is followed: a few slots at a time, some of which come again.
TYPED_TEST_P(RecordStoreConformance, ManySmallBatchesTakeLittleMoreThanALargeOne) {
  const JournalIdentity identity = TestIdentity("p", "small");
  const JournalIdentity whole = TestIdentity("p", "whole");
  std::mt19937_64 random(3);
  std::string slots;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    std::uint64_t words[4] = {7, 1'000'000 * i, i, 0};
    slots.append(reinterpret_cast<const char*>(words), sizeof words);
  }
  std::string model;
  while (model.size() < slots.size()) {
    const std::uint64_t there = model.size() / kSlotBytes;
    const std::uint64_t back = random() % 8 == 0 ? std::min(there, random() % 200) : 0;
    const std::uint64_t first = there - back;
    std::string piece = slots.substr(first * kSlotBytes, (1 + random() % 9) * kSlotBytes);
    if (random() % 50 == 0) {
      piece = slots.substr(first * kSlotBytes, (1 + random() % 900) * kSlotBytes);
    }
    const std::uint64_t again = std::min<std::uint64_t>(back, piece.size() / kSlotBytes);
    piece.replace(0, again * kSlotBytes, TestSlots(first, again, random()));
    ASSERT_TRUE(this->Append(identity, first, piece).ok());
    if (model.size() < first * kSlotBytes + piece.size()) {
      model.resize(first * kSlotBytes + piece.size());
    }
    model.replace(first * kSlotBytes, piece.size(), piece);
    if (random() % 100 == 0) {
      ASSERT_TRUE(this->ReadAll(identity) == model);
    }
  }
  EXPECT_TRUE(this->ReadAll(identity) == model);
  this->Reopen();
  EXPECT_TRUE(this->ReadAll(identity) == model);
  ASSERT_TRUE(this->Append(whole, 0, model).ok());
  EXPECT_LT(*this->store_->StoredBytes(identity.run_uid),
            3 * *this->store_->StoredBytes(whole.run_uid));
}

TYPED_TEST_P(RecordStoreConformance, TokensAreKeptAndRevoked) {
  EXPECT_TRUE(this->store_->ListTokens()->empty());
  std::vector<TokenRow> tokens;
  std::vector<AuditRow> done;
  AuditRow ended;
  ended.action = "ended";
  ended.project = "p";
  for (int i = 0; i < 3; ++i) {
    TokenRow token;
    token.id = "id" + std::to_string(i);
    token.hash.fill(static_cast<std::uint8_t>(i));
    token.name = i == 1 ? std::string("\0\xff'", 3) : "name";
    token.role = "viewer";
    token.project = i == 0 ? "" : "p";
    token.run = i == 2 ? "r" : "";
    token.created = 10 - i;
    token.expires = i;
    AuditRow audit;
    audit.time = i;
    audit.who = "admin";
    audit.action = "made";
    audit.what = token.name;
    audit.project = token.project;
    ASSERT_TRUE(this->store_->AddToken(token, audit).ok());
    audit.number = i + 1;
    done.insert(done.begin(), audit);
    tokens.insert(tokens.begin(), token);
  }
  TokenRow other;
  other.id = "id1";
  EXPECT_EQ(this->store_->AddToken(other, {}).code(), Code::kAlreadyExists);
  other.id = "id4";
  other.hash.fill(2);
  EXPECT_EQ(this->store_->AddToken(other, {}).code(), Code::kAlreadyExists);
  EXPECT_EQ(*this->store_->ListTokens(), tokens);
  EXPECT_EQ(this->store_->RevokeToken("id4", 5, {}).code(), Code::kNotFound);
  EXPECT_TRUE(this->store_->RevokeToken("id2", 5, ended).ok());
  EXPECT_TRUE(this->store_->RevokeToken("id2", 9, ended).ok());
  tokens[0].revoked = 5;
  ended.number = 4;
  done.insert(done.begin(), ended);
  EXPECT_EQ(*this->store_->ListAudit(0, 10, ""), done);
  EXPECT_EQ(*this->store_->ListAudit(4, 2, ""), std::vector(done.begin() + 1, done.begin() + 3));
  EXPECT_EQ(*this->store_->ListAudit(0, 10, "p"), std::vector(done.begin(), done.begin() + 3));
  EXPECT_TRUE(this->store_->ListAudit(1, 10, "")->empty());
  EXPECT_EQ(*this->store_->ListTokens(), tokens);
  this->Reopen();
  EXPECT_EQ(*this->store_->ListTokens(), tokens);
}

TYPED_TEST_P(RecordStoreConformance, RolesAreKeptAsLongAsTokensHaveThem) {
  EXPECT_TRUE(this->store_->ListRoles()->empty());
  RoleRow b = {
      .name = "b", .permissions = {"x.y", "x.z"}, .creator = "admin", .created = 1, .updated = 1};
  RoleRow a = {.name = "a", .permissions = {}, .creator = "admin", .created = 2, .updated = 2};
  ASSERT_TRUE(this->store_->PutRole(b, TestAudit("b")).ok());
  ASSERT_TRUE(this->store_->PutRole(a, TestAudit("a")).ok());
  EXPECT_EQ(*this->store_->ListRoles(), (std::vector<RoleRow>{a, b}));
  b.permissions = {"x.z"};
  b.updated = 3;
  RoleRow changed = b;
  changed.creator = "another";
  changed.created = 3;
  ASSERT_TRUE(this->store_->PutRole(changed, TestAudit("b again")).ok());
  this->Reopen();
  EXPECT_EQ(*this->store_->ListRoles(), (std::vector<RoleRow>{a, b}));
  TokenRow token;
  token.id = "t";
  token.role = "b";
  token.expires = 10;
  ASSERT_TRUE(this->store_->AddToken(token, {}).ok());
  EXPECT_EQ(this->store_->DeleteRole("b", 9, {}).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(this->store_->DeleteRole("b", 10, TestAudit("b deleted")).ok());
  EXPECT_EQ(this->store_->DeleteRole("b", 10, {}).code(), Code::kNotFound);
  TokenRow other;
  other.id = "u";
  other.hash.fill(1);
  other.role = "a";
  ASSERT_TRUE(this->store_->AddToken(other, {}).ok());
  EXPECT_EQ(this->store_->DeleteRole("a", 1'000, {}).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(this->store_->RevokeToken("u", 5, {}).ok());
  EXPECT_TRUE(this->store_->DeleteRole("a", 1'000, TestAudit("a deleted")).ok());
  EXPECT_TRUE(this->store_->ListRoles()->empty());
  std::vector<std::string> done;
  const std::vector<AuditRow> audit = *this->store_->ListAudit(0, 10, "");
  for (const AuditRow& row : audit) {
    if (!row.what.empty()) done.push_back(row.what);
  }
  EXPECT_EQ(done, (std::vector<std::string>{"a deleted", "b deleted", "b again", "a", "b"}));
}

TYPED_TEST_P(RecordStoreConformance, LinksAreKeptAndEnd) {
  EXPECT_TRUE(this->store_->ListLinks()->empty());
  RunRow runs[2];
  for (RunRow& run : runs) {
    run.uid = RandomUid<RunUid>();
    run.project = "p";
    run.name = "r";
    run.created = 1;
    ASSERT_TRUE(this->store_->CreateRun(run, {}).ok());
  }
  std::vector<LinkRow> links;
  for (int i = 0; i < 4; ++i) {
    LinkRow link;
    link.id = "id" + std::to_string(i);
    link.hash.fill(static_cast<std::uint8_t>(i));
    link.run_uid = runs[i % 2].uid;
    link.project = "p";
    link.run = std::string("\0\xff'", 3);
    link.view = i == 1 ? "a=b" : "";
    link.creator = "admin";
    link.created = 10 + i;
    link.expires = 100 + i;
    ASSERT_TRUE(this->store_->AddLink(link, TestAudit(link.id)).ok());
    links.push_back(link);
  }
  LinkRow other = links[1];
  other.hash.fill(9);
  EXPECT_EQ(this->store_->AddLink(other, {}).code(), Code::kAlreadyExists);
  other.id = "id9";
  other.run_uid = RandomUid<RunUid>();
  EXPECT_EQ(this->store_->AddLink(other, {}).code(), Code::kNotFound);
  EXPECT_EQ(*this->store_->ListLinks(), links);
  // What is refused is not written down.
  EXPECT_EQ(this->store_->RevokeLink("id9", 5, {}).code(), Code::kNotFound);
  EXPECT_EQ(this->store_->UseLink("id9", 5, {}).code(), Code::kNotFound);
  EXPECT_TRUE(this->store_->RevokeLink("id3", 5, TestAudit("revoked")).ok());
  EXPECT_TRUE(this->store_->RevokeLink("id3", 9, TestAudit("again")).ok());
  EXPECT_TRUE(this->store_->UseLink("id2", 7, TestAudit("used")).ok());
  EXPECT_TRUE(this->store_->UseLink("id2", 8, TestAudit("used again")).ok());
  links[3].revoked = 5;
  links[2].used = 8;
  EXPECT_EQ(*this->store_->ListLinks(), links);
  const std::vector<AuditRow> audit = *this->store_->ListAudit(0, 3, "");
  ASSERT_EQ(audit.size(), 3u);
  EXPECT_EQ(audit[0].what, "used again");
  EXPECT_EQ(audit[1].what, "used");
  EXPECT_EQ(audit[2].what, "revoked");
  // They end with their run, for good; no new one leads to it while it is hidden.
  EXPECT_TRUE(this->store_->DeleteRun(runs[1].uid, 20, {}).ok());
  links[1].revoked = 20;
  EXPECT_EQ(*this->store_->ListLinks(), links);
  other.run_uid = runs[1].uid;
  EXPECT_EQ(this->store_->AddLink(other, {}).code(), Code::kNotFound);
  EXPECT_TRUE(this->store_->DeleteRun(runs[1].uid, 0, {}).ok());
  EXPECT_EQ(*this->store_->ListLinks(), links);
  this->Reopen();
  EXPECT_EQ(*this->store_->ListLinks(), links);
  EXPECT_TRUE(this->store_->ForgetLinks(102).ok());
  links.erase(links.begin(), links.begin() + 2);
  EXPECT_EQ(*this->store_->ListLinks(), links);
}

TYPED_TEST_P(RecordStoreConformance, PackedSlotsAreSlots) {
  const JournalIdentity identity = TestIdentity("p", "packed");
  const std::string slots = TestSlots(0, 3 * packing::kSlotsMost);
  packing::SlotPacker packer;
  std::vector<std::string> bytes;
  Batch batch = TestBatch(identity, 0, {});
  std::uint64_t at = 0;
  for (const std::uint64_t count : {std::uint64_t{5}, packing::kSlotsMost, std::uint64_t{1}}) {
    bytes.emplace_back(*packer.Pack(
        identity.uid, at, std::string_view(slots).substr(at * kSlotBytes, count * kSlotBytes)));
    at += count;
  }
  batch.packed = {{.slots = 5, .bytes = bytes[0]},
                  {.slots = packing::kSlotsMost, .bytes = bytes[1]},
                  {.slots = 1, .bytes = bytes[2]}};
  ASSERT_TRUE(AppendOne(this->store_.get(), batch).ok());
  EXPECT_EQ(this->store_->FindJournal(identity.uid)->state.slots, at);
  EXPECT_GT(*this->store_->StoredBytes(identity.run_uid), 0u);
  ASSERT_TRUE(this->Append(identity, at, std::string_view(slots).substr(at * kSlotBytes)).ok());
  // Some of them again, and over others.
  const std::string other = TestSlots(2, 7, 1);
  const std::string packed(*packer.Pack(identity.uid, 2, other));
  batch.first_slot = 2;
  batch.packed = {{.slots = 7, .bytes = packed}};
  ASSERT_TRUE(AppendOne(this->store_.get(), batch).ok());
  std::string expected = slots;
  expected.replace(2 * kSlotBytes, other.size(), other);
  EXPECT_TRUE(this->ReadAll(identity) == expected);
  batch.slots = other;
  EXPECT_EQ(AppendOne(this->store_.get(), batch).code(), Code::kInvalidArgument);
  EXPECT_TRUE(this->ReadAll(identity) == expected);
}

TYPED_TEST_P(RecordStoreConformance, AnEmptyStoreHasNothing) {
  this->ExpectNothingOf(TestIdentity("p", "r"));
  EXPECT_TRUE(this->Projects().empty());
  EXPECT_TRUE(this->store_->Append({}).ok());
  this->Reopen();
  this->ExpectNothingOf(TestIdentity("p", "r"));
}

TYPED_TEST_P(RecordStoreConformance, KeepsWhatItIsTold) {
  const JournalIdentity identity = TestIdentity("project", "run");
  const std::string slots = TestSlots(0, 100);
  const Batch batch = TestBatch(identity, 0, slots);
  ASSERT_TRUE(AppendOne(this->store_.get(), batch).ok());
  for (int pass = 0; pass < 2; ++pass) {
    const Result<Journal> journal = this->store_->FindJournal(identity.uid);
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    ExpectSame(journal->identity, identity);
    EXPECT_EQ(journal->state, (JournalState{100, batch.counters, batch.writer, batch.heard}));
    EXPECT_EQ(this->ReadAll(identity), slots);
    RunRow run;
    run.uid = identity.run_uid;
    run.project = "project";
    run.name = run.label = "run";
    run.start = identity.start;
    run.created = run.updated = batch.heard;
    run.journals = 1;
    run.stored_bytes = static_cast<std::int64_t>(*this->store_->StoredBytes(run.uid));
    EXPECT_EQ(*this->store_->FindRun(identity.run_uid), run);
    EXPECT_EQ(this->Runs("project"), std::vector{run});
    EXPECT_EQ(this->Projects(), std::vector<std::string>{"project"});
    ASSERT_EQ(this->store_->ListJournals(identity.run_uid)->size(), 1u);
    this->Reopen();
  }
}

TYPED_TEST_P(RecordStoreConformance, ReadsAnyPart) {
  const JournalIdentity identity = TestIdentity("p", "r");
  const std::string slots = TestSlots(0, 90);
  for (std::uint64_t first = 0; first < 90; first += 30) {
    ASSERT_TRUE(this->Append(identity, first, slots.substr(first * 32, 30 * 32)).ok());
  }
  const std::uint64_t marks[] = {0, 1, 29, 30, 31, 59, 60, 89, 90, 91, 1000, ~std::uint64_t{0}};
  for (const std::uint64_t first : marks) {
    for (const std::uint64_t count : marks) {
      const std::uint64_t begin = std::min<std::uint64_t>(first, 90);
      const std::uint64_t size = std::min<std::uint64_t>(count, 90 - begin);
      EXPECT_EQ(*this->store_->ReadSlots(identity.uid, first, count),
                slots.substr(begin * 32, size * 32))
          << first << " " << count;
    }
  }
}

TYPED_TEST_P(RecordStoreConformance, AGapIsRefused) {
  const JournalIdentity identity = TestIdentity("p", "r");
  const std::string slots = TestSlots(0, 10);
  EXPECT_EQ(this->Append(identity, 1, slots).code(), Code::kOutOfRange);
  EXPECT_EQ(this->Append(identity, ~std::uint64_t{0}, slots).code(), Code::kOutOfRange);
  this->ExpectNothingOf(identity);
  ASSERT_TRUE(this->Append(identity, 0, slots).ok());
  EXPECT_EQ(this->Append(identity, 11, slots).code(), Code::kOutOfRange);
  EXPECT_EQ(this->Append(identity, 11, "").code(), Code::kOutOfRange);
  EXPECT_EQ(this->ReadAll(identity), slots);
}

TYPED_TEST_P(RecordStoreConformance, APartOfASlotIsRefused) {
  const JournalIdentity identity = TestIdentity("p", "r");
  for (const std::size_t size : {1u, 31u, 33u}) {
    EXPECT_EQ(this->Append(identity, 0, TestSlots(0, 2).substr(0, size)).code(),
              Code::kInvalidArgument);
  }
  this->ExpectNothingOf(identity);
}

TYPED_TEST_P(RecordStoreConformance, AnotherHeaderIsRefused) {
  const JournalIdentity identity = TestIdentity("p", "r");
  const std::string slots = TestSlots(0, 10);
  ASSERT_TRUE(this->Append(identity, 0, slots).ok());
  JournalIdentity other = identity;
  other.header[100] = 'x';
  EXPECT_EQ(this->Append(other, 10, slots).code(), Code::kAlreadyExists);
  other.header = identity.header.substr(1);
  EXPECT_EQ(this->Append(other, 10, slots).code(), Code::kAlreadyExists);
  other = identity;
  other.run_uid = DeriveUid<RunUid>("another");
  EXPECT_EQ(this->Append(other, 10, slots).code(), Code::kAlreadyExists);
  ExpectSame(this->store_->FindJournal(identity.uid)->identity, identity);
  EXPECT_EQ(this->ReadAll(identity), slots);
  EXPECT_EQ(this->store_->FindRun(other.run_uid).status().code(), Code::kNotFound);
}

TYPED_TEST_P(RecordStoreConformance, ARunStaysInItsProjectAndUnderItsName) {
  const JournalIdentity identity = TestIdentity("p", "r");
  ASSERT_TRUE(this->Append(identity, 0, "").ok());
  JournalIdentity other = TestIdentity("p", "r", 1);
  other.project = "q";
  EXPECT_EQ(this->Append(other, 0, "").code(), Code::kAlreadyExists);
  other.project = "p";
  other.run = "s";
  EXPECT_EQ(this->Append(other, 0, "").code(), Code::kAlreadyExists);
  EXPECT_EQ(this->Projects(), std::vector<std::string>{"p"});
  EXPECT_EQ(this->store_->ListJournals(identity.run_uid)->size(), 1u);
}

TYPED_TEST_P(RecordStoreConformance, AllOrNothing) {
  const JournalIdentity known = TestIdentity("p", "r");
  const JournalIdentity fresh = TestIdentity("q", "s");
  const std::string slots = TestSlots(0, 10);
  ASSERT_TRUE(this->Append(known, 0, slots).ok());
  const JournalState before = this->store_->FindJournal(known.uid)->state;
  const std::uint64_t stored = *this->store_->StoredBytes(known.run_uid);
  JournalIdentity other = known;
  other.header += "x";
  const std::string more = TestSlots(0, 20, 1);
  for (const Batch& bad : {TestBatch(fresh, 21, more), TestBatch(other, 0, more),
                           TestBatch(known, 0, std::string_view(more).substr(1))}) {
    Batch change = TestBatch(known, 5, more);
    change.counters = "others";
    change.writer = Liveness::kDead;
    change.heard += 5;
    const std::vector<Batch> batches = {TestBatch(fresh, 0, more), change, bad};
    EXPECT_FALSE(this->store_->Append(batches).ok());
    this->ExpectNothingOf(fresh);
    EXPECT_EQ(this->Projects(), std::vector<std::string>{"p"});
    EXPECT_EQ(this->store_->FindJournal(known.uid)->state, before);
    EXPECT_EQ(this->ReadAll(known), slots);
    EXPECT_EQ(*this->store_->StoredBytes(known.run_uid), stored);
  }
  ASSERT_TRUE(this->Append(known, 10, slots).ok());  // it goes on
}

TYPED_TEST_P(RecordStoreConformance, ASignOfLifeChangesTheStateOnly) {
  const JournalIdentity identity = TestIdentity("p", "r");
  ASSERT_TRUE(this->Append(identity, 0, "").ok());  // also the first one
  EXPECT_EQ(this->store_->FindJournal(identity.uid)->state.slots, 0u);
  EXPECT_EQ(this->ReadAll(identity), "");
  const std::string slots = TestSlots(0, 10);
  ASSERT_TRUE(this->Append(identity, 0, slots).ok());
  const std::uint64_t stored = *this->store_->StoredBytes(identity.run_uid);
  Batch sign = TestBatch(identity, 10, "");
  sign.counters = "";
  sign.writer = Liveness::kDead;
  sign.heard = -1;
  ASSERT_TRUE(AppendOne(this->store_.get(), sign).ok());
  EXPECT_EQ(this->store_->FindJournal(identity.uid)->state,
            (JournalState{10, "", Liveness::kDead, -1}));
  sign.first_slot = 3;
  sign.writer = Liveness::kUnknown;
  ASSERT_TRUE(AppendOne(this->store_.get(), sign).ok());
  EXPECT_EQ(this->store_->FindJournal(identity.uid)->state,
            (JournalState{10, "", Liveness::kUnknown, -1}));
  EXPECT_EQ(this->ReadAll(identity), slots);
  EXPECT_EQ(*this->store_->StoredBytes(identity.run_uid), stored);
}

TYPED_TEST_P(RecordStoreConformance, WhatComesLaterLiesOverWhatWasThere) {
  const JournalIdentity identity = TestIdentity("p", "r");
  std::string model = TestSlots(0, 40);
  ASSERT_TRUE(this->Append(identity, 0, model).ok());
  // Within; at the beginning; over the end; over several; all of it; the same again.
  const std::pair<std::uint64_t, std::uint64_t> parts[] = {{10, 5}, {0, 3},  {35, 20}, {12, 40},
                                                           {0, 60}, {55, 5}, {55, 5},  {59, 1}};
  std::uint64_t salt = 0;
  for (const auto& [first, count] : parts) {
    const std::string slots = TestSlots(first, count, ++salt);
    ASSERT_TRUE(this->Append(identity, first, slots).ok());
    model.resize(std::max<std::size_t>(model.size(), (first + count) * 32));
    model.replace(first * 32, slots.size(), slots);
    EXPECT_EQ(this->ReadAll(identity), model) << first << " " << count;
    EXPECT_EQ(*this->store_->ReadSlots(identity.uid, 11, 30), model.substr(11 * 32, 30 * 32));
    EXPECT_EQ(this->store_->FindJournal(identity.uid)->state.slots, model.size() / 32);
  }
  this->Reopen();
  EXPECT_EQ(this->ReadAll(identity), model);
}

TYPED_TEST_P(RecordStoreConformance, TakesManyJournalsAtOnce) {
  constexpr int kJournals = 50;
  std::vector<std::string> slots;
  for (int i = 0; i < 2 * kJournals; ++i) {
    slots.push_back(TestSlots(0, 1 + static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i)));
  }
  std::vector<Batch> batches;
  for (int i = 0; i < kJournals; ++i) {
    const JournalIdentity identity = TestIdentity("p", "r" + std::to_string(i % 3), i);
    const auto n = static_cast<std::size_t>(i);
    batches.push_back(TestBatch(identity, 0, slots[n]));
    batches.push_back(TestBatch(identity, n + 1, slots[n + kJournals]));  // goes on in the same one
  }
  ASSERT_TRUE(this->store_->Append(batches).ok());
  for (int i = 0; i < kJournals; ++i) {
    const auto n = static_cast<std::size_t>(i);
    EXPECT_EQ(this->ReadAll(TestIdentity("p", "r" + std::to_string(i % 3), i)),
              slots[n] + slots[n + kJournals]);
  }
  EXPECT_EQ(this->Runs("p").size(), 3u);
}

TYPED_TEST_P(RecordStoreConformance, TakesALargeBatch) {
  const JournalIdentity identity = TestIdentity("p", "r");
  const std::uint64_t count = 150'001;
  std::string slots = TestSlots(0, count);
  ASSERT_TRUE(this->Append(identity, 0, slots).ok());
  EXPECT_TRUE(this->ReadAll(identity) == slots);
  const std::string middle = TestSlots(60'000, 80'000, 1);
  ASSERT_TRUE(this->Append(identity, 60'000, middle).ok());
  slots.replace(60'000 * 32, middle.size(), middle);
  for (const std::uint64_t first : {0u, 59'999u, 65'535u, 65'536u, 131'071u, 139'999u, 149'000u}) {
    EXPECT_TRUE(*this->store_->ReadSlots(identity.uid, first, 1001) ==
                slots.substr(first * 32, 1001 * 32))
        << first;
  }
  EXPECT_TRUE(this->ReadAll(identity) == slots);
}

TYPED_TEST_P(RecordStoreConformance, ListsProjectsAndRuns) {
  const auto add = [this](const std::string& project, const std::string& run, const char* seed,
                          std::int64_t start) {
    JournalIdentity identity = TestIdentity(project, run);
    identity.run_uid = DeriveUid<RunUid>(seed);
    identity.uid = DeriveUid<JournalUid>(seed);
    identity.start = start;
    EXPECT_TRUE(this->Append(identity, 0, TestSlots(0, 1)).ok());
    return *this->store_->FindRun(identity.run_uid);
  };
  const RunRow old = add("b", "same", "1", 10);
  const RunRow twin = add("b", "same", "2", 20);
  const RunRow late = add("b", "other", "3", 30);
  const RunRow alike = add("b", "other", "4", 30);
  const RunRow elsewhere = add("a", "same", "5", 25);
  add("B", "same", "6", -1);
  EXPECT_EQ(this->Projects(), (std::vector<std::string>{"B", "a", "b"}));
  std::vector<RunRow> all;
  for (const RunRow& run : {old, twin, late, alike}) {
    all.push_back(*this->store_->FindRun(run.uid));  // labels depend on what came later
  }
  std::sort(all.begin(), all.end(), [](const RunRow& a, const RunRow& b) {
    return std::tie(a.start, a.uid) > std::tie(b.start, b.uid);
  });
  EXPECT_EQ(this->Runs("b"), all);
  EXPECT_EQ(this->Runs(RunQuery{.project = "b", .count = 1}), all);
  EXPECT_EQ(this->Runs("a", "same"), std::vector{elsewhere});
  EXPECT_TRUE(this->Runs("a", "other").empty());
  EXPECT_TRUE(this->Runs("c").empty());
  const std::vector<RunRow> same = this->Runs("b", "same");
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[0], twin);
  EXPECT_EQ(same[1].uid, old.uid);
  EXPECT_EQ(same[1].label, "same@19700101T000000Z");
  const std::vector<RunRow> others = this->Runs("b", "other");
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].label, "other");
  EXPECT_EQ(others[1].label, "other@19700101T000000Z");
}

TYPED_TEST_P(RecordStoreConformance, ListsJournalsOfARun) {
  std::vector<JournalIdentity> identities;
  for (int i = 0; i < 20; ++i) {
    identities.push_back(TestIdentity("p", "r", i));
    identities.back().start = (i * 7 + 3) % 5 - 2;  // not in order
    ASSERT_TRUE(
        this->Append(identities.back(), 0, TestSlots(0, static_cast<std::uint64_t>(i))).ok());
  }
  ASSERT_TRUE(this->Append(TestIdentity("p", "other"), 0, "").ok());
  std::sort(identities.begin(), identities.end(),
            [](const JournalIdentity& a, const JournalIdentity& b) {
              return std::tie(a.start, a.uid) < std::tie(b.start, b.uid);
            });
  const auto journals = *this->store_->ListJournals(identities[0].run_uid);
  ASSERT_EQ(journals.size(), identities.size());
  for (std::size_t i = 0; i < journals.size(); ++i) {
    ExpectSame(journals[i].identity, identities[i]);
    EXPECT_EQ(journals[i].state, this->store_->FindJournal(identities[i].uid)->state);
  }
  EXPECT_EQ(this->store_->FindRun(identities[0].run_uid)->start, -2);  // that of its first journal
}

TYPED_TEST_P(RecordStoreConformance, ANameIsAnyBytes) {
  const std::string names[] = {"",      "'; DROP TABLE run; --", "%", "_",  std::string("a\0b", 3),
                               "a\xff", "\xc3\xa9 \xe2\x9c\x93", "a", "?1", "x'00'"};
  for (const std::string& name : names) {
    JournalIdentity identity = TestIdentity(name, name);
    identity.header = name;
    ASSERT_TRUE(this->Append(identity, 0, "").ok());
  }
  this->Reopen();
  std::vector<std::string> sorted(std::begin(names), std::end(names));
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(this->Projects(), sorted);
  for (const std::string& name : names) {
    JournalIdentity identity = TestIdentity(name, name);
    identity.header = name;
    ExpectSame(this->store_->FindJournal(identity.uid)->identity, identity);
    const std::vector<RunRow> runs = this->Runs(name, name);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].uid, identity.run_uid);
    EXPECT_EQ(runs[0].name, name);
    EXPECT_EQ(runs[0].project, name);
  }
}

TYPED_TEST_P(RecordStoreConformance, CountsStoredBytesByRun) {
  const JournalIdentity first = TestIdentity("p", "r", 0);
  const JournalIdentity second = TestIdentity("p", "r", 1);
  const JournalIdentity other = TestIdentity("p", "s");
  ASSERT_TRUE(this->Append(first, 0, TestSlots(0, 1000)).ok());
  const std::uint64_t one = *this->store_->StoredBytes(first.run_uid);
  EXPECT_GT(one, 0u);
  ASSERT_TRUE(this->Append(second, 0, TestSlots(0, 1000)).ok());
  // What journals hold is packed by their uids: nearly as well.
  const auto about = [](std::uint64_t bytes, std::uint64_t expected) {
    return bytes > expected * 99 / 100 && bytes < expected * 101 / 100;
  };
  EXPECT_TRUE(about(*this->store_->StoredBytes(first.run_uid), 2 * one));
  EXPECT_EQ(*this->store_->StoredBytes(other.run_uid), 0u);
  ASSERT_TRUE(this->Append(other, 0, TestSlots(0, 1000)).ok());
  EXPECT_TRUE(about(*this->store_->StoredBytes(other.run_uid), one));
}

// Random batches, right and wrong ones, and reads, against the plainest model there is.
TYPED_TEST_P(RecordStoreConformance, BehavesLikeAMap) {
  std::mt19937_64 random(1);
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  struct Model {
    std::map<std::uint64_t, std::string> slots;
    JournalState state;
  };
  std::map<int, Model> models;
  const auto identity_of = [](int n) {
    return TestIdentity("p" + std::to_string(n % 2), "r" + std::to_string(n % 3), n);
  };
  for (int round = 0; round < 300; ++round) {
    std::map<int, Model> next = models;
    std::vector<std::string> data;
    std::vector<Batch> batches;
    Code expected = Code::kOk;
    const std::uint64_t size = 1 + below(4);
    data.reserve(size);
    for (std::uint64_t i = 0; i < size && expected == Code::kOk; ++i) {
      const int n = static_cast<int>(below(6));
      Model& model = next[n];
      const std::uint64_t there = model.slots.size();
      // Mostly at the end or shortly before it.
      std::uint64_t first = there - below(std::min<std::uint64_t>(there, 50) + 1);
      if (below(3) != 0) first = there;
      if (below(8) == 0) first = below(there + 1);
      if (below(20) == 0) first = there + 1 + below(3);
      const std::uint64_t count = below(4) == 0 ? 0 : below(60);
      data.push_back(TestSlots(first, count, random()));
      Batch batch = TestBatch(identity_of(n), first, data.back());
      batch.counters = std::string(below(300), static_cast<char>(random()));
      batch.writer = static_cast<Liveness>(below(3));
      batch.heard = static_cast<std::int64_t>(random());
      if (first > there) {
        expected = Code::kOutOfRange;
      } else if (there != 0 && below(40) == 0) {
        batch.identity.header += "x";
        expected = Code::kAlreadyExists;
      }
      for (std::uint64_t k = 0; k < count; ++k) {
        model.slots[first + k] = data.back().substr(k * kSlotBytes, kSlotBytes);
      }
      model.state = {model.slots.size(), batch.counters, batch.writer, batch.heard};
      batches.push_back(std::move(batch));
    }
    const Status status = this->store_->Append(batches);
    ASSERT_EQ(status.code(), expected) << status.ToString();
    if (status.ok()) models = std::move(next);
    if (below(25) == 0) this->Reopen();
    for (const auto& [n, model] : models) {
      const JournalUid uid = identity_of(n).uid;
      ASSERT_EQ(this->store_->FindJournal(uid)->state, model.state);
      const std::uint64_t first = below(model.slots.size() + 5);
      const std::uint64_t count = below(2) == 0 ? below(100) : model.slots.size();
      std::string wanted;
      for (auto slot = model.slots.lower_bound(first);
           slot != model.slots.end() && slot->first - first < count; ++slot) {
        wanted += slot->second;
      }
      ASSERT_TRUE(*this->store_->ReadSlots(uid, first, count) == wanted) << round << " " << n;
    }
  }
}

// Whoever reads meanwhile sees each Append wholly or not at all, and never waits for the end.
TYPED_TEST_P(RecordStoreConformance, ReadsWhileItWrites) {
  constexpr std::uint64_t kAppends = 80;
  constexpr std::uint64_t kEach = 20;
  const JournalIdentity left = TestIdentity("p", "r", 0);
  const JournalIdentity right = TestIdentity("p", "r", 1);
  RecordStore* const store = this->store_.get();
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  std::atomic<int> faults = 0;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        const Result<std::vector<Journal>> journals = store->ListJournals(left.run_uid);
        if (!journals.ok() || (!journals->empty() && journals->size() != 2)) {
          ++faults;
          continue;
        }
        if (journals->empty()) continue;
        const std::uint64_t slots = journals->front().state.slots;
        if (slots != journals->back().state.slots || slots % kEach != 0) ++faults;
        const std::uint64_t first = slots - std::min<std::uint64_t>(slots, 3 * kEach);
        const Result<std::string> data = store->ReadSlots(right.uid, first, slots - first);
        if (!data.ok() || *data != TestSlots(first, slots - first)) ++faults;
      }
    });
  }
  for (std::uint64_t i = 0; i < kAppends; ++i) {
    const std::string slots = TestSlots(i * kEach, kEach);
    const std::vector<Batch> batches = {TestBatch(left, i * kEach, slots),
                                        TestBatch(right, i * kEach, slots)};
    const Status status = store->Append(batches);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
}

TYPED_TEST_P(RecordStoreConformance, ManyMayWrite) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kAppends = 25;
  RecordStore* const store = this->store_.get();
  std::atomic<int> faults = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&faults, store, i] {
      for (std::uint64_t k = 0; k < kAppends; ++k) {
        const std::string slot = TestSlots(k, 1);
        if (!AppendOne(store, TestBatch(TestIdentity("p", "r", i), k, slot)).ok()) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(this->ReadAll(TestIdentity("p", "r", i)), TestSlots(0, kAppends));
  }
}

// --- Machines

TYPED_TEST_P(RecordStoreConformance, JournalsArePlacedOnMachines) {
  Store* const store = this->store_.get();
  const auto append = [&](const std::string& run, int n, std::int64_t start, std::int64_t heard,
                          Liveness writer = Liveness::kAlive) {
    JournalIdentity identity = TestIdentity("p", run, n);
    identity.start = start;
    const std::string slots = TestSlots(0, 1);
    Batch batch = TestBatch(identity, 0, slots);
    batch.heard = heard;
    batch.writer = writer;
    const Status status = AppendOne(store, batch);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return identity.uid;
  };
  const auto nodes = [&](const std::string& project, const std::string& run = {}) {
    const auto rows = store->ListNodes({.project = project, .run = run, .alive_since = 50});
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    return rows.ok() ? *rows : std::vector<NodeRow>();
  };
  const JournalUid first = append("old", 0, 100, 40);
  const JournalUid second = append("old", 1, 90, 60, Liveness::kDead);
  const JournalUid third = append("new", 0, 200, 70);
  const JournalUid fourth = append("new", 1, 210, 80);
  const JournalUid nowhere = append("new", 2, 220, 80);
  Result<std::vector<UnplacedJournal>> unplaced = store->ListUnplaced(2);
  ASSERT_EQ(unplaced->size(), 2u);
  EXPECT_EQ(unplaced->front().uid, first);
  EXPECT_EQ(unplaced->front().header, TestIdentity("p", "old", 0).header);
  EXPECT_TRUE(nodes("p").empty());

  const std::vector<PlacedJournal> placed = {
      {first, "b", "h", "there"},  {second, "b", "h", "earlier"},  // it began before the other one
      {third, "b", "h", ""},       {fourth, "", "h", "elsewhere"},
      {nowhere, "b", "", "there"}, {DeriveUid<JournalUid>("none"), "b", "none", ""}};
  ASSERT_TRUE(store->Place(placed).ok());
  EXPECT_TRUE(store->ListUnplaced(100)->empty());
  const RunUid old_uid = TestIdentity("p", "old").run_uid;
  const RunUid new_uid = TestIdentity("p", "new").run_uid;
  const NodeRow alone = {"", "h", "elsewhere", 210, 80, 1, 1, new_uid, "new"};
  const NodeRow both = {"b", "h", "there", 90, 70, 1, 2, new_uid, "new"};
  EXPECT_EQ(nodes("p"), (std::vector<NodeRow>{alone, both}));
  EXPECT_TRUE(nodes("q").empty());
  NodeRow of_old = {"b", "h", "there", 90, 60, 0, 1, old_uid, "old"};
  EXPECT_EQ(nodes("p", "old"), std::vector<NodeRow>{of_old});

  // Whoever places one once more changes nothing.
  ASSERT_TRUE(store->Place(std::vector<PlacedJournal>{{first, "c", "i", "gone"}}).ok());
  EXPECT_EQ(nodes("p"), (std::vector<NodeRow>{alone, both}));

  // A run that is deleted was nowhere; what was removed is gone.
  ASSERT_TRUE(store->DeleteRun(new_uid, 1000, {}).ok());
  EXPECT_EQ(nodes("p"), std::vector<NodeRow>{of_old});
  ASSERT_TRUE(store->DeleteRun(new_uid, 0, {}).ok());
  EXPECT_EQ(nodes("p").size(), 2u);
  ASSERT_TRUE(store->DeleteRun(new_uid, 1000, {}).ok());
  while (*store->PurgeRun(new_uid) > 0) {
  }
  this->Reopen();
  const auto left = this->store_->ListNodes({.project = "p", .alive_since = 50});
  EXPECT_EQ(*left, std::vector<NodeRow>{of_old});
}

// --- Runs as such

inline RunRow NewRun(const std::string& project, const std::string& name, std::int64_t when) {
  RunRow run;
  run.uid = DeriveUid<RunUid>(project + "/" + name + "/" + std::to_string(when));
  run.project = project;
  run.name = name;
  run.creator = "somebody";
  run.created = when;
  return run;
}

// What a store answers to a filter, an order and pages is what the model says of each row.
/// One that nests as deeply as filters may, with `comparison` wherever something is compared.
inline std::string DeepestFilter(const std::string& comparison, std::mt19937_64* random) {
  std::string text = comparison;
  for (int depth = 0; depth < kFilterDepth;) {
    const bool negated = depth + 2 <= kFilterDepth && (*random)() % 2 == 0;
    text = (negated ? "NOT (" : "(") + text + ")";
    depth += negated ? 2 : 1;
    const std::string ahead = comparison + " AND " + comparison + " OR ";
    if ((*random)() % 4 != 0) text = ahead + text;
  }
  return text;
}

inline FleetSums SumsOf(const RunRow& row) {
  FleetSums sums;
  sums.runs = 1;
  const RunState state = row.summary.state;
  sums.live = state == RunState::kRunning || state == RunState::kRestarting ? 1 : 0;
  const std::int64_t accelerators = row.details.accelerators;
  sums.without_accelerators = accelerators == 0 ? 1 : 0;
  if (!row.digest) return sums;
  for (std::size_t i = 0; i < sums.ns.size(); ++i) sums.ns[i] = row.digest->ns[i];
  sums.disruptions = row.digest->disruptions;
  sums.accelerator_ns = sums.elapsed_ns() * accelerators;
  sums.lost_accelerator_ns = sums.lost_ns() * accelerators;
  return sums;
}

inline void ExpectSums(const FleetSums& found, const FleetSums& expected) {
  EXPECT_EQ(found.runs, expected.runs);
  EXPECT_EQ(found.live, expected.live);
  EXPECT_EQ(found.undigested, expected.undigested);
  EXPECT_TRUE(found.ns == expected.ns);
  EXPECT_EQ(found.disruptions, expected.disruptions);
  EXPECT_TRUE(found.accelerator_ns == expected.accelerator_ns);
  EXPECT_TRUE(found.lost_accelerator_ns == expected.lost_accelerator_ns);
  EXPECT_EQ(found.without_accelerators, expected.without_accelerators);
}

/// `rows`: those that the query is about.
inline void ExpectTotals(const FleetTotals& totals, const FleetQuery& query,
                         const std::vector<RunRow>& rows) {
  FleetSums all;
  std::map<std::string, FleetSums> parts;
  std::vector<std::pair<FleetSums::Wide, RunUid>> lost;
  for (const RunRow& row : rows) {
    const FleetSums sums = SumsOf(row);
    all.Add(sums);
    if (!query.group) continue;
    const FieldValue value = RunRowValue(row, query.group->field, query.group->key);
    const auto* const text = std::get_if<std::string>(&value);
    parts[text == nullptr ? "" : *text].Add(sums);
  }
  ExpectSums(totals.all, all);
  EXPECT_EQ(totals.by_accelerator_time, all.runs > 0 && all.without_accelerators == 0);
  ASSERT_EQ(totals.parts.size(), parts.size());
  for (const auto& [name, sums] : parts) ExpectSums(totals.parts.at(name), sums);
  for (const RunRow& row : rows) {
    const FleetSums sums = SumsOf(row);
    const FleetSums::Wide value =
        totals.by_accelerator_time ? sums.lost_accelerator_ns : sums.lost_ns();
    if (value > 0) lost.emplace_back(value, row.uid);
  }
  std::sort(lost.begin(), lost.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  ASSERT_EQ(totals.costliest.size(), std::min(query.top, lost.size()));
  for (std::size_t i = 0; i < totals.costliest.size(); ++i) {
    EXPECT_EQ(totals.costliest[i].uid, lost[i].second);
  }
}

TYPED_TEST_P(RecordStoreConformance, FiltersAndOrdersAsTheModelDoes) {
  std::mt19937_64 random(7);
  const auto one_of = [&random](const std::vector<std::string>& all) {
    return all[random() % all.size()];
  };
  std::vector<SummarisedRun> summaries;
  for (int i = 0; i < 60; ++i) {
    RunRow run = NewRun("p", one_of({"a", "b", "run 'x'", "\"q\"", "ü"}), 1000 + i / 2 * 1'000'000);
    run.uid = DeriveUid<RunUid>("filter/" + std::to_string(i));
    if (random() % 2 == 0) run.details.group = one_of({"g", "h", "%"});
    if (random() % 2 == 0) run.details.labels["team"] = one_of({"x", "y", "_"});
    if (random() % 2 == 0) run.details.labels["a.b/c d"] = one_of({"1", "10", "9"});
    run.details.phase = static_cast<RunPhase>(random() % 8);
    if (random() % 2 == 0) run.details.workload = {"JobSet", "ns", one_of({"w", "v"})};
    if (random() % 3 != 0) run.details.accelerators = static_cast<std::int64_t>(random() % 3 * 8);
    ASSERT_TRUE(this->store_->CreateRun(run, {}).ok());
    SummarisedRun summary;
    summary.stale.uid = run.uid;
    summary.summary.state = static_cast<RunState>(random() % 6);
    if (random() % 3 != 0) {
      summary.summary.goodput = static_cast<double>(random() % 5) / 4;
      summary.summary.end = static_cast<std::int64_t>(random() % 10);
      summary.summary.last_step = static_cast<std::int64_t>(random() % 3) - 1;
    }
    summary.summary.elapsed_ns = static_cast<std::int64_t>(random() % 4) * 1'000'000'000;
    summary.summary.attempts = static_cast<std::int64_t>(random() % 4);
    if (random() % 3 != 0) {
      summary.summary.start = run.start + static_cast<std::int64_t>(random() % 2'000'000);
      summary.summary.as_of = 1;
    }
    if (random() % 4 != 0) {
      summary.digest.emplace();
      for (std::int64_t& ns : summary.digest->ns) ns = static_cast<std::int64_t>(random() >> 3);
      summary.digest->disruptions = static_cast<std::int64_t>(random() % 5);
      summary.digest->goodput = {0, 200, RunDigest::kNoGoodput};
    }
    summaries.push_back(summary);
  }
  ASSERT_TRUE(this->store_->SummariseRuns(summaries).ok());
  for (const SummarisedRun& one : summaries) {
    ASSERT_EQ(this->store_->FindRun(one.stale.uid)->digest, one.digest);
  }
  const std::vector<RunRow> all = this->Runs("p");
  ASSERT_EQ(all.size(), 60u);
  const std::vector<std::string> comparisons = {"name = a",
                                                "name != b",
                                                "name > a",
                                                "name:x",
                                                "name = \"run 'x'\"",
                                                "group:*",
                                                "group = g",
                                                "group != g",
                                                "group:%",
                                                "labels.team = x",
                                                "labels.team != x",
                                                "labels.team:*",
                                                "labels.team:_",
                                                "labels.\"a.b/c d\" > 1",
                                                "labels.nobody:*",
                                                "phase = active",
                                                "phase:*",
                                                "phase != failed",
                                                "state = running",
                                                "state != completed",
                                                "goodput < 50%",
                                                "goodput >= 1",
                                                "goodput:*",
                                                "goodput = 0",
                                                "end > @4",
                                                "end:*",
                                                "last_step < 0",
                                                "last_step = 1",
                                                "elapsed > 1s",
                                                "elapsed = 0s",
                                                "attempts >= 2",
                                                "workload:JobSet",
                                                "workload = JobSet/ns/w",
                                                "start > @5001000",
                                                "creator = somebody",
                                                "orchestrator:*",
                                                "accelerators:*",
                                                "accelerators > 8",
                                                "uid:a",
                                                "project = p",
                                                "create_time < @9001000",
                                                "delete_time:*"};
  const std::vector<std::string> fields = {
      "name", "state",       "start", "elapsed", "goodput",     "attempts",
      "end",  "last_step",   "group", "phase",   "labels.team", "labels.\"a.b/c d\"",
      "uid",  "accelerators"};
  const auto row_of = [](const RunRow& row) {
    return [&row](std::size_t field, std::string_view key) { return RunRowValue(row, field, key); };
  };
  for (int i = 0; i < 400; ++i) {
    std::string text = one_of(comparisons);
    for (std::uint64_t more = random() % 4; more > 0; --more) {
      text = (random() % 3 == 0 ? "NOT (" + text + ")" : "(" + text + ")") +
             one_of({" AND ", " OR "}) + one_of(comparisons);
    }
    if (i % 4 == 0) text = DeepestFilter(one_of(comparisons), &random);
    std::string order_text = one_of(fields);
    for (std::uint64_t more = random() % 3; more > 0; --more) {
      order_text += one_of({" desc", ""}) + ", " + one_of(fields);
    }
    const Result<Filter> filter = Filter::Parse(text, RunRowFields());
    ASSERT_TRUE(filter.ok()) << text << ": " << filter.status().ToString();
    const Result<RowOrder> order = RowOrder::Parse(order_text, RunRowFields());
    ASSERT_TRUE(order.ok()) << order_text;
    std::vector<RunRow> expected;
    for (const RunRow& row : all) {
      if (filter->Matches(row_of(row))) expected.push_back(row);
    }
    std::stable_sort(expected.begin(), expected.end(), [&](const RunRow& a, const RunRow& b) {
      return order->Before(row_of(a), row_of(b));
    });
    const std::vector<RunRow> got = this->Runs(
        RunQuery{.project = "p", .filter = *filter, .order = *order, .count = 1 + random() % 20});
    ASSERT_EQ(got, expected) << text << "; " << order_text;
    FleetQuery sums{.project = "p", .filter = *filter, .top = random() % 7};
    if (i % 3 != 0) {
      const std::string group = one_of({"name", "group", "phase", "labels.team"});
      sums.group = RowOrder::Parse(group, RunRowFields())->keys().front();
    }
    const Result<FleetTotals> totals = this->store_->SumRuns(sums);
    ASSERT_TRUE(totals.ok()) << text;
    ExpectTotals(*totals, sums, expected);
    if (::testing::Test::HasFailure()) FAIL() << text;
  }
  RunQuery query{.project = "p", .count = 1};
  query.after = "no mark";
  EXPECT_EQ(this->store_->ListRuns(query).status().code(), Code::kInvalidArgument);
}

TYPED_TEST_P(RecordStoreConformance, ARunThatWasMadeWaitsForItsJournals) {
  RunRow made = NewRun("p", "r", 5);
  made.details.labels["a"] = "b";
  made.details.phase = RunPhase::kQueued;
  ASSERT_TRUE(this->store_->CreateRun(made, {}).ok());
  EXPECT_EQ(this->store_->CreateRun(made, {}).code(), Code::kAlreadyExists);
  EXPECT_EQ(this->store_->FindRun(made.uid)->start, 5);
  // Two journals of one run of that name, and of another project.
  const JournalIdentity first = TestIdentity("p", "r", 0);
  const JournalIdentity second = TestIdentity("p", "r", 1);
  for (const JournalIdentity& identity : {first, second, TestIdentity("q", "r", 0)}) {
    ASSERT_TRUE(this->Append(identity, 0, TestSlots(0, 10)).ok());
    ASSERT_TRUE(this->Append(identity, 10, TestSlots(10, 1)).ok());
  }
  for (int pass = 0; pass < 2; ++pass) {
    const RunRow row = *this->store_->FindRun(made.uid);
    EXPECT_EQ(row.uid, made.uid);
    EXPECT_EQ(row.start, first.start);
    EXPECT_EQ(row.details, made.details);
    EXPECT_EQ(row.journals, 2);
    EXPECT_EQ(*this->store_->FindRun(first.run_uid), row);
    EXPECT_EQ(this->store_->ListJournals(made.uid)->size(), 2u);
    EXPECT_EQ(this->store_->FindJournal(second.uid)->identity.run_uid, made.uid);
    EXPECT_EQ(this->Runs("p").size(), 1u);
    EXPECT_EQ(this->Runs("q").size(), 1u);
    this->Reopen();
  }
  // The next run of that name is another one.
  JournalIdentity other = TestIdentity("p", "r", 3);
  other.run_uid = DeriveUid<RunUid>("another");
  ASSERT_TRUE(this->Append(other, 0, "").ok());
  EXPECT_EQ(this->Runs("p", "r").size(), 2u);
}

TYPED_TEST_P(RecordStoreConformance, DetailsChangeByVersion) {
  const RunRow made = NewRun("p", "r", 5);
  ASSERT_TRUE(this->store_->CreateRun(made, {}).ok());
  RunDetails details;
  details.group = "g";
  details.labels = {{"a", "1"}, {"b", ""}};
  details.phase = RunPhase::kFailed;
  details.orchestrator = "slurm";
  details.workload = {"slurm", "cluster", "17"};
  details.artifacts = "s3://b/c";
  details.error = "out of\nmemory";
  details.tools = {"xprof"};
  details.software = {{"jax", "0.8"}};
  details.system = {{"cpus", "2"}};
  AuditRow audit;
  audit.action = "changed";
  EXPECT_EQ(this->store_->UpdateRun(made.uid, 2, details, 9, audit).code(), Code::kAborted);
  EXPECT_TRUE(this->store_->UpdateRun(made.uid, 1, details, 9, audit).ok());
  EXPECT_EQ(this->store_->UpdateRun(made.uid, 1, {}, 9, audit).code(), Code::kAborted);
  EXPECT_EQ(this->store_->UpdateRun(RunUid(), 1, {}, 9, audit).code(), Code::kNotFound);
  this->Reopen();
  const RunRow row = *this->store_->FindRun(made.uid);
  EXPECT_EQ(row.details, details);
  EXPECT_EQ(row.version, 2);
  EXPECT_EQ(row.updated, 9);
  EXPECT_EQ(this->store_->ListAudit(0, 10, "")->size(), 2u);
}

TYPED_TEST_P(RecordStoreConformance, WhatIsDeletedIsHiddenAndThenRemoved) {
  const JournalIdentity identity = TestIdentity("p", "r");
  const JournalIdentity stays = TestIdentity("p", "s");
  for (std::uint64_t at = 0; at < 400; ++at) {
    ASSERT_TRUE(this->Append(identity, 100 * at, TestSlots(100 * at, 100)).ok());
  }
  ASSERT_TRUE(this->Append(stays, 0, TestSlots(0, 100)).ok());
  EXPECT_EQ(this->store_->PurgeRun(identity.run_uid).status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(this->store_->DeleteRun(identity.run_uid, 7, {}).ok());
  EXPECT_EQ(this->Runs("p").size(), 1u);
  EXPECT_EQ(this->Runs(RunQuery{.project = "p", .deleted = true}).size(), 2u);
  EXPECT_EQ(this->store_->FindRun(identity.run_uid)->label, ToHex(identity.run_uid));
  EXPECT_EQ(this->store_->ListProjects()->at(0).runs, 1);
  // It goes on being recorded, and comes back.
  ASSERT_TRUE(this->Append(identity, 40'000, TestSlots(40'000, 1)).ok());
  ASSERT_TRUE(this->store_->DeleteRun(identity.run_uid, 0, {}).ok());
  EXPECT_EQ(this->Runs("p").size(), 2u);
  ASSERT_TRUE(this->store_->DeleteRun(identity.run_uid, 8, {}).ok());
  std::int64_t left = *this->store_->PurgeRun(identity.run_uid);
  for (int i = 0; i < 10'000 && left > 0; ++i) {
    const std::int64_t next = *this->store_->PurgeRun(identity.run_uid);
    EXPECT_LT(next, left);
    left = next;
  }
  EXPECT_EQ(left, 0);
  EXPECT_EQ(*this->store_->PurgeRun(identity.run_uid), 0);
  this->Reopen();
  EXPECT_TRUE(this->store_->FindRun(identity.run_uid)->purged);
  EXPECT_EQ(this->Runs(RunQuery{.project = "p", .deleted = true}).size(), 1u);
  EXPECT_EQ(this->store_->FindJournal(identity.uid).status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(this->store_->ListJournals(identity.run_uid)->empty());
  EXPECT_TRUE(*this->store_->WasPurged(identity.run_uid));
  EXPECT_FALSE(*this->store_->WasPurged(stays.run_uid));
  EXPECT_EQ(this->store_->DeleteRun(identity.run_uid, 0, {}).code(), Code::kNotFound);
  // Nothing of it comes back, and nothing of others went.
  EXPECT_FALSE(this->Append(identity, 40'001, TestSlots(40'001, 1)).ok());
  EXPECT_EQ(this->Append(TestIdentity("p", "r", 5), 0, "").code(), Code::kFailedPrecondition);
  EXPECT_EQ(this->ReadAll(stays), TestSlots(0, 100));
  EXPECT_EQ(static_cast<std::uint64_t>(this->store_->ListProjects()->at(0).stored_bytes),
            *this->store_->StoredBytes(stays.run_uid));
}

TYPED_TEST_P(RecordStoreConformance, AProjectKeepsNoMoreThanItMay) {
  ProjectRow project;
  project.name = "p";
  project.retention_ns = 5;
  project.quota_bytes = 10'000;
  AuditRow audit;
  audit.time = 3;
  ASSERT_TRUE(this->store_->PutProject(project, audit).ok());
  project.created = 3;
  EXPECT_EQ(*this->store_->ListProjects(), std::vector{project});
  const JournalIdentity identity = TestIdentity("p", "r");
  ASSERT_TRUE(this->Append(identity, 0, TestSlots(0, 100)).ok());
  const auto before = *this->store_->FindRun(identity.run_uid);
  const Status status = this->Append(identity, 100, TestSlots(100, 1000));
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("\"p\" may keep 10000 bytes"), std::string::npos);
  EXPECT_EQ(*this->store_->FindRun(identity.run_uid), before);
  // A sign of life takes nothing.
  EXPECT_TRUE(this->Append(identity, 100, "").ok());
  EXPECT_TRUE(this->Append(TestIdentity("q", "r"), 0, TestSlots(100, 1000)).ok());
  project.quota_bytes = 0;
  ASSERT_TRUE(this->store_->PutProject(project, {}).ok());
  EXPECT_TRUE(this->Append(identity, 100, TestSlots(100, 1000)).ok());
  EXPECT_EQ(static_cast<std::uint64_t>(this->store_->ListProjects()->at(0).stored_bytes),
            *this->store_->StoredBytes(identity.run_uid));
}

TYPED_TEST_P(RecordStoreConformance, BlobsCountInWhatIsStored) {
  ProjectRow project;
  project.name = "p";
  project.quota_bytes = 10'000;
  ASSERT_TRUE(this->store_->PutProject(project, {}).ok());
  const JournalIdentity identity = TestIdentity("p", "r");
  const JournalIdentity other = TestIdentity("p", "s");
  ASSERT_TRUE(this->Append(identity, 0, TestSlots(0, 10)).ok());
  ASSERT_TRUE(this->Append(other, 0, TestSlots(0, 10)).ok());
  const RunUid run = identity.run_uid;
  const std::int64_t records = this->store_->FindRun(run)->stored_bytes;
  const std::int64_t all = this->store_->ListProjects()->at(0).stored_bytes;
  const auto expect = [&](std::int64_t blobs) {
    EXPECT_EQ(this->store_->FindRun(run)->stored_bytes, records + blobs);
    EXPECT_EQ(this->Runs("p", "r").at(0).stored_bytes, records + blobs);
    EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, all + blobs);
  };
  EXPECT_EQ(this->store_->CountBlobs(RunUid(), 1).code(), Code::kNotFound);
  ASSERT_TRUE(this->store_->CountBlobs(run, 5'000).ok());
  expect(5'000);
  ASSERT_TRUE(this->store_->CountBlobs(run, 5'000).ok());
  expect(5'000);
  const Status full = this->store_->CountBlobs(run, 10'000);
  EXPECT_EQ(full.code(), Code::kFailedPrecondition);
  EXPECT_NE(full.message().find("\"p\" may keep 10000 bytes"), std::string::npos);
  expect(5'000);
  const auto more = static_cast<std::uint64_t>(10'000 - all);
  EXPECT_EQ(this->store_->CountBlobs(run, more + 1).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(this->store_->CountBlobs(run, more).ok());
  expect(10'000 - all);
  // What records may take is less by that.
  EXPECT_EQ(this->Append(other, 10, TestSlots(10, 1)).code(), Code::kFailedPrecondition);
  // Fewer are always fine.
  project.quota_bytes = 1;
  ASSERT_TRUE(this->store_->PutProject(project, {}).ok());
  ASSERT_TRUE(this->store_->CountBlobs(run, 3'000).ok());
  this->Reopen();
  expect(3'000);
  project.quota_bytes = 0;
  ASSERT_TRUE(this->store_->PutProject(project, {}).ok());
  // They are counted until someone has removed them, but no new ones come.
  ASSERT_TRUE(this->store_->DeleteRun(run, 7, {}).ok());
  EXPECT_EQ(*this->store_->PurgeRun(run), 0);
  EXPECT_EQ(this->store_->FindRun(run)->stored_bytes, 3'000);
  EXPECT_EQ(this->store_->CountBlobs(run, 3'001).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(this->store_->CountBlobs(run, 1'000).ok());
  ASSERT_TRUE(this->store_->CountBlobs(run, 0).ok());
  EXPECT_EQ(this->store_->FindRun(run)->stored_bytes, 0);
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes,
            this->store_->FindRun(other.run_uid)->stored_bytes);
}

TYPED_TEST_P(RecordStoreConformance, WhatHasGrownIsStale) {
  const JournalIdentity identity = TestIdentity("p", "r");
  EXPECT_TRUE(this->store_->ListStaleRuns(10)->empty());
  ASSERT_TRUE(this->Append(identity, 0, TestSlots(0, 1)).ok());
  std::vector<StaleRun> stale = *this->store_->ListStaleRuns(10);
  ASSERT_EQ(stale.size(), 1u);
  EXPECT_EQ(stale[0].uid, identity.run_uid);
  ASSERT_TRUE(this->Append(identity, 1, TestSlots(1, 1)).ok());
  EXPECT_EQ(this->store_->SumRuns({.project = "p"})->all.undigested, 1);
  SummarisedRun one;
  one.stale = stale[0];
  one.digest.emplace().ns[0] = 7;
  one.summary = {.state = RunState::kCompleted,
                 .start = 5,
                 .end = 8,
                 .elapsed_ns = 7,
                 .goodput = 0.5,
                 .attempts = 2,
                 .last_step = 3,
                 .as_of = 9};
  one.phase = RunPhase::kCompleted;
  one.settled = true;
  ASSERT_TRUE(this->store_->SummariseRuns({&one, 1}).ok());
  this->Reopen();
  EXPECT_EQ(this->store_->FindRun(identity.run_uid)->summary, one.summary);
  EXPECT_EQ(this->store_->FindRun(identity.run_uid)->digest, one.digest);
  EXPECT_EQ(this->store_->SumRuns({.project = "p"})->all.undigested, 0);
  EXPECT_EQ(this->store_->FindRun(identity.run_uid)->details.phase, RunPhase::kCompleted);
  stale = *this->store_->ListStaleRuns(10);
  ASSERT_EQ(stale.size(), 1u);  // it grew meanwhile
  one.stale = stale[0];
  one.settled = false;
  one.phase = RunPhase::kUnspecified;
  ASSERT_TRUE(this->store_->SummariseRuns({&one, 1}).ok());
  EXPECT_EQ(this->store_->ListStaleRuns(10)->size(), 1u);
  one.settled = true;
  ASSERT_TRUE(this->store_->SummariseRuns({&one, 1}).ok());
  EXPECT_TRUE(this->store_->ListStaleRuns(10)->empty());
  EXPECT_EQ(this->store_->FindRun(identity.run_uid)->details.phase, RunPhase::kCompleted);
}

TYPED_TEST_P(RecordStoreConformance, OperationsAreKept) {
  OperationRow operation;
  operation.id = "one";
  operation.verb = "verb";
  operation.target = "target";
  operation.name = "name";
  operation.project = "p";
  operation.who = "who";
  operation.created = 4;
  ASSERT_TRUE(this->store_->AddOperation(operation, {}).ok());
  EXPECT_EQ(this->store_->AddOperation(operation, {}).code(), Code::kAlreadyExists);
  EXPECT_EQ(*this->store_->ListOperations("p", true), std::vector{operation});
  EXPECT_TRUE(this->store_->ListOperations("q", false)->empty());
  EXPECT_EQ(*this->store_->FindOperation("one"), operation);
  EXPECT_EQ(this->store_->FindOperation("two").status().code(), Code::kNotFound);
  operation.progress = 0.25;
  ASSERT_TRUE(this->store_->CancelOperation("one", {}).ok());
  ASSERT_TRUE(this->store_->UpdateOperation(operation).ok());
  operation.cancelled = true;
  EXPECT_EQ(*this->store_->ListOperations("", false), std::vector{operation});
  operation.finished = 8;
  operation.error = Code::kCancelled;
  operation.message = "why";
  ASSERT_TRUE(this->store_->UpdateOperation(operation).ok());
  this->Reopen();
  EXPECT_EQ(*this->store_->ListOperations("", false), std::vector{operation});
  EXPECT_TRUE(this->store_->ListOperations("", true)->empty());
  ASSERT_TRUE(this->store_->DeleteOperation("one", {}).ok());
  for (const Status& status :
       {this->store_->DeleteOperation("one", {}), this->store_->CancelOperation("one", {}),
        this->store_->UpdateOperation(operation)}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
  }
}

// --- Points

/// A store's points of one series, whole, by (time, step, bits of the value).
using PointKey = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;
inline std::vector<PointKey> PointKeys(SeriesStore* store, std::int64_t id) {
  std::vector<PointKey> keys;
  const auto add = [&keys](const Points& points) {
    for (std::size_t i = 0; i < points.times_ns.size(); ++i) {
      keys.emplace_back(points.times_ns[i], points.steps[i],
                        std::bit_cast<std::uint64_t>(points.values[i]));
    }
  };
  const Result<SeriesPieces> pieces = store->ReadSeries(id);
  EXPECT_TRUE(pieces.ok()) << pieces.status().ToString();
  if (!pieces.ok()) return keys;
  EXPECT_EQ(pieces->ids.size(), pieces->summaries.size());
  for (std::size_t i = 0; i < pieces->ids.size(); ++i) {
    const Result<Points> points = store->ReadPiece(pieces->ids[i]);
    EXPECT_TRUE(points.ok()) << points.status().ToString();
    if (!points.ok()) return keys;
    EXPECT_EQ(series::Summarize(points->times_ns, points->steps, points->values).count,
              pieces->summaries[i].count);
    add(*points);
  }
  add(pieces->tail);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Whatever comes in whatever portions: what is read is what was written.
TYPED_TEST_P(RecordStoreConformance, PointsAreKeptAsTheyCame) {
  std::mt19937_64 random(11);
  ASSERT_TRUE(this->store_->CreateRun(NewRun("p", "r", 1), {}).ok());
  const RunUid run = NewRun("p", "r", 1).uid;
  std::map<std::string, std::map<SeriesKey, std::vector<PointKey>>> model;
  std::map<std::string, std::uint64_t> positions;
  const std::vector<std::vector<SeriesKey>> shapes = {
      {{"loss", "1", {}}},
      {{"gpu_utilization", "%", {{"device", "0"}}},
       {"gpu_utilization", "%", {{"device", "1"}}},
       {"power", "W", {{"device", "0"}}}},
      {{"", "", {{"", ""}}}, {"loss", "", {}}},
  };
  const double values[] = {0.0,
                           -0.0,
                           1.5,
                           std::numeric_limits<double>::quiet_NaN(),
                           -std::numeric_limits<double>::infinity(),
                           1e300,
                           37};
  for (int round = 0; round < 250; ++round) {
    std::vector<PointBatch> batches;
    for (const char* const source : {"one", "two"}) {
      if (random() % 3 == 0) continue;
      PointBatch batch{run, source, positions[source], positions[source] + 1 + random() % 5, {}};
      for (std::uint64_t frames = random() % 4; frames > 0; --frames) {
        const std::vector<SeriesKey>& keys = shapes[random() % shapes.size()];
        PointFrame frame;
        const std::size_t count = random() % 40 == 0 ? random() % 10'000 : 1 + random() % 30;
        const bool stepped = random() % 2 == 0;
        for (std::size_t i = 0; i < count; ++i) {
          frame.times_ns.push_back(static_cast<std::int64_t>(random() % 1'000'000'000));
          if (stepped)
            frame.steps.push_back(random() % 9 == 0 ? kNoStep : static_cast<std::int64_t>(i));
        }
        for (const SeriesKey& key : keys) {
          PointFrame::Column& column = frame.columns.emplace_back();
          column.key = key;
          std::vector<PointKey>& expected = model[source][key];
          for (std::size_t i = 0; i < count; ++i) {
            column.values.push_back(values[random() % std::size(values)]);
            expected.emplace_back(frame.times_ns[i], stepped ? frame.steps[i] : kNoStep,
                                  std::bit_cast<std::uint64_t>(column.values.back()));
          }
        }
        batch.frames.push_back(std::move(frame));
      }
      positions[source] = batch.next;
      batches.push_back(std::move(batch));
    }
    ASSERT_TRUE(this->store_->AppendPoints(batches).ok());
    // What is there already is refused, and changes nothing.
    if (!batches.empty()) {
      EXPECT_EQ(this->store_->AppendPoints(batches).code(), Code::kAborted);
    }
    if (round % 100 == 50) this->Reopen();
  }
  std::size_t series_count = 0;
  for (auto& [source, by_key] : model) {
    EXPECT_EQ(*this->store_->PointPosition(run, source), positions[source]);
    series_count += by_key.size();
  }
  const std::vector<SeriesRow> rows = *this->store_->ListSeries(run);
  EXPECT_EQ(rows.size(), series_count);
  for (const SeriesRow& row : rows) {
    std::vector<PointKey>& expected = model[row.source][row.key];
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(PointKeys(this->store_.get(), row.id) == expected) << row.source << row.key.name;
    EXPECT_EQ(row.summary.count, expected.size());
    EXPECT_EQ(row.summary.min_time_ns, std::get<0>(expected.front()));
    EXPECT_EQ(row.summary.max_time_ns, std::get<0>(expected.back()));
  }
  const RunRow row = *this->store_->FindRun(run);
  EXPECT_GT(row.stored_bytes, 0);
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, row.stored_bytes);
  // And goes with its run.
  ASSERT_TRUE(this->store_->DeleteRun(run, 5, {}).ok());
  EXPECT_EQ(*this->store_->PurgeRun(run), 0);
  EXPECT_TRUE(this->store_->ListSeries(run)->empty());
  EXPECT_EQ(this->store_->ReadSeries(rows[0].id).status().code(), Code::kNotFound);
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, 0);
  EXPECT_EQ(this->store_->AppendPoints({}).code(), Code::kOk);
  const PointBatch more{run, "one", 0, 1, {}};
  EXPECT_EQ(this->store_->AppendPoints({&more, 1}).code(), Code::kFailedPrecondition);
}

TYPED_TEST_P(RecordStoreConformance, PointsOfManyRoundsTakeFewBytes) {
  ASSERT_TRUE(this->store_->CreateRun(NewRun("p", "r", 1), {}).ok());
  const RunUid run = NewRun("p", "r", 1).uid;
  std::mt19937_64 random(3);
  constexpr std::size_t kSeries = 40;
  constexpr std::uint64_t kRounds = 5000;
  std::vector<std::int64_t> level(kSeries, 50);
  // A round each ten seconds, one request each.
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    PointFrame frame;
    frame.times_ns = {1'700'000'000'000'000'000 +
                      static_cast<std::int64_t>(round) * 10'000'000'000 +
                      static_cast<std::int64_t>(random() % 2'000'000)};
    for (std::size_t i = 0; i < kSeries; ++i) {
      level[i] =
          std::clamp<std::int64_t>(level[i] + static_cast<std::int64_t>(random() % 5) - 2, 0, 100);
      frame.columns.push_back(
          {{"utilization", "%", {{"device", std::to_string(i)}}}, {static_cast<double>(level[i])}});
    }
    const PointBatch batch{run, "node", round, round + 1, {std::move(frame)}};
    ASSERT_TRUE(this->store_->AppendPoints({&batch, 1}).ok());
  }
  const double bytes = static_cast<double>(this->store_->FindRun(run)->stored_bytes);
  EXPECT_LT(bytes / (kSeries * kRounds), 1.5);
  EXPECT_EQ(this->store_->ListSeries(run)->size(), kSeries);
}

inline Result<LooseOutcome> MergeOne(SeriesStore* store, const LoosePoints& points) {
  return store->MergePoints({&points, 1}).at(0);
}

// Loose points are known by their series and time: however they are repeated, late or mixed, and
// whatever became of them in the store meanwhile.
TYPED_TEST_P(RecordStoreConformance, LoosePointsAreKeptOnce) {
  std::mt19937_64 random(13);
  const RunUid run = NewRun("p", "r", 1).uid;
  ASSERT_TRUE(this->store_->CreateRun(NewRun("p", "r", 1), {}).ok());
  const std::vector<SeriesKey> keys = {
      {"loss", "1", {}}, {"up", "", {{"host", "a"}}}, {"up", "", {{"host", "b"}, {"job", "j"}}}};
  std::map<std::string, std::map<SeriesKey, std::map<std::int64_t, double>>> model;
  LoosePoints before;
  std::int64_t now = 0;
  for (int round = 0; round < 400; ++round) {
    LoosePoints points;
    points.run = run;
    points.source = round % 5 == 0 ? "two" : "one";
    LooseOutcome expected;
    now += 1'000'000;
    for (const SeriesKey& key : keys) {
      if (random() % 4 == 0) continue;
      std::vector<LoosePoints::Label> labels(key.labels.begin(), key.labels.end());
      points.Begin(key.name, key.unit, labels);
      auto& kept = model[points.source][key];
      const std::size_t count = random() % 50 == 0 ? 5'000 : 1 + random() % 3;
      for (std::size_t i = 0; i < count; ++i) {
        std::int64_t time = now + static_cast<std::int64_t>(i);
        if (random() % 10 == 0) time -= static_cast<std::int64_t>(random() % 300) * 1'000'000;
        const double value = random() % 7 == 0 ? std::nan("") : static_cast<double>(random() % 3);
        points.Add(time, value);
        const auto [there, is_new] = kept.emplace(time, value);
        if (is_new) {
          ++expected.kept;
        } else if (std::bit_cast<std::uint64_t>(there->second) ==
                   std::bit_cast<std::uint64_t>(value)) {
          ++expected.repeated;
        } else {
          ++expected.differing;
        }
      }
    }
    const Result<LooseOutcome> outcome = MergeOne(this->store_.get(), points);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    ASSERT_EQ(outcome->kept, expected.kept) << round;
    ASSERT_EQ(outcome->repeated, expected.repeated) << round;
    ASSERT_EQ(outcome->differing, expected.differing) << round;
    EXPECT_EQ(outcome->differing == 0, outcome->differing_metric.empty());
    // The answer got lost.
    if (round % 3 == 0) {
      const Result<LooseOutcome> again = MergeOne(this->store_.get(), points);
      ASSERT_TRUE(again.ok());
      ASSERT_EQ(again->kept, 0);
      ASSERT_EQ(again->differing, expected.differing);
    }
    if (round % 11 == 0 && round > 0) {
      EXPECT_EQ(MergeOne(this->store_.get(), before)->kept, 0);
    }
    if (round % 7 == 0) before = points;
    if (round % 100 == 50) this->Reopen();
  }
  const std::vector<SeriesRow> rows = *this->store_->ListSeries(run);
  EXPECT_EQ(rows.size(), 2 * keys.size());
  for (const SeriesRow& row : rows) {
    std::vector<PointKey> expected;
    for (const auto& [time, value] : model[row.source][row.key]) {
      expected.emplace_back(time, kNoStep, std::bit_cast<std::uint64_t>(value));
    }
    EXPECT_TRUE(PointKeys(this->store_.get(), row.id) == expected) << row.source << row.key.name;
    EXPECT_EQ(row.summary.count, expected.size());
    EXPECT_EQ(row.summary.max_time_ns, std::get<0>(expected.back()));
  }
  const RunRow row = *this->store_->FindRun(run);
  EXPECT_GT(row.stored_bytes, 0);
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, row.stored_bytes);
  // And go with their run.
  ASSERT_TRUE(this->store_->DeleteRun(run, 5, {}).ok());
  EXPECT_EQ(*this->store_->PurgeRun(run), 0);
  EXPECT_TRUE(this->store_->ListSeries(run)->empty());
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, 0);
  EXPECT_EQ(MergeOne(this->store_.get(), before).status().code(), Code::kFailedPrecondition);
  // One that fails does not spoil the others.
  ASSERT_TRUE(this->store_->CreateRun(NewRun("p", "s", 2), {}).ok());
  std::vector<LoosePoints> all(3, before);
  all[1].run = NewRun("p", "s", 2).uid;
  const std::vector<Result<LooseOutcome>> each = this->store_->MergePoints(all);
  ASSERT_EQ(each.size(), 3);
  EXPECT_EQ(each[0].status().code(), Code::kFailedPrecondition);
  EXPECT_GT(each[1]->kept, 0);
  EXPECT_EQ(each[2].status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(this->store_->MergePoints({}).empty());
  before.run = RunUid();
  EXPECT_EQ(MergeOne(this->store_.get(), before).status().code(), Code::kNotFound);
}

// Calls that wait for each other share a commit; one that fails spoils no other.
TYPED_TEST_P(RecordStoreConformance, LoosePointsOfManyCallersAreKept) {
  ASSERT_TRUE(this->store_->CreateRun(NewRun("p", "r", 1), {}).ok());
  constexpr int kThreads = 8;
  constexpr int kRounds = 40;
  std::vector<std::thread> threads;
  std::atomic<int> kept = 0;
  std::atomic<int> refused = 0;
  for (int n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      for (int round = 0; round < kRounds; ++round) {
        LoosePoints points;
        points.source = "s";
        if (round % 4 != 1) points.run = NewRun("p", "r", 1).uid;
        points.Begin("m" + std::to_string(n), "", {});
        points.Add(round, round);
        const Result<LooseOutcome> outcome = MergeOne(this->store_.get(), points);
        if (outcome.ok()) {
          kept += static_cast<int>(outcome->kept);
        } else if (outcome.status().code() == Code::kNotFound) {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept, kThreads * kRounds * 3 / 4);
  EXPECT_EQ(refused, kThreads * kRounds / 4);
  const std::vector<SeriesRow> rows = *this->store_->ListSeries(NewRun("p", "r", 1).uid);
  EXPECT_EQ(rows.size(), kThreads);
  for (const SeriesRow& row : rows) EXPECT_EQ(row.summary.count, kRounds * 3 / 4);
}

TYPED_TEST_P(RecordStoreConformance, PointsNeedARun) {
  const PointBatch batch{RunUid(), "one", 0, 1, {}};
  EXPECT_EQ(this->store_->AppendPoints({&batch, 1}).code(), Code::kNotFound);
  EXPECT_EQ(*this->store_->PointPosition(RunUid(), "one"), 0u);
  EXPECT_TRUE(this->store_->ListSeries(RunUid())->empty());
  EXPECT_EQ(this->store_->ReadSeries(7).status().code(), Code::kNotFound);
  EXPECT_EQ(this->store_->ReadPiece(7).status().code(), Code::kNotFound);
  ASSERT_TRUE(this->store_->CreateRun(NewRun("p", "r", 1), {}).ok());
  PointBatch late{NewRun("p", "r", 1).uid, "one", 1, 2, {}};
  EXPECT_EQ(this->store_->AppendPoints({&late, 1}).code(), Code::kAborted);
}

TYPED_TEST_P(RecordStoreConformance, LedgersAreKeptWithTheirPages) {
  const JournalIdentity identity = TestIdentity("p", "r");
  const RunUid run = identity.run_uid;
  const auto save = [&](std::string_view state, std::vector<LedgerPage> added,
                        std::vector<std::uint64_t> kept) {
    return this->store_->SaveLedger(run, state, added, kept);
  };
  EXPECT_EQ(save("s", {}, {}).code(), Code::kNotFound);
  EXPECT_EQ(*this->store_->FindLedger(run), std::nullopt);
  ASSERT_TRUE(this->Append(identity, 0, TestSlots(0, 1)).ok());
  EXPECT_EQ(*this->store_->FindLedger(run), std::nullopt);
  const std::string state("state\0one", 9);
  ASSERT_TRUE(save(state, {{1, "a"}, {2, ""}, {~std::uint64_t{0}, "c"}}, {1, 2, ~0ull}).ok());
  this->Reopen();
  EXPECT_EQ(*this->store_->FindLedger(run), state);
  EXPECT_EQ(*this->store_->ReadLedgerPage(run, 1), "a");
  EXPECT_EQ(*this->store_->ReadLedgerPage(run, 2), "");
  EXPECT_EQ(*this->store_->ReadLedgerPage(run, ~0ull), "c");
  // Some stay, one is another now, one is new, one has gone.
  ASSERT_TRUE(save("two", {{2, "b"}, {7, std::string(100'000, 'x')}}, {2, 7, ~0ull}).ok());
  EXPECT_EQ(*this->store_->FindLedger(run), "two");
  EXPECT_EQ(this->store_->ReadLedgerPage(run, 1).status().code(), Code::kNotFound);
  EXPECT_EQ(*this->store_->ReadLedgerPage(run, 2), "b");
  EXPECT_EQ(this->store_->ReadLedgerPage(run, 7)->size(), 100'000u);
  EXPECT_EQ(*this->store_->ReadLedgerPage(run, ~0ull), "c");
  EXPECT_EQ(this->store_->ReadLedgerPage(RunUid(), 2).status().code(), Code::kNotFound);
  // Those of runs that may change stay.
  EXPECT_EQ(*this->store_->DropOldLedgers(1'000), 0u);
  SummarisedRun done;
  done.stale = this->store_->ListStaleRuns(1)->at(0);
  done.summary.as_of = 900;
  done.settled = true;
  ASSERT_TRUE(this->store_->SummariseRuns({&done, 1}).ok());
  EXPECT_EQ(*this->store_->DropOldLedgers(900), 0u);
  EXPECT_EQ(*this->store_->FindLedger(run), "two");
  EXPECT_EQ(*this->store_->DropOldLedgers(901), 1u);
  EXPECT_EQ(*this->store_->DropOldLedgers(901), 0u);
  EXPECT_EQ(*this->store_->FindLedger(run), std::nullopt);
  EXPECT_EQ(this->store_->ReadLedgerPage(run, 7).status().code(), Code::kNotFound);
  // What is dropped or purged has gone.
  ASSERT_TRUE(save("three", {{9, "d"}}, {9}).ok());
  ASSERT_TRUE(this->store_->DropLedger(run).ok());
  EXPECT_EQ(*this->store_->FindLedger(run), std::nullopt);
  ASSERT_TRUE(save("four", {{9, "d"}}, {9}).ok());
  ASSERT_TRUE(this->store_->DeleteRun(run, 1, {}).ok());
  while (*this->store_->PurgeRun(run) > 0) {
  }
  EXPECT_EQ(*this->store_->FindLedger(run), std::nullopt);
  EXPECT_EQ(this->store_->ReadLedgerPage(run, 9).status().code(), Code::kNotFound);
  EXPECT_EQ(save("five", {}, {}).code(), Code::kFailedPrecondition);
}

/// The n-th event of a run.
inline ItemRow TestItem(const RunUid& run, int n) {
  ItemRow item;
  item.uid = DeriveUid<ItemUid>(ToHex(run) + "/" + std::to_string(n));
  item.run_uid = run;
  item.start = 100 + n;
  item.type = "hang";
  item.level = 2;
  item.name = "event " + std::to_string(n);
  item.bytes = std::string("\0bytes", 6) + std::to_string(n);
  item.creator = "admin";
  item.created = item.updated = 7;
  return item;
}

inline constexpr std::int64_t kManyItems = 1'000;

TYPED_TEST_P(RecordStoreConformance, ItemsOfRunsAreKeptAndChangeByVersion) {
  const RunRow run = NewRun("p", "r", 5);
  ASSERT_TRUE(this->store_->CreateRun(run, {}).ok());
  ItemRow item = TestItem(run.uid, 0);
  EXPECT_EQ(this->store_->FindItem(item.kind, item.uid).status().code(), Code::kNotFound);
  ASSERT_TRUE(this->store_->CreateItem(item, kManyItems, TestAudit("made")).ok());
  EXPECT_EQ(this->store_->CreateItem(item, kManyItems, TestAudit("again")).code(),
            Code::kAlreadyExists);
  ItemRow other = TestItem(RunUid(), 1);
  EXPECT_EQ(this->store_->CreateItem(other, kManyItems, TestAudit("none")).code(), Code::kNotFound);
  other = TestItem(run.uid, 1);
  EXPECT_EQ(this->store_->CreateItem(other, 1, TestAudit("full")).code(), Code::kResourceExhausted);
  item.project = "p";
  item.run = "r";
  this->Reopen();
  EXPECT_EQ(*this->store_->FindItem(item.kind, item.uid), item);
  EXPECT_EQ(this->store_->FindItem(ItemKind::kProfileSession, item.uid).status().code(),
            Code::kNotFound);
  const auto size = static_cast<std::int64_t>(item.bytes.size());
  EXPECT_EQ(this->store_->FindRun(run.uid)->stored_bytes, size);

  ItemRow changed = item;
  changed.start = -3;
  changed.end = 9;
  changed.type = "";
  changed.level = std::nullopt;
  changed.name = std::string("\xff'", 2);
  changed.attempt = 0;
  changed.found = true;
  changed.bytes = "more bytes than there were";
  changed.updated = 9;
  ItemRow stale = changed;
  stale.version = 2;
  EXPECT_EQ(this->store_->UpdateItem(stale, TestAudit("stale")).code(), Code::kAborted);
  ASSERT_TRUE(this->store_->UpdateItem(changed, TestAudit("changed")).ok());
  EXPECT_EQ(this->store_->UpdateItem(changed, TestAudit("stale")).code(), Code::kAborted);
  EXPECT_EQ(this->store_->UpdateItem(other, TestAudit("none")).code(), Code::kNotFound);
  changed.version = 2;
  this->Reopen();
  EXPECT_EQ(*this->store_->FindItem(item.kind, item.uid), changed);
  EXPECT_EQ(this->store_->FindRun(run.uid)->stored_bytes,
            static_cast<std::int64_t>(changed.bytes.size()));

  EXPECT_EQ(this->store_->DeleteItem(item.kind, item.uid, 1, TestAudit("stale")).code(),
            Code::kAborted);
  EXPECT_EQ(this->store_->DeleteItem(item.kind, other.uid, 1, TestAudit("none")).code(),
            Code::kNotFound);
  ASSERT_TRUE(this->store_->DeleteItem(item.kind, item.uid, 2, TestAudit("deleted")).ok());
  EXPECT_EQ(this->store_->FindItem(item.kind, item.uid).status().code(), Code::kNotFound);
  EXPECT_EQ(this->store_->FindRun(run.uid)->stored_bytes, 0);
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, 0);
  // There is room again, also for the same one; and what was refused is not written down.
  EXPECT_TRUE(this->store_->CreateItem(item, 1, {}).ok());
  std::vector<std::string> done;
  const std::vector<AuditRow> audit = *this->store_->ListAudit(0, 10, "");
  for (const AuditRow& row : audit) {
    if (!row.what.empty()) done.push_back(row.what);
  }
  EXPECT_EQ(done, (std::vector<std::string>{"deleted", "changed", "made"}));
}

TYPED_TEST_P(RecordStoreConformance, ItemsAreFilteredAndOrderedAsTheModelDoes) {
  std::mt19937_64 random(5);
  std::vector<RunRow> runs;
  for (const auto& [project, name] :
       {std::pair("p", "r"), std::pair("p", "s"), std::pair("p", "hidden"), std::pair("q", "r")}) {
    runs.push_back(NewRun(project, name, 5));
    ASSERT_TRUE(this->store_->CreateRun(runs.back(), {}).ok());
  }
  std::vector<ItemRow> all;
  for (int n = 0; n < 120; ++n) {
    const RunRow& run = runs[random() % runs.size()];
    ItemRow item = TestItem(run.uid, n);
    item.kind = random() % 4 == 0 ? ItemKind::kProfileSession : ItemKind::kEvent;
    item.start = static_cast<std::int64_t>(random() % 30);
    if (random() % 2 == 0) item.end = item.start + static_cast<std::int64_t>(random() % 9);
    item.type = random() % 2 == 0 ? "hang" : "termination";
    item.level = static_cast<std::int64_t>(1 + random() % 4);
    if (random() % 4 == 0) item.level = std::nullopt;
    if (random() % 3 == 0) item.attempt = static_cast<std::int64_t>(random() % 3);
    item.found = random() % 2 == 0;
    ASSERT_TRUE(this->store_->CreateItem(item, kManyItems, {}).ok());
    item.project = run.project;
    item.run = run.name;
    all.push_back(item);
  }
  ASSERT_TRUE(this->store_->DeleteRun(runs[2].uid, 9, {}).ok());
  this->Reopen();
  std::sort(all.begin(), all.end(), [](const ItemRow& a, const ItemRow& b) {
    return std::tie(a.start, a.uid) > std::tie(b.start, b.uid);
  });
  const std::span<const FilterField> fields = ItemFields(ItemKind::kEvent);
  const std::vector<std::string> filters = {"",
                                            "type = hang",
                                            "NOT type = hang AND start >= @10",
                                            "severity >= error",
                                            "severity = info OR severity:*",
                                            "end:*",
                                            "NOT end:*",
                                            "end > @20",
                                            "attempt >= 1",
                                            "run = s",
                                            "name:1",
                                            "uid:a",
                                            "insight_found = true",
                                            "create_time > @7 OR update_time = @7"};
  const std::vector<std::string> orders = {
      "",    "severity desc",       "end, name", "attempt desc, type", "run, severity",
      "uid", "insight_found, start"};
  const auto row_of = [](const ItemRow& row) {
    return [&row](std::size_t field, std::string_view) { return ItemValue(row, field); };
  };
  for (int i = 0; i < 200; ++i) {
    std::string text = filters[random() % filters.size()];
    if (i % 4 == 0) text = DeepestFilter("insight_found = true", &random);
    const std::string& order_text = orders[random() % orders.size()];
    const Result<Filter> filter = Filter::Parse(text, fields);
    ASSERT_TRUE(filter.ok()) << text << ": " << filter.status().ToString();
    ItemQuery query{.project = "p", .filter = *filter, .count = 1 + random() % 20};
    if (!order_text.empty()) query.order = *RowOrder::Parse(order_text, fields);
    const std::uint64_t of = random() % 6;
    if (of < runs.size()) query.run = runs[of].uid;
    if (of == 4) query.run_name = "s";
    std::vector<ItemRow> expected;
    for (const ItemRow& row : all) {
      bool in = of < runs.size() ? row.run_uid == runs[of].uid
                                 : row.project == "p" && row.run_uid != runs[2].uid;
      if (of == 4) in = in && row.run == "s";
      if (in && row.kind == ItemKind::kEvent && filter->Matches(row_of(row))) {
        expected.push_back(row);
      }
    }
    std::stable_sort(expected.begin(), expected.end(), [&](const ItemRow& a, const ItemRow& b) {
      return query.order.Before(row_of(a), row_of(b));
    });
    std::vector<ItemRow> got;
    do {
      const Result<ItemPage> page = this->store_->ListItems(query);
      ASSERT_TRUE(page.ok()) << page.status().ToString();
      EXPECT_LE(page->items.size(), query.count);
      got.insert(got.end(), page->items.begin(), page->items.end());
      query.after = page->next;
    } while (!query.after.empty());
    ASSERT_EQ(got, expected) << text << "; " << order_text << "; " << of;
  }
  ItemQuery query{.project = "p", .count = 1};
  query.after = "no mark";
  EXPECT_EQ(this->store_->ListItems(query).status().code(), Code::kInvalidArgument);
  query = {.project = "none"};
  EXPECT_TRUE(this->store_->ListItems(query)->items.empty());
  // Large ones make a page shorter, but not empty.
  query = {.project = "p", .bytes = 1};
  const ItemPage page = *this->store_->ListItems(query);
  EXPECT_EQ(page.items.size(), 1u);
  query.after = page.next;
  EXPECT_NE(this->store_->ListItems(query)->items.at(0), page.items[0]);
}

TYPED_TEST_P(RecordStoreConformance, ItemsGoWithTheirRun) {
  const JournalIdentity identity = TestIdentity("p", "r");
  ASSERT_TRUE(this->Append(identity, 0, TestSlots(0, 100)).ok());
  const RunRow stays = NewRun("p", "s", 5);
  ASSERT_TRUE(this->store_->CreateRun(stays, {}).ok());
  constexpr int kItems = 700;  // more than one step
  for (int n = 0; n < kItems; ++n) {
    ASSERT_TRUE(this->store_->CreateItem(TestItem(identity.run_uid, n), kManyItems, {}).ok());
  }
  ASSERT_TRUE(this->store_->CreateItem(TestItem(stays.uid, 0), kManyItems, {}).ok());
  ASSERT_TRUE(this->store_->DeleteRun(identity.run_uid, 7, {}).ok());
  // Hidden, it still is there.
  ASSERT_TRUE(this->store_->CreateItem(TestItem(identity.run_uid, kItems), kManyItems, {}).ok());
  ItemQuery query{.project = "p", .count = kItems + 2};
  EXPECT_EQ(this->store_->ListItems(query)->items.size(), 1u);
  query.run = identity.run_uid;
  EXPECT_EQ(this->store_->ListItems(query)->items.size(), static_cast<std::size_t>(kItems) + 1);
  std::int64_t left = *this->store_->PurgeRun(identity.run_uid);
  EXPECT_GT(left, 0);
  EXPECT_TRUE(this->store_->ListItems(query)->items.empty());
  EXPECT_EQ(this->store_->FindItem(ItemKind::kEvent, TestItem(identity.run_uid, kItems).uid)
                .status()
                .code(),
            Code::kNotFound);
  while (left > 0) {
    const std::int64_t next = *this->store_->PurgeRun(identity.run_uid);
    EXPECT_LT(next, left);
    left = next;
  }
  this->Reopen();
  EXPECT_EQ(this->store_->CreateItem(TestItem(identity.run_uid, 1), kManyItems, {}).code(),
            Code::kNotFound);
  ItemRow gone = TestItem(identity.run_uid, 1);
  EXPECT_EQ(this->store_->UpdateItem(gone, {}).code(), Code::kNotFound);
  EXPECT_EQ(this->store_->DeleteItem(gone.kind, gone.uid, 1, {}).code(), Code::kNotFound);
  EXPECT_EQ(this->store_->FindRun(identity.run_uid)->stored_bytes, 0);
  query.run = std::nullopt;
  ASSERT_EQ(this->store_->ListItems(query)->items.size(), 1u);
  const std::int64_t size = this->store_->FindRun(stays.uid)->stored_bytes;
  EXPECT_EQ(size, static_cast<std::int64_t>(TestItem(stays.uid, 0).bytes.size()));
  EXPECT_EQ(this->store_->ListProjects()->at(0).stored_bytes, size);
  // They count for what a project may keep.
  ProjectRow project;
  project.name = "p";
  project.quota_bytes = size + 1;
  ASSERT_TRUE(this->store_->PutProject(project, {}).ok());
  EXPECT_EQ(this->store_->CreateItem(TestItem(stays.uid, 1), kManyItems, {}).code(),
            Code::kFailedPrecondition);
  ItemRow grown = TestItem(stays.uid, 0);
  grown.bytes += "xx";
  EXPECT_EQ(this->store_->UpdateItem(grown, {}).code(), Code::kFailedPrecondition);
  grown.bytes.resize(1);
  EXPECT_TRUE(this->store_->UpdateItem(grown, {}).ok());
}

REGISTER_TYPED_TEST_SUITE_P(
    RecordStoreConformance, AnEmptyStoreHasNothing, KeepsWhatItIsTold, ReadsAnyPart, AGapIsRefused,
    APartOfASlotIsRefused, AnotherHeaderIsRefused, ARunStaysInItsProjectAndUnderItsName,
    AllOrNothing, ASignOfLifeChangesTheStateOnly, WhatComesLaterLiesOverWhatWasThere,
    TakesManyJournalsAtOnce, TakesALargeBatch, ListsProjectsAndRuns, ListsJournalsOfARun,
    ANameIsAnyBytes, CountsStoredBytesByRun, BehavesLikeAMap, TokensAreKeptAndRevoked,
    RolesAreKeptAsLongAsTokensHaveThem, LinksAreKeptAndEnd, JournalsArePlacedOnMachines,
    PackedSlotsAreSlots, ManySmallBatchesTakeLittleMoreThanALargeOne, ReadsWhileItWrites,
    ManyMayWrite, FiltersAndOrdersAsTheModelDoes, ARunThatWasMadeWaitsForItsJournals,
    DetailsChangeByVersion, WhatIsDeletedIsHiddenAndThenRemoved, AProjectKeepsNoMoreThanItMay,
    BlobsCountInWhatIsStored, WhatHasGrownIsStale, OperationsAreKept, PointsAreKeptAsTheyCame,
    PointsOfManyRoundsTakeFewBytes, LoosePointsAreKeptOnce, LoosePointsOfManyCallersAreKept,
    PointsNeedARun, LedgersAreKeptWithTheirPages, ItemsOfRunsAreKeptAndChangeByVersion,
    ItemsAreFilteredAndOrderedAsTheModelDoes, ItemsGoWithTheirRun);

}  // namespace headway::store
