#include "ledger/compat/entry.h"

#include <cctype>
#include <cmath>

namespace headway::compat {

void EntryLog::AddSlices(const Slices& slices, double time) {
  entries_.push_back({time, static_cast<std::int64_t>(slices_.size()), 0, EntryKind::kSlices});
  slices_.push_back(slices);
}

void EntryLog::AddCheckpoint(EntryKind kind, std::string_view step, std::string_view directory,
                             double manager_s, double time) {
  entries_.push_back({time, static_cast<std::int64_t>(checkpoints_.size()), 0, kind});
  const bool persistent = directory.starts_with("gs://");
  checkpoints_.push_back(
      {std::string(step).append(persistent ? "-persistent" : "-local"), manager_s});
}

bool IsScaleUp(std::string_view wait) {
  std::string lower(wait);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("scale_up") != std::string::npos;
}

double SecondsOf(std::int64_t time_ns) {
  // Its clock counts microseconds, and so do the edges of what is asked: nanoseconds would let
  // steps last longer than all of the time. They are exact as doubles for 285 years.
  const std::int64_t time_us = time_ns / 1000 - (time_ns % 1000 < 0 ? 1 : 0);
  return static_cast<double>(time_us) / 1e6;
}

double ThroughDatetime(double seconds) {
  const double whole = std::floor(seconds);
  const double micros = std::nearbyint((seconds - whole) * 1e6);  // halves to even
  return (whole * 1e6 + micros) / 1e6;
}

}  // namespace headway::compat
