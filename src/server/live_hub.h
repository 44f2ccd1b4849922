#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/uid.h"
#include "model/report.h"
#include "server/http_server.h"
#include "server/run_ledger.h"
#include "store/store.h"

namespace headway::server {

/// LiveHub: tells whoever watches what changes. It is told that something has changed, looks once
/// for all who watch it, about once a second at most, and keeps the newest state as the text of
/// events. A stream knows up to where it has sent: one that is read slowly, or comes back, gets
/// the newest state, and none has a queue. Any thread.
///
/// An event's id is the hub's own mark and a number that grows with each change.
class LiveHub {
 public:
  /// All must outlive it; `log` (may be empty) is told what the operator should know.
  LiveHub(store::Store* store, RunLedgers* ledgers, const Clock* clock,
          std::function<void(const Status&)> log);
  /// All streams must have ended.
  ~LiveHub();
  LiveHub(const LiveHub&) = delete;
  LiveHub& operator=(const LiveHub&) = delete;

  /// Threads do what there is to do from now on.
  void Start();
  /// Its threads end.
  void Stop();
  /// Does now what is due. Instead of Start.
  void Pass();

  /// Records or points of a run are kept, `run` as its journal has it. Some hundred nanoseconds.
  void RecordsCame(const RunUid& run);
  /// What is known of a run beside its records has changed.
  void RunChanged(const RunUid& run);

  struct Asked {
    std::string who;                 ///< whose stream it is
    std::function<Status()> check;   ///< called now and then; an error of it ends the stream
    std::string project;             ///< of a list of runs
    std::string name = {};           ///< of a list: only runs of that name; empty: all
    std::optional<RunUid> run = {};  ///< nothing: the list
    bool shared = false;             ///< by a link: of the run only what that shows
    std::int64_t every_ns = 0;       ///< least time between two updates
    std::string last_id = {};        ///< of the last event that came before
  };
  /// ResourceExhausted: there are as many streams as there may be.
  Result<std::shared_ptr<HttpStream>> Open(Asked asked);

  struct Counts {
    std::size_t runs = 0;  ///< streams that are open
    std::size_t lists = 0;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t updates = 0;  ///< looks at runs
  };
  Counts counts() const;

 private:
  class Stream;

  /// A text that streams send, and the number of the change that made it.
  struct Event {
    std::shared_ptr<const std::string> text;
    std::uint64_t version = 0;  ///< 0: there is none
    std::size_t hash = 0;       ///< of its data
  };
  enum Topic { kRun, kSharedRun, kReport, kSteps, kJournals, kProblem, kTopics };

  struct Metric {
    std::uint64_t points = 0;
    std::int64_t last_time = 0;
    std::optional<std::int64_t> last_step;
    friend bool operator==(const Metric&, const Metric&) = default;
  };

  /// A run that somebody watches.
  struct Watched {
    RunUid uid;
    std::set<Stream*> streams;
    bool dirty = true;
    bool busy = false;
    MonoNs due;                   ///< when it may be looked at again
    std::optional<MonoNs> again;  ///< when it is, whatever comes
    Event topics[kTopics];
    std::map<std::string, Metric> metrics;
    Event all_metrics;
    Event new_metrics;  ///< since the change of the number that follows
    std::uint64_t new_metrics_since = 0;
  };

  /// A run that has changed, as lists show it.
  struct Listed {
    RunUid uid;
    std::string project;
    std::string name;
    std::shared_ptr<const std::string> text;
    std::size_t hash = 0;
    bool deleted = false;
  };

  /// What a look at a run has found.
  struct Look;
  using Lock = std::unique_lock<std::mutex>;

  void Run();
  /// Does one thing that is due, with the lock released meanwhile, and returns true; else sets when
  /// the next one is.
  bool Work(Lock* lock, std::optional<MonoNs>* next);
  void WakeLate(MonoNs now, std::optional<MonoNs>* next);
  void Sweep(Lock* lock);
  void List(Lock* lock);
  void Publish(const RunUid& uid, const store::RunRow& row);
  void Refresh(Lock* lock, std::shared_ptr<Watched> run);
  Look LookAt(const RunUid& uid) const;
  void Put(Event* event, std::string_view kind, const std::string& data);
  void PutMetrics(Watched* run, std::map<std::string, Metric> metrics);
  void Touch(const RunUid& uid);
  void Note(const RunUid& uid);
  void WakeAll(const std::set<Stream*>& streams);
  std::string Text(std::uint64_t version, std::string_view kind, const std::string& data) const;
  std::uint64_t PositionOf(const std::string& id) const;
  void Leave(Stream* stream);

  store::Store* store_;
  RunLedgers* ledgers_;
  const Clock* clock_;
  std::function<void(const Status&)> log_;
  const std::string mark_;  // tells this hub's numbers from those of others

  mutable std::mutex mutex_;  // of all that follows; nothing slow is done under it
  std::condition_variable changed_;
  bool stop_ = false;
  std::vector<std::thread> threads_;

  std::uint64_t version_ = 0;
  std::uint64_t opened_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t updates_ = 0;
  std::set<Stream*> streams_;                      // all
  std::map<std::string, std::size_t> streams_of_;  // by whose they are
  std::map<RunUid, std::shared_ptr<Watched>> watched_;
  std::map<RunUid, RunUid> known_;  // what journals call a run: what it is

  std::set<RunUid> pending_;  // runs to be looked up for lists
  bool listing_ = false;
  MonoNs list_due_;
  std::map<std::uint64_t, Listed> listed_;  // by the number of their last change
  std::map<RunUid, std::uint64_t> versions_;
  std::uint64_t floor_ = 0;  // changes up to here are forgotten

  bool sweeping_ = false;
  MonoNs sweep_due_;
};

}  // namespace headway::server
