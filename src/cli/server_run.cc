#include "cli/server_run.h"

#ifdef HEADWAY_REMOTE

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "model/packed_records.h"
#include "wire/record.h"

namespace headway::cli {
namespace {

constexpr int kPage = 100'000;

// What no later call mends.
bool IsForGood(const Status& status) {
  return status.code() == Code::kUnauthenticated || status.code() == Code::kPermissionDenied ||
         status.code() == Code::kUnimplemented;
}

}  // namespace

Result<journal::Header> HeaderOf(const v1::JournalRecords& part) {
  std::string bytes = part.header();
  bytes.resize(std::max(bytes.size(), journal::kHeaderBytes), '\0');
  return journal::DecodeHeader(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                               "a journal of the server");
}

ServerRun::ServerRun(Call call, std::string project, std::string run)
    : call_(std::move(call)), project_(std::move(project)), run_(std::move(run)) {
  ledger_.emplace();
}

void ServerRun::StartOver() {
  token_.clear();
  ledger_.emplace();
  journals_.clear();
  of_writer_.clear();
  waiting_.clear();
  ++starts_;
}

bool ServerRun::MayLead(WriterId writer) const {
  return writer < of_writer_.size() && of_writer_[writer]->may_lead;
}

Status ServerRun::Refresh(std::int64_t until, std::int64_t future) {
  const Status status = Fetch();
  lost_ = IsForGood(status);
  // What has come before an error is kept for the next call: it is not sent again.
  HEADWAY_RETURN_IF_ERROR(status);
  const bool lives = std::ranges::any_of(
      journals_, [](const auto& entry) { return entry.second.liveness == Liveness::kAlive; });
  Feed(lives ? runs::Bound{until, future} : runs::Bound{});
  Settle();
  return OkStatus();
}

Status ServerRun::Fetch() {
  v1::ListRecordsRequest request;
  request.set_project(project_);
  request.set_run(run_);
  request.set_page_size(kPage);
  request.set_packed(true);
  request.set_follow(true);
  while (true) {
    request.set_page_token(token_);
    v1::ListRecordsResponse page;
    Status status = call_(request, &page);
    if (status.ok() && page.next_page_token().empty()) {
      return {Code::kUnimplemented,
              "the server is an older headway, at which runs can't be followed"};
    }
    if (status.ok()) status = Take(page);
    if (!status.ok()) {
      // A server that was replaced may know nothing of the token; and half a page is none.
      const bool may_mend =
          status.code() == Code::kInvalidArgument || status.code() == Code::kDataLoss;
      if (may_mend && !std::exchange(token_, {}).empty()) continue;
      return status;
    }
    token_ = page.next_page_token();
    if (page.current()) return OkStatus();
  }
}

Status ServerRun::Take(const v1::ListRecordsResponse& page) {
  if (token_.empty() || page.anew()) StartOver();
  std::vector<NameId> names = {0};
  for (const std::string& name : page.names()) names.push_back(ledger_->InternName(name));
  for (const v1::JournalRecords& part : page.journals()) {
    const Result<Journal*> journal = JournalOf(part);
    if (!journal.ok()) return journal.status();
    HEADWAY_RETURN_IF_ERROR(ReadPacked(part.packed(), (*journal)->writer, names, &waiting_));
    (*journal)->liveness = wire::FromProto(part.writer());
  }
  return OkStatus();
}

Result<ServerRun::Journal*> ServerRun::JournalOf(const v1::JournalRecords& part) {
  JournalUid uid;
  if (part.uid().size() != uid.bytes.size()) {
    return Status(Code::kDataLoss, "the server's records are of no journal");
  }
  std::copy_n(part.uid().data(), uid.bytes.size(), reinterpret_cast<char*>(uid.bytes.data()));
  const auto [entry, fresh] = journals_.try_emplace(uid);
  Journal* const journal = &entry->second;
  if (!fresh) return journal;
  const Result<journal::Header> header = HeaderOf(part);
  if (!header.ok()) {
    journals_.erase(entry);
    return header.status();
  }
  journal->supervisor = header->origin == journal::Origin::kSupervisor;
  journal->may_lead = header->rank <= 0 && !journal->supervisor;
  journal->writer = ledger_->AddWriter(journal::ToModelWriter(*header));
  of_writer_.resize(std::max<std::size_t>(of_writer_.size(), journal->writer + 1), journal);
  of_writer_[journal->writer] = journal;
  return journal;
}

// Gives the ledger what is not later than the bound, in order of time as far as each journal is in
// order.
void ServerRun::Feed(const runs::Bound& bound) {
  std::vector<std::int64_t> reached(of_writer_.size(), kNoTime);
  const auto time_of = [&](const Record& record) {
    std::int64_t& time = reached[record.writer];
    time = std::max(time, record.time_ns > bound.future ? std::min(record.time_ns, bound.until)
                                                        : record.time_ns);
    return time;
  };
  // Of one journal, or of others that followed each other, they are in order as they came.
  std::size_t count = 0;  // of those that are not later
  bool ordered = true;
  std::int64_t last = kNoTime;
  for (const Record& record : waiting_) {
    const std::int64_t time = time_of(record);
    ordered &= time >= last;
    last = std::max(last, time);
    if (time <= bound.until) ++count;
  }
  if (!ordered) {
    struct Timed {
      std::int64_t time;
      std::uint32_t place;
    };
    std::ranges::fill(reached, kNoTime);
    std::vector<Timed> order;
    order.reserve(waiting_.size());
    for (const Record& record : waiting_) {
      order.push_back({time_of(record), static_cast<std::uint32_t>(order.size())});
    }
    std::ranges::stable_sort(order, {}, &Timed::time);
    // The rest stays in the order in which it came.
    std::ranges::sort(order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), {},
                      &Timed::place);
    std::vector<Record> sorted;
    sorted.reserve(order.size());
    for (const Timed& one : order) sorted.push_back(waiting_[one.place]);
    waiting_ = std::move(sorted);
  }
  const std::span<const Record> taken = std::span(waiting_).first(count);
  ledger_->Add(taken);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  if (waiting_.empty()) waiting_.shrink_to_fit();
}

void ServerRun::Settle() {
  for (Journal* const journal : of_writer_) journal->waiting = false;
  for (const Record& record : waiting_) of_writer_[record.writer]->waiting = true;
  live_ = false;
  bool supervised = false;
  for (const Journal* const journal : of_writer_) {
    // A writer that recorded later was alive then.
    const Liveness liveness = journal->waiting ? Liveness::kAlive : journal->liveness;
    ledger_->SetLiveness(journal->writer, liveness);
    if (liveness != Liveness::kAlive) continue;
    live_ = true;
    supervised |= journal->supervisor;
  }
  ledger_->SetSupervised(supervised);
}

}  // namespace headway::cli

#endif
