#pragma once

#include <vector>

#include "cli/output.h"
#include "model/report.h"

namespace headway::cli {

/// Rows as a JSON array, one a line, written as they are made: there may be millions.
template <typename Row>
void WriteJsonRows(const std::vector<Row>& rows, const JsonOptions& options, Output* out) {
  *out << "[";
  bool first = true;
  for (const Row& row : rows) {
    std::string text = ToJson(std::vector<Row>{row}, {.seconds = options.seconds});
    text.erase(text.rfind(']'));
    *out << (first ? "\n" : ",\n") << std::string_view(text).substr(1);
    first = false;
    if (out->closed()) return;
  }
  *out << (first ? "]\n" : "\n]\n");
}

}  // namespace headway::cli
