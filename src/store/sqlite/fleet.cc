#include <algorithm>
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
  std::vector<std::pair<std::int64_t, NodeRow>> all;
  {
    Query find(turn.connection, kRead,
               "SELECT id, cluster, host, location FROM node "
               "WHERE project_id = (SELECT id FROM project WHERE name = ?) ORDER BY cluster, host",
               Text{query.project});
    while (find.Next()) {
      all.emplace_back(
          find.Integer(0),
          NodeRow{.cluster = find.String(1), .host = find.String(2), .location = find.String(3)});
    }
    HEADWAY_RETURN_IF_ERROR(find.status());
  }
  std::vector<NodeRow> nodes;
  for (auto& [id, node] : all) {
    HEADWAY_RETURN_IF_ERROR(ReadRunsOf(turn.connection, id, query, &node));
    if (node.runs > 0) nodes.push_back(std::move(node));
  }
  return nodes;
}

// The index is named: without it SQLite goes through journals of other machines, or reads headers.
Status SqliteStore::ReadRunsOf(Connection* connection, std::int64_t id, const NodeQuery& query,
                               NodeRow* node) {
  struct Visit {
    std::int64_t run_id = 0;
    std::int64_t start = 0;  // of the run
  };
  Visit newest;
  std::vector<std::int64_t> looked_at;  // those that may live, and then the newest
  {
    Query visits(connection, kRead,
                 "SELECT run.id, run.uid, run.name, run.start, visit.start, "
                 "EXISTS (SELECT 1 FROM stale_run WHERE stale_run.run_id = run.id) "
                 "FROM (SELECT run_id, min(start) AS start "
                 " FROM journal INDEXED BY journal_of_node "
                 " WHERE node_id = ?1 AND node_id > 0 GROUP BY run_id) AS visit "
                 "JOIN run ON run.id = visit.run_id "
                 "WHERE run.deleted = 0 AND (?2 = '' OR run.name = ?2)",
                 id, Text{query.run});
    while (visits.Next()) {
      const Visit visit = {visits.Integer(0), visits.Integer(3)};
      const RunUid uid = visits.UidAt<RunUid>(1);
      const bool is_first = node->runs == 0;
      ++node->runs;
      node->start = is_first ? visits.Integer(4) : std::min(node->start, visits.Integer(4));
      if (is_first || std::pair(visit.start, uid) > std::pair(newest.start, node->run_uid)) {
        newest = visit;
        node->run_uid = uid;
        node->run = visits.String(2);
      }
      if (visits.Integer(5) != 0) looked_at.push_back(visit.run_id);
    }
    HEADWAY_RETURN_IF_ERROR(visits.status());
  }
  std::erase(looked_at, newest.run_id);
  if (node->runs > 0) looked_at.push_back(newest.run_id);
  for (const std::int64_t run_id : looked_at) {
    Query state(connection, kRead,
                "SELECT max(state.heard), total(state.writer = ? AND state.heard >= ?) "
                "FROM journal INDEXED BY journal_of_node "
                "JOIN state ON state.journal_id = journal.id "
                "WHERE journal.node_id = ? AND journal.node_id > 0 AND journal.run_id = ?",
                static_cast<std::int64_t>(Liveness::kAlive), query.alive_since, id, run_id);
    if (!state.Next()) return state.status();
    node->heard = state.Integer(0);
    node->processes += state.Integer(1);
  }
  return OkStatus();
}

}  // namespace headway::store
