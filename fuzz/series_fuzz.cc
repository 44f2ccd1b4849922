#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/status.h"
#include "series/columns.h"
#include "series/quantile_sketch.h"
#include "series/summary.h"

namespace {

using namespace headway;

template <typename T>
void Column(std::string_view bytes, Status (*unpack)(std::string_view, std::vector<T>*),
            void (*pack)(std::span<const T>, std::string*)) {
  std::vector<T> entries, again;
  if (!unpack(bytes, &entries).ok()) {
    HEADWAY_CHECK(entries.empty());
    return;
  }
  HEADWAY_CHECK(entries.size() <= limits::kSeriesColumn);
  std::string packed;
  pack(entries, &packed);
  HEADWAY_CHECK(unpack(packed, &again).ok() && again.size() == entries.size());
  HEADWAY_CHECK(entries.empty() ||
                std::memcmp(entries.data(), again.data(), sizeof(T) * entries.size()) == 0);
}

// Entries that are any bytes come back.
template <typename T>
void Entries(std::string_view bytes, Status (*unpack)(std::string_view, std::vector<T>*),
             void (*pack)(std::span<const T>, std::string*)) {
  std::vector<T> entries(std::min(bytes.size() / sizeof(T), limits::kSeriesColumn));
  if (entries.empty()) return;
  std::memcpy(entries.data(), bytes.data(), sizeof(T) * entries.size());
  std::string packed;
  pack(entries, &packed);
  std::vector<T> again;
  HEADWAY_CHECK(unpack(packed, &again).ok() && again.size() == entries.size());
  HEADWAY_CHECK(std::memcmp(entries.data(), again.data(), sizeof(T) * entries.size()) == 0);
}

}  // namespace

// Columns, summaries and sketches from anywhere: refused, or read as something that is written and
// read again as the same. The first byte says as what the others are taken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // With the checksum that makes a column of them.
  std::string checked(bytes);
  const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
  checked.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  switch (data[0] % 8) {
    case 0: Column<double>(checked, series::UnpackValues, series::PackValues); break;
    case 1: Column<std::int64_t>(checked, series::UnpackTimes, series::PackTimes); break;
    case 2: Column<std::int64_t>(checked, series::UnpackSteps, series::PackSteps); break;
    case 3: Column<double>(bytes, series::UnpackValues, series::PackValues); break;
    case 4: Entries<double>(bytes, series::UnpackValues, series::PackValues); break;
    case 5: Entries<std::int64_t>(bytes, series::UnpackTimes, series::PackTimes); break;
    case 6: {
      std::string_view rest = bytes;
      series::Summary sum;
      while (!rest.empty()) {
        const auto summary = series::ParseSummary(&rest);
        if (!summary.ok()) break;
        std::string written;
        series::AppendSummary(*summary, &written);
        std::string_view back = written;
        HEADWAY_CHECK(series::ParseSummary(&back).ok() && back.empty());
        series::Merge(*summary, &sum);
      }
      break;
    }
    default: {
      auto sketch = series::QuantileSketch::Parse(bytes);
      if (!sketch.ok()) break;
      std::string written;
      sketch->AppendTo(&written);
      HEADWAY_CHECK(series::QuantileSketch::Parse(written).ok());
      sketch->Quantile(0.5);
      sketch->Add(1e-300);
      sketch->Merge(*sketch);
      break;
    }
  }
  return 0;
}
