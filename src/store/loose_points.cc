#include "store/loose_points.h"

#include "series/bytes.h"

namespace headway::store {
namespace {}  // namespace

void LoosePoints::Begin(std::string_view name, std::string_view unit,
                        std::span<const Label> labels) {
  series::PutSized(&keys, name);
  series::PutSized(&keys, unit);
  for (const auto& [key, value] : labels) {
    series::PutSized(&keys, key);
    series::PutSized(&keys, value);
  }
  series.push_back({keys.size(), times_ns.size()});
}

}  // namespace headway::store
