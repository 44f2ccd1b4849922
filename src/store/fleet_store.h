#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uid.h"

/// FleetStore: on which machines runs were recorded. Journals say so in their headers, which a
/// store does not look into: whoever does tells it of each journal once, at any time after it came.
/// Any thread may call; calls that write take turns, and return once it is durable.

namespace headway::store {

struct UnplacedJournal {
  JournalUid uid;
  std::string header;
};

/// Where the process of a journal was.
struct PlacedJournal {
  JournalUid uid;
  std::string cluster;   ///< empty: in none
  std::string host;      ///< empty: nobody knows where
  std::string location;  ///< of the machine; empty: not told

  friend bool operator==(const PlacedJournal&, const PlacedJournal&) = default;
};

/// A machine with a run that is not deleted: one of each host name in a cluster of a project.
struct NodeRow {
  std::string cluster;  ///< empty: of none
  std::string host;
  std::string location = {};   ///< what was told of it last; empty: nothing
  std::int64_t start = 0;      ///< of its first journal
  std::int64_t heard = 0;      ///< when a journal of its newest run came last
  std::int64_t processes = 0;  ///< that live
  std::int64_t runs = 0;       ///< that were recorded there
  RunUid run_uid = {};         ///< the newest one of them
  std::string run = {};        ///< its name

  friend bool operator==(const NodeRow&, const NodeRow&) = default;
};

struct NodeQuery {
  std::string project;
  std::string run = {};  ///< only by runs of this name; empty: of any
  /// A writer that lived counts as alive if it was heard of from then on: wall time.
  std::int64_t alive_since = 0;
};

class FleetStore {
 public:
  virtual ~FleetStore() = default;

  /// Journals of which it was not told yet where they were, those that came first first; `count`
  /// at most.
  virtual Result<std::vector<UnplacedJournal>> ListUnplaced(std::size_t count) = 0;
  /// Tells it. All of it or nothing; what is not there any more, or was placed, is left alone.
  virtual Status Place(std::span<const PlacedJournal> journals) = 0;
  /// By cluster and host, byte by byte.
  virtual Result<std::vector<NodeRow>> ListNodes(const NodeQuery& query) = 0;
};

}  // namespace headway::store
