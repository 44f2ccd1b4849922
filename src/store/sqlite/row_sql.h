#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/filter.h"

/// Lists of rows as SQL: a Filter, a RowOrder and the mark of a page, asked of columns.

namespace headway::store {

/// What each field of a table of fields is in SQL. What it refers to must outlive its RowSqls.
struct RowColumns {
  std::span<const std::string_view> fields;  ///< by their places; at the end one with keys
  std::string_view start;                    ///< where an order decides nothing: the largest first,
  std::string_view uid;                      ///< and then by this
  /// Of the field with keys: a subquery of its value up to where the key stands.
  std::string_view keyed = {};
  /// And what is true of the rows that have that key, up to where it stands, and then the value.
  std::string_view keyed_equal = {};
};

/// SQL and what is bound in it, in order.
class RowSql {
 public:
  explicit RowSql(const RowColumns& columns) : columns_(columns) {}

  RowSql& Add(std::string_view more) {
    text_ += more;
    return *this;
  }
  RowSql& Bind(FieldValue value) {
    text_ += '?';
    values_.push_back(std::move(value));
    return *this;
  }
  /// A field of the rows, or of one that has keys the value of `key`.
  RowSql& Field(std::size_t field, const std::string& key);
  /// " AND ..." where the filter asks for something.
  void Where(const Filter& filter);
  /// " AND ...": what comes behind the row that `mark` (PageMark) is of; of all where it is empty.
  /// InvalidArgument: it is of no page of such a list.
  Status Behind(const RowOrder& order, const std::string& mark);
  /// " ORDER BY ...".
  void OrderBy(const RowOrder& order);

  const std::string& text() const { return text_; }
  const std::vector<FieldValue>& values() const { return values_; }

 private:
  void Ask(const Filter::Node& node);

  RowColumns columns_;
  std::string text_;
  std::vector<FieldValue> values_;
};

/// Where a page ended: at the row of these values, start and uid (in hexadecimal digits).
std::string PageMark(const RowOrder& order, const FilterRow& row, std::int64_t start,
                     const std::string& uid);

}  // namespace headway::store
