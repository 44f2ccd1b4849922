#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

/// The filter language of lists: which rows to show, and in which order. A subset of the filters of
/// AIP-160 and the orders of AIP-132, the same on the command line and for whoever else lists
/// things. Pure; safe from any thread.
///
///     filter      = conjunction
///     conjunction = disjunction { "AND" disjunction }
///     disjunction = term { "OR" term }                     OR binds tighter than AND
///     term        = [ "NOT" ] ( "(" conjunction ")" | comparison )
///     comparison  = FIELD ( "=" | "!=" | "<" | "<=" | ">" | ">=" | ":" ) VALUE
///
/// A FIELD that has keys is followed by a dot and one of them, as it is or, where other signs than
/// letters, digits and `_ . - /` are in it, in quotes: labels.team, labels."a key". A VALUE is a
/// word up to the next blank or parenthesis, or a text in single or double quotes, in which a
/// backslash takes the next character as it is. `:` asks whether a text contains another, and
/// `FIELD:*` whether the value is known at all; any other comparison with an unknown value is
/// false.

namespace headway {

enum class FieldType : std::uint8_t {
  kText,      ///< compared byte by byte
  kLevel,     ///< one of `choices`, which are in order; its place among them, counted from 1
  kInteger,   ///< "3"
  kRatio,     ///< "0.9" or "90%"
  kDuration,  ///< nanoseconds; "1h30m", as ParseDuration
  kTime,      ///< nanoseconds since 1970; RFC 3339 or "@NS"
};

/// What rows have: known by its place in a table of fields.
struct FilterField {
  std::string_view name;
  FieldType type = FieldType::kText;
  std::vector<std::string_view> choices = {};  ///< all that it can be; empty: any text
  bool keyed = false;                          ///< it is one value for each of any keys
};

/// The value of a field: a string for kText, a double for kRatio, else an integer; none when it is
/// not known.
using FieldValue = std::variant<std::monostate, std::string, std::int64_t, double>;
/// A row: gives the value of `fields[field]`; of one that has keys, that of `key`.
using FilterRow = std::function<FieldValue(std::size_t field, std::string_view key)>;

inline constexpr std::size_t kFilterBytes = 4096;
/// What databases parse, too, whatever is asked within them.
inline constexpr int kFilterDepth = 10;

class Filter {
 public:
  /// Takes every row.
  Filter() = default;
  /// InvalidArgument says in which column of `text`, counted from 1, and what could stand there.
  /// At most `kFilterBytes` long, with parentheses and NOTs at most `kFilterDepth` deep. A text of
  /// blanks takes every row.
  static Result<Filter> Parse(std::string_view text, std::span<const FilterField> fields);

  bool Matches(const FilterRow& row) const;

  /// What it asks, for whoever asks a database. A conjunction without operands takes every row.
  enum class Operator : std::uint8_t {
    kAnd,
    kOr,
    kNot,
    kKnown,
    kHas,
    kEqual,
    kUnequal,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual
  };
  struct Node {
    Operator op = Operator::kAnd;
    std::vector<Node> operands;  // of kAnd, kOr, kNot
    std::size_t field = 0;       // of the others, as the next ones
    std::string key = {};        // of a field that has keys
    FieldValue value = {};
  };
  const Node& root() const { return root_; }

 private:
  explicit Filter(Node root) : root_(std::move(root)) {}
  Node root_;
};

/// "goodput desc, start": fields by which rows are ordered, each upwards unless `desc` follows it.
/// Rows of which a value is not known come last, in either direction.
class RowOrder {
 public:
  /// Leaves rows as they are.
  RowOrder() = default;
  /// InvalidArgument as Filter::Parse.
  static Result<RowOrder> Parse(std::string_view text, std::span<const FilterField> fields);

  /// Whether `a` comes before `b`; a strict weak order.
  bool Before(const FilterRow& a, const FilterRow& b) const;

  struct Key {
    std::size_t field = 0;
    std::string key = {};  // of a field that has keys
    bool descending = false;
  };
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::vector<Key> keys_;
};

}  // namespace headway
