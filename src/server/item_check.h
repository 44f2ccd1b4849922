#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

/// What may stand in the messages that belong to a run (events, profile sessions, profiler
/// targets), by the names and types of their fields, and how they are updated. Pure.

namespace headway::server {

/// No time lies behind it, in nanoseconds since the Unix epoch: what later adds to one, or takes
/// from it, stays within 64 bits.
inline constexpr std::int64_t kItemTimeMost = std::int64_t{1} << 62;

/// Looks at every field of `message` and of those within it, and takes secrets out of texts and
/// addresses. InvalidArgument names the field, as `path` and what is behind it ("event",
/// "event.evidence[2].unit"), and says what may stand there.
Status CheckItem(const std::string& path, google::protobuf::Message* message);

/// Sets the fields of `to` that are named as they are in `from`, a message of the same type; what
/// is not given there is cleared.
void CopyFields(const google::protobuf::Message& from, std::span<const std::string_view> names,
                google::protobuf::Message* to);

/// `item` as an update with these values makes it: `mask` names fields of `settable`, or is "*";
/// where it is empty, those that are given in `values` count. InvalidArgument: it names another.
Status UpdateFields(const google::protobuf::Message& values,
                    const google::protobuf::RepeatedPtrField<std::string>& mask,
                    std::span<const std::string_view> settable, google::protobuf::Message* item);

}  // namespace headway::server
