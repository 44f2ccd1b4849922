#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/files.h"
#include "monitor/sink.h"

namespace headway::monitor {

/// Samples as an event file of TensorBoard's in a directory of this machine. The file appears with
/// the first sample; a sample is in it whole or not at all. Where someone removes the file, or its
/// directory, the next sample brings it back with all that was in it.
class TensorBoardSink final : public Sink {
 public:
  struct Options {
    std::string directory;
    /// The incumbent's tags, in percent, and the exact ones below "exact/"; else headway's own,
    /// which are those of an export. All stand at the highest productive step.
    bool incumbent = false;
    bool badput = true;      ///< with the incumbent's tags: also where the rest went
    bool elastic = false;    ///< with them: also the kinds of elastic jobs
    bool steps = false;      ///< `step_deviation` is for points of single steps, not for their mean
    bool all_of_it = false;  ///< an amount that is all of the time counts, as exact numbers want it
  };
  explicit TensorBoardSink(Options options) : options_(std::move(options)) {}

  std::string Destination() const override;
  DestinationKind Kind() const override { return DestinationKind::kFile; }
  Status Put(const Sample& sample) override;

  /// The file, once there is one.
  const std::string& path() const { return path_; }

 private:
  Status Open(std::int64_t time_ns);
  Result<UniqueFd> Create(std::int64_t time_ns);
  Status Restore();
  Status Write();
  void AppendIncumbent(const Sample& sample);
  void AppendExact(const Sample& sample);
  void Scalar(const Sample& sample, std::int64_t step, const std::string& tag, double value,
              const std::string& name);

  Options options_;
  std::string path_;
  std::int64_t began_ns_ = 0;  // time of the first sample
  UniqueFd file_;
  std::uint64_t size_ = 0;       // of what is whole
  std::string pending_;          // that could not be written yet
  std::set<std::string> named_;  // tags that have a display name
};

}  // namespace headway::monitor
