#include "store/registry.h"

#include <numeric>

#include "model/run_fields.h"

namespace headway::store {
namespace {

// Behind those of RunFields(), which are the first ones.
enum Field : std::size_t {
  kName,
  kProject,
  kState,
  kStart,
  kElapsed,
  kGoodput,
  kAttempts,
  kEnd,
  kLastStep,
  kGroup,
  kPhase,
  kOrchestrator,
  kWorkload,
  kCreator,
  kUid,
  kCreateTime,
  kUpdateTime,
  kDeleteTime,
  kAccelerators,
  kLabels,
};

FieldValue TextOf(std::string_view text) {
  return text.empty() ? FieldValue() : FieldValue(std::string(text));
}
FieldValue TimeOf(std::int64_t time) { return time == 0 ? FieldValue() : FieldValue(time); }
FieldValue CountOf(std::int64_t count) { return count == 0 ? FieldValue() : FieldValue(count); }
template <typename T>
FieldValue ValueOf(const std::optional<T>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

}  // namespace

std::span<const FilterField> RunRowFields() {
  static const std::vector<FilterField> kFields = [] {
    const std::span<const FilterField> first = RunFields();
    std::vector<FilterField> fields(first.begin(), first.end());
    std::vector<std::string_view> phases;
    for (auto phase = RunPhase::kQueued; phase <= RunPhase::kStopped;
         phase = static_cast<RunPhase>(static_cast<int>(phase) + 1)) {
      phases.push_back(RunPhaseName(phase));
    }
    fields.insert(fields.end(), {{"end", FieldType::kTime},
                                 {"last_step", FieldType::kInteger},
                                 {"group", FieldType::kText},
                                 {"phase", FieldType::kText, std::move(phases)},
                                 {"orchestrator", FieldType::kText},
                                 {"workload", FieldType::kText},
                                 {"creator", FieldType::kText},
                                 {"uid", FieldType::kText},
                                 {"create_time", FieldType::kTime},
                                 {"update_time", FieldType::kTime},
                                 {"delete_time", FieldType::kTime},
                                 {"accelerators", FieldType::kInteger},
                                 {"labels", FieldType::kText, {}, true}});
    return fields;
  }();
  return kFields;
}

FieldValue RunRowValue(const RunRow& row, std::size_t field, std::string_view key) {
  switch (static_cast<Field>(field)) {
    case kName: return row.name;
    case kProject: return row.project;
    case kState: return std::string(RunStateName(row.summary.state));
    case kStart: return row.summary.start.value_or(row.start);
    case kElapsed: return row.summary.elapsed_ns;
    case kGoodput: return ValueOf(row.summary.goodput);
    case kAttempts: return row.summary.attempts;
    case kEnd: return ValueOf(row.summary.end);
    case kLastStep: return ValueOf(row.summary.last_step);
    case kGroup: return TextOf(row.details.group);
    case kPhase: return TextOf(RunPhaseName(row.details.phase));
    case kOrchestrator: return TextOf(row.details.orchestrator);
    case kWorkload: return TextOf(row.details.workload.Text());
    case kCreator: return TextOf(row.creator);
    case kUid: return ToHex(row.uid);
    case kCreateTime: return TimeOf(row.created);
    case kUpdateTime: return TimeOf(row.updated);
    case kDeleteTime: return TimeOf(row.deleted);
    case kAccelerators: return CountOf(row.details.accelerators);
    case kLabels: {
      const auto found = row.details.labels.find(std::string(key));
      return found == row.details.labels.end() ? FieldValue() : FieldValue(found->second);
    }
  }
  return {};
}

FleetSums::Wide FleetSums::elapsed_ns() const {
  return std::accumulate(ns.begin(), ns.end(), Wide{0});
}

void FleetSums::Add(const FleetSums& other) {
  runs += other.runs;
  live += other.live;
  undigested += other.undigested;
  for (std::size_t i = 0; i < ns.size(); ++i) ns[i] += other.ns[i];
  disruptions += other.disruptions;
  accelerator_ns += other.accelerator_ns;
  lost_accelerator_ns += other.lost_accelerator_ns;
  without_accelerators += other.without_accelerators;
}

}  // namespace headway::store
