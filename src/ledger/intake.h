#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ledger/flow.h"
#include "ledger/sighting.h"
#include "ledger/view.h"

namespace headway::ledger {

/// Takes records as they come, finds out which of them make up an attempt, and keeps the attempts.
///
/// Identity comes first: writers with the same attempt key are one attempt. Without a key it is
/// told from the records: un-ranked processes that record at the same time are one attempt, the
/// others follow each other.
class Intake {
 public:
  Intake() = default;
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  WriterId AddWriter(const Writer& writer, Liveness liveness);
  void Add(std::span<const Record> records);
  void Add(const Record& record);
  /// Brings everything up to date.
  void Refresh();

  RunContext& context() { return context_; }
  const RunContext& context() const { return context_; }
  /// All attempts in the order of their starts; valid until the next Add.
  const std::vector<const Attempt*>& attempts() const { return ordered_; }
  Liveness liveness(WriterId writer) const { return liveness_[writer]; }
  void SetLiveness(WriterId writer, Liveness liveness) { liveness_[writer] = liveness; }

  /// Everything that is no attempt's: excludes, queries, notes of importers.
  const std::vector<Record>& annotations() const { return annotations_; }
  std::optional<std::int64_t> latest_query() const { return latest_query_; }
  /// The last record's time, annotations left out.
  std::optional<std::int64_t> last_time() const {
    return last_time_ == kNoTime ? std::nullopt : std::optional(last_time_);
  }
  /// Notes of flows and importers.
  NoteCounts Notes() const;
  /// [num_writers] The number of the attempt that is all a writer's, -1: none.
  std::vector<std::int64_t> AttemptsOfWriters() const;
  /// Every record that belongs to an attempt.
  std::vector<TimedRecord> Records() const;
  /// The same: the logs of the attempts, and what is in none of them appended to `loose`.
  void ListLogs(std::vector<const RecordLog*>* logs, RecordLog* loose) const;
  std::size_t MemoryBytes() const;
  /// Forgets the bytes of pages, see Slabs.
  void Release();
  /// Of a refreshed intake, into a fresh one.
  template <typename Ar>
  void Persist(Ar& ar);

  /// The closed form of an attempt that does not change any more, kept between reports.
  struct Kept {
    std::uint64_t version = 0;
    Attempt::Closed closed;
    ViewCache cache;
  };
  std::map<const Attempt*, Kept>& kept() { return kept_; }

 private:
  void AddUnusual(Record record);
  Flow* Bind(const std::string& key, bool stream);
  void Annotate(const Record& record);
  void Observe(const Record& record);
  void SightAgain();
  /// The flow each keyless writer belongs to, by what is known now.
  std::vector<std::string> Group() const;
  bool Leads(WriterId id) const;
  WriterId FirstLead(const Flow& flow) const;
  void Rebuild(const std::vector<std::string>& groups);
  std::set<std::string> Streams(const std::vector<std::string>& groups) const;
  void OrderAttempts();

  RunContext context_;
  std::map<std::string, WriterId> writer_ids_;
  std::vector<Liveness> liveness_;
  std::map<std::string, std::unique_ptr<Flow>> flows_;
  std::vector<Flow*> flow_of_;         // [num_writers], null: not bound
  std::vector<Sighting> sightings_;    // [num_writers], of keyless writers
  std::vector<std::string> group_of_;  // [num_writers], of keyless writers
  std::size_t keyless_ = 0;            // writers without a key that have recorded
  bool regroup_ = false;
  bool sighted_late_ = false;  // sightings have missed the order of records
  std::vector<Record> annotations_;
  /// Every field of a record, to know an annotation again.
  using Content = std::tuple<WriterId, std::uint64_t, RecordType, std::int64_t, std::int64_t,
                             std::int64_t, NameId>;
  static Content ContentOf(const Record& r) {
    return {r.writer, r.seq, r.type, r.time_ns, r.a, r.b, r.name};
  }
  std::set<Content> annotated_;
  NoteCounts notes_;
  std::optional<std::int64_t> latest_query_;
  std::int64_t last_time_ = kNoTime;
  std::vector<const Attempt*> ordered_;
  std::map<const Attempt*, Kept> kept_;
};

}  // namespace headway::ledger
