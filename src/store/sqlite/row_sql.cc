#include "store/sqlite/row_sql.h"

#include <headway/v1/store.pb.h>

#include <utility>

#include "base/uid.h"

namespace headway::store {
namespace {

using RowUid = BasicUid<struct RowUidTag>;

std::string_view SignOf(Filter::Operator op) {
  switch (op) {
    case Filter::Operator::kEqual: return " = ";
    case Filter::Operator::kUnequal: return " != ";
    case Filter::Operator::kLess: return " < ";
    case Filter::Operator::kLessEqual: return " <= ";
    case Filter::Operator::kGreater: return " > ";
    default: return " >= ";
  }
}

FieldValue ToField(const v1::RunPageMark::Value& value) {
  switch (value.kind_case()) {
    case v1::RunPageMark::Value::kText: return value.text();
    case v1::RunPageMark::Value::kInteger: return value.integer();
    case v1::RunPageMark::Value::kReal: return value.real();
    case v1::RunPageMark::Value::KIND_NOT_SET: break;
  }
  return {};
}

v1::RunPageMark::Value ToMark(const FieldValue& field) {
  v1::RunPageMark::Value value;
  if (const auto* const text = std::get_if<std::string>(&field)) value.set_text(*text);
  if (const auto* const integer = std::get_if<std::int64_t>(&field)) value.set_integer(*integer);
  if (const auto* const real = std::get_if<double>(&field)) value.set_real(*real);
  return value;
}

}  // namespace

RowSql& RowSql::Field(std::size_t field, const std::string& key) {
  if (field < columns_.fields.size()) return Add(columns_.fields[field]);
  return Add(columns_.keyed).Bind(key).Add(")");
}

void RowSql::Where(const Filter& filter) {
  if (filter.root().op == Filter::Operator::kAnd && filter.root().operands.empty()) return;
  Add(" AND ");
  Ask(filter.root());
}

// True or false, never NULL: what is not known is neither this nor that.
void RowSql::Ask(const Filter::Node& node) {
  switch (node.op) {
    case Filter::Operator::kAnd:
    case Filter::Operator::kOr: {
      const bool both = node.op == Filter::Operator::kAnd;
      Add(both ? "(1" : "(0");
      for (const Filter::Node& operand : node.operands) {
        Add(both ? " AND " : " OR ");
        Ask(operand);
      }
      Add(")");
      return;
    }
    case Filter::Operator::kNot:
      Add("(NOT ");
      Ask(node.operands.front());
      Add(")");
      return;
    case Filter::Operator::kKnown: Field(node.field, node.key).Add(" IS NOT NULL"); return;
    case Filter::Operator::kHas:
      Add("coalesce(instr(").Field(node.field, node.key);
      Add(", ").Bind(node.value).Add(") > 0, 0)");
      return;
    default: break;
  }
  if (node.op == Filter::Operator::kEqual && node.field >= columns_.fields.size()) {
    Add(columns_.keyed_equal).Bind(node.key).Add(" AND value = ").Bind(node.value).Add(")");
    return;
  }
  Add("coalesce(").Field(node.field, node.key);
  Add(SignOf(node.op)).Bind(node.value).Add(", 0)");
}

// Behind it by the first column, or the same there and behind by the second, ... Unknown values
// come last, in either direction.
Status RowSql::Behind(const RowOrder& order, const std::string& mark) {
  if (mark.empty()) return OkStatus();
  const std::vector<RowOrder::Key>& keys = order.keys();
  v1::RunPageMark place;
  const bool whole = place.ParseFromString(mark);
  const Result<RowUid> uid = ParseUid<RowUid>(place.uid());
  if (!whole || !uid.ok() || place.values_size() != static_cast<int>(keys.size())) {
    return {Code::kInvalidArgument, "the mark is of no page of this list"};
  }
  const auto later = [&] {
    Add(" AND (").Add(columns_.start).Add(", ").Add(columns_.uid).Add(") < (");
    Bind(place.start()).Add(", x'").Add(ToHex(*uid)).Add("')");
  };
  if (keys.empty()) {  // as an index has them
    later();
    return OkStatus();
  }
  Add(" AND (0");
  for (std::size_t last = 0; last <= keys.size(); ++last) {
    Add(" OR (1");
    for (std::size_t i = 0; i < last; ++i) {
      Add(" AND ").Field(keys[i].field, keys[i].key);
      Add(" IS ").Bind(ToField(place.values(static_cast<int>(i))));
    }
    if (last == keys.size()) {
      later();
    } else {
      const FieldValue value = ToField(place.values(static_cast<int>(last)));
      if (std::holds_alternative<std::monostate>(value)) {
        Add(" AND 0");
      } else {
        Add(" AND coalesce(").Field(keys[last].field, keys[last].key);
        Add(keys[last].descending ? " < " : " > ").Bind(value).Add(", 1)");
      }
    }
    Add(")");
  }
  Add(")");
  return OkStatus();
}

void RowSql::OrderBy(const RowOrder& order) {
  Add(" ORDER BY ");
  for (const RowOrder::Key& key : order.keys()) {
    Field(key.field, key.key).Add(key.descending ? " DESC NULLS LAST, " : " ASC NULLS LAST, ");
  }
  Add(columns_.start).Add(" DESC, ").Add(columns_.uid).Add(" DESC");
}

std::string PageMark(const RowOrder& order, const FilterRow& row, std::int64_t start,
                     const std::string& uid) {
  v1::RunPageMark mark;
  for (const RowOrder::Key& key : order.keys())
    *mark.add_values() = ToMark(row(key.field, key.key));
  mark.set_start(start);
  mark.set_uid(uid);
  return mark.SerializeAsString();
}

}  // namespace headway::store
