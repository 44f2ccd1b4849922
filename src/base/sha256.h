#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headway {

/// SHA-256 (FIPS 180-4) of `data`. For names that must come out the same everywhere, not for
/// secrets.
std::array<std::uint8_t, 32> Sha256(std::string_view data);

}  // namespace headway
