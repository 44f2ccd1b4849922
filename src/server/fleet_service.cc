#include "server/fleet_service.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "server/list_request.h"

namespace headway::server {
namespace {

FieldValue TextOf(const std::string& text) {
  return text.empty() ? FieldValue() : FieldValue(text);
}

// What a list has: its fields, what a row has in them, and where it stands without an order.
template <typename Row>
struct RowFacts;

template <>
struct RowFacts<v1::Node> {
  static const std::vector<FilterField>& Fields() {
    static const std::vector<FilterField> fields = {
        {"cluster", FieldType::kText},  {"host", FieldType::kText},
        {"location", FieldType::kText}, {"start", FieldType::kTime},
        {"heard", FieldType::kTime},    {"processes", FieldType::kInteger},
        {"runs", FieldType::kInteger},  {"run", FieldType::kText},
    };
    return fields;
  }
  static FieldValue Value(const v1::Node& node, std::size_t field) {
    switch (field) {
      case 0: return TextOf(node.cluster());
      case 1: return TextOf(node.host());
      case 2: return TextOf(node.location());
      case 3: return node.start_time();
      case 4: return node.heard_time();
      case 5: return node.processes();
      case 6: return node.runs();
      default: return TextOf(node.run());
    }
  }
  static auto Place(const v1::Node& node) { return std::tie(node.cluster(), node.host()); }
};

// Of clusters and locations.
template <typename Row>
struct GroupFacts {
  static const std::vector<FilterField>& Fields() {
    static const std::vector<FilterField> fields = {{"name", FieldType::kText},
                                                    {"nodes", FieldType::kInteger},
                                                    {"live_nodes", FieldType::kInteger},
                                                    {"processes", FieldType::kInteger}};
    return fields;
  }
  static FieldValue Value(const Row& row, std::size_t field) {
    switch (field) {
      case 0: return TextOf(row.name());
      case 1: return row.nodes();
      case 2: return row.live_nodes();
      default: return row.processes();
    }
  }
  static const std::string& Place(const Row& row) { return row.name(); }
};
template <>
struct RowFacts<v1::Cluster> : GroupFacts<v1::Cluster> {};
template <>
struct RowFacts<v1::Location> : GroupFacts<v1::Location> {};

template <typename Row>
FilterRow Values(const Row& row) {
  return [&row](std::size_t field, std::string_view) { return RowFacts<Row>::Value(row, field); };
}

template <typename Row>
struct Page {
  std::vector<Row> rows;
  std::string next;
};

// A page of `rows`, as the request asks. A page goes on behind the last row of the one before as
// that was then, whatever has become of it.
template <typename Row, typename Request>
Result<Page<Row>> PageOf(const Request& request, std::vector<Row> rows) {
  const Result<WantedPage> wanted = ReadListRequest(request, RowFacts<Row>::Fields(),
                                                    limits::kFleetPageUsual, limits::kFleetPage);
  HEADWAY_RETURN_IF_ERROR(wanted.status());
  const auto before = [&wanted](const Row& a, const Row& b) {
    const FilterRow values_a = Values(a);
    const FilterRow values_b = Values(b);
    if (wanted->order.Before(values_a, values_b)) return true;
    if (wanted->order.Before(values_b, values_a)) return false;
    return RowFacts<Row>::Place(a) < RowFacts<Row>::Place(b);
  };
  std::erase_if(rows, [&](const Row& row) { return !wanted->filter.Matches(Values(row)); });
  std::ranges::sort(rows, before);
  auto first = rows.begin();
  if (!wanted->after.empty()) {
    Row last;
    if (!last.ParseFromString(wanted->after)) {
      return Status(Code::kInvalidArgument, "the page_token is of no page of this list");
    }
    first = std::ranges::upper_bound(rows, last, before);
  }
  const auto left = static_cast<std::size_t>(rows.end() - first);
  const auto count = static_cast<std::ptrdiff_t>(std::min(wanted->count, left));
  Page<Row> page;
  std::move(first, first + count, std::back_inserter(page.rows));
  if (wanted->count < left) page.next = wanted->Token(page.rows.back().SerializeAsString());
  return page;
}

// The nodes that have a name of `of`, together by that; `also` is what else is told of them.
template <typename Row>
std::vector<Row> Grouped(const std::vector<v1::Node>& nodes,
                         const std::string& (v1::Node::*of)() const,
                         const std::string& (v1::Node::*also)() const,
                         void (*add)(Row*, const std::string&)) {
  std::map<std::string_view, Row> groups;
  std::map<std::string_view, std::set<std::string_view>> others;
  for (const v1::Node& node : nodes) {
    const std::string& name = (node.*of)();
    if (name.empty()) continue;
    Row& row = groups[name];
    row.set_project(node.project());
    row.set_name(name);
    row.set_nodes(row.nodes() + 1);
    if (node.processes() > 0) row.set_live_nodes(row.live_nodes() + 1);
    row.set_processes(row.processes() + node.processes());
    const std::string& other = (node.*also)();
    if (!other.empty() && others[name].insert(other).second) add(&row, other);
  }
  std::vector<Row> rows;
  for (auto& [name, row] : groups) rows.push_back(std::move(row));
  return rows;
}

std::vector<v1::Cluster> ClustersOf(const std::vector<v1::Node>& nodes) {
  std::vector<v1::Cluster> clusters = Grouped<v1::Cluster>(
      nodes, &v1::Node::cluster, &v1::Node::location,
      [](v1::Cluster* cluster, const std::string& name) { cluster->add_locations(name); });
  for (v1::Cluster& cluster : clusters) std::ranges::sort(*cluster.mutable_locations());
  return clusters;
}

std::vector<v1::Location> LocationsOf(const std::vector<v1::Node>& nodes) {
  std::vector<v1::Location> locations = Grouped<v1::Location>(
      nodes, &v1::Node::location, &v1::Node::cluster,
      [](v1::Location* location, const std::string& name) { location->add_clusters(name); });
  for (v1::Location& location : locations) std::ranges::sort(*location.mutable_clusters());
  return locations;
}

template <typename Row>
Result<Row> Find(const std::vector<Row>& rows, std::string_view noun, const std::string& name,
                 const std::string& project) {
  const auto found = std::ranges::find(rows, name, [](const Row& row) { return row.name(); });
  if (found != rows.end()) return *found;
  return Status(Code::kNotFound, "there is no " + std::string(noun) + " \"" + name +
                                     "\" in project \"" + ProjectOf(project) + "\"");
}

}  // namespace

void FleetService::AddTo(ConnectRouter* router) {
  router->Add<v1::ListNodesRequest, v1::ListNodesResponse>(
      "headway.v1.FleetService.ListNodes", Permission::kNodesList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListNodes(caller, request); });
  router->Add<v1::GetNodeRequest, v1::Node>(
      "headway.v1.FleetService.GetNode", Permission::kNodesGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetNode(caller, request); });
  router->Add<v1::ListClustersRequest, v1::ListClustersResponse>(
      "headway.v1.FleetService.ListClusters", Permission::kClustersList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListClusters(caller, request); });
  router->Add<v1::GetClusterRequest, v1::Cluster>(
      "headway.v1.FleetService.GetCluster", Permission::kClustersGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetCluster(caller, request); });
  router->Add<v1::ListLocationsRequest, v1::ListLocationsResponse>(
      "headway.v1.FleetService.ListLocations", Permission::kLocationsList, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return ListLocations(caller, request); });
  router->Add<v1::GetLocationRequest, v1::Location>(
      "headway.v1.FleetService.GetLocation", Permission::kLocationsGet, Scope::kByRequest,
      [this](const Caller& caller, const auto& request) { return GetLocation(caller, request); });
}

// Whose token is for one run sees where that was.
Result<std::vector<v1::Node>> FleetService::NodesOf(const Caller& caller,
                                                    const std::string& project) const {
  const Result<std::vector<store::NodeRow>> rows = store_->ListNodes(
      {.project = ProjectOf(project), .run = caller.run, .alive_since = hearing_.AliveSince()});
  HEADWAY_RETURN_IF_ERROR(rows.status());
  std::vector<v1::Node> nodes;
  nodes.reserve(rows->size());
  for (const store::NodeRow& row : *rows) {
    v1::Node node;
    node.set_project(ProjectOf(project));
    node.set_cluster(row.cluster);
    node.set_host(row.host);
    node.set_location(row.location);
    node.set_start_time(row.start);
    node.set_heard_time(row.heard);
    node.set_processes(row.processes);
    node.set_runs(row.runs);
    node.set_run(row.run);
    node.set_run_uid(ToHex(row.run_uid));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Its run by its label: until then it has its name, by which lists are filtered and ordered.
Status FleetService::Label(v1::Node* node) const {
  const Result<RunUid> uid = ParseUid<RunUid>(node->run_uid());
  HEADWAY_RETURN_IF_ERROR(uid.status());
  const Result<store::RunRow> run = store_->FindRun(*uid);
  HEADWAY_RETURN_IF_ERROR(run.status());
  node->set_run(run->label);
  return OkStatus();
}

Result<v1::ListNodesResponse> FleetService::ListNodes(const Caller& caller,
                                                      const v1::ListNodesRequest& request) const {
  Result<std::vector<v1::Node>> nodes = NodesOf(caller, request.project());
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  Result<Page<v1::Node>> page = PageOf(request, *std::move(nodes));
  HEADWAY_RETURN_IF_ERROR(page.status());
  v1::ListNodesResponse response;
  for (v1::Node& node : page->rows) {
    HEADWAY_RETURN_IF_ERROR(Label(&node));
    *response.add_nodes() = std::move(node);
  }
  response.set_next_page_token(page->next);
  return response;
}

Result<v1::Node> FleetService::GetNode(const Caller& caller,
                                       const v1::GetNodeRequest& request) const {
  Result<std::vector<v1::Node>> nodes = NodesOf(caller, request.project());
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  const auto found = std::ranges::find_if(*nodes, [&request](const v1::Node& node) {
    return node.cluster() == request.cluster() && node.host() == request.host();
  });
  if (found == nodes->end()) {
    return Status(Code::kNotFound,
                  "there is no node \"" + request.host() + "\" " +
                      (request.cluster().empty() ? "without a cluster"
                                                 : "of cluster \"" + request.cluster() + "\"") +
                      " in project \"" + ProjectOf(request.project()) + "\"");
  }
  HEADWAY_RETURN_IF_ERROR(Label(&*found));
  return std::move(*found);
}

Result<v1::ListClustersResponse> FleetService::ListClusters(
    const Caller& caller, const v1::ListClustersRequest& request) const {
  const Result<std::vector<v1::Node>> nodes = NodesOf(caller, request.project());
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  Result<Page<v1::Cluster>> page = PageOf(request, ClustersOf(*nodes));
  HEADWAY_RETURN_IF_ERROR(page.status());
  v1::ListClustersResponse response;
  for (v1::Cluster& cluster : page->rows) *response.add_clusters() = std::move(cluster);
  response.set_next_page_token(page->next);
  return response;
}

Result<v1::Cluster> FleetService::GetCluster(const Caller& caller,
                                             const v1::GetClusterRequest& request) const {
  const Result<std::vector<v1::Node>> nodes = NodesOf(caller, request.project());
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  return Find(ClustersOf(*nodes), "cluster", request.name(), request.project());
}

Result<v1::ListLocationsResponse> FleetService::ListLocations(
    const Caller& caller, const v1::ListLocationsRequest& request) const {
  const Result<std::vector<v1::Node>> nodes = NodesOf(caller, request.project());
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  Result<Page<v1::Location>> page = PageOf(request, LocationsOf(*nodes));
  HEADWAY_RETURN_IF_ERROR(page.status());
  v1::ListLocationsResponse response;
  for (v1::Location& location : page->rows) *response.add_locations() = std::move(location);
  response.set_next_page_token(page->next);
  return response;
}

Result<v1::Location> FleetService::GetLocation(const Caller& caller,
                                               const v1::GetLocationRequest& request) const {
  const Result<std::vector<v1::Node>> nodes = NodesOf(caller, request.project());
  HEADWAY_RETURN_IF_ERROR(nodes.status());
  return Find(LocationsOf(*nodes), "location", request.name(), request.project());
}

}  // namespace headway::server
