#include "client/server_client.h"

#include <simdjson.h>
#include <zstd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "base/live_limits.h"
#include "net/answer.h"

namespace headway::client {
namespace {

constexpr std::int64_t kPatienceNs = 60 * kNanosPerSecond;
constexpr std::int64_t kStreamNs = 24 * 3600 * kNanosPerSecond;  // then it is asked for again
constexpr int kSilenceSeconds = 3 * limits::kServerPulseSeconds;
constexpr std::size_t kEventBytes = 4 * limits::kLiveEventBytes;
constexpr char kEventStream[] = "text/event-stream";
constexpr std::size_t kWorthPacking = 1024;
constexpr int kLevel = 1;

struct CodeName {
  std::string_view name;
  Code code;
};
constexpr CodeName kCodes[] = {
    {"canceled", Code::kCancelled},
    {"unknown", Code::kUnknown},
    {"invalid_argument", Code::kInvalidArgument},
    {"deadline_exceeded", Code::kDeadlineExceeded},
    {"not_found", Code::kNotFound},
    {"already_exists", Code::kAlreadyExists},
    {"permission_denied", Code::kPermissionDenied},
    {"resource_exhausted", Code::kResourceExhausted},
    {"failed_precondition", Code::kFailedPrecondition},
    {"aborted", Code::kAborted},
    {"out_of_range", Code::kOutOfRange},
    {"unimplemented", Code::kUnimplemented},
    {"internal", Code::kInternal},
    {"unavailable", Code::kUnavailable},
    {"data_loss", Code::kDataLoss},
    {"unauthenticated", Code::kUnauthenticated},
};

// What an answer that is no error of the protocol stands for: of a proxy, or of no headway.
Code CodeOf(int status) {
  switch (status) {
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 404: return Code::kUnimplemented;
    case 400:
    case 413:
    case 431: return Code::kInvalidArgument;
    case 408:
    case 429:
    case 502:
    case 503:
    case 504: return Code::kUnavailable;
    default: return Code::kUnknown;
  }
}

// What {"code": ..., "message": ...} stands for; nothing: it is no error of the protocol.
std::optional<Status> ErrorOf(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element error;
  std::string_view name;
  std::string_view message;
  if (parser.parse(json).get(error) != simdjson::SUCCESS ||
      error["code"].get(name) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  if (error["message"].get(message) != simdjson::SUCCESS) message = name;
  for (const CodeName& known : kCodes) {
    if (known.name == name) return Status(known.code, std::string(message));
  }
  return std::nullopt;
}

Status ToStatus(const net::Response& response, const std::string& url) {
  if (std::optional<Status> error = ErrorOf(response.body)) return *std::move(error);
  std::string what = url + " answered with HTTP status " + std::to_string(response.status) +
                     ", and not as a headway server does";
  if (response.Header("content-type").starts_with("text/plain") && !response.body.empty()) {
    what +=
        ": " + net::CleanWords(response.body.substr(0, response.body.find_last_not_of('\n') + 1));
  }
  return {CodeOf(response.status), what};
}

// When the server's certificate is not trusted.
std::string Remedy(const std::string& ca) {
  if (ca.empty()) {
    return "; a server's own certificate, or that of its authority, is told to clients by "
           "HEADWAY_CA=FILE";
  }
  return " (HEADWAY_CA=" + ca +
         " names what is trusted: the server's own certificate, or that of "
         "its authority, in PEM)";
}

std::string Pack(const std::string& body) {
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kLevel);
  if (ZSTD_isError(size) != 0) return {};
  packed.resize(size);
  return packed;
}

}  // namespace

ServerClient::ServerClient(const ServerAddress& address, const Clock* clock,
                           const std::atomic<bool>* interrupted)
    : ServerClient(address, clock,
                   net::MakeHttpClient(clock, {.interrupted = interrupted,
                                               .response_bytes_limit = limits::kServerAnswerBytes,
                                               .trusted = address.ca})) {}

ServerClient::ServerClient(ServerAddress address, const Clock* clock,
                           std::unique_ptr<net::HttpClient> http)
    : address_(std::move(address)), clock_(clock), http_(std::move(http)) {
  while (address_.url.ends_with('/')) address_.url.pop_back();
}

Status ServerClient::Call(std::string_view method, const google::protobuf::Message& request,
                          google::protobuf::Message* response, bool dense) {
  std::string path(method);
  path[path.rfind('.')] = '/';
  const std::string body = request.SerializeAsString();
  std::string packed;
  if (!dense && body.size() >= kWorthPacking) packed = Pack(body);
  net::Request http = {.method = "POST", .url = address_.url + "/" + path};
  http.headers = {{"Content-Type", "application/proto"}, {"Connect-Protocol-Version", "1"}};
  if (!address_.token.empty()) {
    http.headers.emplace_back("Authorization", "Bearer " + address_.token);
  }
  if (!packed.empty()) http.headers.emplace_back("Content-Encoding", "zstd");
  http.body = packed.empty() ? body : packed;
  MonoNs until = clock_->Mono() + kPatienceNs;
  if (deadline_) until = std::min(until, *deadline_);
  const Result<net::Response> answer = http_->Send(http, until);
  distrusts_ = answer.status().code() == Code::kFailedPrecondition;
  if (!answer.ok()) return Unanswered(answer.status());
  if (answer->status != 200) return ToStatus(*answer, address_.url);
  if (answer->Header("content-type") != "application/proto" ||
      !response->ParseFromString(answer->body)) {
    return {Code::kUnimplemented, address_.url + " does not answer as a headway server does"};
  }
  return OkStatus();
}

Status ServerClient::Unanswered(const Status& status) {
  if (distrusts_) return {Code::kFailedPrecondition, status.message() + Remedy(address_.ca)};
  // That this call can't be made is not what the server says about it.
  if (status.code() != Code::kInvalidArgument) return status;
  return {Code::kUnimplemented, "cannot call " + address_.url + ": " + status.message()};
}

Status ServerClient::Follow(const std::string& target, const std::string& last_id,
                            const std::function<bool(const ServerEvent&)>& take) {
  net::Request http = {.method = "GET", .url = address_.url + target};
  http.headers = {{"Accept", kEventStream}};
  if (!address_.token.empty()) {
    http.headers.emplace_back("Authorization", "Bearer " + address_.token);
  }
  if (!last_id.empty()) http.headers.emplace_back("Last-Event-ID", last_id);
  http.silence_seconds = kSilenceSeconds;
  EventParser parser(kEventBytes);
  Status end;
  http.on_body = [&](std::string_view bytes) {
    const Status parsed = parser.Add(bytes, [&](const ServerEvent& event) {
      if (event.kind != "end") return take(event);
      end = ErrorOf(event.data).value_or(Status(Code::kUnknown, "the server ended the stream"));
      return false;
    });
    if (!parsed.ok()) end = parsed;
    return parsed.ok() && !parser.ended();
  };
  const Result<net::Response> answer = http_->Send(http, clock_->Mono() + kStreamNs);
  distrusts_ = answer.status().code() == Code::kFailedPrecondition;
  if (!end.ok()) return end;
  if (!answer.ok()) return Unanswered(answer.status());
  if (answer->status != 200) return ToStatus(*answer, address_.url);
  if (answer->Header("content-type") != kEventStream) {
    return {Code::kUnimplemented, address_.url + " does not answer as a headway server does"};
  }
  return OkStatus();
}

}  // namespace headway::client
