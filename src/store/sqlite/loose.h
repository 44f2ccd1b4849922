#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

/// What the store remembers of sources of loose points, so that a point that comes in order costs a
/// look into a table, and no statement.

namespace headway::store {

struct LooseSource {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>()(key);
    }
  };
  struct Series {
    std::int64_t id = 0;
    std::int64_t last_time_ns = 0;  ///< no point of it is later
  };

  std::int64_t id = 0;
  std::unordered_map<std::string, Series, Hash, std::equal_to<>> series;  ///< by LoosePoints::KeyOf
  std::uint64_t points = 0;  ///< in chunks, not in pieces yet
  std::uint64_t small = 0;   ///< chunks of few points
};

/// By run and name. They are what the database says, or are forgotten.
class LooseSources {
 public:
  /// nullptr: not known here.
  LooseSource* Find(std::int64_t run_id, const std::string& name);
  LooseSource* Keep(std::int64_t run_id, const std::string& name,
                    std::unique_ptr<LooseSource> source);
  void Forget(std::int64_t run_id);
  void Clear() { sources_.clear(); }

 private:
  std::map<std::pair<std::int64_t, std::string>, std::unique_ptr<LooseSource>> sources_;
};

}  // namespace headway::store
