#include "model/run_fields.h"

#include <string>

namespace headway {
namespace {

enum Field : std::size_t { kName, kProject, kState, kStart, kElapsed, kGoodput, kAttempts };

template <typename T>
FieldValue ValueOf(const std::optional<T>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

}  // namespace

std::span<const FilterField> RunFields() {
  static const FilterField kFields[] = {
      {"name", FieldType::kText, {}},
      {"project", FieldType::kText, {}},
      {"state",
       FieldType::kText,
       {RunStateName(RunState::kNotStarted), RunStateName(RunState::kRunning),
        RunStateName(RunState::kRestarting), RunStateName(RunState::kCompleted),
        RunStateName(RunState::kFailed), RunStateName(RunState::kInterrupted)}},
      {"start", FieldType::kTime, {}},
      {"elapsed", FieldType::kDuration, {}},
      {"goodput", FieldType::kRatio, {}},
      {"attempts", FieldType::kInteger, {}},
  };
  return kFields;
}

FieldValue RunFieldValue(std::string_view name, const Report& report, std::size_t field) {
  switch (static_cast<Field>(field)) {
    case kName: return std::string(name);
    case kProject: return report.project;
    case kState: return std::string(RunStateName(report.state));
    case kStart: return ValueOf(report.start);
    case kElapsed: return report.elapsed_ns;
    case kGoodput: return ValueOf(report.goodput);
    case kAttempts: return static_cast<std::int64_t>(report.attempts.size());
  }
  return {};
}

}  // namespace headway
