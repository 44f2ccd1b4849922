#include "runs/merge.h"

#include <algorithm>
#include <queue>
#include <span>
#include <tuple>

#include "journal/format.h"

namespace headway::runs {
namespace {

class Merger {
 public:
  Merger(std::vector<Source>* sources, const Bound& bound, std::uint64_t bytes,
         ledger::Ledger* ledger, const std::function<void(double)>& progress)
      : sources_(sources),
        bound_(bound),
        ledger_(ledger),
        expected_(std::max<std::uint64_t>(1, bytes / journal::kSlotBytes)),
        progress_(progress),
        ahead_(sources, bytes) {}

  Result<std::uint64_t> Run() {
    for (Source& source : *sources_) HEADWAY_RETURN_IF_ERROR(Queue(&source));
    while (!queue_.empty() && queue_.top().time <= bound_.until) {
      // The source whose next record is the earliest goes on until another one is earlier.
      Source* const first = queue_.top().source;
      queue_.pop();
      Take(first);
      HEADWAY_RETURN_IF_ERROR(Queue(first));
    }
    return records_;
  }

 private:
  struct Next {
    std::int64_t time = 0;
    Source* source = nullptr;  // the earlier one in the list goes first
    bool operator<(const Next& other) const {
      return std::tie(other.time, other.source) < std::tie(time, source);
    }
  };

  Status Queue(Source* source) {
    HEADWAY_RETURN_IF_ERROR(ahead_.Next(source));
    if (source->batch().empty()) return OkStatus();
    const std::int64_t time = source->batch().front().time_ns;
    queue_.push({time > bound_.future ? std::min(time, bound_.until) : time, source});
    return OkStatus();
  }

  void Take(Source* source) {
    std::span<const Record> records = source->batch();
    if (!queue_.empty() || bound_.until != kNoBound) {
      const std::int64_t until =
          queue_.empty() ? bound_.until : std::min(bound_.until, queue_.top().time);
      std::size_t count = 1;
      while (count < records.size() && records[count].time_ns <= until) ++count;
      records = records.first(count);
    }
    ledger_->Add(records);
    source->Skip(records.size());
    records_ += records.size();
    if (progress_ && records_ / kProgressEvery != told_) {
      told_ = records_ / kProgressEvery;
      progress_(std::min(1.0, static_cast<double>(records_) / static_cast<double>(expected_)));
    }
  }

  static constexpr std::uint64_t kProgressEvery = 1 << 18;

  std::vector<Source>* sources_;
  Bound bound_;
  ledger::Ledger* ledger_;
  std::uint64_t records_ = 0;
  std::uint64_t expected_;
  const std::function<void(double)>& progress_;
  std::uint64_t told_ = 0;
  std::priority_queue<Next> queue_;
  ReadAhead ahead_;
};

}  // namespace

Result<std::uint64_t> Merge(std::vector<Source>* sources, const Bound& bound, std::uint64_t bytes,
                            ledger::Ledger* ledger, const std::function<void(double)>& progress) {
  return Merger(sources, bound, bytes, ledger, progress).Run();
}

}  // namespace headway::runs
