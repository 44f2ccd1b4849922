#include "server/record_service.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "base/view_limits.h"
#include "journal/reader.h"
#include "model/name_table.h"
#include "runs/findings.h"
#include "server/record_page.h"

namespace headway::server {
namespace {

constexpr int kRecordsPageDefault = 1'000;
constexpr std::size_t kBatch = 1024;

Status BadToken() {
  return {Code::kInvalidArgument, "the page_token is none of an answer to this question"};
}

Result<std::optional<TimeRange>> RangeOf(const v1::ListRecordsRequest& request) {
  if (!request.has_from_time() && !request.has_to_time()) return std::optional<TimeRange>();
  if (request.follow()) {
    return Status(Code::kInvalidArgument, "follow and a range of time exclude each other");
  }
  TimeRange range(std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max());
  if (request.has_from_time()) range.first = request.from_time();
  if (request.has_to_time()) range.second = request.to_time();
  if (range.second < range.first) {
    return Status(Code::kInvalidArgument, "the range ends before it begins: from_time " +
                                              std::to_string(range.first) + ", to_time " +
                                              std::to_string(range.second));
  }
  return std::optional(range);
}

}  // namespace

// Cursor: goes through the journals of a run as they were when it was made.
class RecordService::Cursor {
 public:
  // `times` must outlive it.
  Cursor(store::RecordStore* store, const Hearing& hearing, KnownTimes* times, const RunUid& run,
         const std::optional<TimeRange>& range)
      : store_(store), hearing_(hearing), known_times_(times), run_(run), range_(range) {}

  // To where `token` says. InvalidArgument: it says nothing.
  Status GoTo(const std::string& token) {
    Result<std::vector<StoredJournal>> journals = ListStoredJournals(store_, run_);
    if (!journals.ok()) return journals.status();
    journals_ = *std::move(journals);
    if (token.empty()) return OkStatus();
    const std::size_t slash = token.find('/');
    if (slash == std::string::npos) return BadToken();
    const Result<JournalUid> uid = ParseUid<JournalUid>(token.substr(0, slash));
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data() + slash + 1, end, from_);
    if (!uid.ok() || error != std::errc() || stop != end) return BadToken();
    const auto found = std::ranges::find_if(
        journals_, [&uid](const StoredJournal& one) { return one.header.uid == *uid; });
    if (found == journals_.end()) return BadToken();
    at_ = static_cast<std::size_t>(found - journals_.begin());
    return OkStatus();
  }

  const RunUid& run() const { return run_; }
  const std::optional<TimeRange>& range() const { return range_; }
  bool done() const { return at_ == journals_.size(); }
  std::string token() const {
    return ToHex(journals_[at_].header.uid) + "/" + std::to_string(from_);
  }
  // Gives back what it need not hold until the next page.
  void Rest() {
    if (reader_) reader_->Release();
  }

  // Up to `count` records, packed or not.
  Status Add(std::size_t count, bool packed, v1::ListRecordsResponse* page) {
    packed_ = packed;
    if (range_) return AddOfRange(count, page);
    std::size_t left = count;
    while (!done() && left > 0 && page->journals_size() < limits::kRecordsPageJournals) {
      v1::JournalRecords* const part = page->add_journals();
      const StoredJournal& journal = journals_[at_];
      part->set_uid(journal.header.uid.bytes.data(), journal.header.uid.bytes.size());
      if (!reader_) HEADWAY_RETURN_IF_ERROR(Open());
      if (from_ == 0) {
        part->set_header(HeaderOnPage(journal.journal.identity.header));
        part->set_writer(wire::ToProto(reader_->liveness()));
      }
      RecordPage records(&names_, page);
      const Result<bool> ended = AddRecords(&left, &records, part);
      if (!ended.ok()) return ended.status();
      if (!*ended) break;
      part->set_damage(ToValidUtf8(reader_->summary().Check(reader_->path()).message()));
      reader_.reset();
      from_ = 0;
      ++at_;
    }
    return OkStatus();
  }

 private:
  Status Open(const journal::ReaderPlace* from = nullptr) {
    names_ = NameTable();
    dropped_ = 0;
    last_ns_ = 0;
    Result<journal::JournalReader> reader =
        OpenStoredJournal(store_, hearing_, journals_[at_], {.names = &names_}, from);
    if (!reader.ok()) return reader.status();
    reader_.emplace(*std::move(reader));
    return OkStatus();
  }

  // Those of the range, and nothing of journals that have none.
  Status AddOfRange(std::size_t count, v1::ListRecordsResponse* page) {
    std::size_t left = count;
    std::size_t looks = limits::kRecordsLooks;
    while (!done() && left > 0 && looks > 0 &&
           page->journals_size() < limits::kRecordsPageJournals) {
      const StoredJournal& journal = journals_[at_];
      if (!reader_) times_ = *known_times_->Find(journal.header.uid, journal.MovedBy());
      v1::JournalRecords part;
      RecordPage records(&names_, page);
      const Result<bool> ended = ReadRange(&left, &looks, &records, &part);
      if (!ended.ok()) return ended.status();
      if (part.records_size() > 0 || !part.packed().empty()) {
        part.set_uid(journal.header.uid.bytes.data(), journal.header.uid.bytes.size());
        part.set_header(HeaderOnPage(journal.journal.identity.header));
        part.set_writer(wire::ToProto(hearing_.Of(journal.journal.state, journal.header)));
        *page->add_journals() = std::move(part);
      }
      if (!*ended) break;
      reader_.reset();
      from_ = 0;
      ++at_;
    }
    return OkStatus();
  }

  // Whether the journal has ended.
  Result<bool> ReadRange(std::size_t* left, std::size_t* looks, RecordPage* records,
                         v1::JournalRecords* part) {
    const StoredJournal& journal = journals_[at_];
    std::vector<Record> batch(kBatch);
    while (*left > 0 && *looks > 0) {
      if (!reader_) {
        const auto [first, stop] = times_.Next(from_, journal.journal.state.slots, *range_);
        if (first == stop) return true;
        from_ = std::max(from_, first);
        stop_ = stop;
        journal::ReaderPlace place;
        place.next = first;
        place.names = times_.names;
        HEADWAY_RETURN_IF_ERROR(Open(&place));
      }
      const std::size_t most = std::min({kBatch, *left, *looks});
      const Result<std::size_t> got = reader_->Next(std::span(batch).first(most));
      if (!got.ok()) return got.status();
      *looks -= *got;
      for (const Record& record : std::span(batch).first(*got)) {
        if (stop_ == RecordTimes::kToTheEnd) times_.Add(record.seq, record.time_ns);
        if (record.seq < from_) continue;  // an earlier page had it
        from_ = record.seq + 1;
        if (record.time_ns < range_->first || record.time_ns >= range_->second) continue;
        records->Put(record, packed_, part);
        --*left;
      }
      const bool ended = *got == 0;
      if (stop_ != RecordTimes::kToTheEnd && (ended || from_ >= stop_)) {
        from_ = std::max(from_, stop_);
        reader_.reset();
      } else if (ended) {
        Remember();
        return true;
      }
    }
    if (stop_ == RecordTimes::kToTheEnd) Remember();
    return false;
  }

  // What was read of the journal need not be read again, unless something may still come there.
  void Remember() {
    if (!reader_ || times_.blocks.empty()) return;
    journal::ReaderPlace place = reader_->place();
    if (!place.gaps.empty() || place.names.size() > RecordTimes::kNames) return;
    RecordTimes times = times_;
    times.names = std::move(place.names);
    // Behind the last record payloads may lie; whoever goes on there skips them.
    if (place.next == journals_[at_].journal.state.slots) times.behind = place.next;
    known_times_->Put(journals_[at_].header.uid, std::move(times));
  }

  // Whether the journal has ended.
  Result<bool> AddRecords(std::size_t* left, RecordPage* records, v1::JournalRecords* part) {
    std::vector<Record> batch(kBatch);
    while (*left > 0) {
      const Result<std::size_t> got =
          reader_->Next(std::span(batch).first(std::min(kBatch, *left)));
      if (!got.ok()) return got.status();
      if (*got == 0) {
        const std::vector<Record> found = runs::Findings(
            reader_->summary(), 0, dropped_, last_ns_, journals_[at_].anchor.has_value(), &names_);
        for (const Record& record : found) records->Put(record, packed_, part);
        return true;
      }
      for (const Record& record : std::span(batch).first(*got)) {
        if (record.type == RecordType::kDropped) {
          dropped_ += static_cast<std::uint64_t>(std::max<std::int64_t>(0, record.a));
        }
        last_ns_ = record.time_ns;
        if (record.seq < from_) continue;  // an earlier page had it
        from_ = record.seq + 1;
        records->Put(record, packed_, part);
        --*left;
      }
    }
    return false;
  }

  store::RecordStore* store_;
  Hearing hearing_;
  KnownTimes* known_times_;
  RunUid run_;
  std::optional<TimeRange> range_;
  std::vector<StoredJournal> journals_;
  std::size_t at_ = 0;
  bool packed_ = false;
  std::uint64_t from_ = 0;  // the first record of the journal that is still wanted
  NameTable names_;         // of the journal; outlives its reader
  std::optional<journal::JournalReader> reader_;
  std::uint64_t dropped_ = 0;
  std::int64_t last_ns_ = 0;
  // With a range: what is known of the journal, with what is being read, and where that ends.
  RecordTimes times_;
  std::uint64_t stop_ = 0;
};

RecordService::RecordService(RunRegistry* registry, store::RecordStore* store, const Clock* clock)
    : registry_(registry), store_(store), hearing_{clock, clock->Wall().ns} {}
RecordService::~RecordService() = default;

void RecordService::AddTo(ConnectRouter* router) {
  router->Add<v1::ListRecordsRequest, v1::ListRecordsResponse>(
      "headway.v1.RecordService.ListRecords", Permission::kRunsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListRecords(caller, request); });
}

std::size_t RecordService::waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::size_t RecordService::following() {
  const std::lock_guard lock(mutex_);
  return following_.size();
}

Result<v1::ListRecordsResponse> RecordService::FollowRecords(
    const RunUid& run, std::size_t size, const v1::ListRecordsRequest& request) {
  std::unique_ptr<RecordFollower> follower;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(following_, [&](const auto& one) {
      return one->run() == run && one->token() == request.page_token();
    });
    if (found != following_.end()) {
      follower = std::move(*found);
      following_.erase(found);
    }
  }
  if (follower == nullptr) {
    follower = std::make_unique<RecordFollower>(store_, hearing_, run);
    HEADWAY_RETURN_IF_ERROR(follower->GoTo(request.page_token()));
  }
  v1::ListRecordsResponse page;
  HEADWAY_RETURN_IF_ERROR(follower->Fill(size, request.packed(), &page));
  page.set_next_page_token(follower->token());
  follower->Rest();
  const std::lock_guard lock(mutex_);
  following_.push_back(std::move(follower));
  if (following_.size() > limits::kRecordsReaders) following_.erase(following_.begin());
  return page;
}

Result<std::unique_ptr<RecordService::Cursor>> RecordService::Take(
    const RunUid& run, const std::optional<TimeRange>& range, const std::string& token) {
  if (!token.empty()) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(waiting_, [&](const auto& one) {
      return one->run() == run && one->range() == range && one->token() == token;
    });
    if (found != waiting_.end()) {
      std::unique_ptr<Cursor> cursor = std::move(*found);
      waiting_.erase(found);
      return cursor;
    }
  }
  auto cursor = std::make_unique<Cursor>(store_, hearing_, &times_, run, range);
  HEADWAY_RETURN_IF_ERROR(cursor->GoTo(token));
  return cursor;
}

Result<v1::ListRecordsResponse> RecordService::ListRecords(const Caller& caller,
                                                           const v1::ListRecordsRequest& request) {
  const Result<std::size_t> size =
      PageSize(request.page_size(), kRecordsPageDefault,
               caller.json && !request.packed() ? limits::kRowsPageJson : limits::kRowsPage);
  if (!size.ok()) return size.status();
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  const Result<std::optional<TimeRange>> range = RangeOf(request);
  if (!range.ok()) return range.status();
  if (request.follow()) return FollowRecords(run->uid, *size, request);
  Result<std::unique_ptr<Cursor>> cursor = Take(run->uid, *range, request.page_token());
  if (!cursor.ok()) return cursor.status();
  v1::ListRecordsResponse page;
  HEADWAY_RETURN_IF_ERROR((*cursor)->Add(*size, request.packed(), &page));
  if ((*cursor)->done()) return page;
  page.set_next_page_token((*cursor)->token());
  (*cursor)->Rest();
  const std::lock_guard lock(mutex_);
  waiting_.push_back(*std::move(cursor));
  if (waiting_.size() > limits::kRecordsReaders) waiting_.erase(waiting_.begin());
  return page;
}

}  // namespace headway::server
