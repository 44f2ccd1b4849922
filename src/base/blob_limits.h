#pragma once

#include <cstddef>
#include <cstdint>

/// The limits of blobs, the large files of a run: a part of base/limits.h that few files need.

namespace headway::limits {

/// Bytes of a blob, and of its name.
inline constexpr std::uint64_t kBlobBytes = std::uint64_t{8} << 30;
inline constexpr std::size_t kBlobNameBytes = 200;

/// Blobs that one step of removing those of a run removes.
inline constexpr std::size_t kBlobsRemovedAtOnce = 256;

/// Damaged blobs that a check names one by one; further ones are only counted.
inline constexpr std::size_t kBlobProblems = 100;

}  // namespace headway::limits
