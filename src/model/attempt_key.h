#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Keys of attempts that a launcher made out of one: it restarts by itself, or is a loop of the
/// shell, and hands out the same key again. The first has that key, the others "KEY~1", "KEY~2", …

namespace headway {

/// The key of part `part` of what was given `key`; 0: that key.
std::string AttemptPartKey(std::string_view key, std::uint64_t part);

/// Which part of `key` has the key `other`; nothing where it is none.
std::optional<std::uint64_t> AttemptPartOf(std::string_view key, std::string_view other);

/// The key that was given: without "~N" at its end.
std::string_view GivenAttemptKey(std::string_view key);

}  // namespace headway
