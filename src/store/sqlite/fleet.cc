#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "store/sqlite/sqlite_store.h"

namespace headway::store {

Result<std::vector<UnplacedJournal>> SqliteStore::ListUnplaced(std::size_t count) {
  const Turn turn = TakeReader();
  Query query(turn.connection, kRead,
              "SELECT uid, header FROM journal WHERE node_id IS NULL ORDER BY id LIMIT ?",
              static_cast<std::int64_t>(count));
  std::vector<UnplacedJournal> journals;
  while (query.Next()) journals.push_back({query.UidAt<JournalUid>(0), query.String(1)});
  HEADWAY_RETURN_IF_ERROR(query.status());
  return journals;
}

Status SqliteStore::Place(std::span<const PlacedJournal> journals) {
  if (journals.empty()) return OkStatus();
  return Change([&]() -> Status {
    for (const PlacedJournal& journal : journals) HEADWAY_RETURN_IF_ERROR(PlaceOne(journal));
    return OkStatus();
  });
}

Status SqliteStore::PlaceOne(const PlacedJournal& journal) {
  std::int64_t id = 0;
  std::int64_t start = 0;
  std::int64_t project = 0;
  {
    Query find(writer_.get(), kWrite,
               "SELECT journal.id, journal.start, run.project_id FROM journal "
               "JOIN run ON run.id = journal.run_id WHERE journal.uid = ? "
               "AND journal.node_id IS NULL",
               journal.uid);
    if (!find.Next()) return find.status();
    id = find.Integer(0);
    start = find.Integer(1);
    project = find.Integer(2);
  }
  std::int64_t node = 0;  // nowhere
  if (!journal.host.empty()) {
    // What is told of a machine's location counts as of when the journal began.
    Query make(
        writer_.get(), kWrite,
        "INSERT INTO node (project_id, cluster, host, location, located) "
        "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (project_id, cluster, host) DO UPDATE "
        "SET location = ?4, located = ?5 WHERE ?4 != '' AND (?5 >= located OR location = '')",
        project, Text{journal.cluster}, Text{journal.host}, Text{journal.location}, start);
    HEADWAY_RETURN_IF_ERROR(make.Run());
    Query find(writer_.get(), kWrite,
               "SELECT id FROM node WHERE project_id = ? AND cluster = ? AND host = ?", project,
               Text{journal.cluster}, Text{journal.host});
    if (!find.Next()) return find.status();
    node = find.Integer(0);
  }
  Query place(writer_.get(), kWrite, "UPDATE journal SET node_id = ? WHERE id = ?", node, id);
  return place.Run();
}

// Machines on which nothing is left of any run.
Status SqliteStore::RemoveNodes(std::int64_t run_id) {
  Query remove(writer_.get(), kWrite,
               "DELETE FROM node WHERE project_id = (SELECT project_id FROM run WHERE id = ?) "
               "AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.node_id = node.id)",
               run_id);
  return remove.Run();
}

Result<std::vector<NodeRow>> SqliteStore::ListNodes(const NodeQuery& query) {
  const Turn turn = TakeReader();
  const Transaction transaction(turn.connection, "BEGIN", kRead);
  HEADWAY_RETURN_IF_ERROR(transaction.status());
  std::vector<NodeRow> nodes;
  // Runs on them of which there is more to know: the newest of each, and those that may live.
  struct Visit {
    std::size_t node = 0;
    std::int64_t node_id = 0, run_id = 0, start = 0;
    bool may_live = false;
  };
  std::vector<Visit> newest;
  std::vector<Visit> looked_at;
  {
    Query visits(turn.connection, kRead,
                 "SELECT node.id, node.cluster, node.host, node.location, run.id, run.uid, "
                 "run.name, run.start, min(journal.start), "
                 "EXISTS (SELECT 1 FROM stale_run WHERE stale_run.run_id = run.id) "
                 "FROM node JOIN journal ON journal.node_id = node.id "
                 "JOIN run ON run.id = journal.run_id "
                 "WHERE node.project_id = (SELECT id FROM project WHERE name = ?1) "
                 "AND run.deleted = 0 AND (?2 = '' OR run.name = ?2) "
                 "GROUP BY node.id, run.id ORDER BY node.id, run.id",
                 Text{query.project}, Text{query.run});
    while (visits.Next()) {
      const std::int64_t id = visits.Integer(0);
      const RunUid uid = visits.UidAt<RunUid>(5);
      const std::int64_t start = visits.Integer(8);
      const bool is_new = newest.empty() || newest.back().node_id != id;
      if (is_new) {
        nodes.push_back({.cluster = visits.String(1),
                         .host = visits.String(2),
                         .location = visits.String(3),
                         .start = start});
        newest.emplace_back();
      }
      const Visit visit = {.node = nodes.size() - 1,
                           .node_id = id,
                           .run_id = visits.Integer(4),
                           .start = visits.Integer(7),
                           .may_live = visits.Integer(9) != 0};
      if (visit.may_live) looked_at.push_back(visit);
      NodeRow& node = nodes.back();
      ++node.runs;
      node.start = std::min(node.start, start);
      if (is_new || std::pair(visit.start, uid) > std::pair(newest.back().start, node.run_uid)) {
        newest.back() = visit;
        node.run_uid = uid;
        node.run = visits.String(6);
      }
    }
    HEADWAY_RETURN_IF_ERROR(visits.status());
  }
  std::ranges::copy_if(newest, std::back_inserter(looked_at),
                       [](const Visit& visit) { return !visit.may_live; });
  for (const Visit& visit : looked_at) {
    Query state(turn.connection, kRead,
                "SELECT max(state.heard), total(state.writer = ? AND state.heard >= ?) "
                "FROM journal JOIN state ON state.journal_id = journal.id "
                "WHERE journal.node_id = ? AND journal.run_id = ?",
                static_cast<std::int64_t>(Liveness::kAlive), query.alive_since, visit.node_id,
                visit.run_id);
    if (!state.Next()) return state.status();
    NodeRow& node = nodes[visit.node];
    node.processes += state.Integer(1);
    if (visit.run_id == newest[visit.node].run_id) node.heard = state.Integer(0);
  }
  std::ranges::sort(nodes, {},
                    [](const NodeRow& node) { return std::tie(node.cluster, node.host); });
  return nodes;
}

}  // namespace headway::store
