#include "net/gs_object.h"

#include <cstdlib>
#include <utility>

#include "base/json_writer.h"
#include "base/percent.h"
#include "net/answer.h"
#include "net/json_fields.h"
#include "net/url.h"

namespace headway::net {
namespace {

constexpr char kNone[] = "0";  // the generation of an object that isn't there

class GsObject final : public RemoteObject {
 public:
  GsObject(std::string base, bool emulator, const std::string& bucket, const std::string& name,
           const RemoteObjectOptions& options, GoogleAuth* google, HttpClient* http)
      : base_(std::move(base)),
        emulator_(emulator),
        bucket_(bucket),
        name_(name),
        what_("cannot put gs://" + bucket + "/" + name),
        options_(options),
        google_(google),
        http_(http) {}

  Status Put(std::string_view data, MonoNs deadline) override {
    Result<Response> response = Upload(data, deadline);
    HEADWAY_RETURN_IF_ERROR(response.status());
    if (response->status == 412) {  // someone has written it, perhaps we
      HEADWAY_RETURN_IF_ERROR(FindGeneration(deadline));
      response = Upload(data, deadline);
      HEADWAY_RETURN_IF_ERROR(response.status());
    }
    if (response->status == 409 || response->status == 412) {
      return {Code::kUnavailable, what_ + ": someone else writes it at the same time"};
    }
    HEADWAY_RETURN_IF_ERROR(StatusOf(*response, what_));
    const Result<JsonFields> fields = ReadJsonFields(response->body);
    const std::string_view generation =
        fields.ok() ? FieldOf(*fields, "generation") : std::string_view();
    if (generation.empty()) {
      return {Code::kUnavailable, what_ + ": the server doesn't say which generation it made"};
    }
    generation_ = generation;
    return OkStatus();
  }

 private:
  Result<Response> Send(Request request, MonoNs deadline) {
    if (!emulator_) return google_->Send(std::move(request), deadline);
    if (SchemeOf(request.url) == "https" || IsLoopback(request.url)) {
      Result<std::string> token = google_->Token(deadline);
      if (token.ok()) return google_->Send(std::move(request), deadline);
    }
    return http_->Send(request, deadline);
  }

  // "multipart": metadata and contents in one request.
  Result<Response> Upload(std::string_view data, MonoNs deadline) {
    constexpr char kBoundary[] = "headway-b0a7d3f1c95e4f02";
    std::string body =
        std::string("--") + kBoundary + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n";
    JsonWriter(&body)
        .BeginObject()
        .Field("name", name_)
        .Field("contentType", options_.content_type)
        .Key("metadata")
        .BeginObject()
        .Field("headway-writer", options_.writer)
        .EndObject()
        .EndObject();
    body += std::string("\r\n--") + kBoundary + "\r\nContent-Type: " + options_.content_type +
            "\r\n\r\n";
    body += data;
    body += std::string("\r\n--") + kBoundary + "--\r\n";
    Request request;
    request.method = "POST";
    request.url = base_ + "/upload/storage/v1/b/" + bucket_ +
                  "/o?uploadType=multipart&ifGenerationMatch=" + generation_ + "&fields=generation";
    request.headers.emplace_back("Content-Type",
                                 std::string("multipart/related; boundary=") + kBoundary);
    request.body = body;
    return Send(std::move(request), deadline);
  }

  // After a failed precondition: which generation there is, if this writer made it.
  Status FindGeneration(MonoNs deadline) {
    Request request;
    request.url = base_ + "/storage/v1/b/" + bucket_ + "/o/" + PercentEncode(name_) +
                  "?fields=generation,metadata";
    const Result<Response> response = Send(std::move(request), deadline);
    HEADWAY_RETURN_IF_ERROR(response.status());
    if (response->status == 404) {
      generation_ = kNone;
      return OkStatus();
    }
    HEADWAY_RETURN_IF_ERROR(StatusOf(*response, what_));
    const Result<JsonFields> fields = ReadJsonFields(response->body);
    if (!fields.ok() || FieldOf(*fields, "metadata.headway-writer") != options_.writer ||
        FieldOf(*fields, "generation").empty()) {
      return {Code::kAlreadyExists,
              what_ +
                  ": someone else has written this object, and it isn't replaced; choose "
                  "another place, or remove it"};
    }
    generation_ = FieldOf(*fields, "generation");
    return OkStatus();
  }

  const std::string base_;
  const bool emulator_;
  const std::string bucket_, name_, what_;
  const RemoteObjectOptions options_;
  GoogleAuth* google_;
  HttpClient* http_;
  std::string generation_ = kNone;  // what the next Put replaces
};

}  // namespace

Result<std::unique_ptr<RemoteObject>> OpenGsObject(const std::string& bucket,
                                                   const std::string& name,
                                                   const RemoteObjectOptions& options,
                                                   GoogleAuth* google, HttpClient* http) {
  const char* const emulator = std::getenv("STORAGE_EMULATOR_HOST");
  const bool emulated = emulator != nullptr && *emulator != '\0';
  Result<std::string> base =
      MakeBaseUrl("STORAGE_EMULATOR_HOST", emulated ? emulator : "https://storage.googleapis.com");
  HEADWAY_RETURN_IF_ERROR(base.status());
  return std::unique_ptr<RemoteObject>(
      std::make_unique<GsObject>(*std::move(base), emulated, bucket, name, options, google, http));
}

}  // namespace headway::net
