#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Reads the scalars of a TensorBoard event file.
///
/// Pure: bytes in, values out; safe from any thread. Linear in the bytes. Memory is a small
/// multiple of the scalars, whatever lengths the file claims; what is no scalar is counted and
/// skipped.
///
/// **Scalars** are values with a `simple_value`, and tensors of one element of type float, double,
/// half, bfloat16 or an integer, unless the tag's first metadata gives it to another plugin than
/// "scalars". NaN, infinities and steps are kept as they are; all other values, also integers
/// beyond 2^53, to the nearest double. Times are read as the shortest decimal that is the same
/// double, so that a time written as 1645831401.1 is that and no nanosecond more.
///
/// **Damage.** Each kind of it is a Problem with its offset. What follows a record whose data fail
/// their checksum is read on; behind a wrong checksum of a length nothing can be found any more.
/// Zeros up to the end of the file are blocks that a network file system has not delivered yet, or
/// of which a crash took the content: a cut end, and no wrong checksum.

namespace headway::tensorboard {

enum class ProblemKind : std::uint8_t {
  kTornTail,   ///< the last record is cut short, or zeros stand in its place; reading ends
  kBadLength,  ///< the length of a record fails its checksum; reading ends
  kBadData,    ///< the data of a record fail their checksum: the record is skipped
  kOversized,  ///< a record that no message can be: skipped, and at the end of the file its end
  kBadRecord,  ///< the data are no event, or its time is none: the record is skipped
  kForeign,    ///< no event file; reading ends
};

/// The name in JSON: "torn_tail", "bad_length" and so on.
std::string_view ProblemCode(ProblemKind kind);

struct Problem {
  ProblemKind kind = ProblemKind::kBadRecord;
  std::uint64_t offset = 0;  ///< of the record's first byte
  std::string sentence;      ///< what is wrong, without place and full stop
};

struct Scalar {
  std::uint32_t tag = 0;     ///< index into EventFile::tags
  std::int64_t step = 0;     ///< as written; the least int64 is kNoStep in records
  std::int64_t time_ns = 0;  ///< since the Unix epoch
  double value = 0;
};

/// A session log START: from here on the training goes on with `step`.
struct SessionStart {
  std::uint64_t before = 0;  ///< index of the scalar that follows it
  std::int64_t step = 0;
};

struct EventFile {
  std::vector<std::string> tags;     ///< by first appearance; UTF-8, at most limits::kNameBytes
  std::vector<Scalar> scalars;       ///< in the order of the file
  std::vector<SessionStart> starts;  ///< in the order of the file
  std::uint64_t records = 0;         ///< whole and sound ones, of whatever content
  std::uint64_t other_values = 0;    ///< images, histograms, texts, tensors: skipped
  std::uint64_t tags_cut = 0;        ///< tags that were longer
  std::vector<Problem> problems;     ///< in the order of the file, at most 1000
  std::uint64_t problems_total = 0;
  std::uint64_t end = 0;  ///< offset behind the last record that could be read: a reader that
                          ///< follows a file tries again there, whether its size has changed or not
};

/// Reads `bytes`, the whole of a file. An empty one has nothing in it, and no problem.
EventFile ReadEventFile(std::string_view bytes);

}  // namespace headway::tensorboard
