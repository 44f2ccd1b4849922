#pragma once

#ifdef HEADWAY_REMOTE

#include <headway/v1/record_service.pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "journal/format.h"
#include "runs/growing_run.h"

namespace headway::cli {

/// The header that a part of an answer begins with. DataLoss as journal::DecodeHeader.
Result<journal::Header> HeaderOf(const v1::JournalRecords& part);

/// A run at a server, read on as it grows there: its records, as RecordService hands them out, make
/// the ledger that they make here, so that all that is told of the run is the same. Each record
/// comes once. Memory: 50 to 110 bytes for each record that comes at a time, all of them at first.
class ServerRun : public runs::GrowingRun {
 public:
  /// Calls RecordService.ListRecords.
  using Call = std::function<Status(const v1::ListRecordsRequest&, v1::ListRecordsResponse*)>;

  ServerRun(Call call, std::string project, std::string run);

  /// Errors also those of the server; Unavailable: it can't be reached. Unimplemented: it is too
  /// old for this.
  Status Refresh(std::int64_t until = runs::kNoBound,
                 std::int64_t future = runs::kNoBound) override;
  ledger::Ledger* ledger() override { return &*ledger_; }
  bool live() const override { return live_; }
  bool MayLead(WriterId writer) const override;
  int starts() const override { return starts_; }
  bool IsFar() const override { return true; }
  bool IsLost() const override { return lost_; }

 private:
  struct Journal {
    WriterId writer = 0;
    Liveness liveness = Liveness::kUnknown;
    bool supervisor = false;
    bool may_lead = false;
    bool waiting = false;  // some of its records wait
  };

  void StartOver();
  Status Fetch();
  Status Take(const v1::ListRecordsResponse& page);
  Result<Journal*> JournalOf(const v1::JournalRecords& part);
  void Feed(const runs::Bound& bound);
  void Settle();

  Call call_;
  std::string project_;
  std::string run_;
  std::string token_;  // of what comes next
  std::optional<ledger::Ledger> ledger_;
  std::map<JournalUid, Journal> journals_;
  std::vector<Journal*> of_writer_;  // [num_writers]
  std::vector<Record> waiting_;      // of each journal in its order
  bool live_ = false;
  bool lost_ = false;
  int starts_ = 0;
};

}  // namespace headway::cli

#endif
