#include "runs/read_ahead.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/limits.h"

namespace headway::runs {
namespace {

constexpr std::size_t kBatchRecords = 2048;
constexpr std::size_t kBatchRecordsMin = 64;
constexpr std::size_t kBufferBytes = 64 << 20;  // of all batches together
constexpr std::uint64_t kBytesWorthThreads = 2 << 20;
constexpr unsigned kThreadsMax = 4;

}  // namespace

Source::Source(journal::JournalReader reader, std::unique_ptr<NameTable> read_names,
               WriterId writer, NameTable* names)
    : reader_(std::make_unique<journal::JournalReader>(std::move(reader))),
      writer_(writer),
      read_names_(std::move(read_names)),
      names_(names) {
  name_ids_.push_back(0);
}

void Source::Fill() {
  back_.records.resize(batch_records_);
  const auto read = reader_->Next(back_.records);
  if (release_) reader_->Release();
  back_.records.resize(read.ok() ? *read : 0);
  back_.status = read.status();
  for (; names_told_ < read_names_->size(); ++names_told_) {
    back_.names.emplace_back(read_names_->Text(static_cast<NameId>(names_told_)));
  }
  back_.named = false;
  back_.metrics = false;
  back_.dropped = 0;
  for (const Record& record : back_.records) {
    back_.named |= record.name != 0;
    back_.metrics |= record.type == RecordType::kMetric;
    if (record.type == RecordType::kDropped && record.a > 0) {
      back_.dropped += static_cast<std::uint64_t>(record.a);
    }
  }
}

Status Source::Refresh() {
  // That nothing followed may no longer be so.
  if (back_.records.empty()) ready_ = false;
  return reader_->Refresh();
}

void Source::Take() {
  std::swap(front_, back_);
  at_ = 0;
  dropped_ += front_.dropped;
  for (const std::string& name : front_.names) name_ids_.push_back(names_->Intern(name));
  front_.names.clear();
  if (!front_.named) return;
  for (Record& record : front_.records) record.name = name_ids_[record.name];
  if (front_.metrics && metrics_) metrics_(front_.records);
}

ReadAhead::ReadAhead(std::vector<Source>* sources, std::uint64_t bytes) {
  if (sources->empty()) return;
  const std::size_t each = std::clamp(kBufferBytes / (2 * sizeof(Record) * sources->size()),
                                      kBatchRecordsMin, kBatchRecords);
  for (Source& source : *sources) {
    source.batch_records_ = each;
    source.release_ = sources->size() > limits::kOpenJournals;
  }
  const unsigned cores = std::thread::hardware_concurrency();
  if (bytes < kBytesWorthThreads || cores < 2) return;
  // A signal is for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (threads_.size() < std::min(cores - 1, kThreadsMax)) {
      threads_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {
    // As many as there are; without any, Next reads.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (threads_.empty()) return;
  const std::lock_guard lock(mutex_);
  for (Source& source : *sources) {
    if (!source.ready_) queue_.push_back(&source);
  }
  wanted_.notify_all();
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Source* const source = queue_.front();
    queue_.pop_front();
    lock.unlock();
    source->Fill();
    lock.lock();
    source->ready_ = true;
    filled_.notify_one();
  }
}

Status ReadAhead::Next(Source* source) {
  if (source->at_ < source->front_.records.size()) return OkStatus();
  if (threads_.empty()) {
    if (!std::exchange(source->ready_, false)) source->Fill();
    source->Take();
    return source->front_.status;
  }
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [source] { return source->ready_; });
  source->ready_ = false;
  source->Take();
  if (!source->front_.records.empty()) {
    queue_.push_back(source);
    wanted_.notify_one();
  }
  return source->front_.status;
}

}  // namespace headway::runs
