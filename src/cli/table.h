#pragma once

#include <string>
#include <vector>

#include "cli/output.h"

/// Table: rows of text in columns that fit the terminal. Pure.

namespace headway::cli {

struct TableColumn {
  std::string title;
  bool right = false;  ///< numbers
  /// What is left out first when there is not enough room: the highest; 0 always stays.
  int dispensable = 0;
  bool whole = false;  ///< never shortened: what is copied from it must be all of it
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  /// One cell a column; cells are made printable.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Every line is indented by two blanks and ends in a line feed. Columns without any content are
  /// left out; of the text columns that stay, the widest is shortened if it must be and may be.
  std::string Render(const Terminal& terminal) const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace headway::cli
