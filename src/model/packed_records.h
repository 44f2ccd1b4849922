#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/record.h"

/// Records as bytes, for programs that exchange many of them. Pure.
///
/// A record is 48 bytes, all numbers little-endian: type (1 byte), span kind (1), blocking (1), 0
/// (1), thread (2), 0 (6), name (4), seq (8), time_ns (8), a (8), b (8).

namespace headway {

inline constexpr std::size_t kPackedRecordBytes = 48;

/// `name` stands in place of the record's own; its writer is left out.
void AppendPacked(const Record& record, std::uint32_t name, std::string* out);

/// Appends the records in `bytes`, with `writer`, and names by `names[NUMBER]`. InvalidArgument: a
/// part of a record, or a name that is not there. Unimplemented: a record that this version does
/// not know. After an error some of them may have been appended.
Status ReadPacked(std::string_view bytes, WriterId writer, const std::vector<NameId>& names,
                  std::vector<Record>* out);

}  // namespace headway
