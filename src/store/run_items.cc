#include "store/run_items.h"

namespace headway::store {
namespace {

struct ItemField {
  ItemColumn column;
  FilterField field;
};

const std::vector<std::string_view> kFound = {"true", "false"};

const std::vector<ItemField>& FieldsOf(ItemKind kind) {
  static const std::vector<ItemField> kEvents = {
      {ItemColumn::kType, {"type", FieldType::kText}},
      {ItemColumn::kLevel,
       {"severity", FieldType::kLevel, {"info", "warning", "error", "critical"}}},
      {ItemColumn::kStart, {"start", FieldType::kTime}},
      {ItemColumn::kEnd, {"end", FieldType::kTime}},
      {ItemColumn::kName, {"name", FieldType::kText}},
      {ItemColumn::kAttempt, {"attempt", FieldType::kInteger}},
      {ItemColumn::kRun, {"run", FieldType::kText}},
      {ItemColumn::kFound, {"insight_found", FieldType::kText, kFound}},
      {ItemColumn::kCreated, {"create_time", FieldType::kTime}},
      {ItemColumn::kUpdated, {"update_time", FieldType::kTime}},
      {ItemColumn::kUid, {"uid", FieldType::kText}},
  };
  static const std::vector<ItemField> kSessions = {
      {ItemColumn::kType, {"kind", FieldType::kText}},
      {ItemColumn::kStart, {"start", FieldType::kTime}},
      {ItemColumn::kEnd, {"end", FieldType::kTime}},
      {ItemColumn::kName, {"name", FieldType::kText}},
      {ItemColumn::kAttempt, {"attempt", FieldType::kInteger}},
      {ItemColumn::kRun, {"run", FieldType::kText}},
      {ItemColumn::kCreated, {"create_time", FieldType::kTime}},
      {ItemColumn::kUpdated, {"update_time", FieldType::kTime}},
      {ItemColumn::kUid, {"uid", FieldType::kText}},
  };
  static const std::vector<ItemField> kTargets = {
      {ItemColumn::kName, {"id", FieldType::kText}},
      {ItemColumn::kType, {"host", FieldType::kText}},
      {ItemColumn::kLevel, {"index", FieldType::kInteger}},
      {ItemColumn::kRun, {"run", FieldType::kText}},
      {ItemColumn::kCreated, {"create_time", FieldType::kTime}},
      {ItemColumn::kUpdated, {"update_time", FieldType::kTime}},
  };
  switch (kind) {
    case ItemKind::kEvent: return kEvents;
    case ItemKind::kProfileSession: return kSessions;
    case ItemKind::kProfilerTarget: break;
  }
  return kTargets;
}

template <typename T>
FieldValue ValueOf(const std::optional<T>& value) {
  return value ? FieldValue(*value) : FieldValue();
}
FieldValue TextOf(const std::string& text) {
  return text.empty() ? FieldValue() : FieldValue(text);
}

}  // namespace

std::span<const FilterField> ItemFields(ItemKind kind) {
  static const auto fields_of = [](ItemKind of) {
    std::vector<FilterField> fields;
    for (const ItemField& one : FieldsOf(of)) fields.push_back(one.field);
    return fields;
  };
  static const std::vector<FilterField> kFields[] = {fields_of(ItemKind::kEvent),
                                                     fields_of(ItemKind::kProfileSession),
                                                     fields_of(ItemKind::kProfilerTarget)};
  return kFields[static_cast<std::size_t>(kind) - 1];
}

ItemColumn ColumnOf(ItemKind kind, std::size_t field) { return FieldsOf(kind).at(field).column; }

FieldValue ItemValue(const ItemRow& item, std::size_t field) {
  switch (ColumnOf(item.kind, field)) {
    case ItemColumn::kType: return TextOf(item.type);
    case ItemColumn::kLevel: return ValueOf(item.level);
    case ItemColumn::kStart: return item.start;
    case ItemColumn::kEnd: return ValueOf(item.end);
    case ItemColumn::kName: return TextOf(item.name);
    case ItemColumn::kAttempt: return ValueOf(item.attempt);
    case ItemColumn::kRun: return item.run;
    case ItemColumn::kFound: return std::string(item.found ? "true" : "false");
    case ItemColumn::kCreated: return item.created;
    case ItemColumn::kUpdated: return item.updated;
    case ItemColumn::kUid: return ToHex(item.uid);
  }
  return {};
}

}  // namespace headway::store
