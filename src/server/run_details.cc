#include "server/run_details.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/limits.h"
#include "base/names.h"
#include "model/mask.h"
#include "wire/run.h"

namespace headway::server {
namespace {

using Map = std::map<std::string, std::string>;

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

template <typename Entries>
Status CheckMap(const std::string& what, const Entries& entries, std::size_t count,
                std::size_t value_bytes) {
  if (entries.size() > count) {
    return Bad("a run has at most " + std::to_string(count) + " " + what + "s, these are " +
               std::to_string(entries.size()));
  }
  for (const auto& [key, value] : entries) {
    if (key.empty()) return Bad("a " + what + " needs a key");
    HEADWAY_RETURN_IF_ERROR(CheckNewName("the key of a " + what, key));
    if (value.size() > value_bytes) {
      return Bad("the value of " + what + " \"" + key + "\" has " + std::to_string(value.size()) +
                 " bytes, and may have " + std::to_string(value_bytes));
    }
  }
  return OkStatus();
}

/// What may be set, and how an update of it goes. `given`: whether a value is there.
struct Settable {
  std::string_view name;
  std::function<bool(const RunDetails&)> given;
  std::function<void(const RunDetails& from, RunDetails* to)> set;
  Map RunDetails::*map = nullptr;  // of what has keys
};

template <typename T>
Settable Plain(std::string_view name, T RunDetails::*member) {
  return {name, [member](const RunDetails& details) { return details.*member != T(); },
          [member](const RunDetails& from, RunDetails* to) { to->*member = from.*member; },
          nullptr};
}

Settable Keyed(std::string_view name, Map RunDetails::*member) {
  Settable settable = Plain(name, member);
  settable.map = member;
  return settable;
}

const std::vector<Settable>& AllSettable() {
  static const std::vector<Settable> kAll = {
      Plain("accelerators", &RunDetails::accelerators),
      Plain("group", &RunDetails::group),
      Keyed("labels", &RunDetails::labels),
      Plain("phase", &RunDetails::phase),
      Plain("orchestrator", &RunDetails::orchestrator),
      Plain("workload", &RunDetails::workload),
      Plain("artifacts_uri", &RunDetails::artifacts),
      Plain("error_details", &RunDetails::error),
      Plain("tools", &RunDetails::tools),
      Keyed("software_configs", &RunDetails::software),
      Keyed("system_configs", &RunDetails::system),
  };
  return kAll;
}

// "labels.KEY": one of the keys.
bool SetKey(std::string_view path, const RunDetails& from, RunDetails* to) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return false;
  const auto& all = AllSettable();
  const auto found = std::ranges::find(all, path.substr(0, dot), &Settable::name);
  if (found == all.end() || found->map == nullptr) return false;
  const std::string key(path.substr(dot + 1));
  const Map& values = from.*(found->map);
  if (const auto value = values.find(key); value != values.end()) {
    (to->*(found->map))[key] = value->second;
  } else {
    (to->*(found->map)).erase(key);
  }
  return true;
}

constexpr std::string_view kMasked = kMaskedJson.substr(1, kMaskedJson.size() - 2);

void Mask(Map* said) {
  if (said->empty()) return;
  const FlatConfig flat = FlatOf(*said);
  HEADWAY_CHECK(flat.entries.size() == said->size());  // each is one value; limits see to the rest
  auto entry = flat.entries.begin();
  for (auto& [key, value] : *said) {
    if ((entry++)->masked) value = kMasked;
  }
}

void KeepMasked(const Map& before, Map* after) {
  for (auto& [key, value] : *after) {
    const auto kept = before.find(key);
    if (value == kMasked && kept != before.end()) value = kept->second;
  }
}

// Texts, of which only a part is a secret.
constexpr std::string RunDetails::*kTexts[] = {&RunDetails::artifacts, &RunDetails::error};

}  // namespace

Status CheckRequestId(const std::string& request_id, const std::string& uid) {
  if (request_id.size() > limits::kRequestIdBytes) {
    return Bad("a request_id has at most " + std::to_string(limits::kRequestIdBytes) + " bytes");
  }
  if (!request_id.empty() && !uid.empty()) {
    return Bad("a request has a request_id or a uid, not both: by either it is known again");
  }
  return OkStatus();
}

Status CheckDetails(const v1::Run& values) {
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the group", values.group()));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the orchestrator", values.orchestrator()));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the workload's kind", values.workload().kind()));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the workload's namespace", values.workload().namespace_()));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the workload's name", values.workload().name()));
  HEADWAY_RETURN_IF_ERROR(
      CheckMap("label", values.labels(), limits::kRunLabels, limits::kRunLabelBytes));
  for (const auto* const configs : {&values.software_configs(), &values.system_configs()}) {
    HEADWAY_RETURN_IF_ERROR(
        CheckMap("config", *configs, limits::kRunConfigs, limits::kRunConfigBytes));
  }
  if (values.artifacts_uri().size() > limits::kRunTextBytes ||
      values.error_details().size() > limits::kRunTextBytes) {
    return Bad("artifacts_uri and error_details have at most " +
               std::to_string(limits::kRunTextBytes) + " bytes each");
  }
  if (static_cast<std::size_t>(values.tools_size()) > limits::kRunTools) {
    return Bad("a run has at most " + std::to_string(limits::kRunTools) + " tools");
  }
  for (const std::string& tool : values.tools()) {
    HEADWAY_RETURN_IF_ERROR(CheckNewName("a tool's name", tool));
  }
  if (values.accelerators() < 0 || values.accelerators() > limits::kRunAccelerators) {
    return Bad("accelerators: " + std::to_string(values.accelerators()) + " is not within 0.." +
               std::to_string(limits::kRunAccelerators));
  }
  if (!v1::RunPhase_IsValid(values.phase())) {
    return Bad("phase " + std::to_string(static_cast<int>(values.phase())) + " is none");
  }
  return OkStatus();
}

Result<RunDetails> UpdateDetails(const RunDetails& details, const v1::UpdateRunRequest& request) {
  const RunDetails values = wire::DetailsOf(request.values());
  RunDetails updated = details;
  if (request.update_mask().empty()) {
    for (const Settable& one : AllSettable()) {
      if (!one.given(values)) continue;
      if (one.map == nullptr) {
        one.set(values, &updated);
        continue;
      }
      for (const auto& [key, value] : values.*(one.map)) (updated.*(one.map))[key] = value;
    }
  }
  for (const std::string& path : request.update_mask()) {
    const auto& all = AllSettable();
    if (path == "*") {
      for (const Settable& one : all) one.set(values, &updated);
    } else if (const auto found = std::ranges::find(all, path, &Settable::name);
               found != all.end()) {
      found->set(values, &updated);
    } else if (!SetKey(path, values, &updated)) {
      std::string names;
      for (const Settable& one : all) names += (names.empty() ? "" : ", ") + std::string(one.name);
      return Bad("update_mask: \"" + path + "\" can't be set; there are " + names +
                 ", and KEY of those that have keys, as in labels.KEY");
    }
  }
  KeepMasked(details.software, &updated.software);
  KeepMasked(details.system, &updated.system);
  for (const auto text : kTexts) {
    if (updated.*text == MaskedText(details.*text)) updated.*text = details.*text;
  }
  // What came to be too much by being added to.
  v1::Run whole;
  wire::Fill(updated, &whole);
  HEADWAY_RETURN_IF_ERROR(CheckDetails(whole));
  if (updated.phase != details.phase && !MayFollow(details.phase, updated.phase)) {
    return Status(Code::kFailedPrecondition,
                  "a run that is " + std::string(RunPhaseName(details.phase)) +
                      (updated.phase == RunPhase::kUnspecified
                           ? std::string(" has a phase")
                           : " does not become " + std::string(RunPhaseName(updated.phase))));
  }
  return updated;
}

FlatConfig FlatOf(const std::map<std::string, std::string>& said) {
  ConfigValue config;
  config.kind = ConfigValue::Kind::kObject;
  for (const auto& [key, text] : said) {
    ConfigValue value;
    value.text.clear();
    JsonWriter(&value.text).String(text);
    config.keys.push_back(key);
    config.items.push_back(std::move(value));
  }
  return Flatten(config);
}

RunDetails Masked(RunDetails details) {
  Mask(&details.software);
  Mask(&details.system);
  for (const auto text : kTexts) details.*text = MaskedText(details.*text);
  return details;
}

}  // namespace headway::server
