#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/record.h"

namespace headway {

/// Interned names: NameId <-> text. Id 0 is the empty name. Ids are dense and never change.
/// Not thread-safe; one owner.
class NameTable {
 public:
  NameTable() { Intern(""); }
  NameTable(const NameTable& other) { *this = other; }
  NameTable& operator=(const NameTable& other);
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;

  NameId Intern(std::string_view text);
  /// The text of `id`; the empty text for an id that was never given out.
  std::string_view Text(NameId id) const;
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque: the views below stay valid as it grows
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace headway
