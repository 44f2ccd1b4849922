#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/protobuf/wire.h"

/// What reader and writer of event files share: the frame around each record and the numbers of the
/// fields. Internal to this folder. All numbers are little-endian.
///
///     uint64 length | uint32 masked CRC-32C of these 8 bytes | data | uint32 the same of the data

namespace headway::tensorboard {

inline constexpr std::size_t kHeadBytes = 12;
inline constexpr std::size_t kTailBytes = 4;

/// No message is larger than what its encoding can express.
inline constexpr std::uint64_t kRecordBytes = (std::uint64_t{1} << 31) - 1;

inline constexpr std::string_view kVersionPrefix = "brain.Event:";
inline constexpr std::string_view kVersion = "brain.Event:2";
inline constexpr std::string_view kScalarPlugin = "scalars";

/// The CRC-32C as it stands in a frame.
std::uint32_t MaskedCrc(std::string_view bytes);

namespace field {
// Event
inline constexpr std::uint32_t kWallTime = 1;
inline constexpr std::uint32_t kStep = 2;
inline constexpr std::uint32_t kFileVersion = 3;
inline constexpr std::uint32_t kSummary = 5;
inline constexpr std::uint32_t kSessionLog = 7;
// Summary
inline constexpr std::uint32_t kValue = 1;
// Summary.Value
inline constexpr std::uint32_t kTag = 1;
inline constexpr std::uint32_t kSimpleValue = 2;
inline constexpr std::uint32_t kTensor = 8;
inline constexpr std::uint32_t kMetadata = 9;
// SummaryMetadata
inline constexpr std::uint32_t kPluginData = 1;
inline constexpr std::uint32_t kDisplayName = 2;
// SummaryMetadata.PluginData
inline constexpr std::uint32_t kPluginName = 1;
// SessionLog
inline constexpr std::uint32_t kStatus = 1;
// TensorProto
inline constexpr std::uint32_t kDtype = 1;
inline constexpr std::uint32_t kShape = 2;
inline constexpr std::uint32_t kContent = 4;
inline constexpr std::uint32_t kFloatVal = 5;
inline constexpr std::uint32_t kDoubleVal = 6;
inline constexpr std::uint32_t kIntVal = 7;
inline constexpr std::uint32_t kInt64Val = 10;
inline constexpr std::uint32_t kHalfVal = 13;
// TensorShapeProto and its Dim
inline constexpr std::uint32_t kDim = 2;
inline constexpr std::uint32_t kUnknownRank = 3;
inline constexpr std::uint32_t kSize = 1;
}  // namespace field

/// SessionLog.Status.
inline constexpr std::uint64_t kSessionStart = 1;

using protobuf::Wire;

}  // namespace headway::tensorboard
