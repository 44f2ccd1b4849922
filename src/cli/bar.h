#pragma once

#include <cstddef>
#include <string>

namespace headway::cli {

/// `share` (0..1) of `width` columns as a bar of block characters, exact to an eighth of a column;
/// anything above zero shows at least an eighth.
std::string Bar(double share, std::size_t width);

/// The same in whole columns of `mark`, one character: for what must be told apart without colour.
std::string MarkedBar(double share, std::size_t width, const char* mark);

}  // namespace headway::cli
