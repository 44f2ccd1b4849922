#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ledger/bucket.h"
#include "ledger/pages.h"
#include "ledger/varint.h"
#include "model/name_table.h"
#include "model/record.h"

/// What a class keeps in a snapshot stands once, in a `template <typename Ar> void Persist(Ar& ar)`
/// of its own that writes with a SnapshotWriter and reads with a SnapshotReader, so that the two
/// cannot drift apart.
///
/// Any bytes may be read: a length is held against what is left, an index against what it points
/// into. At the first thing that does not fit `ok()` turns false for good and all that follows
/// reads as 0.

namespace headway::ledger {

/// What ids in the bytes of a ledger may refer to, where its pages lie, and which page is next.
/// One a ledger; outlives all that refers to it.
struct Pages {
  const NameTable* names = nullptr;
  const BucketTable* buckets = nullptr;
  const std::vector<Writer>* writers = nullptr;
  ReadPage read;  // none: everything is in memory
  PageId next = 1;

  /// Throws PageLost when it cannot be read or does not have that size and checksum.
  std::string Read(PageId page, std::uint64_t size, std::uint32_t crc) const;
  /// The exception for bytes that say what cannot be.
  static PageLost Misfit();
};

inline constexpr auto kLastSpanKind = static_cast<SpanKind>(kSpanKindCount - 1);

template <typename Self>
class Archive {
 public:
  explicit Archive(const Pages* scope) : scope_(scope) {}

  template <typename... Ts>
  void operator()(Ts&... values) {
    (One(values), ...);
  }
  /// A number below `limit`.
  template <typename T>
  void Below(T& value, std::uint64_t limit) {
    One(value);
    if constexpr (std::is_signed_v<T>) Check(value >= 0);
    if (!Check(static_cast<std::uint64_t>(value) < limit)) value = T{};
  }
  template <typename E>
  void Enum(E& value, E last) {
    auto number = static_cast<std::uint64_t>(value);
    Below(number, static_cast<std::uint64_t>(last) + 1);
    value = static_cast<E>(number);
  }
  void Name(NameId& name) { Below(name, scope_->names->size()); }
  void WriterIn(WriterId& writer) { Below(writer, scope_->writers->size()); }
  void Bucket(BucketId& bucket) { Below(bucket, scope_->buckets->size()); }
  /// A page that the head refers to, near the one before; see Pages::next.
  void Page(PageId& page, PageId* before) {
    Near(page, before);
    self().Refer(page);
  }
  void Page(PageId& page) {
    One(page);
    self().Refer(page);
  }
  void RecordIn(Record& record) {
    Enum(record.type, kLastRecordType);
    Enum(record.span, kLastSpanKind);
    Enum(record.blocking, Blocking::kNo);
    One(record.thread);
    WriterIn(record.writer);
    Name(record.name);
    (*this)(record.seq, record.time_ns, record.a, record.b);
  }
  /// A number that is near `*before`, which it then becomes.
  template <typename T>
  void Near(T& value, T* before) {
    auto difference = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) -
                                                static_cast<std::uint64_t>(*before));
    One(difference);
    if constexpr (Self::kReading) {
      const std::uint64_t wide =
          static_cast<std::uint64_t>(*before) + static_cast<std::uint64_t>(difference);
      value = static_cast<T>(wide);
      Check(sizeof(T) == 8 || static_cast<std::uint64_t>(value) == wide);
    }
    *before = value;
  }
  /// How many of something follow, each in a byte or more.
  void Amount(std::uint64_t& count) { self().Count(&count); }
  /// `each` persists one element of a sequence.
  template <typename V, typename Each>
  void List(V& values, Each&& each) {
    std::uint64_t count = values.size();
    self().Count(&count);
    if constexpr (Self::kReading) {
      values.clear();
      for (std::uint64_t i = 0; i < count && self().ok(); ++i) each(values.emplace_back());
    } else {
      for (auto& value : values) each(value);
    }
  }
  template <typename V>
  void List(V& values) {
    List(values, [this](auto& value) { One(value); });
  }
  /// `each` persists a key and a value.
  template <typename K, typename V, typename Each>
  void Map(std::map<K, V>& values, Each&& each) {
    std::uint64_t count = values.size();
    self().Count(&count);
    if constexpr (Self::kReading) {
      values.clear();
      for (std::uint64_t i = 0; i < count && self().ok(); ++i) {
        K key{};
        V value{};
        each(key, value);
        values.emplace_hint(values.end(), std::move(key), std::move(value));
      }
      Check(values.size() == count);
    } else {
      for (auto& [key, value] : values) {
        K copy = key;
        each(copy, value);
      }
    }
  }
  /// Returns `holds`; what was read is good for nothing if it does not. Writing, nothing is
  /// checked.
  bool Check(bool holds) {
    if constexpr (Self::kReading) {
      if (!holds) self().Fail();
      return holds;
    }
    return true;
  }
  const Pages& scope() const { return *scope_; }

 private:
  Self& self() { return static_cast<Self&>(*this); }

  template <typename T>
  void One(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint64_t number = value ? 1 : 0;
      self().Number(&number);
      Check(number <= 1);
      value = number != 0;
    } else if constexpr (std::is_same_v<T, std::string>) {
      self().Text(&value);
    } else if constexpr (std::is_unsigned_v<T>) {
      std::uint64_t number = value;
      self().Number(&number);
      Check(number <= std::numeric_limits<T>::max());
      value = static_cast<T>(number);
    } else if constexpr (std::is_signed_v<T>) {
      std::uint64_t number = ZigZag(value);
      self().Number(&number);
      const std::int64_t wide = UnZigZag(number);
      Check(wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max());
      value = static_cast<T>(wide);
    } else {
      value.Persist(self());
    }
  }
  template <typename T>
  void One(std::optional<T>& value) {
    bool any = value.has_value();
    One(any);
    if (!any) {
      value.reset();
    } else {
      if (!value) value.emplace();
      One(*value);
    }
  }

  const Pages* scope_;
};

class SnapshotWriter : public Archive<SnapshotWriter> {
 public:
  static constexpr bool kReading = false;
  using Put = std::function<Status(PageId, std::string_view)>;

  /// Without `put` everything goes into one piece. What has fewer bytes than `least_page` is not
  /// worth a page of its own.
  SnapshotWriter(Pages* pages, const Put* put, std::size_t least_page = 0)
      : Archive(pages), pages_(pages), put_(put), least_page_(least_page) {}

  bool ok() const { return true; }
  bool paging() const { return put_ != nullptr; }
  std::size_t least_page() const { return least_page_; }
  bool IsPage(std::size_t bytes) const { return paging() && bytes >= least_page_; }
  /// Puts the bytes elsewhere and returns the page that they are; 0: that failed, see status().
  PageId PutPage(std::string_view bytes);
  void Refer(PageId page) { snapshot_.pages.push_back(page); }
  const Status& status() const { return status_; }

  Pages& pages() { return *pages_; }
  std::string& out() { return snapshot_.head; }
  Snapshot& snapshot() { return snapshot_; }

  void Number(const std::uint64_t* value) {
    std::uint8_t buffer[kVarintBytesMax];
    const std::uint8_t* const end = PutVarint(buffer, *value);
    out().append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer));
  }
  void Count(const std::uint64_t* count) { Number(count); }
  void Text(const std::string* text) {
    const std::uint64_t size = text->size();
    Number(&size);
    out().append(*text);
  }

 private:
  Pages* pages_;
  const Put* put_;
  std::size_t least_page_;
  Status status_;
  Snapshot snapshot_;
};

class SnapshotReader : public Archive<SnapshotReader> {
 public:
  static constexpr bool kReading = true;

  SnapshotReader(const Pages* pages, std::string_view bytes) : Archive(pages), rest_(bytes) {}

  bool ok() const { return ok_; }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest() const { return rest_; }
  void Refer(PageId page) {
    Check(page > 0);
    highest_page_ = std::max(highest_page_, page);
  }
  /// Of all that were referred to.
  PageId highest_page() const { return highest_page_; }

  void Number(std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      *value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return;
    }
    *value = 0;
    Fail();
  }
  /// A count of things that take at least one byte each.
  void Count(std::uint64_t* count) {
    Number(count);
    if (!Check(*count <= rest_.size())) *count = 0;
  }
  std::string_view Take(std::uint64_t size) {
    if (!Check(size <= rest_.size())) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  void Text(std::string* text) {
    std::uint64_t size = 0;
    Count(&size);
    *text = Take(size);
  }

 private:
  std::string_view rest_;
  PageId highest_page_ = 0;
  bool ok_ = true;
};

}  // namespace headway::ledger
