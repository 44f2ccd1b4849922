#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/test_scratch_dir.h"
#include "cli/server_run.h"
#include "client/server_client.h"
#include "client/shipper.h"
#include "far_end.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "monitor/sampler.h"
#include "net/http.h"
#include "runs/follower.h"
#include "server/access.h"
#include "server/connect.h"
#include "server/journal_service.h"
#include "server/record_service.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "server/upkeep.h"
#include "store/directory/blob_store.h"
#include "store/sqlite/record_store.h"

// Runs are recorded, go to a server and are followed there, over a connection that loses requests
// and answers, while the server is restarted and set back to backups. At each moment the samples
// are those that the journals give.

namespace headway {
namespace {

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
    ledgers_ = std::make_unique<server::RunLedgers>(server::LedgerStores{store_.get()}, &clock_);
    blobs_ = store::OpenDirectoryBlobStore(blobs_dir_.path(), &clock_).value();
    upkeep_ = std::make_unique<server::Upkeep>(store_.get(), blobs_.get(), ledgers_.get(), &clock_,
                                               std::function<void(const Status&)>());
    registry_ = std::make_unique<server::RunRegistry>(store_.get(), upkeep_.get(), &clock_);
    journals_ = std::make_unique<server::JournalService>(store_.get(), &clock_);
    records_ = std::make_unique<server::RecordService>(registry_.get(), store_.get(), &clock_);
    router_ = std::make_unique<server::ConnectRouter>(
        [](const server::HttpRequest& head) { return server::Access::Open().Authenticate(head); });
    journals_->AddTo(router_.get());
    records_->AddTo(router_.get());
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

 private:
  void Stop() {
    router_.reset();
    records_.reset();
    journals_.reset();
    registry_.reset();
    upkeep_.reset();
    ledgers_.reset();
    blobs_.reset();
    store_.reset();
  }

  std::string folder_;
  ScratchDir blobs_dir_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::BlobStore> blobs_;
  std::unique_ptr<server::RunLedgers> ledgers_;
  std::unique_ptr<server::Upkeep> upkeep_;
  std::unique_ptr<server::RunRegistry> registry_;
  std::unique_ptr<server::JournalService> journals_;
  std::unique_ptr<server::RecordService> records_;
  std::unique_ptr<server::ConnectRouter> router_;
  FolderCopy backup_;
};

class Connection : public net::HttpClient {
 public:
  Connection(const Far* far, std::mt19937_64* random, int lost_percent)
      : far_(far), random_(random), lost_percent_(lost_percent) {}

  Result<net::Response> Send(const net::Request& request, MonoNs) override {
    const auto chance = [this] { return static_cast<int>((*random_)() % 100) < lost_percent_; };
    const Status lost(Code::kUnavailable, "lost");
    if (chance()) return lost;
    server::HttpResponse answer = far_->Answer(request);
    if (chance()) return lost;
    return Arrived(std::move(answer));
  }

 private:
  const Far* far_;
  std::mt19937_64* random_;
  int lost_percent_;
};

/// A sample as text, but for the deviations of steps.
std::string Text(const monitor::Sample& sample) {
  std::ostringstream text;
  text.precision(17);
  const auto figures = [&text](const std::optional<compat::Figures>& some) {
    if (!some) return;
    text << "figures " << some->goodput_percent << " " << some->productive_s << " " << some->total_s
         << " " << some->max_productive_step << " " << some->disruptions;
    for (const auto& all : {some->badput, some->custom}) {
      for (const auto& [name, seconds] : all) text << " " << name << "=" << seconds;
    }
    text << "\n";
  };
  const auto efficiency = [&text](const std::optional<compat::SliceEfficiency>& some) {
    if (some) text << "efficiency " << some->stepping << " " << some->available << "\n";
  };
  text << sample.time_ns << " " << sample.run << " " << sample.project << " step " << sample.step
       << "\n";
  if (sample.report) text << ToJson(*sample.report) << "\n";
  figures(sample.figures);
  efficiency(sample.efficiency);
  text << "ideal " << sample.ideal_step_s.value_or(-1) << " " << sample.deviation_s.value_or(-1)
       << "\n";
  for (const monitor::WindowSample& window : sample.windows) {
    text << "window " << window.seconds << "\n";
    if (window.report) text << ToJson(*window.report) << "\n";
    figures(window.figures);
    efficiency(window.efficiency);
  }
  if (sample.log != nullptr) {
    for (const compat::Entry& entry : sample.log->entries()) {
      text << "\n" << static_cast<int>(entry.kind) << " " << entry.time;
      if (entry.kind == compat::EntryKind::kStep) text << " " << entry.value;
      text << " " << sample.log->names().Text(entry.name);
    }
  }
  return text.str();
}

class Journey {
 public:
  explicit Journey(std::uint64_t seed)
      : random_(seed),
        far_(far_dir_.path()),
        shipping_({.url = "http://far", .token = {}}, &clock_,
                  std::make_unique<Connection>(&far_, &random_, 0)),
        following_({.url = "http://far", .token = {}}, &clock_,
                   std::make_unique<Connection>(&far_, &random_, 20)),
        shipper_(MakeShipper()),
        there_(
            [this](const v1::ListRecordsRequest& request, v1::ListRecordsResponse* page) {
              v1::ListRecordsRequest asked = request;
              asked.set_page_size(page_size_);
              ++calls_;
              return following_.Call("headway.v1.RecordService.ListRecords", asked, page);
            },
            kProject, kRun),
        here_({near_dir_.path()}, kProject, kRun) {
    page_size_ = random_() % 2 == 0 ? 100'000 : 1 + static_cast<int>(random_() % 50);
    for (const bool exact : {false, true}) {
      const monitor::Accounting accounting = {.exact = exact, .elastic = true, .ideal_step_s = {}};
      heres_.push_back(std::make_unique<monitor::Sampler>(&here_, kProject, kRun, accounting));
      theres_.push_back(std::make_unique<monitor::Sampler>(&there_, kProject, kRun, accounting));
    }
  }

  void Go() {
    EXPECT_EQ(RefreshThere(clock_.Wall()).code(), Code::kNotFound);
    for (int i = 0; i < 50 && !testing::Test::HasFailure(); ++i) {
      Act();
      if (random_() % 3 == 0) Compare();
    }
    for (Writer& writer : writers_) Die(&writer);
    Compare();
  }

 private:
  struct Writer {
    std::unique_ptr<journal::JournalWriter> journal;
    std::int64_t step = 0;
  };

  std::unique_ptr<client::Shipper> MakeShipper() {
    return std::make_unique<client::Shipper>(transfer::Scope{.dir = near_dir_.path()}, &shipping_);
  }

  void Act() {
    const auto dice = random_() % 100;
    if (writers_.empty() || dice < 12) {
      Begin();
    } else if (dice < 70) {
      Record(&writers_[random_() % writers_.size()]);
    } else if (dice < 80) {
      Die(&writers_[random_() % writers_.size()]);
    } else if (dice < 86) {
      far_.Start();
    } else if (dice < 90) {
      far_.Backup();
    } else if (dice < 93) {
      far_.Restore();
      shipper_ = MakeShipper();  // another one does not take for granted what has arrived
    } else if (dice < 96) {
      run_uid_ = RandomUid<RunUid>();  // the next one takes the name
    }
  }

  void Begin() {
    ASSERT_TRUE(journal::MakeRunDirectory(near_dir_.path(), kProject, kRun).ok());
    journal::WriterOptions options;
    options.header.project = kProject;
    options.header.run = kRun;
    options.header.run_uid = run_uid_;
    options.header.rank = static_cast<std::int64_t>(random_() % 4) - 1;
    if (random_() % 4 > 0) options.header.attempt_key = "job#" + std::to_string(random_() % 3);
    if (random_() % 5 == 0) options.header.origin = journal::Origin::kSupervisor;
    auto made = journal::JournalWriter::Create(
        journal::RunDirectory(near_dir_.path(), kProject, kRun), options);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    Writer& writer = writers_.emplace_back();
    writer.journal = *std::move(made);
    Append(&writer, RecordType::kJobStart, 0);
  }

  static void Append(Writer* writer, RecordType type, std::int64_t a) {
    writer->journal->Append(journal::MetaHigh(type, 0), writer->journal->Now(), a, 0);
  }

  void Record(Writer* writer) {
    journal::JournalWriter* const journal = writer->journal.get();
    if (journal == nullptr) return;
    for (auto count = random_() % 30; count > 0; --count) {
      Append(writer, RecordType::kStepStart, writer->step++);
    }
    if (random_() % 3 == 0) {
      const std::uint32_t name = journal->Intern("eval" + std::to_string(random_() % 3));
      const auto begin = static_cast<std::int64_t>(journal->next_seq());
      journal->Append(
          journal::MetaHigh(RecordType::kSpanBegin, SpanKind::kCustom, Blocking::kDefault, 0),
          journal->Now(), kNoStep, name);
      journal->Append(
          journal::MetaHigh(RecordType::kSpanEnd, SpanKind::kCustom, Blocking::kDefault, 0),
          journal->Now(), kNoStep, journal::PackSpanEnd(begin, name));
      journal->Append(journal::NamedMetaHigh(static_cast<std::uint8_t>(RecordType::kMetric),
                                             journal->Intern("loss")),
                      journal->Now(), writer->step, 0);
    }
    if (random_() % 8 == 0) {
      journal->AppendPayload(RecordType::kConfig, journal->Intern("user"), journal->Now(), "{}");
    }
    if (random_() % 8 == 0) writer->step = writer->step / 2;
  }

  void Die(Writer* writer) {
    if (writer->journal == nullptr) return;
    if (random_() % 2 == 0) Append(writer, RecordType::kJobEnd, 0);
    if (random_() % 2 == 0) writer->journal->Finish();
    writer->journal.reset();
  }

  Status RefreshThere(WallNs at) {
    Status status;
    for (int tries = 0; tries < 1000; ++tries) {
      status = theres_[0]->Refresh(at, at);
      if (status.code() != Code::kUnavailable) break;
    }
    return status;
  }

  void Compare() {
    for (int i = 0; i < 2; ++i) {
      const Result<bool> round = shipper_->Round();
      ASSERT_TRUE(round.ok()) << round.status().ToString();
    }
    const WallNs at = clock_.Wall();
    const Status status = RefreshThere(at);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_TRUE(heres_[0]->Refresh(at, at).ok());
    EXPECT_EQ(there_.live(), here_.live());
    const monitor::Wanted wanted = {
        .whole = true, .windows = {1, 5}, .step_deviations = true, .log = true};
    if (std::exchange(starts_, here_.starts()) != here_.starts())
      for (int i : {0, 1}) told_here_[i] = told_there_[i] = {};
    for (std::size_t i = 0; i < heres_.size(); ++i) {
      Status problem;
      const monitor::Sample there = theres_[i]->Take(at, at, wanted, &problem);
      const monitor::Sample here = heres_[i]->Take(at, at, wanted, &problem);
      ASSERT_EQ(Text(there), Text(here));
      // Each is told once, and again once a server has lost records.
      for (const auto& [step, seconds] : there.step_deviations) told_there_[i][step] = seconds;
      for (const auto& [step, seconds] : here.step_deviations) told_here_[i][step] = seconds;
      ASSERT_EQ(told_there_[i], told_here_[i]);
    }
    // Nothing new takes one call.
    calls_ = 0;
    const Status again = there_.Refresh(at.ns, at.ns);
    EXPECT_TRUE(again.ok() || again.code() == Code::kUnavailable);
    EXPECT_EQ(calls_, 1);
  }

  std::mt19937_64 random_;
  SystemClock clock_;
  ScratchDir near_dir_;
  ScratchDir far_dir_;
  Far far_;
  client::ServerClient shipping_;
  client::ServerClient following_;
  std::unique_ptr<client::Shipper> shipper_;
  cli::ServerRun there_;
  runs::Follower here_;
  std::vector<std::unique_ptr<monitor::Sampler>> heres_, theres_;
  RunUid run_uid_ = RandomUid<RunUid>();
  std::vector<Writer> writers_;
  int starts_ = 0;
  std::map<std::int64_t, double> told_here_[2], told_there_[2];  // by accounting
  int page_size_ = 0;
  int calls_ = 0;
};

TEST(Following, SamplesAreThoseOfTheJournals) {
  const char* const said = std::getenv("HEADWAY_FOLLOWING_SEED");
  const std::uint64_t first = said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + (said == nullptr ? 30 : 1); ++seed) {
    Journey(seed).Go();
    if (HasFailure()) {
      std::cout << "again: HEADWAY_FOLLOWING_SEED=" << seed << "\n";
      return;
    }
  }
}

TEST(Following, AServerThatDoesNotKnowHowIsToldAtOnce) {
  int calls = 0;
  cli::ServerRun run(
      [&calls](const v1::ListRecordsRequest&, v1::ListRecordsResponse*) {
        ++calls;
        return OkStatus();
      },
      kProject, kRun);
  EXPECT_EQ(run.Refresh().code(), Code::kUnimplemented);
  EXPECT_TRUE(run.IsLost());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace headway
