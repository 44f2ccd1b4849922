#include "server/foreign_points.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/limits.h"
#include "formats/otlp/reader.h"
#include "formats/otlp/writer.h"
#include "formats/prometheus/remote_write.h"
#include "formats/protobuf/wire.h"
#include "model/metric.h"
#include "server/gzip.h"
#include "server/query_string.h"
#include "server/series_names.h"
#include "server/snappy.h"
#include "server/zstd.h"

namespace headway::server {
namespace {

using store::LoosePoints;
using Label = LoosePoints::Label;

constexpr std::string_view kRetrySeconds = "5";
constexpr std::int64_t kNanosPerMilli = 1'000'000;
constexpr std::int64_t kMillisMost = (std::int64_t{1} << 62) / kNanosPerMilli;
constexpr std::string_view kQuantile = "quantile";  // a label
constexpr std::string_view kWriteRequest = "prometheus.WriteRequest";

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

bool IsJson(const HttpRequest& request) {
  return MediaType(request.Header("content-type")) == otlp::kJsonContentType;
}

// --- What a request says of the run

/// What stands behind the "?".
struct Asked {
  std::optional<std::string> project;
  std::optional<std::string> run;
};

Result<Asked> ParseQuery(std::string_view query) {
  Result<std::map<std::string, std::string>> values = ParseQueryString(query);
  if (!values.ok()) return values.status();
  Asked asked;
  for (auto& [name, value] : *values) {
    if (name != "project" && name != "run") {
      return Bad("the URL has a parameter \"" + name + "\"; there are project and run");
    }
    if (value.empty()) return Bad("the URL says no " + name + " behind \"" + name + "=\"");
    (name == "run" ? asked.run : asked.project) = std::move(value);
  }
  return asked;
}

// --- Answers

HttpResponse Line(int status, std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return {.status = status, .body = std::move(text) + "\n"};
}

// As each protocol tells an error. Prometheus shows the first line of it.
HttpResponse Error(const HttpRequest& request, const Status& status) {
  HttpResponse known = ErrorResponse(status);
  const bool later = IsOfServer(status.code());
  const int code = later ? 503 : known.status;
  HttpResponse response;
  if (request.path == ForeignPoints::kRemoteWrite) {
    response = Line(code, status.message());
  } else if (IsJson(request)) {
    response = {.status = code, .type = std::string(otlp::kJsonContentType), .body = {}};
    JsonWriter json(&response.body);
    json.BeginObject().Field("code", static_cast<std::int64_t>(status.code()));
    json.Field("message", status.message()).EndObject();
  } else {  // google.rpc.Status
    response = {.status = code, .type = std::string(otlp::kProtobufContentType), .body = {}};
    protobuf::AppendVarintField(1, static_cast<std::uint64_t>(status.code()), &response.body);
    protobuf::AppendTextField(2, status.message(), &response.body);
  }
  response.headers = std::move(known.headers);
  if (later) response.headers.emplace_back("Retry-After", kRetrySeconds);
  return response;
}

// --- Units

// Prometheus's names say their unit by convention.
std::string_view UnitOf(std::string_view name) {
  if (const MetricKind* const kind = FindMetric(name); kind != nullptr) return kind->unit;
  for (const std::string_view end : {"_total", "_sum", "_min", "_max"}) {
    if (name.ends_with(end)) {
      name.remove_suffix(end.size());
      break;
    }
  }
  constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"_seconds", "s"},   {"_bytes", "By"},  {"_ratio", "1"},  {"_percent", "%"},
      {"_celsius", "Cel"}, {"_meters", "m"},  {"_joules", "J"}, {"_watts", "W"},
      {"_volts", "V"},     {"_amperes", "A"}, {"_hertz", "Hz"},
  };
  for (const auto& [end, unit] : kUnits) {
    if (name.ends_with(end)) return unit;
  }
  return {};
}

}  // namespace

/// The points of one request, by the runs that they are of.
class ForeignPoints::Request {
 public:
  Request(ForeignPoints* owner, Caller caller, Asked asked, std::string_view source)
      : owner_(*owner), caller_(std::move(caller)), asked_(std::move(asked)), source_(source) {}

  void Take(const prometheus::RemoteSeries& series);
  void Take(const otlp::DataPoint& point);
  /// Keeps them. An error: none was to be kept, or some could not be now.
  Status Keep();

  std::uint64_t refused() const { return refused_; }
  std::uint64_t all() const { return all_; }
  std::uint64_t stale() const { return stale_; }
  /// Why the first of those that were refused was.
  const Status& why() const { return why_; }
  /// In words: how many were refused, and why.
  Status Told() const;

 private:
  struct Of {
    Status status;          // why points of it are refused
    std::size_t place = 0;  // in points_
  };

  /// Whether labels may say the run.
  bool ByLabels() const { return !asked_.run.has_value(); }
  /// Those of a run, up to the next call; nullptr: they are refused, and why is said by `why`.
  LoosePoints* Find(std::string_view project, std::string_view run, Status* why);
  void Refuse(std::uint64_t points, const Status& why);
  /// Brings the labels in order. False: one is there twice.
  bool Sort();

  ForeignPoints& owner_;
  Caller caller_;
  Asked asked_;
  std::string source_;
  std::map<std::pair<std::string, std::string>, Of, std::less<>> runs_;
  std::vector<LoosePoints> points_;
  std::vector<std::string> names_;  // of their runs
  const std::pair<std::string, std::string>* last_key_ = nullptr;
  Of* last_ = nullptr;
  std::uint64_t all_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t stale_ = 0;
  Status why_;
  // Of the series that is read.
  std::vector<Label> labels_;
  std::string name_;
  std::string quantile_;
};

void ForeignPoints::Request::Refuse(std::uint64_t points, const Status& why) {
  if (points == 0) return;
  if (refused_ == 0) why_ = why;
  refused_ += points;
}

LoosePoints* ForeignPoints::Request::Find(std::string_view project, std::string_view run,
                                          Status* why) {
  if (asked_.run) run = *asked_.run;
  if (run.empty()) run = caller_.run;
  if (asked_.project) project = *asked_.project;
  if (project.empty()) project = caller_.project;
  if (project.empty()) project = "default";
  if (last_ == nullptr || last_key_->first != project || last_key_->second != run) {
    auto [entry, is_new] = runs_.try_emplace({std::string(project), std::string(run)});
    last_key_ = &entry->first;
    last_ = &entry->second;
    if (is_new) {
      if (run.empty()) {
        last_->status =
            Bad("a point says of no run that it is of it: name one by ?run= in the URL, by " +
                std::string(source_ == kOtlpSource
                                ? "the resource's attribute headway.run, or by the attribute run"
                                : "the label run"));
      } else if (!caller_.project.empty() && caller_.project != project) {
        last_->status = {Code::kPermissionDenied, "this token is for project \"" + caller_.project +
                                                      "\" only, and not for \"" +
                                                      std::string(project) + "\""};
      } else {
        const Result<store::RunRow> found =
            owner_.registry_->Find(caller_, entry->first.first, entry->first.second);
        last_->status = found.status();
        if (found.ok()) {
          last_->place = points_.size();
          points_.emplace_back();
          points_.back().run = found->uid;
          points_.back().source = source_;
          names_.push_back(entry->first.second);
        }
      }
    }
  }
  *why = last_->status;
  return why->ok() ? &points_[last_->place] : nullptr;
}

bool ForeignPoints::Request::Sort() {
  const auto before = [](const Label& a, const Label& b) { return a.first < b.first; };
  if (!std::ranges::is_sorted(labels_, before)) std::ranges::stable_sort(labels_, before);
  return std::ranges::adjacent_find(labels_, {}, &Label::first) == labels_.end();
}

void ForeignPoints::Request::Take(const prometheus::RemoteSeries& series) {
  std::string_view name;
  std::string_view project;
  std::string_view run;
  labels_.clear();
  for (const auto& [key, value] : series.labels) {
    if (value.empty()) continue;  // which is as good as none
    if (key == "__name__") {
      name = value;
    } else if (key == "run" && ByLabels()) {
      run = value;
    } else if (key == "project" && ByLabels() && !asked_.project) {
      project = value;
    } else {
      labels_.emplace_back(key, value);
    }
  }
  std::uint64_t points = series.histograms.size();
  for (const auto& sample : series.samples) {
    prometheus::IsStaleMarker(sample.value) ? ++stale_ : ++points;
  }
  if (points == 0) return;
  all_ += points;
  Status why;
  LoosePoints* const to = Find(project, run, &why);
  if (to == nullptr) return Refuse(points, why);
  why = CheckSeriesName(name, {});
  if (why.ok()) why = CheckSeriesLabels(labels_.size());
  for (const auto& [key, value] : labels_) {
    if (why.ok()) why = CheckSeriesLabel(key, value);
  }
  if (why.ok() && !Sort()) why = Bad("a series of \"" + std::string(name) + "\" has a label twice");
  if (!why.ok()) return Refuse(points, why);
  const auto add = [&](std::int64_t time_ms, double value) {
    if (time_ms < -kMillisMost || time_ms > kMillisMost) {
      return Refuse(1, Bad("a point of \"" + std::string(name) + "\" has time " +
                           std::to_string(time_ms) + " ms, which is beyond what is kept"));
    }
    to->Add(time_ms * kNanosPerMilli, value);
  };
  if (series.samples.size() > 0) to->Begin(name, UnitOf(name), labels_);
  for (const auto& sample : series.samples) {
    if (!prometheus::IsStaleMarker(sample.value)) add(sample.time_ms, sample.value);
  }
  for (const bool sum : {false, true}) {
    if (series.histograms.empty()) break;
    name_ = std::string(name) + (sum ? "_sum" : "_count");
    to->Begin(name_, UnitOf(name_), labels_);
    for (const auto& histogram : series.histograms) {
      if (prometheus::IsStaleMarker(histogram.sum)) continue;
      add(histogram.time_ms, sum ? histogram.sum : histogram.count);
    }
  }
}

void ForeignPoints::Request::Take(const otlp::DataPoint& point) {
  ++all_;
  std::string_view project;
  std::string_view run;
  labels_.clear();
  for (const auto& [key, value] : *point.resource) {
    if (key == "headway.run" && ByLabels()) {
      run = value;
    } else if (key == "headway.project" && ByLabels() && !asked_.project) {
      project = value;
    } else if (!key.starts_with("telemetry.sdk.")) {  // a new version is no other series
      labels_.emplace_back(key, value);
    }
  }
  const bool by_attributes = ByLabels() && run.empty();
  if (!point.scope.empty()) labels_.emplace_back("otel.scope.name", point.scope);
  for (const auto& [key, value] : *point.attributes) {
    if (key == "run" && by_attributes) {
      run = value;
    } else if (key == "project" && by_attributes && project.empty() && !asked_.project) {
      project = value;
    } else {
      labels_.emplace_back(key, value);
    }
  }
  // A point may say otherwise than its resource: what was said last counts.
  std::ranges::reverse(labels_);
  std::ranges::stable_sort(labels_, {}, &Label::first);
  const auto twice = std::ranges::unique(labels_, {}, &Label::first);
  labels_.erase(twice.begin(), twice.end());
  std::erase_if(labels_, [](const Label& label) { return label.second.empty(); });
  Status why;
  LoosePoints* const to = Find(project, run, &why);
  if (to == nullptr) return Refuse(1, why);
  name_ = std::string(point.metric) + "_count";  // the longest
  why = point.metric.empty() ? Bad("a metric needs a name") : CheckSeriesName(name_, point.unit);
  if (why.ok()) why = CheckSeriesLabels(labels_.size() + 1);
  for (const auto& [key, value] : labels_) {
    if (why.ok()) why = CheckSeriesLabel(key, value);
  }
  if (why.ok() && (point.time_ns == 0 || point.time_ns > std::uint64_t{1} << 62)) {
    why = Bad("a point of \"" + std::string(point.metric) + "\" has time " +
              std::to_string(point.time_ns) + ", which is none that is kept");
  }
  if (!why.ok()) return Refuse(1, why);
  std::string_view unit = point.unit;
  if (const MetricKind* const kind = FindMetric(point.metric); unit.empty() && kind != nullptr) {
    unit = kind->unit;
  }
  for (const otlp::DataPoint::Value& value : point.values) {
    name_ = std::string(point.metric) + std::string(value.suffix);
    const bool counts = value.suffix == "_count";
    if (value.quantile < 0) {
      to->Begin(name_, counts ? "1" : unit, labels_);
    } else {
      char digits[32];
      quantile_ = {digits, std::to_chars(digits, std::end(digits), value.quantile).ptr};
      std::vector<Label> labels = labels_;
      std::erase_if(labels, [](const Label& label) { return label.first == kQuantile; });
      const auto place = std::ranges::lower_bound(labels, kQuantile, {}, &Label::first);
      labels.insert(place, Label(kQuantile, quantile_));
      to->Begin(name_, unit, labels);
    }
    to->Add(static_cast<std::int64_t>(point.time_ns), value.value);
  }
}

Status ForeignPoints::Request::Keep() {
  const std::vector<Result<store::LooseOutcome>> outcomes = owner_.store_->MergePoints(points_);
  Status later;  // the whole request comes again then
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Result<store::LooseOutcome>& outcome = outcomes[i];
    if (!outcome.ok()) {
      if (IsOfServer(outcome.status().code())) later = outcome.status();
      Refuse(points_[i].times_ns.size(), outcome.status());
      continue;
    }
    owner_.counts_.kept += outcome->kept;
    owner_.counts_.repeated += outcome->repeated;
    if (outcome->kept > 0 && owner_.on_points_) owner_.on_points_(points_[i].run);
    if (outcome->differing > 0) {
      Refuse(outcome->differing, Bad("metric \"" + outcome->differing_metric + "\" of run \"" +
                                     names_[i] + "\" has another value already at time " +
                                     std::to_string(outcome->differing_time_ns) + " ns"));
    }
    if (outcome->too_many > 0) {
      Refuse(outcome->too_many,
             Bad("run \"" + names_[i] + "\" has " + std::to_string(limits::kRunSeries) +
                 " series already; one of metric \"" + outcome->too_many_metric +
                 "\" would be one more"));
    }
  }
  if (!later.ok()) return later;
  owner_.counts_.refused += refused_;
  owner_.counts_.stale += stale_;
  return OkStatus();
}

Status ForeignPoints::Request::Told() const {
  const std::string how_many = refused_ >= all_
                                   ? "none of " + std::to_string(all_) + " points is kept: "
                                   : std::to_string(refused_) + " of " + std::to_string(all_) +
                                         " points are not kept, the others are: ";
  return {why_.code(), how_many + why_.message()};
}

std::optional<HttpResponse> ForeignPoints::Refuse(const HttpRequest& head) const {
  const bool otlp = head.path == kOtlp;
  if (head.method != "POST") {
    HttpResponse refusal = Line(405, "points are sent with POST");
    refusal.headers.emplace_back("Allow", "POST");
    return refusal;
  }
  const Result<Caller> caller = authenticate_(head);
  if (!caller.ok()) return Error(head, caller.status());
  if (!caller->permissions.Has(Permission::kSeriesWrite)) {
    return Error(
        head, {Code::kPermissionDenied, "the role " + caller->role + " has no permission " +
                                            std::string(PermissionName(Permission::kSeriesWrite))});
  }
  if (!caller->link.empty()) {
    return Error(head, {Code::kPermissionDenied, "a share link shows no more than its run"});
  }
  if (const Result<Asked> asked = ParseQuery(head.query); !asked.ok()) {
    return Error(head, asked.status());
  }
  const std::string_view sent = head.Header("content-type");
  const std::string type = MediaType(sent);
  const std::string_view encoding = head.Header("content-encoding");
  if (otlp) {
    if (type != otlp::kProtobufContentType && type != otlp::kJsonContentType) {
      return Line(415, "a request is application/x-protobuf or application/json");
    }
    if (!encoding.empty() && encoding != "identity" && encoding != "gzip" && encoding != "zstd") {
      return Line(415, "a body is sent as it is, or with gzip or zstd");
    }
    return std::nullopt;
  }
  const std::size_t message = sent.find("proto=");
  const std::string_view name =
      message == sent.npos ? kWriteRequest : sent.substr(message + 6, sent.find(';', message + 6));
  if (type != otlp::kProtobufContentType || name.substr(0, name.find(';')) != kWriteRequest) {
    return Line(415,
                "this is remote write 1.0: a request is application/x-protobuf with a "
                "prometheus.WriteRequest (protobuf_message: prometheus.WriteRequest)");
  }
  if (encoding != "snappy") return Line(415, "the body of a remote write is sent with snappy");
  return std::nullopt;
}

HttpResponse ForeignPoints::Answer(const HttpRequest& request) {
  if (std::optional<HttpResponse> refusal = Refuse(request)) return *std::move(refusal);
  const bool otlp = request.path == kOtlp;
  const std::string_view encoding = request.Header("content-encoding");
  const std::size_t most = IsJson(request) ? limits::kServerJsonBytes : limits::kServerRequestBytes;
  std::string unpacked;
  if (!encoding.empty() && encoding != "identity") {
    const auto unpack = encoding == "snappy" ? &UnpackSnappy
                        : encoding == "gzip" ? &Gunzip
                                             : &Decompress;
    Result<std::string> whole = unpack(request.body, most);
    if (!whole.ok()) return Error(request, whole.status());
    unpacked = *std::move(whole);
  }
  const std::string& body = encoding.empty() || encoding == "identity" ? request.body : unpacked;
  if (body.size() > most) {
    return Error(request, {Code::kInvalidArgument,
                           "JSON has at most " + std::to_string(most) + " bytes here"});
  }
  const LargeRequests::Leave leave(large_, body.size());
  if (!leave.status().ok()) return Error(request, leave.status());
  Result<Caller> caller = authenticate_(request);
  if (!caller.ok()) return Error(request, caller.status());
  Result<Asked> asked = ParseQuery(request.query);
  if (!asked.ok()) return Error(request, asked.status());
  Request points(this, *std::move(caller), *std::move(asked),
                 otlp ? kOtlpSource : kRemoteWriteSource);
  Status status;
  if (!otlp) {
    status = prometheus::ReadWriteRequest(
        body, [&points](const prometheus::RemoteSeries& series) { points.Take(series); });
  } else {
    const otlp::TakePoint take = [&points](const otlp::DataPoint& point) { points.Take(point); };
    status = IsJson(request) ? otlp::ReadJson(body, take) : otlp::ReadProtobuf(body, take);
  }
  if (status.ok()) status = points.Keep();
  if (!status.ok()) {
    if (log_ && IsOfServer(status.code())) log_(status);
    return Error(request, status);
  }
  const bool some = points.refused() > 0;
  if (!otlp) return some ? Error(request, points.Told()) : HttpResponse{.status = 204};
  if (some && points.refused() >= points.all()) return Error(request, points.Told());
  HttpResponse response{
      .type = std::string(IsJson(request) ? otlp::kJsonContentType : otlp::kProtobufContentType)};
  const Status told = points.Told();
  if (IsJson(request)) {
    JsonWriter json(&response.body);
    json.BeginObject();
    if (some) {
      json.Key("partialSuccess").BeginObject();
      json.Field("rejectedDataPoints", std::to_string(points.refused()));
      json.Field("errorMessage", told.message()).EndObject();
    }
    json.EndObject();
  } else if (some) {
    std::string partial;
    protobuf::AppendVarintField(1, points.refused(), &partial);
    protobuf::AppendTextField(2, told.message(), &partial);
    protobuf::AppendBytesField(1, partial, &response.body);
  }
  return response;
}

}  // namespace headway::server
