#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/uid.h"
#include "runs/runs.h"

namespace headway::cli {

struct AgentOptions {
  std::vector<std::string> dirs;  ///< data directories; they need not be there yet
  std::string project;            ///< only its runs; empty: all
  std::string server;
  std::string token;
  std::string ca;            ///< file of trusted certificates; empty: the system's
  std::int64_t keep_ns = 0;  ///< how long acknowledged runs stay; 0: for ever
};

/// Sends the journals of all runs below the directories until a signal asks it to end. An error is
/// one that no waiting mends. Unimplemented where headway was built without what speaks to servers.
Status RunAgent(const AgentOptions& options);

/// Acknowledged: since when a server has all of a journal, by the journal's uid. It is kept in
/// small files below a data directory, so that it outlives the agent.
class Acknowledged {
 public:
  /// `dir` is a data directory, `server` a URL: what one server has, another has not.
  Acknowledged(const std::string& dir, const std::string& server);

  /// The server has all of it, at the latest since `now`.
  Status Note(const JournalUid& uid, WallNs now);
  /// Since when; nothing: it is not known to.
  std::optional<WallNs> Since(const JournalUid& uid) const;
  void Forget(const JournalUid& uid);

 private:
  std::string directory_;
};

/// The runs among `runs` of which all journals are in `here` (what the server has been asked about,
/// and has), and were acknowledged `keep_ns` ago.
std::vector<runs::Run> Outlived(const std::vector<runs::Run>& runs,
                                const std::set<JournalUid>& here, const Acknowledged& acknowledged,
                                WallNs now, std::int64_t keep_ns);

}  // namespace headway::cli
