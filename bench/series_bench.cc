// Columns of metrics: how many bytes a point takes, how fast columns are packed and unpacked beside
// copying the raw points, and how long a chart of 10^8 points takes beside a scan over them.
//
// Usage: series_bench [SECONDS] [POINTS]
//   SECONDS   how long this machine is sampled, 100 times a second (8)
//   POINTS    of the chart (100,000,000; 16 bytes of memory each)

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "bench/measure.h"
#include "series/columns.h"
#include "series/downsampler.h"
#include "series/summary.h"
#include "series/summary_tree.h"

namespace headway::bench {
namespace {

using series::Summary;

constexpr int kRounds = 7;
constexpr std::size_t kColumn = limits::kSeriesColumn;
constexpr double kRawBytes = 16;  // a time and a value

// Series that were sampled together.
struct Table {
  std::vector<std::int64_t> times;
  std::map<std::string, std::vector<double>> series;

  std::size_t points() const { return times.size() * series.size(); }
};

void OrFail(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "series_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

// --- what there is to pack

std::map<std::string, double> HostNow(std::array<std::vector<std::uint64_t>, 2>* before) {
  std::map<std::string, double> now;
  std::string word, line;
  std::ifstream stat("/proc/stat");
  std::vector<std::uint64_t> busy, all;
  while (std::getline(stat, line)) {
    std::istringstream words(line);
    words >> word;
    if (word.starts_with("cpu")) {
      std::uint64_t ticks = 0, sum = 0, idle = 0;
      for (int i = 0; i < 8 && words >> ticks; ++i) {
        sum += ticks;
        if (i == 3 || i == 4) idle += ticks;
      }
      const std::size_t at = all.size();
      all.push_back(sum);
      busy.push_back(sum - idle);
      const auto& [busy_before, all_before] = *before;
      if (at < all_before.size()) {
        const std::uint64_t ticked = sum - all_before[at];
        now["cpu_percent_" + word] = ticked == 0
                                         ? 0
                                         : 100.0 * static_cast<double>(busy[at] - busy_before[at]) /
                                               static_cast<double>(ticked);
      }
    } else if (word == "ctxt" || word == "intr" || word == "processes" || word == "procs_running" ||
               word == "procs_blocked") {
      words >> now[word];
    }
  }
  *before = {busy, all};
  std::ifstream memory("/proc/meminfo");
  double total = 0, available = 0;
  while (std::getline(memory, line)) {
    std::istringstream words(line);
    double kib = 0;
    words >> word >> kib;
    if (word == "MemTotal:") total = kib * 1024;
    if (word == "MemAvailable:") available = kib * 1024;
    for (const char* const name : {"MemFree:", "Cached:", "Dirty:", "AnonPages:", "Active:"}) {
      if (word == name) now["memory_" + word] = kib * 1024;
    }
  }
  now["memory_used"] = total - available;
  now["memory_used_percent"] = 100 * (total - available) / total;
  std::ifstream("/proc/loadavg") >> now["load_1"] >> now["load_5"] >> now["load_15"];
  std::ifstream net("/proc/net/dev");
  while (std::getline(net, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 1));
    double numbers[9] = {};
    for (double& number : numbers) words >> number;
    now["net_received" + line.substr(0, colon)] = numbers[0];
    now["net_sent" + line.substr(0, colon)] = numbers[8];
  }
  return now;
}

// This machine, as it is while this program samples it.
Table HostSamples(int seconds) {
  Table table;
  std::array<std::vector<std::uint64_t>, 2> before;
  HostNow(&before);
  const auto begin = std::chrono::steady_clock::now();
  const auto rounds = std::min<std::size_t>(static_cast<std::size_t>(seconds) * 100, kColumn);
  for (std::size_t i = 0; i < rounds; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::milliseconds(10 * (i + 1)));
    table.times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count());
    for (const auto& [name, value] : HostNow(&before)) {
      std::vector<double>& values = table.series[name];
      values.resize(i, 0);
      values.push_back(value);
    }
  }
  for (auto& [name, values] : table.series) values.resize(rounds, 0);
  return table;
}

// Made up, after what drivers say in the units they say it in: a training job on eight devices that
// pauses for checkpoints and evaluations, sampled each 10 s by a thread that wakes up late by some
// hundred microseconds.
Table DeviceSamples(std::size_t rounds) {
  std::mt19937_64 random(42);
  std::normal_distribution<double> normal;
  const auto noise = [&](double sigma) { return sigma * normal(random); };
  const auto rounded = [](double value, double unit) { return std::round(value / unit) * unit; };
  Table table;
  std::exponential_distribution<double> late(1 / 150e3);
  std::vector<int> pauses(rounds);
  for (std::size_t i = 0; i < rounds; ++i) {
    table.times.push_back(1'700'000'000'123'456'789 +
                          static_cast<std::int64_t>(i) * 10'000'000'000 +
                          static_cast<std::int64_t>(60e3 + late(random)));
    pauses[i] = i % 180 < 3 || (i % 60 == 0 && i > 0) ? 1 : 0;
  }
  constexpr double kMemory = 143771.0 * 1024 * 1024;
  for (int device = 0; device < 8; ++device) {
    const auto add = [&](const char* name, const std::function<double(bool busy)>& sample) {
      std::vector<double>& values = table.series[std::string(name) + "_" + std::to_string(device)];
      for (std::size_t i = 0; i < rounds; ++i) values.push_back(sample(pauses[i] == 0));
    };
    add("gpu_utilization", [&](bool busy) {
      return std::clamp(std::round(busy ? 97 + noise(1.5) : 20 + noise(10)), 0.0, 100.0);
    });
    add("memory_utilization", [&](bool busy) {
      return std::clamp(std::round(busy ? 61 + noise(2.5) : 8 + noise(4)), 0.0, 100.0);
    });
    add("duty_cycle", [&](bool busy) {  // two decimals, as text
      return std::strtod(
          std::to_string(
              std::clamp(rounded(busy ? 96.5 + noise(0.8) : 30 + noise(9), 0.01), 0.0, 100.0))
              .c_str(),
          nullptr);
    });
    add("tensorcore_utilization", [&](bool busy) {
      return std::strtod(
          std::to_string(
              std::clamp(rounded(busy ? 52 + noise(1.2) : 4 + noise(2), 0.01), 0.0, 100.0))
              .c_str(),
          nullptr);
    });
    double heat = 60 + device, slow_heat = 70 + device;
    add("temperature", [&](bool busy) {
      heat += 0.15 * ((busy ? 62 + device : 45) - heat) + noise(0.25);
      return std::round(heat);
    });
    add("memory_temperature", [&](bool busy) {
      slow_heat += 0.05 * ((busy ? 74 + device : 60) - slow_heat) + noise(0.2);
      return std::round(slow_heat);
    });
    double watt = 600;
    add("power", [&](bool busy) {  // told in mW
      watt += 0.6 * ((busy ? 655 : 180) - watt) + noise(9);
      return std::round(watt * 1000) / 1000;
    });
    add("sm_clock",
        [&](bool busy) { return busy ? 1980 - 15 * std::floor(std::abs(noise(2.2))) : 1980; });
    add("memory_clock", [&](bool) { return 2619.0; });
    double used = 0.83 * kMemory;
    add("memory_used", [&](bool busy) {
      if (!busy && random() % 3 == 0) used += 2097152.0 * (static_cast<double>(random() % 9) - 4);
      return rounded(used, 2097152);
    });
    const std::vector<double> memory = table.series["memory_used_" + std::to_string(device)];
    std::size_t at = 0;
    add("memory_used_percent", [&](bool) { return 100 * memory[at++] / kMemory; });
    add("memory_total", [&](bool) { return kMemory; });
    for (const char* const name : {"pcie_received", "pcie_sent"}) {  // KB/s over 20 ms
      add(name, [&](bool busy) {
        return std::abs(std::round(busy ? 850'000 + noise(60'000) : 9'000 + noise(3'000)));
      });
    }
    double errors = 0;
    add("ecc_corrected", [&](bool) { return errors += random() % 3000 == 0 ? 1 : 0; });
  }
  return table;
}

// Made up: what a training loop says each step, as float32.
Table TrainingSamples(std::size_t steps) {
  std::mt19937_64 random(43);
  std::normal_distribution<double> normal;
  Table table;
  std::int64_t time = 1'700'000'000'123'456'789;
  for (std::size_t i = 0; i < steps; ++i) {
    time += static_cast<std::int64_t>(412e6 + 3e6 * normal(random) + (i % 500 == 0 ? 9e9 : 0));
    table.times.push_back(time);
    const double done = static_cast<double>(i) / static_cast<double>(steps);
    const auto add = [&](const char* name, double value) {
      table.series[name].push_back(static_cast<double>(static_cast<float>(value)));
    };
    add("loss", 2.1 + 5 * std::exp(-9 * done) + 0.04 * normal(random));
    add("learning_rate",
        i < 2000 ? 3e-4 * static_cast<double>(i) / 2000 : 1.5e-4 * (1 + std::cos(3.14159 * done)));
    add("gradient_norm", 0.4 * std::exp(0.15 * normal(random)));
    add("total_weights", 3.1e5 * (1 + 0.1 * done) + normal(random));
    table.series["throughput"].push_back(2'097'152 / (0.412 + 0.003 * normal(random)));
  }
  return table;
}

// --- packing it

struct Packed {
  std::vector<std::string> times;
  std::map<std::string, std::vector<std::string>> series;
  std::size_t bytes = 0;
  std::size_t summary_bytes = 0;
};

template <typename Visit>
void EachPiece(std::size_t count, std::size_t column, Visit&& visit) {
  for (std::size_t from = 0; from < count; from += column) {
    visit(from, std::min(column, count - from));
  }
}

Packed Pack(const Table& table, std::size_t column) {
  Packed packed;
  std::string bytes;
  EachPiece(table.times.size(), column, [&](std::size_t from, std::size_t count) {
    series::PackTimes({table.times.data() + from, count}, &bytes);
    packed.bytes += bytes.size();
    packed.times.push_back(bytes);
    for (const auto& [name, values] : table.series) {
      series::PackValues({values.data() + from, count}, &bytes);
      packed.bytes += bytes.size();
      packed.series[name].push_back(bytes);
      bytes.clear();
      series::AppendSummary(
          series::Summarize({table.times.data() + from, count}, {}, {values.data() + from, count}),
          &bytes);
      packed.summary_bytes += bytes.size();
    }
  });
  return packed;
}

// What comes out is what went in.
void Check(const Table& table, const Packed& packed, std::size_t column) {
  std::vector<std::int64_t> times;
  std::vector<double> values;
  std::size_t piece = 0;
  EachPiece(table.times.size(), column, [&](std::size_t from, std::size_t count) {
    OrFail(series::UnpackTimes(packed.times[piece], &times));
    bool same = times.size() == count &&
                std::memcmp(times.data(), table.times.data() + from, 8 * count) == 0;
    for (const auto& [name, columns] : packed.series) {
      OrFail(series::UnpackValues(columns[piece], &values));
      same = same && values.size() == count &&
             std::memcmp(values.data(), table.series.at(name).data() + from, 8 * count) == 0;
    }
    if (!same) OrFail({Code::kInternal, "a column came back otherwise"});
    ++piece;
  });
}

double PerPoint(std::size_t bytes, const Table& table) {
  return static_cast<double>(bytes) / static_cast<double>(table.points());
}

void ReportSize(const char* row, const Table& table, std::size_t column) {
  const Packed packed = Pack(table, column);
  Check(table, packed, column);
  std::size_t times = 0;
  for (const std::string& bytes : packed.times) times += bytes.size();
  Measure measure(row);
  measure.Value(PerPoint(packed.bytes, table))
      .Figure("ratio_to_raw", kRawBytes / PerPoint(packed.bytes, table))
      .Figure("points", table.points())
      .Figure("series", table.series.size())
      .Figure("column", column)
      .Figure("with_summaries", PerPoint(packed.bytes + packed.summary_bytes, table))
      .Figure("bytes_per_time",
              static_cast<double>(times) / static_cast<double>(table.times.size()));
  // Each by itself; of devices the first.
  for (const auto& [name, columns] : packed.series) {
    if (std::string_view(row).starts_with("series_devices") && !name.ends_with("_0")) continue;
    std::size_t bytes = 0;
    for (const std::string& one : columns) bytes += one.size();
    measure.Figure(name, static_cast<double>(bytes) / static_cast<double>(table.times.size()));
  }
  measure.Print();
}

double Millions(std::size_t count, std::int64_t ns) {
  return 1e3 * static_cast<double>(count) / static_cast<double>(ns);
}

// All columns of the table, in turns: packing, unpacking, copying raw points.
void ReportSpeed(const std::string& row, const Table& table) {
  const Packed packed = Pack(table, kColumn);
  std::vector<char> raw(table.points() * 16, 1), copy(raw.size());
  Times pack, unpack, copied;
  std::string bytes;
  std::vector<double> values;
  std::vector<std::int64_t> times;
  for (int round = 0; round < kRounds; ++round) {
    pack.Add(TimeOf([&] {
      EachPiece(table.times.size(), kColumn, [&](std::size_t from, std::size_t count) {
        series::PackTimes({table.times.data() + from, count}, &bytes);
        for (const auto& [name, all] : table.series) {
          series::PackValues({all.data() + from, count}, &bytes);
        }
      });
    }));
    unpack.Add(TimeOf([&] {
      for (const std::string& column : packed.times) OrFail(series::UnpackTimes(column, &times));
      for (const auto& [name, columns] : packed.series) {
        for (const std::string& column : columns) OrFail(series::UnpackValues(column, &values));
      }
    }));
    copied.Add(TimeOf([&] { std::memcpy(copy.data(), raw.data(), raw.size()); }));
  }
  Measure(row + "_pack")
      .Value(Millions(table.points(), pack.Min()))
      .Figure("median", Millions(table.points(), pack.Median()))
      .Figure("beside_copying_raw", Ratio(pack.Min(), copied.Min()))
      .Print();
  Measure(row + "_unpack")
      .Value(Millions(table.points(), unpack.Min()))
      .Figure("median", Millions(table.points(), unpack.Median()))
      .Figure("beside_copying_raw", Ratio(unpack.Min(), copied.Min()))
      .Print();
}

// One full column of a kind, again and again.
void ReportKind(const char* row, const std::function<double(std::size_t)>& make) {
  constexpr int kTimes = 200;
  std::vector<double> values(kColumn), unpacked;
  for (std::size_t i = 0; i < kColumn; ++i) values[i] = make(i);
  std::string packed;
  Times pack, unpack;
  for (int round = 0; round < kRounds; ++round) {
    pack.Add(TimeOf([&] {
      for (int i = 0; i < kTimes; ++i) series::PackValues(values, &packed);
    }));
    unpack.Add(TimeOf([&] {
      for (int i = 0; i < kTimes; ++i) OrFail(series::UnpackValues(packed, &unpacked));
    }));
  }
  Measure(row)
      .Value(Millions(kTimes * kColumn, unpack.Min()))
      .Figure("median", Millions(kTimes * kColumn, unpack.Median()))
      .Figure("pack", Millions(kTimes * kColumn, pack.Min()))
      .Figure("bytes", static_cast<double>(packed.size()) / kColumn)
      .Print();
}

void ReportKinds() {
  std::mt19937_64 random(44);
  std::normal_distribution<double> normal;
  ReportKind("series_constant", [](std::size_t) { return 2619.0; });
  ReportKind("series_percent", [&](std::size_t) {
    return std::clamp(std::round(97 + 1.5 * normal(random)), 0., 100.);
  });
  double heat = 60;
  ReportKind("series_temperature", [&](std::size_t) {
    return std::round(heat += 0.1 * (60 - heat) + 0.25 * normal(random));
  });
  ReportKind("series_power",
             [&](std::size_t) { return std::round(655'000 + 12'000 * normal(random)) / 1000; });
  ReportKind("series_loss", [&](std::size_t) {
    return static_cast<double>(static_cast<float>(2.1 + 0.04 * normal(random)));
  });
  ReportKind("series_full_doubles", [&](std::size_t) { return 5e6 + 1e4 * normal(random); });
  ReportKind("series_few_values",
             [&](std::size_t) { return 100.0 / static_cast<double>(3 + random() % 9); });
}

// --- a chart

struct Point {
  std::int64_t time = 0;
  double value = 0;
};

// What a chart needs of raw points that lie one after another, in order.
std::vector<Summary> Scan(std::span<const Point> points, const series::Downsampler& edges,
                          std::size_t buckets) {
  std::vector<Summary> found(buckets);
  std::size_t at = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    Summary bucket;  // not yet in memory
    const std::int64_t end = edges.EdgeOf(b + 1);
    const std::size_t from = at;
    for (; at < points.size() && points[at].time < end; ++at) {
      const double value = points[at].value;
      if (std::isfinite(value)) [[likely]] {
        bucket.min = value < bucket.min ? value : bucket.min;
        bucket.max = value > bucket.max ? value : bucket.max;
        bucket.sum += value;
      } else {
        ++(std::isnan(value) ? bucket.nan_count
           : value > 0       ? bucket.plus_inf_count
                             : bucket.minus_inf_count);
      }
    }
    bucket.count = at - from;
    if (bucket.count > 0) {
      bucket.first = points[from].value;
      bucket.last = points[at - 1].value;
    }
    found[b] = bucket;
  }
  return found;
}

void ReportChart(std::size_t count) {
  constexpr std::size_t kPixels = 1000;
  constexpr double kSlack = 0.25;  // of a pixel
  std::mt19937_64 random(45);
  std::vector<Point> points(count);
  series::SummaryTree tree;
  std::vector<std::int64_t> times(kColumn);
  std::vector<double> values(kColumn);
  std::int64_t time = 1'700'000'000'000'000'000;
  double level = 97;
  const auto next_piece = [&](std::size_t from, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t bits = random();
      time += 10'000'000 + static_cast<std::int64_t>(bits % 100'000);
      level += 0.001 * (90 - level) + static_cast<double>(bits >> 56) / 128 - 0.996;
      times[i] = time;
      values[i] = std::round(level * 10) / 10;
      points[from + i] = {time, values[i]};
    }
    tree.Append(series::Summarize({times.data(), size}, {}, {values.data(), size}));
  };
  EachPiece(count, kColumn, next_piece);
  std::string bytes;
  for (const Summary& summary : tree.pieces()) series::AppendSummary(summary, &bytes);

  // From a bit behind the first point to a bit before the last one.
  const std::int64_t margin = (time - points[0].time) / 500;
  series::Downsampler::Range range = {
      .from = points[0].time + margin, .to = time - margin, .buckets = kPixels, .slack = kSlack};
  const auto make = [&](double slack) {
    range.slack = slack;
    return series::Downsampler::Make(range).value();
  };
  // What does not fit lies packed, as in a store.
  std::map<std::size_t, std::array<std::string, 2>> packed;
  {
    const series::Downsampler exact = make(0);
    for (std::size_t i = 0; i < tree.pieces().size(); ++i) {
      if (exact.Fits(tree.pieces()[i])) continue;
      const std::size_t size = std::min(kColumn, count - i * kColumn);
      for (std::size_t k = 0; k < size; ++k) {
        times[k] = points[i * kColumn + k].time;
        values[k] = points[i * kColumn + k].value;
      }
      series::PackTimes({times.data(), size}, &packed[i][0]);
      series::PackValues({values.data(), size}, &packed[i][1]);
    }
  }
  std::size_t unpacked = 0;
  const auto unpack = [&](series::Downsampler* chart, std::size_t i) {
    ++unpacked;
    OrFail(series::UnpackTimes(packed.at(i)[0], &times));
    OrFail(series::UnpackValues(packed.at(i)[1], &values));
    chart->Add(times, {}, values);
  };
  const auto draw = [&](series::Downsampler* chart) {
    tree.Draw(chart, [&](std::size_t i) { unpack(chart, i); });
  };
  const auto first =
      std::lower_bound(points.begin(), points.end(), range.from,
                       [](const Point& point, std::int64_t from) { return point.time < from; });

  Times scan, chart, parsed, exact;
  std::vector<Summary> scanned;
  bool same = true;
  std::size_t unpacked_with_slack = 0, unpacked_exact = 0;
  for (int round = 0; round < kRounds; ++round) {
    const series::Downsampler edges = make(0);
    scan.Add(TimeOf([&] {
      scanned = Scan({&*first, points.data() + points.size()}, edges, kPixels);
    }));
    unpacked = 0;
    chart.Add(TimeOf([&] {
      series::Downsampler drawn = make(kSlack);
      draw(&drawn);
    }));
    unpacked_with_slack = unpacked;
    parsed.Add(TimeOf([&] {
      series::Downsampler drawn = make(kSlack);
      std::string_view rest = bytes;
      for (std::size_t i = 0; !rest.empty(); ++i) {
        if (!drawn.Add(series::ParseSummary(&rest).value())) unpack(&drawn, i);
      }
    }));
    unpacked = 0;
    exact.Add(TimeOf([&] {
      series::Downsampler drawn = make(0);
      draw(&drawn);
      for (std::size_t b = 0; b < kPixels; ++b) {
        const Summary& one = drawn.buckets()[b];
        same = same && one.count == scanned[b].count && one.min == scanned[b].min &&
               one.max == scanned[b].max && one.last == scanned[b].last;
      }
    }));
    unpacked_exact = unpacked;
  }
  if (!same) OrFail({Code::kInternal, "the chart is not that of the raw points"});
  Measure("series_chart")
      .Value(Ratio(scan.Min(), chart.Min()))
      .Figure("ratio_of_medians", Ratio(scan.Median(), chart.Median()))
      .Figure("points", count)
      .Figure("scan_ns", scan.Min())
      .Figure("chart_ns", chart.Min())
      .Figure("summaries", tree.pieces().size())
      .Figure("unpacked", unpacked_with_slack)
      .Print();
  Measure("series_chart_ms")
      .Value(static_cast<double>(parsed.Median()) / 1e6)
      .Figure("ratio", Ratio(scan.Min(), parsed.Min()))
      .Figure("summary_bytes", bytes.size())
      .Print();
  Measure("series_chart_exact_ms")
      .Value(static_cast<double>(exact.Median()) / 1e6)
      .Figure("ratio", Ratio(scan.Min(), exact.Min()))
      .Figure("unpacked", unpacked_exact)
      .Print();
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) {
  using namespace headway::bench;
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 8;
  const std::size_t points = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000'000;
  ReportSize("series_host", HostSamples(seconds), kColumn);
  const Table devices = DeviceSamples(kColumn);
  ReportSize("series_devices", devices, kColumn);
  ReportSize("series_devices_hour", DeviceSamples(3600), 360);
  const Table training = TrainingSamples(10 * kColumn);
  ReportSize("series_training", training, kColumn);
  ReportSpeed("series_devices", devices);
  ReportSpeed("series_training", training);
  ReportKinds();
  ReportChart(points);
}
