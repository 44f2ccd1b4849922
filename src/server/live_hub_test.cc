#include "server/live_hub.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/live_limits.h"
#include "base/test_scratch_dir.h"
#include "journal/directory.h"
#include "journal/writer.h"
#include "server/query_string.h"
#include "store/sqlite/record_store.h"

namespace headway::server {
namespace {

class LiveHubTest : public testing::Test {
 protected:
  LiveHubTest() {
    auto opened = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    ledgers_ = std::make_unique<RunLedgers>(LedgerStores{store_.get(), store_.get(), store_.get()},
                                            &clock_);
    hub_ = std::make_unique<LiveHub>(store_.get(), ledgers_.get(), &clock_, nullptr);
  }

  RunUid Create(const std::string& name, const std::string& project = "p") {
    store::RunRow row;
    row.uid = RandomUid<RunUid>();
    row.project = project;
    row.name = name;
    row.created = clock_.Wall().ns;
    EXPECT_TRUE(store_->CreateRun(row, {}).ok());
    hub_->RunChanged(row.uid);
    return row.uid;
  }

  // A process of the run says these steps.
  void Record(const RunUid& run, const std::string& name, int steps) {
    journal::WriterOptions options;
    options.clock = &clock_;
    options.header.project = "p";
    options.header.run = name;
    options.header.run_uid = run;
    options.header.rank = 0;
    auto writer = journal::JournalWriter::Create(dir_.path(), options);
    ASSERT_TRUE(writer.ok());
    for (int step = 0; step < steps; ++step) {
      clock_.Advance(kNanosPerSecond);
      (*writer)->Append(journal::MetaHigh(RecordType::kStepStart, 0), (*writer)->Now(), step, 0);
    }
    const Result<UniqueFd> fd = OpenForReading((*writer)->path());
    std::string bytes(journal::SlotOffset((*writer)->next_seq()), '\0');
    ASSERT_TRUE(ReadAt(fd->get(), bytes.data(), bytes.size(), 0, "").ok());
    const Result<journal::Header> header = journal::ReadHeader((*writer)->path());
    ASSERT_TRUE(header.ok());
    const store::Batch batch = {.identity = {.uid = header->uid,
                                             .run_uid = run,
                                             .project = "p",
                                             .run = name,
                                             .start = clock_.Wall().ns,
                                             .header = bytes.substr(0, journal::kHeaderBytes)},
                                .first_slot = 0,
                                .slots = std::string_view(bytes).substr(journal::SlotOffset(0)),
                                .counters = bytes.substr(journal::kLiveOffset, 24),
                                .writer = Liveness::kAlive,
                                .heard = clock_.Wall().ns};
    const Status status = store_->Append(std::span(&batch, 1));
    ASSERT_TRUE(status.ok()) << status.ToString();
    hub_->RecordsCame(run);
  }

  LiveHub::Asked Asked(const std::string& who = "w") {
    return {.who = who, .check = [this] { return may_; }, .project = "p"};
  }
  std::shared_ptr<HttpStream> Open(LiveHub::Asked asked) {
    Result<std::shared_ptr<HttpStream>> stream = hub_->Open(std::move(asked));
    EXPECT_TRUE(stream.ok()) << stream.status().ToString();
    (*stream)->Start([this] { ++wakes_; });
    return *std::move(stream);
  }
  std::shared_ptr<HttpStream> OpenRun(const RunUid& run, std::string last_id = {}) {
    LiveHub::Asked asked = Asked();
    asked.run = run;
    asked.last_id = std::move(last_id);
    return Open(std::move(asked));
  }

  // The kinds of the events that it sends now.
  std::string Kinds(HttpStream* stream) {
    text_.clear();
    std::string kinds;
    const HttpStream::Piece piece = stream->Next();
    for (const auto& part : piece.parts) {
      text_ += *part;
      const std::size_t at = part->find("event: ");
      if (at == part->npos) continue;
      last_id_ = part->substr(4, part->find('\n') - 4);
      kinds += (kinds.empty() ? "" : " ") + part->substr(at + 7, part->find('\n', at) - at - 7);
    }
    return kinds + (piece.last ? "." : "");
  }

  void Later(std::int64_t ns = kNanosPerSecond) {
    clock_.Advance(ns);
    hub_->Pass();
  }

  ScratchDir dir_;
  FakeClock clock_;
  Status may_;
  int wakes_ = 0;
  std::string text_;
  std::string last_id_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<RunLedgers> ledgers_;
  std::unique_ptr<LiveHub> hub_;
};

TEST_F(LiveHubTest, ARunIsToldOnceHoweverMuchHappens) {
  const RunUid run = Create("r");
  Record(run, "r", 5);
  const auto stream = OpenRun(run);
  EXPECT_EQ(Kinds(stream.get()), "");
  EXPECT_EQ(text_, "retry: 1000\n\n");
  hub_->Pass();
  EXPECT_GT(wakes_, 0);
  EXPECT_EQ(Kinds(stream.get()), "run steps journals report");
  EXPECT_NE(text_.find("\"lastStep\":\"4\""), text_.npos) << text_;
  EXPECT_EQ(Kinds(stream.get()), "");
  const std::uint64_t updates = hub_->counts().updates;
  for (int i = 0; i < 5; ++i) {
    hub_->RecordsCame(run);
    hub_->Pass();
  }
  EXPECT_EQ(hub_->counts().updates, updates);  // that was a moment ago
  Record(run, "r", 7);
  Record(run, "r", 8);
  Later();
  EXPECT_EQ(hub_->counts().updates, updates + 1);
  EXPECT_EQ(Kinds(stream.get()), "run steps journals report");
}

TEST_F(LiveHubTest, ASlowReaderGetsTheNewestStateAndNoQueue) {
  const RunUid run = Create("r");
  const auto slow = OpenRun(run);
  for (int i = 1; i < 20; ++i) {
    Record(run, "r", i);
    Later();
  }
  EXPECT_EQ(Kinds(slow.get()), "run steps journals report");
  EXPECT_NE(text_.find("\"lastStep\":\"18\""), text_.npos);
  EXPECT_EQ(Kinds(slow.get()), "");
}

TEST_F(LiveHubTest, WhoComesBackGetsWhatHasChanged) {
  const RunUid run = Create("r");
  Record(run, "r", 3);
  const auto first = OpenRun(run);
  hub_->Pass();
  EXPECT_EQ(Kinds(first.get()), "run steps journals report");
  const auto back = OpenRun(run, last_id_);
  EXPECT_EQ(Kinds(back.get()), "");
  for (const std::string& stale : {std::string("x"), std::string("00000000-5"), last_id_ + "0"}) {
    const auto other = OpenRun(run, stale);
    EXPECT_EQ(Kinds(other.get()), "run steps journals report") << stale;
  }
}

TEST_F(LiveHubTest, OneThatMayNotWatchAnyMoreIsTold) {
  const RunUid run = Create("r");
  const auto stream = OpenRun(run);
  const auto list = Open(Asked());
  Later();
  Kinds(stream.get());
  Kinds(list.get());
  may_ = Status(Code::kUnauthenticated, "this token was revoked");
  Later();
  for (HttpStream* one : {stream.get(), list.get()}) {
    EXPECT_EQ(Kinds(one), "end.");
    EXPECT_NE(text_.find(R"({"code":"unauthenticated","message":"this token was revoked"})"),
              text_.npos)
        << text_;
  }
}

TEST_F(LiveHubTest, AListTellsWhatHasChangedInItsProject) {
  Create("before");
  const auto list = Open(Asked());
  EXPECT_EQ(Kinds(list.get()), "reset");
  Later();
  EXPECT_EQ(Kinds(list.get()), "run");
  const std::string seen = last_id_;
  const RunUid run = Create("r");
  Create("elsewhere", "q");
  Later();
  EXPECT_EQ(Kinds(list.get()), "run");
  EXPECT_NE(text_.find(ToHex(run)), text_.npos);
  // What is as it was is no news, nor is it that records come.
  hub_->RunChanged(run);
  Later();
  Record(run, "r", 3);
  Later();
  EXPECT_EQ(Kinds(list.get()), "");
  hub_->RunChanged(run);
  Later();
  EXPECT_EQ(Kinds(list.get()), "run");  // it has begun
  Record(run, "r", 9);
  hub_->RunChanged(run);
  Later();
  EXPECT_EQ(Kinds(list.get()), "");
  LiveHub::Asked again = Asked();
  again.last_id = seen;
  EXPECT_EQ(Kinds(Open(again).get()), "run");
  again.name = "s";
  EXPECT_EQ(Kinds(Open(again).get()), "");
}

TEST_F(LiveHubTest, AListThatMissedTooMuchBeginsAnew) {
  const auto list = Open(Asked());
  Later();
  EXPECT_EQ(Kinds(list.get()), "reset");
  const std::string seen = last_id_;
  for (std::size_t i = 0; i <= limits::kLiveRuns; ++i) hub_->RunChanged(RandomUid<RunUid>());
  LiveHub::Asked again = Asked();
  again.last_id = seen;
  EXPECT_EQ(Kinds(Open(again).get()), "reset");
  EXPECT_EQ(Kinds(list.get()), "reset");
}

TEST_F(LiveHubTest, OneOfManyRunsIsSentInPieces) {
  const auto list = Open(Asked());
  EXPECT_EQ(Kinds(list.get()), "reset");
  const std::size_t count = 2 * limits::kLivePieceRuns + 5;
  for (std::size_t i = 0; i < count; ++i) Create("r" + std::to_string(i));
  Later();
  std::size_t came = 0;
  for (int i = 0; i < 3; ++i) {
    const std::size_t parts = list->Next().parts.size();
    EXPECT_LE(parts, limits::kLivePieceRuns);
    came += parts;
  }
  EXPECT_EQ(came, count);
  EXPECT_EQ(Kinds(list.get()), "");
}

TEST_F(LiveHubTest, ThereIsALimit) {
  const RunUid run = Create("r");
  std::vector<std::shared_ptr<HttpStream>> streams;
  for (std::size_t i = 0; i < limits::kLiveStreamsOfCaller; ++i) streams.push_back(OpenRun(run));
  LiveHub::Asked asked = Asked();
  asked.run = run;
  EXPECT_EQ(hub_->Open(asked).status().code(), Code::kResourceExhausted);
  for (std::size_t i = limits::kLiveStreamsOfCaller; i < limits::kLiveStreams; ++i) {
    streams.push_back(Open(Asked("other")));
  }
  EXPECT_EQ(hub_->Open(Asked("third")).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(hub_->counts().refused, 2U);
  streams.erase(streams.begin());
  EXPECT_TRUE(hub_->Open(asked).ok());
}

TEST_F(LiveHubTest, ARunThatIsRemovedEndsItsStreams) {
  const RunUid run = Create("r");
  const auto stream = OpenRun(run);
  const auto list = Open(Asked());
  Later();
  EXPECT_EQ(Kinds(stream.get()), "run steps journals report");
  Kinds(list.get());
  ASSERT_TRUE(store_->DeleteRun(run, clock_.Wall().ns, {}).ok());
  hub_->RunChanged(run);
  Later();
  EXPECT_TRUE(Kinds(stream.get()).starts_with("run"));
  EXPECT_EQ(Kinds(list.get()), "run");
  for (Result<std::int64_t> left = 1; *left > 0;) {
    left = store_->PurgeRun(run);
    ASSERT_TRUE(left.ok());
  }
  hub_->RunChanged(run);
  Later();
  EXPECT_EQ(Kinds(stream.get()), "end.");
  EXPECT_NE(text_.find("not_found"), text_.npos);
  EXPECT_EQ(Kinds(list.get()), "gone");
}

TEST(QueryStringTest, TakesPairsApart) {
  const auto values = ParseQueryString("a=b&&c=%2F+%c3%a9&d&e=");
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, (std::map<std::string, std::string>{
                         {"a", "b"}, {"c", "/ \xc3\xa9"}, {"d", ""}, {"e", ""}}));
  EXPECT_TRUE(ParseQueryString("")->empty());
  for (const char* bad : {"a=%", "a=%2", "a=%zz", "%=", "a=1&a=2", "a=1&%61=2"}) {
    EXPECT_EQ(ParseQueryString(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace headway::server
