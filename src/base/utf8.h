#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// UTF-8: validity as RFC 3629 has it (no surrogates, no overlong forms, nothing above U+10FFFF).

namespace headway {

/// Length in bytes (1..4) of the valid sequence at the start of `text`, or 0 when there is none.
std::size_t Utf8SequenceLength(std::string_view text);

bool IsValidUtf8(std::string_view text);

/// `text` with every byte that is no part of a valid sequence replaced by U+FFFD.
std::string ToValidUtf8(std::string_view text);

/// The longest prefix of `text` of at most `limit` bytes that does not cut a sequence in two.
std::string_view TruncateUtf8(std::string_view text, std::size_t limit);

}  // namespace headway
