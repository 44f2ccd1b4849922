#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/server_items.h"
#include "cli/server_runs.h"
#include "model/text.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/fleet_service.pb.h>

#include "cli/table.h"
#endif

/// `headway nodes list`, `clusters list` and `locations list`: where runs of a server were
/// recorded.

namespace headway::cli {
namespace {

#ifdef HEADWAY_REMOTE

template <typename Message>
void PrintJson(const Context& context, const std::vector<Message>& rows) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginArray();
  for (const Message& row : rows) WriteMessage(row, &json);
  json.EndArray();
  *context.out << text << "\n";
}

void PrintTable(const Context& context, const Place& place, const ItemList& wanted,
                const std::string& what, const std::string& why, bool empty, const Table& table,
                bool more) {
  if (empty) {
    *context.out << (wanted.filter.empty() ? "no " : "no such ") << what << " "
                 << PlaceOfList(place, wanted) << (wanted.filter.empty() ? ": " + why : "") << "\n";
    return;
  }
  *context.out << table.Render(context.terminal);
  if (more) *context.out << "  and more: --limit N\n";
}

Status ListNodes(const Context& context, const Place& place, const ItemList& wanted) {
  bool more = false;
  const auto nodes = FetchItems<v1::ListNodesRequest, v1::ListNodesResponse>(
      place, "FleetService.ListNodes", wanted,
      [](v1::ListNodesResponse& response) { return response.mutable_nodes(); }, &more);
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  if (place.json) {
    PrintJson(context, *nodes);
    return OkStatus();
  }
  Table table({{"host", false, 0, true},
               {"cluster", false, 1},
               {"location", false, 3},
               {"processes", true},
               {"runs", true, 4},
               {"newest run", false},
               {"since (UTC)", false, 5},
               {"heard (UTC)", false, 2}});
  for (const v1::Node& node : *nodes) {
    table.AddRow({node.host(), node.cluster(), node.location(), ShowCount(node.processes()),
                  ShowCount(node.runs()), node.run(), ShowTime(node.start_time()),
                  ShowTime(node.heard_time())});
  }
  PrintTable(context, place, wanted, "nodes",
             "nothing was recorded there, or no process said where it was", nodes->empty(), table,
             more);
  return OkStatus();
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Of clusters, and of locations; `others`: what each tells besides.
template <typename Request, typename Response, typename Rows, typename Others>
Status ListGroups(const Context& context, const Place& place, const ItemList& wanted,
                  std::string_view method, const std::string& noun, const std::string& others,
                  const std::string& why, Rows rows_of, Others others_of) {
  bool more = false;
  const auto groups = FetchItems<Request, Response>(place, method, wanted, rows_of, &more);
  HEADWAY_RETURN_IF_ERROR(groups.status());
  if (place.json) {
    PrintJson(context, *groups);
    return OkStatus();
  }
  Table table({{noun, false, 0, true},
               {"nodes", true},
               {"live nodes", true},
               {"processes", true},
               {others, false, 1}});
  for (const auto& group : *groups) {
    table.AddRow({group.name(), ShowCount(group.nodes()), ShowCount(group.live_nodes()),
                  ShowCount(group.processes()), Joined(others_of(group))});
  }
  PrintTable(context, place, wanted, noun + "s", why, groups->empty(), table, more);
  return OkStatus();
}

Status ListClusters(const Context& context, const Place& place, const ItemList& wanted) {
  return ListGroups<v1::ListClustersRequest, v1::ListClustersResponse>(
      context, place, wanted, "FleetService.ListClusters", "cluster", "locations",
      "no machine told of one; set HEADWAY_CLUSTER on it (Slurm's is known)",
      [](v1::ListClustersResponse& response) { return response.mutable_clusters(); },
      [](const v1::Cluster& cluster) -> const auto& { return cluster.locations(); });
}

Status ListLocations(const Context& context, const Place& place, const ItemList& wanted) {
  return ListGroups<v1::ListLocationsRequest, v1::ListLocationsResponse>(
      context, place, wanted, "FleetService.ListLocations", "location", "clusters",
      "no machine told of one; set HEADWAY_LOCATION on it",
      [](v1::ListLocationsResponse& response) { return response.mutable_locations(); },
      [](const v1::Location& location) -> const auto& { return location.clusters(); });
}

#else

Status ListNodes(const Context&, const Place&, const ItemList&) { return NoServersBuilt(); }
Status ListClusters(const Context&, const Place&, const ItemList&) { return NoServersBuilt(); }
Status ListLocations(const Context&, const Place&, const ItemList&) { return NoServersBuilt(); }

#endif

class NodesListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The machines on which runs of a project were recorded, as they call themselves: how many "
        "processes live there now, and which run was the newest. A machine is listed as long as "
        "one of its runs is. HEADWAY_CLUSTER and HEADWAY_LOCATION on a machine say where it "
        "belongs and stands; Slurm's cluster is known.\n"
        "Filters and orders are as those of headway runs list; fields are cluster, host, location, "
        "start, heard, processes, runs and run (a name).");
    DescribeList(description, "machines", "'processes desc'; by cluster and host without it",
                 &list_, &place_);
    description->Example("headway nodes list --filter 'processes > 0'", "which are at work");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "machines are"));
    HEADWAY_RETURN_IF_ERROR(ListNodes(context, place_, list_));
    return 0;
  }

 private:
  ItemList list_;
  Place place_;
};

// Of clusters and of locations: all of what they are made of comes from nodes.
class GroupsListCommand final : public Command {
 public:
  using List = Status (*)(const Context&, const Place&, const ItemList&);

  GroupsListCommand(std::string what, std::string text, List list)
      : what_(std::move(what)), text_(std::move(text)), list_them_(list) {}

  void Describe(Description* description) override {
    description->Text(text_ +
                      "\nFilters and orders are as those of headway runs list; fields are name, "
                      "nodes, live_nodes and processes.");
    DescribeList(description, what_, "'nodes desc'; by name without it", &list_, &place_);
    description->Example("headway " + what_ + " list --filter 'live_nodes > 0'",
                         "where something runs");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, what_ + " are"));
    HEADWAY_RETURN_IF_ERROR(list_them_(context, place_, list_));
    return 0;
  }

 private:
  std::string what_;
  std::string text_;
  List list_them_;
  ItemList list_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeNodesList() { return std::make_unique<NodesListCommand>(); }
std::unique_ptr<Command> MakeClustersList() {
  return std::make_unique<GroupsListCommand>(
      "clusters",
      "The clusters that the machines belong to on which runs of a project were recorded: how many "
      "of these there are, how many have processes that live, and where they stand.",
      ListClusters);
}
std::unique_ptr<Command> MakeLocationsList() {
  return std::make_unique<GroupsListCommand>(
      "locations",
      "Where the machines stand on which runs of a project were recorded: how many of these there "
      "are, how many have processes that live, and to which clusters they belong.",
      ListLocations);
}

}  // namespace headway::cli
