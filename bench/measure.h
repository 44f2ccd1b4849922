#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

/// What the benchmark programs share: taking times, and telling bench/run what came out.

namespace headway::bench {

inline std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds that `function()` takes.
template <std::invocable Function>
std::int64_t TimeOf(Function&& function) {
  const std::int64_t begin = Now();
  function();
  return Now() - begin;
}

/// Times of one thing, taken in turns with those of another.
class Times {
 public:
  void Add(std::int64_t ns) { values_.push_back(ns); }
  /// Value below or at which a share `q` (0..1) of the times lie.
  std::int64_t Quantile(double q) {
    if (values_.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values_.size() - 1));
    std::nth_element(values_.begin(), values_.begin() + at, values_.end());
    return values_[static_cast<std::size_t>(at)];
  }
  std::int64_t Min() { return Quantile(0); }
  std::int64_t Median() { return Quantile(0.5); }
  std::int64_t Max() { return Quantile(1); }

 private:
  std::vector<std::int64_t> values_;
};

inline double Ratio(std::int64_t a, std::int64_t b) {
  if (b <= 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(a) / static_cast<double>(b);
}

/// One figure for bench/run: a line of JSON on standard output.
///
///     Measure("record_step").Value(1.4).Figure("record_ns", 42).Print();
class Measure {
 public:
  explicit Measure(std::string_view row) : json_(&text_) { json_.BeginObject().Field("row", row); }
  /// The figure that the row's target is about.
  Measure& Value(double value) {
    json_.Field("value", value);
    return *this;
  }
  /// Another figure that helps to understand it.
  template <typename Number>
    requires std::integral<Number> || std::floating_point<Number>
  Measure& Figure(std::string_view name, Number value) {
    json_.Field(name, value);
    return *this;
  }
  void Print() {
    json_.EndObject();
    std::printf("%s\n", text_.c_str());
    std::fflush(stdout);
  }

 private:
  std::string text_;
  JsonWriter json_;
};

}  // namespace headway::bench
