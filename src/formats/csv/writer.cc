#include "formats/csv/writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/status.h"

namespace headway::csv {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kFormulaStarts = "=+-@\t\r";
constexpr std::string_view kNeedsQuotes = ",\"\r\n";

}  // namespace

std::string EscapeText(std::string_view text) {
  std::string cell;
  if (!text.empty() && kFormulaStarts.find(text.front()) != std::string_view::npos) cell = "'";
  cell.append(text);
  // Leading and trailing spaces survive readers that trim only inside quotes.
  const bool padded = !cell.empty() && (cell.front() == ' ' || cell.back() == ' ');
  if (!padded && cell.find_first_of(kNeedsQuotes) == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted.append(c == '"' ? 2 : 1, c);
  return quoted.append("\"");
}

CsvWriter::CsvWriter(std::string* out, std::vector<Column> columns)
    : out_(out), columns_(std::move(columns)) {
  HEADWAY_CHECK(!columns_.empty());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) out_->push_back(',');
    out_->append(EscapeText(columns_[i].name));
  }
  out_->append(kLineEnd);
}

void CsvWriter::BeginCell() {
  HEADWAY_CHECK(next_ < columns_.size());
  if (next_++ > 0) out_->push_back(',');
}

void CsvWriter::BeginCell(ColumnType type) {
  HEADWAY_CHECK(next_ < columns_.size() && columns_[next_].type == type);
  BeginCell();
}

CsvWriter& CsvWriter::Text(std::string_view text) {
  BeginCell(ColumnType::kText);
  out_->append(EscapeText(text));
  return *this;
}

CsvWriter& CsvWriter::Integer(std::int64_t value) {
  BeginCell(ColumnType::kInteger);
  out_->append(std::to_string(value));
  return *this;
}

CsvWriter& CsvWriter::Real(double value) {
  BeginCell(ColumnType::kReal);
  if (!std::isfinite(value)) return *this;
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out_->append(digits.data(), result.ptr);
  return *this;
}

CsvWriter& CsvWriter::Empty() {
  BeginCell();
  return *this;
}

void CsvWriter::EndRow() {
  HEADWAY_CHECK(next_ == columns_.size());
  next_ = 0;
  out_->append(kLineEnd);
}

}  // namespace headway::csv
