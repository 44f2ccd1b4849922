#include "ledger/compat/keys.h"

#include <unordered_map>

namespace headway::compat {
namespace {

constexpr std::array<std::string_view, kKeys> kNames = {
    "job_start_time",
    "step_start_time",
    "job_end_time",
    "tpu_init_start_time",
    "tpu_init_end_time",
    "training_prep_start_time",
    "training_prep_end_time",
    "data_loading_start_time",
    "data_loading_end_time",
    "custom_badput_event_start_time",
    "custom_badput_event_end_time",
    "elastic_wait_start_time",
    "elastic_wait_end_time",
    "elastic_reinit_start_time",
    "elastic_reinit_end_time",
    "step_count",
    "custom_badput_event_type",
    "elastic_wait_event_type",
    "elastic_slice_counts_timestamp",
    "active_slices",
    "available_slices",
    "total_slices",
    "event_type",
    "step",
    "directory",
    "checkpoint_manager_blocking_start_time",
    "checkpoint_manager_blocking_duration_secs",
    "checkpoint_manager_start_time",
    "checkpoint_manager_duration_secs",
    "job_name",
};

constexpr std::array<EntryKind, kTimeKeys> kKinds = {
    EntryKind::kJobStart, EntryKind::kStep,        EntryKind::kJobEnd,    EntryKind::kInitStart,
    EntryKind::kInitEnd,  EntryKind::kPrepStart,   EntryKind::kPrepEnd,   EntryKind::kLoadStart,
    EntryKind::kLoadEnd,  EntryKind::kCustomStart, EntryKind::kCustomEnd, EntryKind::kWaitStart,
    EntryKind::kWaitEnd,  EntryKind::kReinitStart, EntryKind::kReinitEnd,
};

}  // namespace

std::string_view KeyName(Key key) { return kNames[static_cast<std::size_t>(key)]; }

std::optional<Key> FindKey(std::string_view text) {
  static const auto* const keys = [] {
    auto* const made = new std::unordered_map<std::string_view, Key>;
    for (std::size_t i = 0; i < kKeys; ++i) made->emplace(kNames[i], static_cast<Key>(i));
    return made;
  }();
  const auto found = keys->find(text);
  return found == keys->end() ? std::nullopt : std::optional(found->second);
}

EntryKind KindOf(Key key) { return kKinds[static_cast<std::size_t>(key)]; }

}  // namespace headway::compat
