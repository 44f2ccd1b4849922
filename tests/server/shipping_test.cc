#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/test_scratch_dir.h"
#include "client/server_client.h"
#include "client/shipper.h"
#include "far_end.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "net/http.h"
#include "runs/runs.h"
#include "server/access.h"
#include "server/connect.h"
#include "server/journal_service.h"
#include "server/run_ledger.h"
#include "store/sqlite/record_store.h"

// Journals that grow, have holes, and are left in all states go to a server over a connection that
// loses requests and answers and delivers twice, while the server is killed and set back to
// backups. In the end it has what the files have, byte for byte, and gives the same account.

namespace headway {
namespace {

using journal::kSlotBytes;

constexpr char kProject[] = "p";
constexpr char kRun[] = "r";

/// What can be asked over a connection, and restarted.
class Far {
 public:
  explicit Far(std::string folder) : folder_(std::move(folder)) { Start(); }

  void Start() {
    Stop();
    auto opened = store::OpenSqliteStore(folder_ + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    journals_ = std::make_unique<server::JournalService>(store_.get(), &clock_);
    router_ = std::make_unique<server::ConnectRouter>(
        [](const server::HttpRequest& head) { return server::Access::Open().Authenticate(head); });
    journals_->AddTo(router_.get());
  }
  void Stop() {
    router_.reset();
    journals_.reset();
    store_.reset();
  }

  void Backup() {
    Stop();
    backup_.Take(folder_);
    Start();
  }
  void Restore() {
    if (backup_.empty()) return;
    Stop();
    backup_.PutBack(folder_);
    Start();
  }

  server::HttpResponse Answer(const net::Request& request) const {
    return headway::Answer(*router_, request);
  }

  store::Store* store() const { return store_.get(); }

 private:
  std::string folder_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::JournalService> journals_;
  std::unique_ptr<server::ConnectRouter> router_;
  FolderCopy backup_;
};

class BadConnection : public net::HttpClient {
 public:
  BadConnection(const Far* far, std::mt19937_64* random, const int* percent)
      : far_(far), random_(random), percent_(percent) {}

  Result<net::Response> Send(const net::Request& request, MonoNs) override {
    const auto chance = [this] { return static_cast<int>((*random_)() % 100) < *percent_; };
    const Status lost(Code::kUnavailable, "lost");
    if (chance()) return lost;
    if (chance()) far_->Answer(request);  // delivered twice
    server::HttpResponse answer = far_->Answer(request);
    if (chance()) return lost;
    return Arrived(std::move(answer));
  }

 private:
  const Far* far_;
  std::mt19937_64* random_;
  const int* percent_;
};

/// A journal of this machine that is written here.
struct Near {
  std::unique_ptr<journal::JournalWriter> writer;
  std::string path;
  std::map<std::uint64_t, std::uint64_t> blanked;  // slot: its first word, to be put back
  std::uint64_t seen = 0;                          // slots that a round may have read

  std::uint64_t Word(std::uint64_t slot) const {
    const UniqueFd fd = OpenFile(path, O_RDONLY);
    std::uint64_t word = 0;
    HEADWAY_CHECK(ReadAt(fd.get(), &word, sizeof word, journal::SlotOffset(slot), path).ok());
    return word;
  }
  void Put(std::uint64_t slot, std::uint64_t word) const {
    const UniqueFd fd = OpenFile(path, O_WRONLY);
    HEADWAY_CHECK(::pwrite(fd.get(), &word, sizeof word,
                           static_cast<off_t>(journal::SlotOffset(slot))) == sizeof word);
  }
};

class Journey {
 public:
  explicit Journey(std::uint64_t seed)
      : random_(seed), far_(far_dir_.path()), client_(MakeClient()), shipper_(MakeShipper()) {}

  void Go() {
    percent_ = static_cast<int>(random_() % 25);
    for (int i = 0; i < 60; ++i) Act();
    for (Near& near : nears_) Die(&near);
    bool done = false;
    for (int i = 0; i < 400 && !done; ++i) {
      if (i == 200) percent_ = 0;
      const Result<bool> round = shipper_->Round();
      if (!round.ok() && round.status().code() != Code::kUnavailable) {
        ADD_FAILURE() << round.status().ToString();
        return;
      }
      done = round.ok() && *round;
    }
    ASSERT_TRUE(done);
    Compare();
  }

 private:
  static constexpr std::uint64_t kMostBlanked = 3;

  std::unique_ptr<client::ServerClient> MakeClient() {
    return std::make_unique<client::ServerClient>(
        client::ServerAddress{.url = "http://far", .token = {}}, &clock_,
        std::make_unique<BadConnection>(&far_, &random_, &percent_));
  }
  std::unique_ptr<client::Shipper> MakeShipper() {
    return std::make_unique<client::Shipper>(transfer::Scope{.dir = near_dir_.path()},
                                             client_.get());
  }

  void Act() {
    const auto dice = random_() % 100;
    if (nears_.empty() || (dice < 6 && nears_.size() < 5)) {
      Begin();
    } else if (dice < 45) {
      Record(&nears_[random_() % nears_.size()]);
    } else if (dice < 55) {
      Blank(&nears_[random_() % nears_.size()]);
    } else if (dice < 62) {
      Unblank(&nears_[random_() % nears_.size()]);
    } else if (dice < 90) {
      const Result<bool> round = shipper_->Round();
      if (!round.ok() && round.status().code() != Code::kUnavailable) {
        ADD_FAILURE() << round.status().ToString();
      }
      for (Near& near : nears_) {
        if (near.writer != nullptr) near.seen = near.writer->next_seq();
      }
    } else if (dice < 93) {
      far_.Start();  // it was killed: what it acknowledged is there
    } else if (dice < 95) {
      far_.Backup();
    } else if (dice < 97) {
      far_.Restore();
    } else {
      shipper_ = MakeShipper();  // it was killed
    }
  }

  void Begin() {
    ASSERT_TRUE(journal::MakeRunDirectory(near_dir_.path(), kProject, kRun).ok());
    journal::WriterOptions options;
    options.header.project = kProject;
    options.header.run = kRun;
    options.header.run_uid = run_uid_;
    options.header.rank = static_cast<std::int64_t>(random_() % 3) - 1;
    options.header.attempt_key = random_() % 2 == 0 ? "job#0" : "job#1";
    if (random_() % 4 == 0) options.header.origin = journal::Origin::kSupervisor;
    auto writer = journal::JournalWriter::Create(
        journal::RunDirectory(near_dir_.path(), kProject, kRun), options);
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    Near& near = nears_.emplace_back();
    near.writer = *std::move(writer);
    near.path = near.writer->path();
    near.writer->Append(journal::MetaHigh(RecordType::kJobStart, 0), near.writer->Now(), 0, 0);
  }

  void Record(Near* near) {
    if (near->writer == nullptr) return;
    const auto count = random_() % 3 == 0 ? random_() % 6000 : random_() % 20;
    for (std::uint64_t i = 0; i < count; ++i) {
      near->writer->Append(journal::MetaHigh(RecordType::kStepStart, 0), near->writer->Now(),
                           step_++, 0);
    }
    if (random_() % 4 == 0) {
      near->writer->AppendPayload(RecordType::kConfig, near->writer->Intern("user"),
                                  near->writer->Now(), std::string(random_() % 300, 'x'));
    }
  }

  // As a thread leaves it that has claimed the slot and not stored its first word yet.
  void Blank(Near* near) {
    if (near->writer == nullptr || near->blanked.size() >= kMostBlanked) return;
    const std::uint64_t end = near->writer->next_seq();
    // Only what no round has seen yet: a finished slot never changes.
    if (end <= near->seen) return;
    const std::uint64_t slot = near->seen + random_() % (end - near->seen);
    if (near->blanked.contains(slot)) return;
    near->blanked[slot] = near->Word(slot);
    near->Put(slot, 0);
  }

  void Unblank(Near* near) {
    if (near->blanked.empty()) return;
    const auto [slot, word] = *near->blanked.begin();
    near->Put(slot, word);
    near->blanked.erase(near->blanked.begin());
  }

  // Some holes stay; some are damage.
  void Die(Near* near) {
    while (!near->blanked.empty() && random_() % 2 == 0) Unblank(near);
    if (!near->blanked.empty() && random_() % 2 == 0) {
      near->Put(near->blanked.begin()->first, 0x0123456789abcdef);
    }
    if (random_() % 2 == 0) {
      near->writer->AppendEssential(journal::MetaHigh(RecordType::kJobEnd, 0), near->writer->Now(),
                                    0, 0);
    }
    if (random_() % 2 == 0) near->writer->Finish();
    near->writer.reset();
  }

  void Compare() {
    const Result<runs::Run> run = runs::Find({near_dir_.path()}, kProject, kRun);
    ASSERT_TRUE(run.ok());
    for (const journal::JournalFile& file : run->journals) {
      const Result<store::Journal> kept = far_.store()->FindJournal(file.header.uid);
      ASSERT_TRUE(kept.ok()) << kept.status().ToString();
      EXPECT_EQ(kept->state.writer, Liveness::kDead);
      const Result<std::string> slots =
          far_.store()->ReadSlots(file.header.uid, 0, kept->state.slots);
      ASSERT_TRUE(slots.ok()) << slots.status().ToString();
      std::string bytes(std::filesystem::file_size(file.path) - journal::kHeaderBytes, '\0');
      const Result<UniqueFd> fd = OpenForReading(file.path);
      ASSERT_TRUE(fd.ok());
      ASSERT_TRUE(
          ReadAt(fd->get(), bytes.data(), bytes.size(), journal::kHeaderBytes, file.path).ok());
      while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
      ASSERT_GE(slots->size(), bytes.size());
      EXPECT_TRUE(slots->starts_with(bytes)) << file.path;
      EXPECT_LT(slots->size() - bytes.size(), kSlotBytes);
    }
    Result<runs::Loaded> here = runs::Load(*run);
    ASSERT_TRUE(here.ok());
    const Report report = here->ledger.MakeReport();
    const std::vector<StepSummary> steps = here->ledger.Steps();
    // From all that is there, and from what was saved when they were compared last.
    for (store::LedgerStore* const ledgers :
         std::initializer_list<store::LedgerStore*>{nullptr, far_.store()}) {
      server::RunLedger there({far_.store(), nullptr, ledgers}, {.clock = &clock_}, run->uid);
      const Status read = there.Refresh();
      ASSERT_TRUE(read.ok()) << read.ToString();
      EXPECT_EQ(ToJson(there.ledger()->MakeReport()), ToJson(report));
      EXPECT_EQ(ToJson(there.ledger()->Steps()), ToJson(steps));
      const Status saved = there.Save(1);
      ASSERT_TRUE(saved.ok()) << saved.ToString();
    }
  }

  std::mt19937_64 random_;
  int percent_ = 0;
  SystemClock clock_;
  ScratchDir near_dir_;
  ScratchDir far_dir_;
  Far far_;
  RunUid run_uid_ = RandomUid<RunUid>();
  std::vector<Near> nears_;
  std::int64_t step_ = 0;
  std::unique_ptr<client::ServerClient> client_;
  std::unique_ptr<client::Shipper> shipper_;
};

TEST(Shipping, AJournalThatIsRefusedHoldsUpNoOther) {
  const ScratchDir near;
  const ScratchDir there;
  const Far far(there.path());
  std::mt19937_64 random(1);
  const int percent = 0;
  SystemClock clock;
  client::ServerClient client({.url = "http://far", .token = {}}, &clock,
                              std::make_unique<BadConnection>(&far, &random, &percent));
  client::Shipper shipper({.dir = near.path()}, &client);
  const auto shared = RandomUid<RunUid>();
  std::vector<JournalUid> uids;
  // One run of two projects can't be; what comes before and after it can.
  for (const auto& [project, uid] :
       {std::pair(std::string("a"), shared), std::pair(std::string("b"), shared),
        std::pair(std::string("c"), RandomUid<RunUid>())}) {
    ASSERT_TRUE(journal::MakeRunDirectory(near.path(), project, kRun).ok());
    journal::WriterOptions options;
    options.header.project = project;
    options.header.run = kRun;
    options.header.run_uid = uid;
    auto writer =
        journal::JournalWriter::Create(journal::RunDirectory(near.path(), project, kRun), options);
    ASSERT_TRUE(writer.ok());
    (*writer)->Append(journal::MetaHigh(RecordType::kJobStart, 0), (*writer)->Now(), 0, 0);
    uids.push_back(journal::ReadHeader((*writer)->path())->uid);
  }
  for (int i = 0; i < 2; ++i) {
    const Result<bool> round = shipper.Round();
    EXPECT_TRUE(round.ok() && *round) << "all but that one";
    EXPECT_EQ(shipper.refusal().code(), Code::kAlreadyExists);
    EXPECT_NE(shipper.refusal().message().find("/b/"), std::string::npos);
  }
  EXPECT_EQ(far.store()->FindJournal(uids[0])->state.writer, Liveness::kDead);
  EXPECT_FALSE(far.store()->FindJournal(uids[1]).ok());
  EXPECT_EQ(far.store()->FindJournal(uids[2])->state.writer, Liveness::kDead);
}

TEST(Shipping, WhatIsKeptIsWhatWasWritten) {
  const char* const said = std::getenv("HEADWAY_SHIPPING_SEED");
  const std::uint64_t first = said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + (said == nullptr ? 60 : 1); ++seed) {
    Journey(seed).Go();
    if (HasFailure()) {
      std::cout << "again: HEADWAY_SHIPPING_SEED=" << seed << "\n";
      return;
    }
  }
}

}  // namespace
}  // namespace headway
