#include "formats/prometheus/writer.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

namespace headway::prometheus {
namespace {

using metrics::Definition;
using metrics::Label;
using metrics::Metric;
using metrics::RunMetrics;

void AppendLabel(std::string_view key, std::string_view value, std::string* out) {
  out->append(key).append("=\"");
  for (const char c : metrics::Clean(value)) {
    switch (c) {
      case '\\': *out += "\\\\"; break;
      case '"': *out += "\\\""; break;
      case '\n': *out += "\\n"; break;
      default: *out += c;
    }
  }
  *out += '"';
}

void AppendNumber(double value, std::string* out) {
  if (std::isnan(value)) {
    *out += "NaN";
  } else if (std::isinf(value)) {
    *out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    out->append(digits, std::to_chars(digits, std::end(digits), value).ptr);
  }
}

void AppendSample(const RunMetrics& run, const Metric& metric, std::string* out) {
  out->append(metric.definition->prometheus) += '{';
  AppendLabel("project", run.project, out);
  *out += ',';
  AppendLabel("run", run.run, out);
  for (const Label& label : metric.labels) {
    *out += ',';
    AppendLabel(label.key, label.value, out);
  }
  *out += "} ";
  if (const auto* integer = std::get_if<std::int64_t>(&metric.value)) {
    *out += std::to_string(*integer);
  } else {
    AppendNumber(std::get<double>(metric.value), out);
  }
  *out += '\n';
}

}  // namespace

std::string WriteText(std::span<const RunMetrics> runs) {
  std::string text;
  for (const Definition& definition : metrics::Definitions()) {
    bool first = true;
    for (const RunMetrics& run : runs) {
      for (const Metric& metric : run.metrics) {
        if (metric.definition != &definition) continue;
        if (std::exchange(first, false)) {
          text.append("# HELP ").append(definition.prometheus).append(" ");
          text.append(definition.help).append(".\n");
          text.append("# TYPE ").append(definition.prometheus).append(" gauge\n");
        }
        AppendSample(run, metric, &text);
      }
    }
  }
  return text;
}

}  // namespace headway::prometheus
