#include "server/connect.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_writer.h"
#include "base/limits.h"
#include "server/gzip.h"
#include "server/zstd.h"

namespace headway::server {
namespace {

using google::protobuf::Message;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kProto = "application/proto";
constexpr std::string_view kZstd = "zstd";
constexpr std::string_view kGzip = "gzip";
constexpr std::size_t kTimeoutDigits = 10;         // as Connect says
constexpr std::size_t kCompressedBytes = 1 << 10;  // shorter answers go as they are

// Connect's name of a code, and the HTTP status that goes with it.
struct CodeFacts {
  Code code;
  std::string_view name;
  int status;
};
constexpr CodeFacts kCodes[] = {
    {Code::kCancelled, "canceled", 499},
    {Code::kUnknown, "unknown", 500},
    {Code::kInvalidArgument, "invalid_argument", 400},
    {Code::kDeadlineExceeded, "deadline_exceeded", 504},
    {Code::kNotFound, "not_found", 404},
    {Code::kAlreadyExists, "already_exists", 409},
    {Code::kPermissionDenied, "permission_denied", 403},
    {Code::kResourceExhausted, "resource_exhausted", 429},
    {Code::kFailedPrecondition, "failed_precondition", 400},
    {Code::kAborted, "aborted", 409},
    {Code::kOutOfRange, "out_of_range", 400},
    {Code::kUnimplemented, "unimplemented", 501},
    {Code::kInternal, "internal", 500},
    {Code::kUnavailable, "unavailable", 503},
    {Code::kDataLoss, "data_loss", 500},
    {Code::kUnauthenticated, "unauthenticated", 401},
};

// How long the client waits for its answer; 0: it does not say. InvalidArgument.
Result<std::int64_t> TimeoutMs(const HttpRequest& head) {
  const std::string_view value = head.Header("connect-timeout-ms");
  if (value.empty()) return std::int64_t{0};
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
  if (error != std::errc() || end != value.data() + value.size() || ms <= 0 ||
      value.size() > kTimeoutDigits) {
    return Status(Code::kInvalidArgument,
                  "Connect-Timeout-Ms is a number of milliseconds, of at most 10 digits, not \"" +
                      std::string(value.substr(0, 64)) + "\"");
  }
  return ms;
}

HttpResponse Refusal(int status, std::string_view why) {
  return {.status = status, .body = std::string(why) + "\n"};
}

Status Parse(std::string_view type, const std::string& body, Message* request) {
  if (type == kProto) {
    HEADWAY_RETURN_IF_ERROR(CheckParts(*request->GetDescriptor(), body));
    if (request->ParseFromString(body)) return OkStatus();
    return {Code::kInvalidArgument,
            "the body is no " + std::string(request->GetDescriptor()->full_name())};
  }
  // An empty body is what a client sends for an empty message.
  if (body.empty()) return OkStatus();
  HEADWAY_RETURN_IF_ERROR(CheckJsonParts(body));
  const auto parsed = google::protobuf::util::JsonStringToMessage(body, request);
  if (parsed.ok()) return OkStatus();
  return {Code::kInvalidArgument, "the body is no " +
                                      std::string(request->GetDescriptor()->full_name()) + ": " +
                                      std::string(parsed.message())};
}

// The project that a request is about.
std::string ProjectOf(const Message& request) {
  const google::protobuf::FieldDescriptor* const field =
      request.GetDescriptor()->FindFieldByName("project");
  HEADWAY_CHECK(field != nullptr);
  std::string project = request.GetReflection()->GetString(request, field);
  return project.empty() ? "default" : project;
}

// Who has a link need not say to which run: a request that names none is about that one.
void NameRun(const Caller& caller, Message* request) {
  const google::protobuf::Descriptor* const type = request->GetDescriptor();
  const google::protobuf::FieldDescriptor* const run = type->FindFieldByName("run");
  const google::protobuf::FieldDescriptor* const runs = type->FindFieldByName("runs");
  const google::protobuf::FieldDescriptor* const project = type->FindFieldByName("project");
  HEADWAY_CHECK((run == nullptr) != (runs == nullptr) && project != nullptr);
  const google::protobuf::Reflection* const reflection = request->GetReflection();
  if (run != nullptr) {
    if (!reflection->GetString(*request, run).empty()) return;
    reflection->SetString(request, run, ToHex(caller.run_uid));
  } else {
    if (reflection->FieldSize(*request, runs) > 0) return;
    reflection->AddString(request, runs, ToHex(caller.run_uid));
  }
  reflection->SetString(request, project, caller.project);
}

Status PrintJson(const Message& message, std::string* text) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  const auto printed = google::protobuf::util::MessageToJsonString(message, text, options);
  if (printed.ok()) return OkStatus();
  return {Code::kInternal, std::string(printed.message())};
}

Result<std::string> Print(std::string_view type, const Message& response) {
  std::string body;
  if (type == kProto) {
    if (!response.SerializeToString(&body)) return Status(Code::kInternal, "cannot be serialised");
    return body;
  }
  HEADWAY_RETURN_IF_ERROR(PrintJson(response, &body));
  return body;
}

}  // namespace

Status OnlyItsProject(const Caller& caller) {
  return {Code::kPermissionDenied, "this token is for project \"" + caller.project + "\" only"};
}

Status OnlyItsRun(const Caller& caller) {
  return {Code::kPermissionDenied, "this token is for run \"" + caller.run + "\" only"};
}

std::string MediaType(std::string_view value) {
  value = value.substr(0, value.find(';'));
  while (value.ends_with(' ')) value.remove_suffix(1);
  std::string type(value);
  for (char& c : type) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return type;
}

bool IsOfServer(Code code) {
  return code == Code::kInternal || code == Code::kDataLoss || code == Code::kUnknown ||
         code == Code::kUnavailable || code == Code::kResourceExhausted;
}

std::string MessageJson(const Message& message) {
  std::string text;
  HEADWAY_CHECK(PrintJson(message, &text).ok());
  return text;
}

HttpResponse ErrorResponse(const Status& status) {
  const auto facts = std::ranges::find(kCodes, status.code(), &CodeFacts::code);
  const CodeFacts& known = facts == std::end(kCodes) ? kCodes[1] : *facts;
  HttpResponse response = {.status = known.status, .type = std::string(kJson), .body = {}};
  JsonWriter json(&response.body);
  json.BeginObject().Field("code", known.name).Field("message", status.message()).EndObject();
  if (status.code() == Code::kUnauthenticated) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

void ConnectRouter::AddMethod(std::string_view name, Method method) {
  std::string path = "/" + std::string(name);
  path[path.rfind('.')] = '/';
  methods_.emplace(std::move(path), std::move(method));
}

std::vector<std::string> ConnectRouter::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, method] : methods_) paths.push_back(path);
  return paths;
}

std::size_t ConnectRouter::BodyLimit(std::string_view path) const {
  const auto method = methods_.find(path);
  if (method == methods_.end()) return limits::kServerQuestionBytes;
  switch (method->second.permission) {
    case Permission::kJournalsAppend:
    case Permission::kSeriesWrite: return limits::kServerRequestBytes;
    case Permission::kRunsCreate:
    case Permission::kRunsUpdate: return limits::kServerChangeBytes;
    default: return limits::kServerQuestionBytes;
  }
}

std::optional<HttpResponse> ConnectRouter::Refuse(const HttpRequest& head) const {
  const Result<Caller> caller = authenticate_(head);
  if (!caller.ok()) return ErrorResponse(caller.status());
  const auto method = methods_.find(head.path);
  if (method == methods_.end()) {
    return ErrorResponse({Code::kUnimplemented, "there is no method " + head.path});
  }
  if (!caller->permissions.Has(method->second.permission)) {
    return ErrorResponse(
        {Code::kPermissionDenied, "the role " + caller->role + " has no permission " +
                                      std::string(PermissionName(method->second.permission))});
  }
  if (!caller->link.empty() && method->second.scope != Scope::kOneRun) {
    return ErrorResponse({Code::kPermissionDenied, "a share link shows no more than its run"});
  }
  if (head.method != "POST") {
    HttpResponse response = Refusal(405, "a method is called with POST");
    response.headers.emplace_back("Allow", "POST");
    return response;
  }
  const std::string type = MediaType(head.Header("content-type"));
  if (type != kJson && type != kProto) {
    HttpResponse response = Refusal(415, "a request is application/json or application/proto");
    response.headers.emplace_back("Accept-Post", std::string(kJson) + ", " + std::string(kProto));
    return response;
  }
  const std::string_view version = head.Header("connect-protocol-version");
  if (!version.empty() && version != "1") {
    return ErrorResponse({Code::kInvalidArgument, "this is version 1 of the Connect protocol"});
  }
  const Result<std::int64_t> timeout_ms = TimeoutMs(head);
  if (!timeout_ms.ok()) return ErrorResponse(timeout_ms.status());
  const std::string_view encoding = head.Header("content-encoding");
  if (!encoding.empty() && encoding != "identity" && encoding != kZstd && encoding != kGzip) {
    HttpResponse response = ErrorResponse({Code::kUnimplemented,
                                           "a body is sent as it is, with gzip or with zstd, not "
                                           "with " +
                                               std::string(encoding.substr(0, 64))});
    response.headers.emplace_back("Accept-Encoding", "gzip, zstd");
    return response;
  }
  return std::nullopt;
}

HttpResponse ConnectRouter::Answer(const HttpRequest& request) const {
  if (std::optional<HttpResponse> refusal = Refuse(request)) return *std::move(refusal);
  const Method& method = methods_.find(request.path)->second;
  const std::int64_t timeout_ms = *TimeoutMs(request);
  if (timeout_ms > 0 && request.waited_ns / 1'000'000 >= timeout_ms) {
    return ErrorResponse(
        {Code::kDeadlineExceeded, "nobody waits for the answer any more: the server is too busy"});
  }
  const std::string type = MediaType(request.Header("content-type"));
  const std::size_t most = type == kJson
                               ? std::min(BodyLimit(request.path), limits::kServerJsonBytes)
                               : BodyLimit(request.path);
  const std::string_view encoding = request.Header("content-encoding");
  const bool as_it_is = encoding.empty() || encoding == "identity";
  std::string unpacked;
  if (!as_it_is) {
    Result<std::string> whole =
        encoding == kZstd ? Decompress(request.body, most) : Gunzip(request.body, most);
    if (!whole.ok()) return ErrorResponse(whole.status());
    unpacked = *std::move(whole);
  }
  const std::string& body = as_it_is ? request.body : unpacked;
  if (body.size() > most) {
    return ErrorResponse(
        {Code::kInvalidArgument, "JSON has at most " + std::to_string(most) + " bytes here"});
  }
  const LargeRequests::Leave leave(large_, body.size());
  if (!leave.status().ok()) {
    HttpResponse response = ErrorResponse(leave.status());
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }
  const std::unique_ptr<Message> message = method.make();
  if (const Status parsed = Parse(type, body, message.get()); !parsed.ok()) {
    return ErrorResponse(parsed);
  }
  Result<Caller> caller = authenticate_(request);
  if (!caller.ok()) return ErrorResponse(caller.status());
  caller->json = type == kJson;
  if (!caller->link.empty()) NameRun(*caller, message.get());
  if (method.scope != Scope::kByMethod && !caller->project.empty() &&
      ProjectOf(*message) != caller->project) {
    return ErrorResponse(OnlyItsProject(*caller));
  }
  if (!caller->link.empty() && link_use_) {
    if (const Status noted = link_use_(*caller); !noted.ok()) return ErrorResponse(noted);
  }
  const Result<std::unique_ptr<Message>> answer = method.answer(*caller, *message);
  if (!answer.ok()) {
    if (log_ && IsOfServer(answer.status().code())) log_(answer.status());
    return ErrorResponse(answer.status());
  }
  Result<std::string> text = Print(type, **answer);
  if (!text.ok()) return ErrorResponse(text.status());
  HttpResponse response = {.status = 200, .type = type, .body = *std::move(text)};
  if (response.body.size() >= kCompressedBytes && Accepts(request, kGzip)) {
    Result<std::string> packed = Gzip(response.body);
    if (!packed.ok()) return ErrorResponse(packed.status());
    response.body = *std::move(packed);
    response.headers.emplace_back("Content-Encoding", kGzip);
  }
  return response;
}

}  // namespace headway::server
