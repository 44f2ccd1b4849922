#include "model/record.h"

#include <array>
#include <tuple>

namespace headway {
namespace {

constexpr std::array<std::string_view, kSpanKindCount> kSpanNames = {"",
                                                                     "accelerator_init",
                                                                     "training_prep",
                                                                     "data_loading",
                                                                     "async_data_loading",
                                                                     "checkpoint_save",
                                                                     "checkpoint_restore",
                                                                     "custom",
                                                                     "phase",
                                                                     "elastic_wait",
                                                                     "elastic_reinit"};

}  // namespace

bool WriterBefore(const Writer& a, const Writer& b) {
  const auto order = [](const Writer& w) {
    return std::tie(w.rank, w.name, w.attempt_index, w.host, w.pid, w.supervisor, w.world_size,
                    w.attempt_key, w.event_file, w.monotonic, w.uid);
  };
  return order(a) < order(b);
}

std::string_view SpanKindName(SpanKind kind) { return kSpanNames[static_cast<std::size_t>(kind)]; }

std::string_view RecordTypeName(RecordType type) {
  switch (type) {
    case RecordType::kJobStart: return "job_start";
    case RecordType::kJobEnd: return "job_end";
    case RecordType::kStepStart: return "step_start";
    case RecordType::kStepEnd: return "step_end";
    case RecordType::kCapacity: return "capacity";
    case RecordType::kCheckpointSaved: return "checkpoint_saved";
    case RecordType::kHeartbeat: return "heartbeat";
    case RecordType::kExit: return "exit";
    case RecordType::kExclude: return "exclude";
    case RecordType::kRollback: return "rollback";
    case RecordType::kQuery: return "query";
    case RecordType::kNotice: return "notice";
    case RecordType::kProcessEnd: return "process_end";
    default: return "";
  }
}

}  // namespace headway
