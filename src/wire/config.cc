#include "wire/config.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace headway::wire {
namespace {

using Shared = std::shared_ptr<const FlatConfig>;

// Hands out places in the list of configurations.
class Places {
 public:
  explicit Places(v1::GetConfigResponse* answer) : answer_(answer) {}

  template <typename Configs, typename Map>
  void Put(const Configs& configs, Map* to) {
    for (const auto& [config_class, config] : configs) {
      (*to)[ToValidUtf8(config_class)] = Of(config);
    }
  }

 private:
  std::uint32_t Of(const Shared& config) {
    const auto [known, fresh] =
        places_.emplace(config.get(), static_cast<std::uint32_t>(places_.size()));
    if (!fresh) return known->second;
    v1::Configuration* const to = answer_->add_configurations();
    to->set_left_out(config->left_out);
    for (const ConfigEntry& entry : config->entries) {
      v1::ConfigEntry* const one = to->add_entries();
      one->set_path(ToValidUtf8(entry.path));
      one->set_value(ToValidUtf8(entry.value));
      one->set_masked(entry.masked);
    }
    return known->second;
  }

  v1::GetConfigResponse* answer_;
  std::map<const FlatConfig*, std::uint32_t> places_;
};

Shared ToModel(const v1::Configuration& from) {
  FlatConfig config;
  config.left_out = from.left_out();
  config.entries.reserve(static_cast<std::size_t>(from.entries_size()));
  for (const v1::ConfigEntry& entry : from.entries()) {
    config.entries.push_back({entry.path(), entry.value(), entry.masked()});
  }
  return std::make_shared<const FlatConfig>(std::move(config));
}

template <typename Map, typename Configs>
Status Take(const Map& places, const std::vector<Shared>& configs, Configs* to) {
  for (const auto& [config_class, place] : places) {
    if (place >= configs.size()) {
      return {Code::kInvalidArgument,
              "the answer has no configuration " + std::to_string(place) + ", which it names"};
    }
    to->emplace(config_class, configs[place]);
  }
  return OkStatus();
}

}  // namespace

v1::GetConfigResponse ToProto(const RunConfig& config) {
  v1::GetConfigResponse answer;
  answer.set_project(ToValidUtf8(config.project));
  answer.set_run(ToValidUtf8(config.run));
  Places places(&answer);
  for (const AttemptConfig& attempt : config.attempts) {
    for (const ConfigProcess& process : attempt.processes) {
      v1::ConfigProcess* const to = answer.add_processes();
      to->set_uid(process.uid);
      to->set_name(ToValidUtf8(process.name));
      if (process.rank != -1) to->set_rank(process.rank);
      to->set_host(ToValidUtf8(process.host));
      to->set_pid(process.pid);
      to->set_supervisor(process.supervisor);
      if (process.attempt != -1) to->set_attempt(process.attempt);
      places.Put(process.configs, to->mutable_configurations());
    }
  }
  places.Put(config.registered, answer.mutable_registered());
  return answer;
}

Result<RunConfig> FromProto(const v1::GetConfigResponse& answer) {
  std::vector<Shared> configs;
  configs.reserve(static_cast<std::size_t>(answer.configurations_size()));
  for (const v1::Configuration& one : answer.configurations()) configs.push_back(ToModel(one));
  std::vector<ConfigProcess> processes;
  for (const v1::ConfigProcess& from : answer.processes()) {
    ConfigProcess process;
    process.uid = from.uid();
    process.name = from.name();
    if (from.has_rank()) process.rank = from.rank();
    process.host = from.host();
    process.pid = from.pid();
    process.supervisor = from.supervisor();
    if (from.has_attempt()) process.attempt = from.attempt();
    HEADWAY_RETURN_IF_ERROR(Take(from.configurations(), configs, &process.configs));
    processes.push_back(std::move(process));
  }
  RunConfig config = MakeRunConfig(std::move(processes));
  config.project = answer.project();
  config.run = answer.run();
  HEADWAY_RETURN_IF_ERROR(Take(answer.registered(), configs, &config.registered));
  return config;
}

}  // namespace headway::wire
