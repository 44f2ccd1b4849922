#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// CsvWriter: tables as CSV (RFC 4180: comma, CRLF, quotes where needed and doubled inside).
///
/// Spreadsheets take a cell that begins with = + - @, tab or carriage return for a formula; in text
/// such a cell gets a leading ' so that data stays data. Numbers are written bare and exact.
/// Appends to a string of the caller's; not thread-safe.
///
///     std::string out;
///     CsvWriter csv(&out, {{"start_ns", ColumnType::kInteger}, {"name", ColumnType::kText}});
///     csv.Integer(5).Text("eval").EndRow();

namespace headway::csv {

enum class ColumnType : std::uint8_t {
  kText,
  kInteger,  ///< nanoseconds, counts, steps
  kReal,     ///< shortest decimal that reads back the same; not finite: empty
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::kText;
};

/// One cell of text as it stands in a file, quoted and made safe.
std::string EscapeText(std::string_view text);

class CsvWriter {
 public:
  /// Writes the header row to `*out`, which must outlive the writer.
  CsvWriter(std::string* out, std::vector<Column> columns);

  /// Each writes the next cell of the row. A cell of another type than its column's, a cell too
  /// many and a row cut short are bugs of the caller and end the process.
  CsvWriter& Text(std::string_view text);
  CsvWriter& Integer(std::int64_t value);
  CsvWriter& Real(double value);
  /// An empty cell, of any type: the value is not known.
  CsvWriter& Empty();

  void EndRow();

 private:
  void BeginCell();
  void BeginCell(ColumnType type);

  std::string* out_;
  std::vector<Column> columns_;
  std::size_t next_ = 0;  // column of the next cell
};

}  // namespace headway::csv
