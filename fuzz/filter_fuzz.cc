#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "model/filter.h"
#include "model/run_fields.h"

// Any text is a filter or an error that says where, and a filter takes or leaves every run. What
// orders runs orders them strictly.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Report known;
  known.start = 1'767'225'600'000'000'000;
  known.elapsed_ns = 1;
  known.goodput = 0.5;
  const Report unknown;
  const std::array<FilterRow, 2> rows = {
      [&](std::size_t field, std::string_view) { return RunFieldValue("a", known, field); },
      [&](std::size_t field, std::string_view) { return RunFieldValue("b", unknown, field); },
  };
  if (const Result<Filter> filter = Filter::Parse(text, RunFields()); filter.ok()) {
    for (const FilterRow& row : rows) (void)filter->Matches(row);
  } else {
    HEADWAY_CHECK(size > kFilterBytes || filter.status().message().starts_with("column "));
  }
  if (const Result<RowOrder> order = RowOrder::Parse(text, RunFields()); order.ok()) {
    HEADWAY_CHECK(!order->Before(rows[0], rows[0]));
    HEADWAY_CHECK(!(order->Before(rows[0], rows[1]) && order->Before(rows[1], rows[0])));
  }
  return 0;
}
