#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::series {

/// Quantiles of values that are not kept: counts by cells, 64 of equal width to each power of two,
/// on both sides of zero. A quantile is off by 0.78 % of itself at most, while the magnitudes of
/// all values lie within 63 powers of two, a factor of nine quintillions. Where they do not, cells
/// are joined by twos until limits::kSketchCells hold them all, and the error doubles each time
/// (RelativeError). Zero, the least, the greatest and the infinities are exact, what is smaller
/// than the smallest normal double counts as zero, and NaN is counted apart.
///
/// The outcome depends on the values alone, not on their order or on how sketches of parts of them
/// were merged. At most 64 KiB; some hundred bytes for values that are near each other. Add: a few
/// nanoseconds. One thread at a time.
class QuantileSketch {
 public:
  void Add(double value) { Add(value, 1); }
  void Add(std::span<const double> values);
  /// As `times` calls.
  void Add(double value, std::uint64_t times);
  void Merge(const QuantileSketch& other);

  /// Values that are not NaN.
  std::uint64_t count() const;
  std::uint64_t nan_count() const { return nan_count_; }

  /// The value at place floor(q * (count - 1)), counted from 0, of all values but NaN in ascending
  /// order, within RelativeError of itself. q is 0 to 1, and taken as the nearer of these where it
  /// is not. NaN: there are no values, or q is NaN.
  double Quantile(double q) const;
  /// By how much a quantile may be off, as a share of itself: 0.0078 or more.
  double RelativeError() const;

  /// Appends it ("a sketch" in docs/formats/series-columns.md).
  void AppendTo(std::string* out) const;
  /// Of all of `bytes`. DataLoss: they are no sketch.
  static Result<QuantileSketch> Parse(std::string_view bytes);

 private:
  static constexpr int kCellBits = 6;  // 64 cells to a power of two

  // Neighbouring cells of one sign.
  struct Cells {
    std::int64_t first = 0;  // number of the first cell
    std::vector<std::uint64_t> counts;

    std::int64_t end() const { return first + static_cast<std::int64_t>(counts.size()); }
    void Cover(std::int64_t from, std::int64_t to);
    void Halve();
  };

  static double Middle(std::int64_t cell, int joined);
  void CoverCell(std::size_t side, std::int64_t cell, int joined);
  void Halve();

  int joined_ = 0;              // how often cells were joined by twos
  std::array<Cells, 2> sides_;  // above and below zero
  std::uint64_t zero_count_ = 0;
  std::uint64_t nan_count_ = 0;
  std::uint64_t plus_inf_count_ = 0;
  std::uint64_t minus_inf_count_ = 0;
  double min_ = 0;  // of the finite values, where there are some
  double max_ = 0;
};

}  // namespace headway::series
