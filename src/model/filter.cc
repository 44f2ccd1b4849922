#include "model/filter.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/time_format.h"

namespace headway {
namespace {

using Node = Filter::Node;
using Operator = Filter::Operator;

constexpr bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool IsFieldChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

constexpr bool IsKeyChar(char c) { return IsFieldChar(c) || c == '-' || c == '/'; }

struct Sign {
  std::string_view text;
  Operator op;
};
constexpr Sign kSigns[] = {
    // longer ones first
    {"!=", Operator::kUnequal}, {"<=", Operator::kLessEqual}, {">=", Operator::kGreaterEqual},
    {"=", Operator::kEqual},    {"<", Operator::kLess},       {">", Operator::kGreater},
    {":", Operator::kHas},
};

std::string NamesOf(std::span<const FilterField> fields) {
  std::string names;
  for (const FilterField& field : fields) {
    names.append(names.empty() ? "" : ", ").append(field.name).append(field.keyed ? ".KEY" : "");
  }
  return names;
}

std::optional<std::size_t> FindField(std::span<const FilterField> fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  return std::nullopt;
}

/// A field, and which of its values.
struct FieldName {
  std::size_t field = 0;
  std::string key;
};

/// Reads words and signs, and knows in which column they stand.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  std::size_t at() const { return at_; }

  bool Take(std::string_view sign) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  /// A word of letters, digits, dots and underscores, left in place.
  std::string_view PeekName() {
    SkipBlanks();
    std::size_t end = at_;
    while (end < text_.size() && IsFieldChar(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool TakeName(std::string_view name) {
    if (PeekName() != name) return false;
    at_ += name.size();
    return true;
  }
  /// Up to the next blank or parenthesis.
  std::string_view TakeWord() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !IsBlank(text_[at_]) && text_[at_] != '(' && text_[at_] != ')') {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  /// What stands in quotes, after the first one; nothing when there is no second one.
  std::optional<std::string> TakeQuoted(char quote) {
    std::string taken;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return taken;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      taken += text_[at_];
    }
    return std::nullopt;
  }

  /// A field, with its key if it has keys.
  Result<FieldName> TakeField(std::span<const FilterField> fields) {
    const std::string_view name = PeekName();
    if (name.empty()) return FailHere("a field");
    const std::size_t name_at = at_;
    FieldName taken;
    if (const std::optional<std::size_t> plain = FindField(fields, name);
        plain && !fields[*plain].keyed) {
      at_ += name.size();
      taken.field = *plain;
      return taken;
    }
    const std::string_view stem = name.substr(0, name.find('.'));
    const std::optional<std::size_t> keyed = FindField(fields, stem);
    if (!keyed || !fields[*keyed].keyed) {
      return Fail(name_at,
                  "there is no field \"" + std::string(name) + "\"; there are " + NamesOf(fields));
    }
    taken.field = *keyed;
    at_ += stem.size();
    if (at_ < text_.size() && text_[at_] == '.') ++at_;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const std::size_t quote_at = at_;
      const char quote = text_[at_++];
      std::optional<std::string> key = TakeQuoted(quote);
      if (!key) return Fail(quote_at, "the closing quote is missing");
      taken.key = *std::move(key);
    } else {
      while (at_ < text_.size() && IsKeyChar(text_[at_])) taken.key += text_[at_++];
    }
    if (taken.key.empty()) {
      return Fail(name_at, std::string(stem) + " needs a key: " + std::string(stem) + ".KEY");
    }
    return taken;
  }

  Status Fail(std::size_t at, const std::string& what) const {
    return {Code::kInvalidArgument, "column " + std::to_string(at + 1) + ": " + what};
  }
  Status FailHere(const std::string& wanted) {
    if (AtEnd()) return Fail(at_, wanted + " is missing at the end");
    const std::string_view name = PeekName();
    return Fail(at_, wanted + " is missing before \"" +
                         std::string(name.empty() ? text_.substr(at_, 1) : name) + "\"");
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Result<FieldValue> ParseValue(const FilterField& field, const std::string& text) {
  const auto bad = [&](const std::string& wanted) {
    return Status(Code::kInvalidArgument, std::string(field.name) + " is compared with " + wanted +
                                              ", not with \"" + text + "\"");
  };
  switch (field.type) {
    case FieldType::kText:
    case FieldType::kLevel: {
      const auto& choices = field.choices;
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (field.type == FieldType::kText && (choices.empty() || found != choices.end())) {
        return FieldValue(text);
      }
      if (found != choices.end()) {
        return FieldValue(static_cast<std::int64_t>(found - choices.begin()) + 1);
      }
      std::string names;
      for (const std::string_view choice : choices) {
        names.append(names.empty() ? "" : ", ").append(choice);
      }
      return bad("one of " + names);
    }
    case FieldType::kInteger: {
      std::int64_t number = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, number);
      if (error != std::errc() || stop != end) return bad("a whole number");
      return FieldValue(number);
    }
    case FieldType::kRatio: {
      const bool percent = text.ends_with('%');
      double number = 0;
      const char* const end = text.data() + text.size() - (percent ? 1 : 0);
      const auto [stop, error] =
          std::from_chars(text.data(), end, number, std::chars_format::fixed);
      // A negation, so that "nan" is none.
      if (error != std::errc() || stop != end || !(number >= -1e9 && number <= 1e9)) {
        return bad("a share, such as 0.9 or 90%");
      }
      return FieldValue(percent ? number / 100 : number);
    }
    case FieldType::kDuration: {
      const Result<std::int64_t> duration = ParseDuration(text);
      if (!duration.ok()) return bad("a duration, such as 90s or 1h30m");
      return FieldValue(*duration);
    }
    case FieldType::kTime: {
      const Result<WallNs> time = ParseTime(text);
      if (!time.ok()) return bad("a time, such as 2026-01-31T12:00:00Z");
      return FieldValue(time->ns);
    }
  }
  return bad("a value");
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const FilterField> fields)
      : scanner_(text), fields_(fields) {}

  Result<Node> Parse() {
    if (scanner_.AtEnd()) return Node();
    Result<Node> root = Chain(Operator::kAnd);
    if (root.ok() && !scanner_.AtEnd()) {
      const std::string_view next = scanner_.PeekName();
      if (next == "and" || next == "or") {
        return scanner_.Fail(scanner_.at(), "AND, OR and NOT are written in capitals");
      }
      return scanner_.FailHere("AND or OR");
    }
    return root;
  }

 private:
  Result<Node> Chain(Operator op) {
    const bool conjunction = op == Operator::kAnd;
    Node chain;
    chain.op = op;
    do {
      Result<Node> operand = conjunction ? Chain(Operator::kOr) : Term();
      if (!operand.ok()) return operand;
      chain.operands.push_back(*std::move(operand));
    } while (scanner_.TakeName(conjunction ? "AND" : "OR"));
    if (chain.operands.size() == 1) return std::move(chain.operands.front());
    return chain;
  }

  Result<Node> Term() {
    scanner_.SkipBlanks();
    const std::size_t begin = scanner_.at();
    const bool negated = scanner_.TakeName("NOT");
    if (!negated && !scanner_.Take("(")) return Comparison();
    if (depth_ == kFilterDepth) {
      return scanner_.Fail(begin, "more than " + std::to_string(kFilterDepth) +
                                      " parentheses and NOTs within each other");
    }
    ++depth_;
    Result<Node> term = negated ? Term() : Parenthesis();
    --depth_;
    if (!negated || !term.ok()) return term;
    Node negation;
    negation.op = Operator::kNot;
    negation.operands.push_back(*std::move(term));
    return negation;
  }

  Result<Node> Parenthesis() {
    Result<Node> inner = Chain(Operator::kAnd);
    if (inner.ok() && !scanner_.Take(")")) return scanner_.FailHere("AND, OR or )");
    return inner;
  }

  Result<Node> Comparison() {
    const Result<FieldName> field = scanner_.TakeField(fields_);
    if (!field.ok()) return field.status();
    scanner_.SkipBlanks();
    const std::size_t sign_at = scanner_.at();
    const Sign* sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                    [this](const Sign& s) { return scanner_.Take(s.text); });
    if (sign == std::end(kSigns)) return scanner_.FailHere("one of = != < <= > >= :");
    return Compare(*field, sign->op, sign_at);
  }

  Result<Node> Compare(const FieldName& name, Operator op, std::size_t sign_at) {
    const FilterField& field = fields_[name.field];
    Node node;
    node.op = op;
    node.field = name.field;
    node.key = name.key;
    scanner_.SkipBlanks();
    const std::size_t value_at = scanner_.at();
    std::string text;
    const char quote = scanner_.Take("\"") ? '"' : scanner_.Take("'") ? '\'' : '\0';
    if (quote != '\0') {
      std::optional<std::string> quoted = scanner_.TakeQuoted(quote);
      if (!quoted) return scanner_.Fail(value_at, "the closing quote is missing");
      text = *std::move(quoted);
    } else {
      text = scanner_.TakeWord();
      if (text.empty()) return scanner_.FailHere("a value");
      if (op == Operator::kHas && text == "*") {
        node.op = Operator::kKnown;
        return node;
      }
    }
    if (op == Operator::kHas && field.type == FieldType::kText && field.choices.empty()) {
      node.value = std::move(text);
      return node;
    }
    const bool ordered = op != Operator::kEqual && op != Operator::kUnequal;
    const bool unordered = field.type == FieldType::kText && !field.choices.empty();
    if (op == Operator::kHas || (ordered && unordered)) {
      return scanner_.Fail(sign_at, std::string(field.name) + " is compared with " +
                                        (unordered ? "= and !=" : "= != < <= > >=") + ", or " +
                                        std::string(field.name) + ":* asks whether it is known");
    }
    Result<FieldValue> value = ParseValue(field, text);
    if (!value.ok()) return scanner_.Fail(value_at, value.status().message());
    node.value = *std::move(value);
    return node;
  }

  Scanner scanner_;
  std::span<const FilterField> fields_;
  int depth_ = 0;
};

bool Holds(const Node& node, const FilterRow& row) {
  const auto holds = [&row](const Node& operand) { return Holds(operand, row); };
  switch (node.op) {
    case Operator::kAnd: return std::all_of(node.operands.begin(), node.operands.end(), holds);
    case Operator::kOr: return std::any_of(node.operands.begin(), node.operands.end(), holds);
    case Operator::kNot: return !Holds(node.operands.front(), row);
    default: break;
  }
  const FieldValue value = row(node.field, node.key);
  if (std::holds_alternative<std::monostate>(value)) return false;
  switch (node.op) {
    case Operator::kHas:
      return std::get<std::string>(value).find(std::get<std::string>(node.value)) !=
             std::string::npos;
    case Operator::kEqual: return value == node.value;
    case Operator::kUnequal: return value != node.value;
    case Operator::kLess: return value < node.value;
    case Operator::kLessEqual: return value <= node.value;
    case Operator::kGreater: return value > node.value;
    case Operator::kGreaterEqual: return value >= node.value;
    default: return true;  // kKnown
  }
}

}  // namespace

Result<Filter> Filter::Parse(std::string_view text, std::span<const FilterField> fields) {
  if (text.size() > kFilterBytes) {
    return Status(Code::kInvalidArgument, "a filter has at most " + std::to_string(kFilterBytes) +
                                              " bytes, this one has " +
                                              std::to_string(text.size()));
  }
  Result<Node> root = Parser(text, fields).Parse();
  if (!root.ok()) return root.status();
  return Filter(*std::move(root));
}

bool Filter::Matches(const FilterRow& row) const { return Holds(root_, row); }

Result<RowOrder> RowOrder::Parse(std::string_view text, std::span<const FilterField> fields) {
  Scanner scanner(text);
  RowOrder order;
  do {
    Result<FieldName> field = scanner.TakeField(fields);
    if (!field.ok()) return field.status();
    const bool descending = scanner.TakeName("desc");
    if (!descending) scanner.TakeName("asc");
    order.keys_.push_back({field->field, std::move(field->key), descending});
  } while (scanner.Take(","));
  if (!scanner.AtEnd()) return scanner.FailHere("desc or a comma");
  return order;
}

bool RowOrder::Before(const FilterRow& a, const FilterRow& b) const {
  for (const Key& key : keys_) {
    const FieldValue left = a(key.field, key.key);
    const FieldValue right = b(key.field, key.key);
    if (left == right) continue;
    if (std::holds_alternative<std::monostate>(left)) return false;
    if (std::holds_alternative<std::monostate>(right)) return true;
    return key.descending ? right < left : left < right;
  }
  return false;
}

}  // namespace headway
