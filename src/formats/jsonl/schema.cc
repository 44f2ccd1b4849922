#include "formats/jsonl/schema.h"

#include <csignal>
#include <unordered_map>
#include <utility>

namespace headway::jsonl {
namespace {

constexpr std::string_view kBegin = "_start";
constexpr std::string_view kEnd = "_end";

/// Record types whose names are this format's own and not the model's.
std::string_view OwnName(RecordType type) {
  switch (type) {
    case RecordType::kStepSoftEnd: return "step_soft_end";
    case RecordType::kClock: return "clock";
    case RecordType::kNote: return "note";
    case RecordType::kMetric: return "log";
    case RecordType::kConfig: return "config";
    case RecordType::kStderrTail: return "stderr_tail";
    case RecordType::kDropped: return "dropped";
    default: return "";
  }
}

std::string_view PlainName(RecordType type) {
  const std::string_view name = RecordTypeName(type);
  return name.empty() ? OwnName(type) : name;
}

struct Table {
  std::string begins[kSpanKindCount];
  std::string ends[kSpanKindCount];
  std::unordered_map<std::string_view, EventType> by_name;  // views of the above and of literals

  Table() {
    for (int i = 0; i <= static_cast<int>(kLastRecordType); ++i) {
      const auto type = static_cast<RecordType>(i);
      if (const std::string_view name = PlainName(type); !name.empty()) {
        by_name.emplace(name, EventType{type, SpanKind::kNone});
      }
    }
    for (int i = 1; i < kSpanKindCount; ++i) {
      const auto kind = static_cast<SpanKind>(i);
      begins[i] = std::string(SpanKindName(kind)).append(kBegin);
      ends[i] = std::string(SpanKindName(kind)).append(kEnd);
      by_name.emplace(begins[i], EventType{RecordType::kSpanBegin, kind});
      by_name.emplace(ends[i], EventType{RecordType::kSpanEnd, kind});
    }
  }
};

const Table& Types() {
  static const Table table;
  return table;
}

}  // namespace

bool ParseEventType(std::string_view name, EventType* type) {
  const auto found = Types().by_name.find(name);
  if (found == Types().by_name.end()) return false;
  *type = found->second;
  return true;
}

std::string_view EventTypeName(const Record& record) {
  const auto kind = static_cast<std::size_t>(record.span);
  const bool span = kind > 0 && kind < kSpanKindCount;
  if (record.type == RecordType::kSpanBegin)
    return span ? std::string_view(Types().begins[kind]) : "";
  if (record.type == RecordType::kSpanEnd) return span ? std::string_view(Types().ends[kind]) : "";
  return PlainName(record.type);
}

std::string DefaultWriterName(std::int64_t rank) {
  return rank < 0 ? "unranked" : "rank" + std::to_string(rank);
}

int SignalNumber(std::string_view name) {
  static constexpr std::pair<std::string_view, int> kSignals[] = {
      {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ILL", SIGILL},
      {"TRAP", SIGTRAP}, {"ABRT", SIGABRT}, {"BUS", SIGBUS},   {"FPE", SIGFPE},
      {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
      {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"XCPU", SIGXCPU}};
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const auto& [known, number] : kSignals) {
    if (known == name) return number;
  }
  return 0;
}

}  // namespace headway::jsonl
