#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "model/filter.h"
#include "store/registry.h"

/// RunItems: what belongs to a run beside its records and what is said of it: events, profile
/// sessions, and the processes that can be profiled. An item is a few values that lists ask for,
/// and bytes that nobody here looks into. Any thread may call; calls that write take turns, and
/// return once it is durable.

namespace headway::store {

using ItemUid = BasicUid<struct ItemUidTag>;

/// Stored by number.
enum class ItemKind : std::uint8_t { kEvent = 1, kProfileSession = 2, kProfilerTarget = 3 };

struct ItemRow {
  ItemUid uid;
  ItemKind kind = ItemKind::kEvent;
  RunUid run_uid;
  std::string project;                ///< of the run; read only, as the next one
  std::string run;                    ///< its name
  std::int64_t start = 0;             ///< wall time
  std::optional<std::int64_t> end;    ///< wall time; nothing: it goes on
  std::string type;                   ///< "hang", "programmatic"; of a target its host
  std::optional<std::int64_t> level;  ///< severity; of a target its index
  std::string name;                   ///< for people; of a target its id
  std::optional<std::int64_t> attempt;
  bool found = false;  ///< of an event: an analyzer has found something
  std::string bytes;   ///< all of it
  std::string creator;
  std::int64_t created = 0;  ///< wall times
  std::int64_t updated = 0;
  std::int64_t version = 1;  ///< 1, 2, ...

  friend bool operator==(const ItemRow&, const ItemRow&) = default;
};

/// What lists of items of this kind can be filtered and ordered by.
std::span<const FilterField> ItemFields(ItemKind kind);
/// The value of `ItemFields(item.kind)[field]`.
FieldValue ItemValue(const ItemRow& item, std::size_t field);

/// What a field of ItemFields is of an item, whatever it is called.
enum class ItemColumn : std::uint8_t {
  kType,
  kLevel,
  kStart,
  kEnd,
  kName,
  kAttempt,
  kRun,
  kFound,
  kCreated,
  kUpdated,
  kUid,
};
ItemColumn ColumnOf(ItemKind kind, std::size_t field);

/// Which items, in which order, and which part of the list.
struct ItemQuery {
  ItemKind kind = ItemKind::kEvent;
  std::string project;
  std::optional<RunUid> run = {};  ///< only those of this run; else of all that are not deleted
  std::string run_name = {};       ///< only those of runs of this name; empty: of any
  Filter filter = {};              ///< over ItemFields(kind)
  RowOrder order = {};             ///< likewise; where it decides nothing: the newest first
  std::string after = {};          ///< ItemPage::next of the page before
  std::size_t count = 1'000;       ///< at most so many, and no more behind the one with which
  std::size_t bytes = std::size_t{16} << 20;  ///< they have so many bytes together
};
struct ItemPage {
  std::vector<ItemRow> items;
  std::string next;  ///< empty: that was all. Bytes
};

class RunItems {
 public:
  virtual ~RunItems() = default;

  // What changes something writes down at once that it was done: both or neither is there.

  /// Makes it, with version 1. AlreadyExists: there is an item of that uid, of whatever kind.
  /// NotFound: no such run, or it was purged. ResourceExhausted: the run has `most` items.
  /// FailedPrecondition: its project may keep no more bytes.
  virtual Status CreateItem(const ItemRow& item, std::int64_t most, const AuditRow& audit) = 0;
  /// NotFound: no such item of that kind, or its run was purged. That of a deleted run is found.
  virtual Result<ItemRow> FindItem(ItemKind kind, const ItemUid& uid) = 0;
  /// A page of them. InvalidArgument: `after` is of no such page.
  virtual Result<ItemPage> ListItems(const ItemQuery& query) = 0;
  /// Sets all but uid, kind, run, creator and created. Aborted: it is not of version
  /// `item.version` any more; NotFound; FailedPrecondition as CreateItem.
  virtual Status UpdateItem(const ItemRow& item, const AuditRow& audit) = 0;
  /// Removes it. NotFound; Aborted: it is not of this version any more.
  virtual Status DeleteItem(ItemKind kind, const ItemUid& uid, std::int64_t version,
                            const AuditRow& audit) = 0;
};

}  // namespace headway::store
