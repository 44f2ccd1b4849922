#include "cli/upkeep.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/files.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "journal/placement.h"
#include "model/text.h"
#include "transfer/carrier.h"
#include "transfer/syncer.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kSilenceNs = 10 * kNanosPerSecond;

template <typename Worker>
std::function<Result<bool>()> RoundsOf(const transfer::Scope& scope) {
  return [worker = std::make_shared<Worker>(scope)] { return worker->Round(); };
}

TroubleWatch WatchFor(std::int64_t every_ns) {
  const std::int64_t silence = std::max(every_ns, Helper::kLongestPauseNs) + kSilenceNs;
  return {"no answer for " + ShowDuration(silence), silence, SystemClock::MonoNow()};
}

// Whether the directory is there and this user's alone: what others put there is none of ours.
bool IsOurs(const std::string& directory) {
  struct stat info;
  return ::lstat(directory.c_str(), &info) == 0 && MakePrivateDirectory(directory).ok();
}

}  // namespace

void Upkeep::Start(const SupervisedRun& run, std::int64_t sync_ns) {
  const transfer::Scope scope = {.rules = run.rules,
                                 .dir = run.journal_dir,
                                 .project = run.project,
                                 .run = run.run,
                                 .uid = run.uid};
  if (sync_ns > 0) {
    const Helper::Work work = {
        .name = "headway-sync", .every_ns = sync_ns, .round = RoundsOf<transfer::Syncer>(scope)};
    Begin(work, "asking the disk to keep the journals",
          "until then a power loss takes what was recorded", "the disk has not kept all yet");
  }
  if (!run.destination.empty()) {
    const Helper::Work work = {.name = "headway-copy", .round = RoundsOf<transfer::Carrier>(scope)};
    Begin(work, "copying the journals to " + run.destination, "they stay in " + run.journal_dir,
          "not all is there; the next headway run on this machine copies the rest");
  }
  if (!run.server.empty()) {
    const Helper::Work work = {.name = "headway-ship",
                               .round = ShippingRounds(scope, run.server, run.token, run.ca)};
    Begin(work, "sending the journals to " + run.server, "they stay in " + run.journal_dir,
          "not all is there; headway ship sends the rest");
  }
  const std::string local = journal::NodeLocalDirectory(run.rules);
  if (!IsOurs(local)) return;
  const Helper::Work work = {
      .name = "headway-deliver",
      .until_done = true,
      .round = RoundsOf<transfer::Carrier>({.rules = run.rules, .dir = local})};
  Begin(work, "copying the journals that earlier runs left in " + local, "they stay there", "");
}

void Upkeep::Begin(const Helper::Work& work, const std::string& what, const std::string& remains,
                   const std::string& unsettled) {
  Result<Helper> helper = Helper::Start(work);
  if (!helper.ok()) {
    Complain("warning: " + what + ": " + helper.status().message() + "; " + remains);
    return;
  }
  duties_.push_back({*std::move(helper), WatchFor(work.every_ns), what, remains, unsettled});
}

void Upkeep::Look() {
  for (Duty& duty : duties_) {
    if (duty.helper.ended()) continue;
    const std::string text = duty.watch.Look(duty.helper.Hear(), SystemClock::MonoNow());
    if (text.empty()) continue;
    Complain("warning: " + duty.what + ": " + text +
             (duty.watch.trouble().empty() ? "" : "; " + duty.remains));
  }
}

void Upkeep::Settle(std::int64_t settle_ns) {
  for (Duty& duty : duties_) duty.helper.Dismiss();
  const MonoNs until = SystemClock::MonoNow() + settle_ns;
  for (Duty& duty : duties_) {
    if (duty.unsettled.empty()) continue;
    std::string last = duty.watch.trouble();
    const bool ended = duty.helper.WaitForEnd(until, &last);
    if (ended && last.empty()) continue;
    Complain("warning: " + duty.what + ": " + (last.empty() ? "" : last + "; ") + duty.unsettled +
             (last.empty() ? "" : "; " + duty.remains));
  }
}

}  // namespace headway::cli
