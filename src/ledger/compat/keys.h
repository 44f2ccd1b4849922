#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ledger/compat/entry.h"

namespace headway::compat {

/// The keys of entries that count. Each up to kReinitEnd is the time of an entry of its own kind.
enum class Key : std::uint8_t {
  kJobStart,
  kStep,
  kJobEnd,
  kInitStart,
  kInitEnd,
  kPrepStart,
  kPrepEnd,
  kLoadStart,
  kLoadEnd,
  kCustomStart,
  kCustomEnd,
  kWaitStart,
  kWaitEnd,
  kReinitStart,
  kReinitEnd,
  kStepCount,
  kCustomType,
  kWaitType,
  kSlicesTime,
  kActive,
  kAvailable,
  kTotal,
  kEvent,  ///< "save", "restore" or "emergency_restore": of Orbax
  kCheckpointStep,
  kDirectory,
  kSaveStart,
  kSaveSeconds,
  kRestoreStart,
  kRestoreSeconds,
  kJobName,
};
inline constexpr std::size_t kKeys = 30;
inline constexpr std::size_t kTimeKeys = 15;

/// The key's text in an entry.
std::string_view KeyName(Key key);
/// The key of that text; nullopt for one that does not count.
std::optional<Key> FindKey(std::string_view text);

/// What a time key makes of its entry. `key` is one of the first kTimeKeys.
EntryKind KindOf(Key key);

}  // namespace headway::compat
