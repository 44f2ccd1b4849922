#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "journal/reader.h"
#include "model/name_table.h"

/// Journals read a batch ahead by other threads, so that checking records and accounting for them
/// take different cores.

namespace headway::runs {

/// One journal on its way into a ledger. Used by one thread; ReadAhead fills its next batch.
class Source {
 public:
  /// `read_names` are the ones that the reader interns, `names` the ledger's, which must outlive
  /// the source.
  Source(journal::JournalReader reader, std::unique_ptr<NameTable> read_names, WriterId writer,
         NameTable* names);

  WriterId writer() const { return writer_; }
  /// The reader; only while no ReadAhead reads. Once the batch is empty it is at the end.
  const journal::JournalReader& reader() const { return *reader_; }
  /// What is left of the current batch.
  std::span<const Record> batch() const { return std::span(front_.records).subspan(at_); }
  void Skip(std::size_t count) { at_ += count; }
  /// Whether nothing is left that Refresh has found.
  bool exhausted() const { return batch().empty() && !ready_; }
  /// Looks at the journal again: what was appended since comes next. While no ReadAhead reads.
  Status Refresh();
  /// Gives back what the reader holds open, until it reads again. While no ReadAhead reads.
  void Release() { reader_->Release(); }
  std::uint64_t dropped() const { return dropped_; }
  /// For a reader that goes on from a place: what `dropped` was there.
  void GoOn(std::uint64_t dropped) { dropped_ = dropped; }
  /// `metrics` is given each batch that has metrics in it, by whoever takes batches; names are
  /// those of `names`.
  void ObserveMetrics(std::function<void(std::span<const Record>)> metrics) {
    metrics_ = std::move(metrics);
  }

 private:
  friend class ReadAhead;

  struct Batch {
    std::vector<Record> records;
    std::vector<std::string> names;  // that the journal uses from here on
    bool named = false;              // some record has a name
    bool metrics = false;            // some record is a metric
    std::uint64_t dropped = 0;       // records that the writer said it could not keep
    Status status;
  };

  void Fill();  // the back batch; by whoever reads
  void Take();  // makes the back batch the current one

  std::unique_ptr<journal::JournalReader> reader_;
  WriterId writer_;
  // By whoever reads: names by the reader's ids.
  std::unique_ptr<NameTable> read_names_;
  std::size_t names_told_ = 1;
  std::size_t batch_records_ = 0;
  bool release_ = false;  // there are too many journals to keep all of them open
  Batch back_;
  bool ready_ = false;  // the back batch is full; guarded by the mutex of a ReadAhead

  NameTable* names_;
  std::vector<NameId> name_ids_;  // reader's id -> ledger's
  Batch front_;
  std::size_t at_ = 0;
  std::uint64_t dropped_ = 0;
  std::function<void(std::span<const Record>)> metrics_;
};

/// Fills the batches of sources. Its threads end with it; the sources must outlive it.
class ReadAhead {
 public:
  /// Begins to read all of them. With little to read, or on one core, there are no threads: then
  /// `Next` reads.
  ReadAhead(std::vector<Source>* sources, std::uint64_t bytes);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Makes sure that `source` has a batch; an empty one is the journal's end. Errors as of
  /// JournalReader::Next.
  Status Next(Source* source);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::condition_variable filled_;
  std::deque<Source*> queue_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headway::runs
