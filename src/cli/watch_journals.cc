#include <utility>

#include "base/clock.h"
#include "cli/watch_feed.h"
#include "model/text.h"
#include "runs/follower.h"
#include "runs/question.h"

namespace headway::cli {
namespace {

// How far back the newest steps are looked for.
constexpr std::int64_t kStepsNs = 60 * kNanosPerSecond;
constexpr std::int64_t kStepsLongNs = 24 * 3600 * kNanosPerSecond;

class JournalFeed final : public WatchFeed {
 public:
  JournalFeed(const Place& place, const std::string& run)
      : follower_(place.dirs, place.project, run) {}

  Result<bool> Look(WatchNews* news) override {
    const Status status = follower_.Refresh();
    if (!status.ok()) {
      if (!found_) return status;
      // Somebody deletes it, perhaps: what was known stays.
      news->trouble = PrintableLine(status.message());
      return true;
    }
    found_ = true;
    ledger::Ledger* const ledger = follower_.ledger();
    const auto query = runs::MakeQuery({}, ledger, SystemClock::WallNow());
    if (!query.ok()) return query.status();
    news->report = ledger->MakeReport(*query);
    news->report.run = follower_.run().label;
    news->report.project = follower_.run().project;
    news->trouble.clear();
    if (!follower_.problems().empty()) {
      news->trouble = "warning: " + PrintableLine(follower_.problems().back().message());
    }
    news->steps.clear();
    for (const std::int64_t span : {kStepsNs, kStepsLongNs}) {
      if (!news->report.steps.last_step || news->steps.size() > 2) break;
      ledger::Query newest = *query;
      newest.window = {news->report.as_of - span, news->report.as_of};
      news->steps = ledger->Steps(newest);
    }
    return true;
  }

 private:
  runs::Follower follower_;
  bool found_ = false;
};

}  // namespace

std::unique_ptr<WatchFeed> WatchJournals(const Place& place, const std::string& run) {
  return std::make_unique<JournalFeed>(place, run);
}

}  // namespace headway::cli
