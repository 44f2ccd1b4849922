#pragma once

#include <cstddef>

/// The limits of events, profile sessions and profiler targets: a part of base/limits.h that few
/// files need.

namespace headway::limits {

/// How many a run has, of all three together, and bytes of one, as it is stored.
inline constexpr int kRunItems = 100'000;
inline constexpr std::size_t kItemBytes = std::size_t{256} << 10;
/// Fields of one, with those of the messages in it: as JSON each takes far more than it has bytes.
inline constexpr std::size_t kItemParts = 10'000;

/// Bytes of a text in one, and of an address; characters of an action that is recommended.
inline constexpr std::size_t kItemTextBytes = std::size_t{16} << 10;
inline constexpr std::size_t kItemUriBytes = std::size_t{4} << 10;
inline constexpr std::size_t kItemActionCharacters = 1024;

/// Rows of one page of a list of them: at most, and without being told.
inline constexpr int kItemsPage = 1000;
inline constexpr int kItemsPageUsual = 50;

}  // namespace headway::limits
