#include "server/server_metrics.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>

namespace headway::server {
namespace {

constexpr std::string_view kPackage = "/headway.v1.";
constexpr std::uint64_t kSlotBytes = 32;

// The shortest that reads back as the same number.
std::string Text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return {text, end};
}
std::string Text(std::integral auto value) { return std::to_string(value); }

class Writer {
 public:
  /// Begins a metric; its samples follow.
  void Metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "headway_server_" + std::string(name);
    text_.append("# HELP ").append(name_).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name_).append(" ").append(type).append("\n");
  }

  /// `labels` as they are written between the braces, or empty.
  void Sample(auto value, const std::string& labels = {}, std::string_view suffix = {}) {
    text_.append(name_).append(suffix);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(Text(value)).append("\n");
  }

  void Counter(std::string_view name, std::uint64_t value, std::string_view help) {
    Metric(name, "counter", help);
    Sample(value);
  }
  void Gauge(std::string_view name, auto value, std::string_view help) {
    Metric(name, "gauge", help);
    Sample(value);
  }

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
};

std::string Label(std::string_view name, std::string_view value) {
  return std::string(name).append("=\"").append(value).append("\"");
}

std::string CodeName(int code) { return code == 0 ? "other" : std::to_string(code); }

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / kNanosPerSecond; }

}  // namespace

ServerMetrics::ServerMetrics(const std::vector<std::string>& paths, const Clock* clock)
    : clock_(clock), start_(clock->Mono()) {
  for (const std::string& path : paths) {
    by_path_[path].method = path.starts_with(kPackage) ? path.substr(kPackage.size()) : path;
  }
  others_.method = "other";
}

void ServerMetrics::Count(const HttpOutcome& outcome) {
  const auto known = by_path_.find(outcome.path);
  Counts& counts = known == by_path_.end() ? others_ : known->second;
  const auto add = [](Number& number, std::uint64_t much) {
    number.fetch_add(much, std::memory_order_relaxed);
  };
  const auto* code = std::ranges::find(kCodes, outcome.status);
  add(counts.codes[std::min<std::ptrdiff_t>(code - kCodes, std::size(kCodes) - 1)], 1);
  const auto* bucket = std::ranges::lower_bound(kBuckets, Seconds(outcome.ns));
  add(bucket == std::end(kBuckets) ? counts.longer : counts.buckets[bucket - kBuckets], 1);
  add(counts.ns, static_cast<std::uint64_t>(std::max<std::int64_t>(outcome.ns, 0)));
}

std::string ServerMetrics::Write(const Others& others) const {
  std::vector<const Counts*> all;
  for (const auto& [path, counts] : by_path_) all.push_back(&counts);
  all.push_back(&others_);
  Writer writer;

  writer.Metric("build_info", "gauge", "Always 1; the label says which release this is.");
  writer.Sample(1, Label("version", HEADWAY_VERSION));
  writer.Gauge("uptime_seconds", Seconds(clock_->Mono() - start_), "Time since it was started.");

  writer.Metric("requests_total", "counter", "Requests that were answered, by method and status.");
  std::uint64_t refused[] = {0, 0};
  for (const Counts* counts : all) {
    for (std::size_t i = 0; i < std::size(kCodes); ++i) {
      const std::uint64_t count = counts->codes[i];
      if (kCodes[i] == 401) refused[0] += count;
      if (kCodes[i] == 403) refused[1] += count;
      if (count == 0) continue;
      writer.Sample(count,
                    Label("method", counts->method) + "," + Label("code", CodeName(kCodes[i])));
    }
  }
  writer.Metric("request_duration_seconds", "histogram",
                "Time from the last byte of a request to the first one of its answer, waiting "
                "included; 0 for what was refused before it was read.");
  for (const Counts* counts : all) {
    const std::string method = Label("method", counts->method);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < std::size(kBuckets); ++i) {
      sum += counts->buckets[i];
      writer.Sample(sum, method + "," + Label("le", Text(kBuckets[i])), "_bucket");
    }
    sum += counts->longer;
    writer.Sample(sum, method + "," + Label("le", "+Inf"), "_bucket");
    writer.Sample(Seconds(static_cast<std::int64_t>(counts->ns.load())), method, "_sum");
    writer.Sample(sum, method, "_count");
  }
  writer.Metric("tokens_refused_total", "counter",
                "Requests without a token that is good (401), or that it is not good for (403).");
  writer.Sample(refused[0], Label("code", "401"));
  writer.Sample(refused[1], Label("code", "403"));

  const HttpStats& http = *others.http;
  writer.Metric("requests_refused_total", "counter",
                "Requests that were answered 429 unread, or unheard: too many waited, or had too "
                "many bytes together.");
  writer.Sample(http.refused_queue.load(), Label("reason", "queue"));
  writer.Sample(http.refused_bytes.load(), Label("reason", "bytes"));
  writer.Gauge("requests_waiting", http.requests_waiting.load(),
               "Requests that wait for a worker.");
  writer.Gauge("connections_open", http.connections_open.load(), "Connections that are open.");
  writer.Counter("connections_total", http.connections, "Connections that were taken.");
  writer.Counter("received_bytes_total", http.bytes_in, "Bytes of requests, without those of TLS.");
  writer.Counter("sent_bytes_total", http.bytes_out, "Bytes of answers, without those of TLS.");
  if (const std::int64_t expires = http.certificate_expires; expires != 0) {
    writer.Metric("tls_handshakes_total", "counter", "Handshakes of TLS, by how they ended.");
    writer.Sample(http.handshakes.load(), Label("result", "done"));
    writer.Sample(http.handshakes_failed.load(), Label("result", "failed"));
    writer.Gauge("tls_certificate_expiry_timestamp_seconds", expires / kNanosPerSecond,
                 "When the certificate in use expires.");
  }

  const JournalCounts& journals = *others.journals;
  writer.Counter("ingest_journals_total", journals.journals,
                 "Journals of which a first piece came.");
  writer.Counter("ingest_records_total", journals.slots,
                 "Records (slots of a journal) that were made durable and acknowledged.");
  writer.Counter("ingest_record_bytes_total", journals.slots * kSlotBytes,
                 "Bytes of these records, as they are in journals.");
  writer.Counter("ingest_packed_bytes_total", journals.bytes,
                 "Bytes of these records, as they were sent.");
  const ForeignPointCounts& points = *others.points;
  writer.Metric("ingest_points_total", "counter",
                "Points that came by remote write and OTLP, by what became of them.");
  writer.Sample(points.kept.load(), Label("result", "kept"));
  writer.Sample(points.repeated.load(), Label("result", "repeated"));
  writer.Sample(points.refused.load(), Label("result", "refused"));
  writer.Counter("ingest_stale_markers_total", points.stale,
                 "Marks of Prometheus that a series has ended, which are no points.");
  writer.Metric("live_streams", "gauge", "Streams of live updates that are open.");
  writer.Sample(others.live.lists, Label("of", "list"));
  writer.Sample(others.live.runs, Label("of", "run"));
  writer.Counter("live_streams_total", others.live.opened, "Streams that were opened.");
  writer.Counter("live_streams_refused_total", others.live.refused,
                 "Streams that were refused because too many were open.");
  writer.Counter("live_updates_total", others.live.updates,
                 "Looks at runs, each for all streams that watch the run.");
  writer.Gauge("ledgers_held", others.ledgers, "Runs whose ledgers are held in memory.");
  writer.Gauge("ledger_memory_bytes", others.ledger_bytes, "Memory of these ledgers, about.");
  writer.Gauge("store_bytes", others.store_bytes, "Bytes on disk of what it keeps.");
  return writer.Take();
}

}  // namespace headway::server
