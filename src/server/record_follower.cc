#include "server/record_follower.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "runs/findings.h"
#include "server/record_page.h"

namespace headway::server {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::string_view kBegin = "follow/";
constexpr std::string_view kStates = "?ad.";  // of a writer; the last: and nothing more will come

Status BadToken() {
  return {Code::kInvalidArgument, "the page_token is none of an answer to this question"};
}

// Which wall times the journal's records have.
std::uint32_t ClockMark(const std::optional<ClockAnchor>& anchor) {
  if (!anchor) return 0;
  const std::int64_t words[] = {anchor->wall.ns, anchor->mono.ns};
  return Crc32c(words, sizeof words) | 1;
}

// The text up to the next `end`, which is taken off; nothing: there is none.
std::optional<std::string_view> Cut(std::string_view* text, char end) {
  const std::size_t at = text->find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view part = text->substr(0, at);
  text->remove_prefix(at + 1);
  return part;
}

template <typename Number>
bool Parse(const std::optional<std::string_view>& text, Number* number) {
  if (!text) return false;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace

// "follow/RUN/JOURNAL:SEQ:CLOCK:STATE/JOURNAL:..."
std::string RecordFollower::token() const {
  std::string text = std::string(kBegin) + ToHex(run_) + "/";
  for (const auto& [uid, told] : told_) {
    text += ToHex(uid) + ":" + std::to_string(told.seq) + ":" + std::to_string(told.clock) + ":";
    text += told.done ? kStates.back() : kStates[static_cast<std::size_t>(told.liveness)];
    text += "/";
  }
  return text;
}

Status RecordFollower::GoTo(const std::string& token) {
  if (token.empty()) return OkStatus();
  std::string_view rest = token;
  if (!rest.starts_with(kBegin)) return BadToken();
  rest.remove_prefix(kBegin.size());
  const auto run_text = Cut(&rest, '/');
  if (!run_text) return BadToken();
  const Result<RunUid> run = ParseUid<RunUid>(std::string(*run_text));
  if (!run.ok()) return BadToken();
  std::map<JournalUid, Told> all;
  while (!rest.empty()) {
    const auto uid_text = Cut(&rest, ':');
    Told told;
    if (!uid_text || !Parse(Cut(&rest, ':'), &told.seq) || !Parse(Cut(&rest, ':'), &told.clock)) {
      return BadToken();
    }
    const Result<JournalUid> uid = ParseUid<JournalUid>(std::string(*uid_text));
    const auto state = Cut(&rest, '/');
    const std::size_t place =
        state && state->size() == 1 ? kStates.find(state->front()) : std::string_view::npos;
    if (!uid.ok() || place == std::string_view::npos) return BadToken();
    told.done = kStates[place] == kStates.back();
    told.liveness = told.done ? Liveness::kDead : static_cast<Liveness>(place);
    all.emplace(*uid, std::move(told));
  }
  anew_ = !(*run == run_);
  if (!anew_) told_ = std::move(all);
  return OkStatus();
}

// Begins a round. `*anew`: what was told is not so any more.
Status RecordFollower::Look(bool* anew) {
  Result<std::vector<StoredJournal>> journals = ListStoredJournals(store_, run_);
  if (!journals.ok()) return journals.status();
  journals_ = *std::move(journals);
  std::size_t known = 0;
  for (const StoredJournal& one : journals_) {
    const auto told = told_.find(one.header.uid);
    if (told == told_.end()) continue;
    ++known;
    *anew |=
        told->second.clock != ClockMark(one.anchor) || told->second.seq > one.journal.state.slots;
  }
  *anew |= known < told_.size();
  if (*anew) told_.clear();
  for (auto& [uid, told] : told_) {
    if (told.reading) HEADWAY_RETURN_IF_ERROR(told.reading->reader->Refresh());
  }
  at_ = 0;
  in_round_ = true;
  return OkStatus();
}

Status RecordFollower::Fill(std::size_t count, bool packed, v1::ListRecordsResponse* page) {
  bool begun_here = false;
  std::size_t left = count;
  while (left > 0 && page->journals_size() < limits::kRecordsPageJournals) {
    if (!in_round_) {
      bool anew = std::exchange(anew_, false);
      HEADWAY_RETURN_IF_ERROR(Look(&anew));
      begun_here = true;
      if (anew) {
        page->Clear();
        page->set_anew(true);
        left = count;
      }
    }
    if (at_ < journals_.size()) {
      HEADWAY_RETURN_IF_ERROR(AddJournal(&left, packed, page));
      continue;
    }
    in_round_ = false;
    // A round that began with an earlier page does not know what has come since.
    if (!begun_here) continue;
    page->set_current(true);
    break;
  }
  return OkStatus();
}

// What is new of the journal; moves on to the next one unless there is more of this one.
Status RecordFollower::AddJournal(std::size_t* left, bool packed, v1::ListRecordsResponse* page) {
  const StoredJournal& journal = journals_[at_];
  const auto [entry, fresh] = told_.try_emplace(journal.header.uid);
  Told& told = entry->second;
  if (told.done) {
    ++at_;
    return OkStatus();
  }
  if (!told.reading) {
    told.reading = std::make_unique<Reading>();
    Result<journal::JournalReader> reader = OpenStoredJournal(
        store_, hearing_, journal, {.names = &told.reading->names, .stop_at_holes = true});
    if (!reader.ok()) return reader.status();
    told.reading->reader = std::make_unique<journal::JournalReader>(*std::move(reader));
  }
  Reading& reading = *told.reading;
  v1::JournalRecords part;
  part.set_uid(journal.header.uid.bytes.data(), journal.header.uid.bytes.size());
  if (fresh) {
    part.set_header(HeaderOnPage(journal.journal.identity.header));
    told.clock = ClockMark(journal.anchor);
  }
  RecordPage records(&reading.names, page);
  const std::size_t before = *left;
  std::vector<Record> batch(kBatch);
  bool ended = false;
  while (*left > 0 && !ended) {
    const Result<std::size_t> got =
        reading.reader->Next(std::span(batch).first(std::min(kBatch, *left)));
    if (!got.ok()) return got.status();
    ended = *got == 0;
    for (const Record& record : std::span(batch).first(*got)) {
      if (record.type == RecordType::kDropped) {
        reading.dropped += static_cast<std::uint64_t>(std::max<std::int64_t>(0, record.a));
      }
      if (record.seq < told.seq) continue;  // an earlier page had it
      told.seq = record.seq + 1;
      records.Put(record, packed, &part);
      --*left;
    }
  }
  const Liveness liveness = ended ? reading.reader->liveness() : Liveness::kAlive;
  const bool news = fresh || *left < before || liveness != told.liveness;
  told.liveness = liveness;
  // One that was only silent may go on.
  const bool done = ended && journal.journal.state.writer == Liveness::kDead;
  if (done) {
    for (const Record& record : runs::Findings(reading.reader->summary(), 0, reading.dropped, 0,
                                               journal.anchor.has_value(), &reading.names)) {
      records.Put(record, packed, &part);
    }
    part.set_damage(ToValidUtf8(reading.reader->summary().Check(reading.reader->path()).message()));
  }
  if (news || done) {
    part.set_writer(wire::ToProto(liveness));
    *page->add_journals() = std::move(part);
  }
  if (done) {
    told.done = true;
    told.reading.reset();
  }
  if (ended) ++at_;
  return OkStatus();
}

void RecordFollower::Rest() {
  for (auto& [uid, told] : told_) {
    if (told.reading) told.reading->reader->Release();
  }
}

}  // namespace headway::server
