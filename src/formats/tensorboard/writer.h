#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// The records of a TensorBoard event file, each in its frame. Pure: they append to a string of the
/// caller's, who has the file. A file is a version record and then any others; see
/// docs/formats/tensorboard.md. Safe from any thread; no errors.

namespace headway::tensorboard {

/// The first record of every file.
void AppendVersion(std::int64_t time_ns, std::string* out);

/// "Training starts here, with this step." The first one of a directory says nothing to
/// TensorBoard; at each further one it drops the points before it whose step is not lower.
void AppendSessionStart(std::int64_t time_ns, std::int64_t step, std::string* out);

/// One point of a curve. TensorBoard keeps scalars as 32-bit floats: what they can't hold is
/// rounded, and what is beyond them becomes an infinity. `display_name` is what the chart is called
/// in the place of `tag`; to be given with a tag's first point, empty: the tag.
void AppendScalar(std::int64_t time_ns, std::int64_t step, std::string_view tag, double value,
                  std::string_view display_name, std::string* out);

}  // namespace headway::tensorboard
