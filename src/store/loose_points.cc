#include "store/loose_points.h"

#include "series/bytes.h"

namespace headway::store {
namespace {

void PutSized(std::string_view bytes, std::string* out) {
  series::PutVarint(out, bytes.size());
  out->append(bytes);
}

}  // namespace

void LoosePoints::Begin(std::string_view name, std::string_view unit,
                        std::span<const Label> labels) {
  PutSized(name, &keys);
  PutSized(unit, &keys);
  for (const auto& [key, value] : labels) {
    PutSized(key, &keys);
    PutSized(value, &keys);
  }
  series.push_back({keys.size(), times_ns.size()});
}

}  // namespace headway::store
