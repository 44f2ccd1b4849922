#include "model/config.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/json_writer.h"
#include "base/limits.h"
#include "model/mask.h"
#include "model/secret_key.h"

namespace headway {
namespace {

using Kind = ConfigValue::Kind;

bool IsString(const ConfigValue& value) {
  return value.kind == Kind::kScalar && value.text.starts_with('"');
}

// What nobody keeps secret.
bool IsHarmless(const ConfigValue& value) {
  if (value.kind != Kind::kScalar) return value.items.empty();
  return value.text == "null" || value.text == "true" || value.text == "false" ||
         value.text == "\"\"";
}

// A string without its quotes; escapes of letters don't occur in what AppendJsonString makes.
std::string_view Inside(const ConfigValue& value) {
  return std::string_view(value.text).substr(1, value.text.size() - 2);
}

// Line feeds part lines for the masker.
std::string Unescaped(std::string_view inside) {
  std::string out;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      out += inside[i];
      continue;
    }
    const char c = inside[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return out;
}

bool IsFlagOfSecret(const ConfigValue& value) {
  return IsString(value) && Inside(value).starts_with("-") &&
         Inside(value).find('=') == std::string_view::npos && IsSecretKey(Inside(value));
}

bool IsPlainKey(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > ' ' && byte != 0x7f && std::string_view(".[]\"\\=").find(c) == std::string::npos;
  });
}

class Flattener {
 public:
  Flattener() : masker_(*Masker::Make({})) {}

  FlatConfig Run(const ConfigValue& config) {
    if (config.kind == Kind::kObject) {
      Members(config, "");
    } else {
      Value(config, "", false);
    }
    return std::move(out_);
  }

 private:
  void Members(const ConfigValue& object, const std::string& path) {
    // {"name": "HF_TOKEN", "value": "..."}, as variables are listed.
    bool names_secret = false;
    for (std::size_t i = 0; i < object.items.size(); ++i) {
      const std::string& key = object.keys[i];
      if ((key == "name" || key == "key") && IsString(object.items[i])) {
        names_secret |= IsSecretKey(Inside(object.items[i]));
      }
    }
    for (std::size_t i = 0; i < object.items.size(); ++i) {
      const std::string& key = object.keys[i];
      const bool named = names_secret && (key == "value" || key == "Value");
      Value(object.items[i], MemberPath(path, key), named || IsSecretKey(key));
    }
  }

  void Value(const ConfigValue& value, const std::string& path, bool secret) {
    if (secret && !IsHarmless(value)) {
      Emit(path, std::string(kMaskedJson), true);
      return;
    }
    switch (value.kind) {
      case Kind::kScalar: Scalar(value, path); return;
      case Kind::kObject:
        if (value.items.empty()) return Emit(path, "{}", false);
        return Members(value, path);
      case Kind::kArray: Array(value, path); return;
    }
  }

  void Scalar(const ConfigValue& value, const std::string& path) {
    if (HoldsSecret(value)) return Emit(path, std::string(kMaskedJson), true);
    Emit(path, value.text, false);
  }

  void Array(const ConfigValue& array, const std::string& path) {
    const bool flat = std::ranges::all_of(
        array.items, [](const ConfigValue& item) { return item.kind == Kind::kScalar; });
    std::string text = "[";
    bool masked = false;
    for (std::size_t i = 0; i < array.items.size(); ++i) {
      const ConfigValue& item = array.items[i];
      const bool told = i > 0 && IsFlagOfSecret(array.items[i - 1]);
      if (!flat) {
        Value(item, path + "[" + std::to_string(i) + "]", told);
        continue;
      }
      const bool secret = (told && !IsHarmless(item)) || HoldsSecret(item);
      masked |= secret;
      if (i > 0) text += ',';
      text += secret ? kMaskedJson : std::string_view(item.text);
    }
    if (flat) Emit(path, text + "]", masked);
  }

  bool HoldsSecret(const ConfigValue& value) const {
    if (!IsString(value)) return false;
    const std::string text = Unescaped(Inside(value));
    const Result<std::string> masked = masker_.Mask(text);
    return !masked.ok() || *masked != text;
  }

  void Emit(const std::string& path, std::string value, bool masked) {
    bytes_ += path.size() + value.size();
    if (bytes_ > limits::kConfigBytes) {
      ++out_.left_out;
      return;
    }
    out_.entries.push_back({path, std::move(value), masked});
  }

  Masker masker_;
  FlatConfig out_;
  std::uint64_t bytes_ = 0;
};

bool ProcessBefore(const ConfigProcess& a, const ConfigProcess& b) {
  const auto key = [](const ConfigProcess& p) {
    return std::tuple(p.supervisor, p.rank < 0, p.rank, std::string_view(p.host), p.pid,
                      std::string_view(p.name), std::string_view(p.uid));
  };
  return key(a) < key(b);
}

int PlaceOf(std::string_view config_class) {
  if (config_class == "software") return 0;
  if (config_class == "system") return 1;
  return config_class == "user" ? 2 : 3;
}

bool SameValue(const ConfigVariant& variant, const ConfigEntry* entry) {
  if (entry == nullptr || variant.missing) return variant.missing == (entry == nullptr);
  return variant.value == entry->value && variant.masked == entry->masked;
}

void AddTo(std::vector<ConfigVariant>* variants, const ConfigEntry* entry, std::size_t process) {
  for (ConfigVariant& variant : *variants) {
    if (!SameValue(variant, entry)) continue;
    variant.processes.push_back(process);
    return;
  }
  ConfigVariant fresh;
  fresh.missing = entry == nullptr;
  if (entry != nullptr) {
    fresh.value = entry->value;
    fresh.masked = entry->masked;
  }
  fresh.processes = {process};
  variants->push_back(std::move(fresh));
}

// A list, and the processes that share it: each list is looked through once.
struct Sayers {
  const FlatConfig* config = nullptr;
  std::vector<std::size_t> processes;
  std::unordered_map<std::string_view, const ConfigEntry*> by_path;
};

ClassConfig MakeClass(const std::vector<ConfigProcess>& processes, const std::string& name) {
  ClassConfig made;
  made.name = name;
  std::vector<Sayers> sayers;
  std::unordered_map<const FlatConfig*, std::size_t> by_config;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto found = processes[i].configs.find(name);
    if (found == processes[i].configs.end()) continue;
    made.processes.push_back(i);
    const FlatConfig* config = found->second.get();
    made.left_out = std::max(made.left_out, config->left_out);
    const auto [same, fresh] = by_config.emplace(config, sayers.size());
    if (!fresh) {
      sayers[same->second].processes.push_back(i);
      continue;
    }
    sayers.push_back({config, {i}, {}});
    for (const ConfigEntry& entry : config->entries) {
      sayers.back().by_path.emplace(entry.path, &entry);
    }
  }
  std::set<std::string_view> done;
  for (const Sayers& from : sayers) {
    for (const ConfigEntry& entry : from.config->entries) {
      if (!done.insert(entry.path).second) continue;
      ConfigRow row{entry.path, {}};
      for (const Sayers& one : sayers) {
        const auto found = one.by_path.find(entry.path);
        const ConfigEntry* said = found == one.by_path.end() ? nullptr : found->second;
        for (const std::size_t process : one.processes) AddTo(&row.variants, said, process);
      }
      for (ConfigVariant& variant : row.variants) std::ranges::sort(variant.processes);
      std::ranges::stable_sort(row.variants, {}, &ConfigVariant::missing);
      made.rows.push_back(std::move(row));
    }
  }
  return made;
}

AttemptConfig MakeAttempt(std::vector<ConfigProcess> processes) {
  AttemptConfig made;
  made.attempt = processes.front().attempt;
  std::ranges::sort(processes, ProcessBefore);
  std::set<std::pair<int, std::string>> names;
  for (const ConfigProcess& process : processes) {
    for (const auto& [name, config] : process.configs) names.emplace(PlaceOf(name), name);
  }
  for (const auto& [place, name] : names) made.classes.push_back(MakeClass(processes, name));
  made.processes = std::move(processes);
  return made;
}

std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool Speaks(const ConfigRow& row, const std::string& lower) {
  return LowerCase(row.path).find(lower) != std::string::npos ||
         std::ranges::any_of(row.variants, [&lower](const ConfigVariant& variant) {
           return LowerCase(variant.value).find(lower) != std::string::npos;
         });
}

// A value, or that there is none.
using Seen = std::pair<bool, std::string_view>;

std::set<Seen> ValuesOf(const std::vector<ConfigVariant>& variants) {
  std::set<Seen> values;
  for (const ConfigVariant& variant : variants) values.emplace(variant.missing, variant.value);
  return values;
}

const ClassConfig* FindClass(const AttemptConfig& attempt, std::string_view name) {
  const auto found = std::ranges::find(attempt.classes, name, &ClassConfig::name);
  return found == attempt.classes.end() ? nullptr : &*found;
}

}  // namespace

std::uint64_t CountValues(const ConfigValue& value) {
  std::uint64_t count = 1;
  for (const ConfigValue& item : value.items) count += CountValues(item);
  return count;
}

void Update(ConfigValue* base, ConfigValue later) {
  if (base->kind != Kind::kObject || later.kind != Kind::kObject) {
    *base = std::move(later);
    return;
  }
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < base->keys.size(); ++i) places.emplace(base->keys[i], i);
  for (std::size_t i = 0; i < later.items.size(); ++i) {
    const auto [place, fresh] = places.emplace(later.keys[i], base->items.size());
    if (fresh) {
      base->keys.push_back(std::move(later.keys[i]));
      base->items.push_back(std::move(later.items[i]));
    } else {
      Update(&base->items[place->second], std::move(later.items[i]));
    }
  }
}

std::string MemberPath(std::string_view path, std::string_view key) {
  std::string out(path);
  if (!out.empty()) out += '.';
  if (IsPlainKey(key)) {
    out += key;
  } else {
    AppendJsonString(key, &out);
  }
  return out;
}

FlatConfig Flatten(const ConfigValue& config) { return Flattener().Run(config); }

const AttemptConfig* RunConfig::Find(std::int64_t attempt) const {
  const auto found = std::ranges::find(attempts, attempt, &AttemptConfig::attempt);
  return found == attempts.end() ? nullptr : &*found;
}

RunConfig MakeRunConfig(std::vector<ConfigProcess> processes) {
  std::map<std::int64_t, std::vector<ConfigProcess>> attempts;
  for (ConfigProcess& process : processes) {
    if (process.configs.empty()) continue;
    std::vector<ConfigProcess>& attempt = attempts[process.attempt];
    attempt.push_back(std::move(process));
  }
  RunConfig run;
  for (auto& [number, members] : attempts) run.attempts.push_back(MakeAttempt(std::move(members)));
  return run;
}

AttemptConfig RunConfig::Registered() const {
  if (registered.empty()) return {};
  ConfigProcess server;
  server.configs = registered;
  return MakeAttempt({std::move(server)});
}

AttemptConfig Select(const AttemptConfig& attempt, const ConfigFilter& filter) {
  AttemptConfig selected;
  if (filter.rank < 0) {
    selected = attempt;
  } else {
    std::vector<ConfigProcess> processes;
    for (const ConfigProcess& process : attempt.processes) {
      // Who has no rank is alone, and leads.
      const std::int64_t rank = std::max<std::int64_t>(process.rank, 0);
      if (rank == filter.rank && !process.supervisor) processes.push_back(process);
    }
    if (!processes.empty()) selected = MakeAttempt(std::move(processes));
    selected.attempt = attempt.attempt;
  }
  if (!filter.config_class.empty()) {
    std::erase_if(selected.classes,
                  [&](const ClassConfig& one) { return one.name != filter.config_class; });
  }
  if (!filter.search.empty()) {
    const std::string lower = LowerCase(filter.search);
    for (ClassConfig& one : selected.classes) {
      std::erase_if(one.rows, [&lower](const ConfigRow& row) { return !Speaks(row, lower); });
    }
  }
  return selected;
}

AttemptConfig DifferBetweenHosts(const AttemptConfig& attempt) {
  AttemptConfig selected = attempt;
  for (ClassConfig& one : selected.classes) {
    std::erase_if(one.rows, [&attempt](const ConfigRow& row) {
      std::map<std::string_view, std::set<Seen>> by_host;
      for (const ConfigVariant& variant : row.variants) {
        for (const std::size_t process : variant.processes) {
          by_host[attempt.processes[process].host].emplace(variant.missing, variant.value);
        }
      }
      return std::ranges::all_of(
          by_host, [&](const auto& host) { return host.second == by_host.begin()->second; });
    });
  }
  return selected;
}

std::string_view ConfigChangeName(ConfigChange change) {
  switch (change) {
    case ConfigChange::kSame: return "same";
    case ConfigChange::kChanged: return "changed";
    case ConfigChange::kAdded: return "added";
    case ConfigChange::kRemoved: return "removed";
  }
  return "";
}

std::vector<ConfigDifference> Compare(const AttemptConfig& left, const AttemptConfig& right) {
  std::set<std::pair<int, std::string>> names;
  for (const auto* side : {&left, &right}) {
    for (const ClassConfig& one : side->classes) names.emplace(PlaceOf(one.name), one.name);
  }
  std::vector<ConfigDifference> all;
  for (const auto& [place, name] : names) {
    std::unordered_map<std::string_view, std::size_t> known;
    if (const ClassConfig* from = FindClass(left, name)) {
      for (const ConfigRow& row : from->rows) {
        known.emplace(row.path, all.size());
        all.push_back({name, row.path, ConfigChange::kRemoved, row.variants, {}});
      }
    }
    const ClassConfig* to = FindClass(right, name);
    if (to == nullptr) continue;
    for (const ConfigRow& row : to->rows) {
      const auto found = known.find(row.path);
      if (found == known.end()) {
        all.push_back({name, row.path, ConfigChange::kAdded, {}, row.variants});
        continue;
      }
      ConfigDifference& both = all[found->second];
      both.right = row.variants;
      both.change = ValuesOf(both.left) == ValuesOf(both.right) ? ConfigChange::kSame
                                                                : ConfigChange::kChanged;
    }
  }
  return all;
}

}  // namespace headway
