#include "model/name_table.h"

namespace headway {

NameTable& NameTable::operator=(const NameTable& other) {
  if (this == &other) return *this;
  texts_.clear();
  ids_.clear();
  for (const std::string& text : other.texts_) Intern(text);
  return *this;
}

NameId NameTable::Intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const auto id = static_cast<NameId>(texts_.size());
  texts_.emplace_back(text);
  ids_.emplace(texts_.back(), id);
  return id;
}

std::string_view NameTable::Text(NameId id) const {
  if (id >= texts_.size()) return {};
  return texts_[id];
}

}  // namespace headway
