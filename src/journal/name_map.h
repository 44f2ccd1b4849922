#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headway::journal {

/// Name -> id for writers: lookups take no lock and do not allocate; insertions are made by one
/// thread at a time (the caller's lock). Entries live as long as the map.
class NameMap {
 public:
  static constexpr std::uint32_t kMissing = 0xffffffffu;

  NameMap() { Publish(std::make_unique<Table>(64)); }

  /// Any thread.
  std::uint32_t Find(std::string_view name) const noexcept {
    const std::uint64_t hash = Hash(name);
    const Table* const table = table_.load(std::memory_order_acquire);
    for (std::uint64_t i = hash & table->mask;; i = (i + 1) & table->mask) {
      const Entry* const entry = table->slots[i].load(std::memory_order_acquire);
      if (entry == nullptr) return kMissing;
      if (entry->hash == hash && entry->name == name) return entry->id;
    }
  }

  /// One thread at a time; `name` is not in the map yet. May throw std::bad_alloc, changing
  /// nothing.
  void Insert(std::string_view name, std::uint32_t id) {
    auto entry = std::make_unique<Entry>(Entry{Hash(name), id, std::string(name)});
    const Table* const table = table_.load(std::memory_order_relaxed);
    if ((entries_.size() + 1) * 2 > table->mask + 1) Rehash((table->mask + 1) * 2);
    entries_.push_back(std::move(entry));
    Place(table_.load(std::memory_order_relaxed), entries_.back().get());
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint32_t id;
    std::string name;
  };
  struct Table {
    explicit Table(std::uint64_t size)
        : mask(size - 1), slots(new std::atomic<const Entry*>[size]()) {}
    std::uint64_t mask;
    std::unique_ptr<std::atomic<const Entry*>[]> slots;
  };

  static std::uint64_t Hash(std::string_view name) noexcept {  // FNV-1a
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash ^ (hash >> 32);
  }

  static void Place(const Table* table, const Entry* entry) {
    std::uint64_t i = entry->hash & table->mask;
    while (table->slots[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & table->mask;
    table->slots[i].store(entry, std::memory_order_release);
  }

  void Publish(std::unique_ptr<Table> table) {
    tables_.push_back(std::move(table));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  void Rehash(std::uint64_t size) {
    auto table = std::make_unique<Table>(size);
    for (const auto& entry : entries_) Place(table.get(), entry.get());
    Publish(std::move(table));  // the old one stays: a reader may be in it
  }

  std::atomic<const Table*> table_{nullptr};
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace headway::journal
