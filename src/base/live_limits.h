#pragma once

#include <cstddef>
#include <cstdint>

/// The limits of live updates: a part of base/limits.h that few files need.

namespace headway::limits {

/// Streams at a time, of all callers and of one; further ones are answered 429.
inline constexpr std::size_t kLiveStreams = 512;
inline constexpr std::size_t kLiveStreamsOfCaller = 256;

/// Bytes of one event; a report that is larger is not sent, which the stream says.
inline constexpr std::size_t kLiveEventBytes = std::size_t{1} << 20;

/// Events of a list that are sent together, and runs whose changes are remembered for streams that
/// come back; those that have missed more begin anew.
inline constexpr std::size_t kLivePieceRuns = 100;
inline constexpr std::size_t kLiveRuns = 4096;

/// Steps, and metrics, told of in one event.
inline constexpr std::size_t kLiveSteps = 50;
inline constexpr std::size_t kLiveMetrics = 1000;

/// Time between two updates of a stream: at least, and at most what may be asked for.
inline constexpr std::int64_t kLiveEveryNs = 900'000'000;
inline constexpr std::int64_t kLiveEveryMostNs = std::int64_t{3600} * 1'000'000'000;

/// A stream that had nothing to say for so long shows that it lives.
inline constexpr int kServerPulseSeconds = 15;

}  // namespace headway::limits
