#include "cli/agent.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/files.h"
#include "cli/place.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/journal_service.pb.h>
#include <poll.h>

#include "cli/beside.h"
#include "cli/output.h"
#include "cli/run_files.h"
#include "client/server_client.h"
#include "client/shipper.h"
#endif

namespace headway::cli {

Acknowledged::Acknowledged(const std::string& dir, const std::string& server)
    : directory_(JoinPath(dir, "acknowledged/" + ToHex(DeriveUid<RunUid>(server)))) {}

Status Acknowledged::Note(const JournalUid& uid, WallNs now) {
  if (Since(uid)) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(directory_));
  const std::string path = JoinPath(directory_, ToHex(uid));
  const UniqueFd file = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!file.ok()) return ErrnoStatus(errno, "write", path);
  return WriteAll(file.get(), std::to_string(now.ns) + "\n", path);
}

std::optional<WallNs> Acknowledged::Since(const JournalUid& uid) const {
  const UniqueFd file =
      OpenFile(JoinPath(directory_, ToHex(uid)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  char text[32];
  const ssize_t got = file.ok() ? ::read(file.get(), text, sizeof text) : -1;
  if (got <= 0 || text[got - 1] != '\n') return std::nullopt;  // it is written again
  WallNs since;
  const char* const end = text + got - 1;
  const auto [stop, error] = std::from_chars(text, end, since.ns);
  if (error != std::errc() || stop != end) return std::nullopt;
  return since;
}

void Acknowledged::Forget(const JournalUid& uid) {
  ::unlink(JoinPath(directory_, ToHex(uid)).c_str());
}

std::vector<runs::Run> Outlived(const std::vector<runs::Run>& runs,
                                const std::set<JournalUid>& here, const Acknowledged& acknowledged,
                                WallNs now, std::int64_t keep_ns) {
  std::vector<runs::Run> outlived;
  std::ranges::copy_if(runs, std::back_inserter(outlived), [&](const runs::Run& run) {
    return !run.journals.empty() && std::ranges::all_of(run.journals, [&](const auto& journal) {
      const JournalUid& uid = journal.header.uid;
      const std::optional<WallNs> since = acknowledged.Since(uid);
      return here.contains(uid) && since && now - *since >= keep_ns;
    });
  });
  return outlived;
}

#ifdef HEADWAY_REMOTE

namespace {

constexpr std::int64_t kRoundNs = kNanosPerSecond;
constexpr std::int64_t kPauseMostNs = 30 * kNanosPerSecond;
// A server that was restored from a backup is noticed when it is asked about everything again.
constexpr std::int64_t kAskAgainNs = 600 * kNanosPerSecond;
constexpr std::int64_t kTidyNs = 600 * kNanosPerSecond;

bool IsHopeless(const Status& status) {
  return status.code() == Code::kUnauthenticated || status.code() == Code::kPermissionDenied ||
         status.code() == Code::kUnimplemented;
}

Status Greet(client::ServerClient* client) {
  v1::AppendJournalsResponse nothing;
  return client->Call("headway.v1.JournalService.AppendJournals", v1::AppendJournalsRequest(),
                      &nothing);
}

/// One data directory.
class Directory {
 public:
  Directory(const AgentOptions& options, std::string dir, client::ServerClient* client)
      : options_(options),
        dir_(std::move(dir)),
        client_(client),
        acknowledged_(dir_, options.server) {
    AskAgain();
  }

  /// From now on the server is asked about everything.
  void AskAgain() {
    shipper_ = std::make_unique<client::Shipper>(
        transfer::Scope{.dir = dir_, .project = options_.project}, client_);
    there_.clear();
  }

  Status Round() {
    const Result<bool> done = shipper_->Round();
    // To a server that lost it, and gets it again, it came only now.
    for (const JournalUid& uid : shipper_->TakeIncomplete()) acknowledged_.Forget(uid);
    for (const JournalUid& uid : shipper_->TakeComplete()) {
      there_.insert(uid);
      if (options_.keep_ns > 0) Tell(acknowledged_.Note(uid, SystemClock::WallNow()));
    }
    if (!done.ok()) return done.status();
    Tell(shipper_->refusal());
    return OkStatus();
  }

  /// Deletes what has been there for long. Whether it is there the server is asked at that moment.
  Status Tidy() {
    if (options_.keep_ns <= 0) return OkStatus();
    const Result<std::vector<std::string>> projects = journal::ListProjects(dir_);
    if (!projects.ok()) return OkStatus();
    bool asked = false;
    for (const std::string& project : *projects) {
      if (!options_.project.empty() && project != options_.project) continue;
      const Result<std::vector<runs::Run>> runs = runs::List({dir_}, project);
      if (!runs.ok()) continue;
      const WallNs now = SystemClock::WallNow();
      std::vector<runs::Run> outlived =
          Outlived(*runs, there_, acknowledged_, now, options_.keep_ns);
      if (outlived.empty()) continue;
      if (!asked) {
        AskAgain();
        HEADWAY_RETURN_IF_ERROR(Round());
        asked = true;
        outlived = Outlived(*runs, there_, acknowledged_, now, options_.keep_ns);
      }
      for (const runs::Run& run : outlived) {
        const Result<RunFacts> facts = LearnFacts(run);
        // A supervisor may wait, and what was not copied yet is nobody's to delete.
        if (!facts.ok() || !WhyKept(*facts).empty()) continue;
        std::vector<Status> problems;
        Tell(RemoveRun(run, &problems));
        for (const Status& problem : problems) Tell(problem);
        for (const journal::JournalFile& file : run.journals) {
          acknowledged_.Forget(file.header.uid);
        }
      }
    }
    return OkStatus();
  }

 private:
  // Each trouble once, until another one comes.
  void Tell(const Status& status) {
    if (status.ok() || status.message() == told_) return;
    told_ = status.message();
    Complain("warning: " + told_);
  }

  const AgentOptions& options_;
  std::string dir_;
  client::ServerClient* client_;
  Acknowledged acknowledged_;
  std::unique_ptr<client::Shipper> shipper_;
  std::set<JournalUid> there_;
  std::string told_;
};

}  // namespace

Status RunAgent(const AgentOptions& options) {
  Beside beside;  // nobody: for the signals that ask to end
  HEADWAY_RETURN_IF_ERROR(beside.Begin());
  const SystemClock clock;
  client::ServerClient client({.url = options.server, .token = options.token, .ca = options.ca},
                              &clock);
  std::vector<Directory> directories;
  directories.reserve(options.dirs.size());
  for (const std::string& dir : options.dirs) directories.emplace_back(options, dir, &client);
  MonoNs ask_again = clock.Mono() + kAskAgainNs;
  MonoNs tidy = clock.Mono();
  std::int64_t pause = kRoundNs;
  std::string trouble;
  bool greeted = false;
  for (bool last = false;;) {
    // A wrong token is told at once, also while there is nothing to send.
    Status status = greeted ? OkStatus() : Greet(&client);
    greeted = status.ok();
    for (auto directory = directories.begin(); status.ok() && directory != directories.end();
         ++directory) {
      status = directory->Round();
    }
    if (status.ok() && !last && clock.Mono() >= tidy) {
      for (auto directory = directories.begin(); status.ok() && directory != directories.end();
           ++directory) {
        status = directory->Tidy();
      }
      tidy = clock.Mono() + std::clamp(options.keep_ns, kRoundNs, kTidyNs);
    }
    if (!status.ok()) {
      // Later it may be an outage: a certificate that was not renewed in time.
      const bool distrusted = !greeted && client.distrusts();
      if (IsHopeless(status) || distrusted || last) return status;
      if (trouble.empty()) Complain("warning: " + status.message() + "; trying again");
      trouble = status.message();
      pause = std::min(2 * pause, kPauseMostNs);
      // It may come back with less.
      for (Directory& directory : directories) directory.AskAgain();
    } else {
      if (!trouble.empty()) Complain(options.server + " is there again");
      trouble.clear();
      pause = kRoundNs;
      if (last) return OkStatus();
      if (clock.Mono() >= ask_again) {
        for (Directory& directory : directories) directory.AskAgain();
        ask_again = clock.Mono() + kAskAgainNs;
      }
    }
    pollfd ready = {beside.company().signals, POLLIN, 0};
    const timespec timeout = {static_cast<time_t>(pause / kNanosPerSecond),
                              static_cast<long>(pause % kNanosPerSecond)};
    // What has been recorded until then is still sent.
    last = ::ppoll(&ready, 1, &timeout, nullptr) > 0;
  }
}

#else

Status RunAgent(const AgentOptions&) { return NoServersBuilt(); }

#endif

}  // namespace headway::cli
