#include "monitor/otlp_sink.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

#include "formats/otlp/answer.h"
#include "formats/otlp/writer.h"
#include "monitor/sample_metrics.h"
#include "net/answer.h"
#include "net/url.h"

namespace headway::monitor {
namespace {

constexpr std::string_view kPath = "/v1/metrics";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Either(const char* first, const char* second) {
  std::string value = Variable(first);
  return value.empty() ? Variable(second) : value;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : HexDigit(text[i + 2]);
    if (low < 0) {
      decoded += text[i];
    } else {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsWebPage(std::string_view content_type) {
  constexpr std::string_view kHtml = "text/html";
  return content_type.size() >= kHtml.size() &&
         std::equal(kHtml.begin(), kHtml.end(), content_type.begin(), [](char want, char got) {
           return want == std::tolower(static_cast<unsigned char>(got));
         });
}

// "a=1,b=two%20words"
net::Headers ParseHeaders(std::string_view text) {
  net::Headers headers;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = Trimmed(pair.substr(0, equals));
    if (name.empty()) continue;
    headers.emplace_back(name, PercentDecoded(Trimmed(pair.substr(equals + 1))));
  }
  return headers;
}

}  // namespace

OtlpOptions OtlpFromEnvironment() {
  OtlpOptions options;
  options.endpoint = Variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
  if (options.endpoint.empty()) {
    options.endpoint = Variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
    if (!options.endpoint.empty()) options.endpoint += kPath;
  }
  options.json =
      Either("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL") == "http/json";
  options.headers =
      ParseHeaders(Either("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"));
  return options;
}

Result<std::unique_ptr<OtlpSink>> OtlpSink::Open(const OtlpOptions& options, net::HttpClient* http,
                                                 const Clock* clock) {
  Result<std::string> url = net::MakeBaseUrl("the OTLP endpoint", options.endpoint);
  HEADWAY_RETURN_IF_ERROR(url.status());
  if (net::TargetOf(*url).empty()) *url += kPath;
  Result<Outbox> outbox = Outbox::Open(options.outbox_directory, clock, options.limits);
  HEADWAY_RETURN_IF_ERROR(outbox.status());
  return std::unique_ptr<OtlpSink>(
      new OtlpSink(options, *std::move(url), *std::move(outbox), http, clock));
}

std::string OtlpSink::Destination() const { return "the OTLP endpoint " + url_; }

Status OtlpSink::Put(const Sample& sample) {
  const metrics::RunMetrics run = MetricsOf(sample);
  if (run.metrics.empty()) return OkStatus();
  return outbox_.Add(options_.json ? otlp::WriteJson(std::span(&run, 1))
                                   : otlp::WriteProtobuf(std::span(&run, 1)));
}

Delivery OtlpSink::Send(const OutboxBody& body, MonoNs deadline) {
  net::Request request;
  request.method = "POST";
  request.url = url_;
  request.headers = options_.headers;
  // What waits may be of a monitor that wrote in the other encoding.
  const bool json = body.text.starts_with('{');
  const std::string_view type = json ? otlp::kJsonContentType : otlp::kProtobufContentType;
  request.headers.emplace_back("Content-Type", std::string(type));
  request.body = body.text;
  Result<net::Response> response = http_->Send(request, deadline);
  if (response.ok()) {
    // A server may repeat what it was sent.
    for (const auto& [name, value] : options_.headers) {
      net::MaskSecret(value, &*response);
      net::MaskSecret(std::string_view(value).substr(value.rfind(' ') + 1), &*response);
    }
  }
  if (!response.ok()) return {Delivery::Fate::kLater, response.status(), {}};
  Status status = net::StatusOf(*response, "cannot send metrics");
  if (status.ok()) return TakePartialSuccess(*response, type);
  const bool later = status.code() == Code::kUnavailable;
  return {later ? Delivery::Fate::kLater : Delivery::Fate::kRefused, std::move(status),
          net::RetryAfterNs(*response, clock_->Wall())};
}

// The rest has arrived, and what was rejected would be again.
Delivery OtlpSink::TakePartialSuccess(const net::Response& response, std::string_view asked) {
  const std::string_view type = response.Header("content-type");
  // By its type: a message may begin with any byte.
  if (IsWebPage(type) && !response.body.empty()) {
    return {Delivery::Fate::kLater,
            {Code::kUnavailable, "a web page is the answer: no collector listens at that address"},
            {}};
  }
  const otlp::PartialSuccess partial =
      otlp::ReadPartialSuccess(type.empty() ? asked : type, response.body);
  if (partial.rejected_points == 0) return {};
  if (__builtin_add_overflow(rejected_points_, partial.rejected_points, &rejected_points_)) {
    rejected_points_ = INT64_MAX;
  }
  std::string message = "the server has rejected " + std::to_string(partial.rejected_points) +
                        " data points of a request that it took";
  if (!partial.message.empty()) message += ": " + net::CleanWords(partial.message);
  return {Delivery::Fate::kRefused, {Code::kInvalidArgument, message}, {}};
}

Status OtlpSink::Deliver(MonoNs deadline) {
  return outbox_.Deliver([this](const OutboxBody& body, MonoNs until) { return Send(body, until); },
                         deadline);
}

Status OtlpSink::Finish(MonoNs deadline) {
  outbox_.Hurry();
  return Deliver(deadline);
}

}  // namespace headway::monitor
