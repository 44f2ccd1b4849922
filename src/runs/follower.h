#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "runs/clocks.h"
#include "runs/growing_run.h"
#include "runs/read_ahead.h"
#include "runs/runs.h"

namespace headway::runs {

/// Follower: the newest run of a name, read on from its journals as it grows. Each record is read
/// once. Only reads.
class Follower final : public GrowingRun {
 public:
  Follower(std::vector<std::string> dirs, std::string project, std::string name);

  /// Also: more journals, who still lives.
  Status Refresh(std::int64_t until = kNoBound, std::int64_t future = kNoBound) override;

  ledger::Ledger* ledger() override { return &*ledger_; }
  bool live() const override { return live_; }
  bool MayLead(WriterId writer) const override { return leaders_.contains(writer); }
  int starts() const override { return starts_; }
  // Of the last Refresh that went well.
  const Run& run() const { return run_; }
  /// What is wrong with its journals.
  const std::vector<Status>& problems() const { return problems_; }

 private:
  struct Known {
    std::optional<ClockAnchor> anchor;
    Liveness liveness = Liveness::kUnknown;
    bool supervisor = false;
    std::uint64_t device = 0, inode = 0;  // of the file that was opened
    std::int64_t size = 0;                // when it was last looked at
    bool done = false;                    // it is read no more
  };

  bool IsAnother(const std::string& path, Known* known) const;

  void StartOver();
  Status OpenNew(const Clocks& clocks);
  void Settle();

  std::vector<std::string> dirs_;
  std::string project_;
  std::string name_;
  Run run_;
  std::optional<ledger::Ledger> ledger_;
  std::map<std::string, Known> known_;  // by path
  std::set<WriterId> leaders_;
  std::vector<Source> sources_;    // those that may still grow
  std::uint64_t fresh_bytes_ = 0;  // of journals that nothing has been read of
  std::vector<Status> problems_;
  bool live_ = false;
  int starts_ = 0;
};

}  // namespace headway::runs
