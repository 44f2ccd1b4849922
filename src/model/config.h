#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Configurations of a run: what its processes said about their software, their system and the
/// user's settings, merged, flat, without secrets, and where processes differ. Pure.

namespace headway {

/// A JSON value as a tree. Objects keep the order in which their keys were first said.
struct ConfigValue {
  enum class Kind : std::uint8_t { kScalar, kObject, kArray };

  Kind kind = Kind::kScalar;
  std::string text = "null";       ///< of a scalar: its JSON; numbers as they were written
  std::vector<ConfigValue> items;  ///< of an array or an object
  std::vector<std::string> keys;   ///< of an object: those of `items`, each once
};

/// How many values there are in the tree: itself and all below it.
std::uint64_t CountValues(const ConfigValue& value);

/// Brings `later` over `*base`: objects key by key, anything else in place of what was there.
void Update(ConfigValue* base, ConfigValue later);

/// A value with its place: `optimizer.lr`, `layers[2].name`, `env."a.b"`.
struct ConfigEntry {
  std::string path;
  std::string value;    ///< JSON; `"***"` where it is masked
  bool masked = false;  ///< it was a secret

  friend bool operator==(const ConfigEntry&, const ConfigEntry&) = default;
};

/// What stands in the place of a secret, as JSON.
inline constexpr std::string_view kMaskedJson = "\"***\"";

/// `path` and the key of a member: keys that hold anything that could be taken for a part of a
/// path stand in quotes, as JSON.
std::string MemberPath(std::string_view path, std::string_view key);

struct FlatConfig {
  std::vector<ConfigEntry> entries;  ///< as they were first said; paths are distinct
  std::uint64_t left_out = 0;        ///< values beyond limits::kConfigBytes

  friend bool operator==(const FlatConfig&, const FlatConfig&) = default;
};

/// A tree as a list. Secrets are masked: what stands under a key of which IsSecretKey is true, but
/// for true, false, null and ""; strings in which Masker finds one; what follows `--token` and the
/// like in a list of words; and `value` beside a `name` or `key` that is one. A list without lists
/// and objects in it is one value, as are {} and [].
FlatConfig Flatten(const ConfigValue& config);

/// A process of a run, and what it said. Later words of one class are brought over earlier ones.
struct ConfigProcess {
  std::string uid;         ///< of its journal
  std::string name;        ///< of its writer
  std::int64_t rank = -1;  ///< -1: not known
  std::string host;
  std::int64_t pid = 0;
  bool supervisor = false;
  std::int64_t attempt = -1;  ///< of a report; -1: not known
  /// By class: "software", "system", "user", or whatever a program called it.
  std::map<std::string, std::shared_ptr<const FlatConfig>, std::less<>> configs;
};

/// One value of a path, and who has it.
struct ConfigVariant {
  bool missing = false;  ///< these processes said nothing of that path
  std::string value;     ///< JSON
  bool masked = false;
  std::vector<std::size_t> processes;  ///< of AttemptConfig::processes, ascending
};

/// One path of a class. `variants` begin with what the first process has that has it; more than
/// one: processes differ.
struct ConfigRow {
  std::string path;
  std::vector<ConfigVariant> variants;

  bool differs() const { return variants.size() > 1; }
};

struct ClassConfig {
  std::string name;
  std::vector<std::size_t> processes;  ///< those that said something of the class, ascending
  std::vector<ConfigRow> rows;         ///< in the order of the first process, then of the others
  std::uint64_t left_out = 0;          ///< values, the most of any process
};

struct AttemptConfig {
  std::int64_t attempt = -1;             ///< -1: not known
  std::vector<ConfigProcess> processes;  ///< that said something; ranks first, by rank
  std::vector<ClassConfig> classes;      ///< software, system, user, then others by name
};

/// All configurations of a run, attempt by attempt; attempts of which nothing was said are not
/// there.
struct RunConfig {
  std::string run;
  std::string project;
  std::vector<AttemptConfig> attempts;
  /// What was not recorded but said on a server, by class.
  std::map<std::string, std::shared_ptr<const FlatConfig>, std::less<>> registered;

  /// Null when nothing was said in that attempt.
  const AttemptConfig* Find(std::int64_t attempt) const;
  /// What was said on a server, as if one process had said it.
  AttemptConfig Registered() const;
};

RunConfig MakeRunConfig(std::vector<ConfigProcess> processes);

/// What of an attempt is wanted.
struct ConfigFilter {
  std::string config_class = {};  ///< empty: all
  std::int64_t rank = -1;         ///< -1: all; 0: also of who has no rank
  std::string search = {};        ///< in path or value, whatever the case; empty: all
};
AttemptConfig Select(const AttemptConfig& attempt, const ConfigFilter& filter);

/// The rows of which hosts have other values than each other, whatever their ranks are.
AttemptConfig DifferBetweenHosts(const AttemptConfig& attempt);

enum class ConfigChange : std::uint8_t { kSame, kChanged, kAdded, kRemoved };
/// "same", "changed", "added", "removed".
std::string_view ConfigChangeName(ConfigChange change);

/// One path of two attempts. A side on which nobody has it has no variants.
struct ConfigDifference {
  std::string config_class;
  std::string path;
  ConfigChange change = ConfigChange::kSame;
  std::vector<ConfigVariant> left, right;
};

/// Class by class, in the order of the left side, then what only the right side has. Two sides are
/// the same when the same values occur, however many processes have each. A masked value equals
/// any other.
std::vector<ConfigDifference> Compare(const AttemptConfig& left, const AttemptConfig& right);

}  // namespace headway
