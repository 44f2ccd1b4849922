#include "net/s3_object.h"

#include <cstdlib>
#include <utility>

#include "base/percent.h"
#include "net/answer.h"
#include "net/aws_signature.h"
#include "net/url.h"

namespace headway::net {
namespace {

std::string FirstOf(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

class S3Object final : public RemoteObject {
 public:
  S3Object(AwsCredentials credentials, std::string region, std::string url, std::string what,
           const RemoteObjectOptions& options, HttpClient* http, const Clock* clock)
      : credentials_(std::move(credentials)),
        region_(std::move(region)),
        url_(std::move(url)),
        what_(std::move(what)),
        options_(options),
        http_(http),
        clock_(clock) {}

  Status Put(std::string_view data, MonoNs deadline) override {
    Result<Response> response = Upload(data, deadline);
    HEADWAY_RETURN_IF_ERROR(response.status());
    if (response->status == 501 && conditional_) {  // the store has no preconditions
      conditional_ = false;
      HEADWAY_RETURN_IF_ERROR(FindTag(deadline));
      response = Upload(data, deadline);
    } else if (response->status == 412 || (response->status == 404 && !tag_.empty())) {
      HEADWAY_RETURN_IF_ERROR(FindTag(deadline));
      response = Upload(data, deadline);
    }
    HEADWAY_RETURN_IF_ERROR(response.status());
    if (response->status == 409 || response->status == 412) {
      return {Code::kUnavailable, what_ + ": someone else writes it at the same time"};
    }
    if (response->status / 100 == 3) {
      return {Code::kFailedPrecondition,
              what_ + ": the bucket is in another region" +
                  std::string(response->Header("x-amz-bucket-region").empty() ? "" : ", ") +
                  std::string(response->Header("x-amz-bucket-region")) + "; set AWS_REGION"};
    }
    HEADWAY_RETURN_IF_ERROR(StatusOf(*response, what_));
    tag_ = response->Header("etag");
    if (tag_.empty()) conditional_ = false;
    return OkStatus();
  }

 private:
  Result<Response> Send(Request request, MonoNs deadline) {
    SignAws(credentials_, region_, "s3", clock_->Wall(), &request);
    return http_->Send(request, deadline);
  }

  Result<Response> Upload(std::string_view data, MonoNs deadline) {
    Request request;
    request.method = "PUT";
    request.url = url_;
    request.body = data;
    request.headers = {{"Content-Type", options_.content_type},
                       {"x-amz-meta-headway-writer", options_.writer}};
    if (conditional_ && tag_.empty()) request.headers.emplace_back("If-None-Match", "*");
    if (conditional_ && !tag_.empty()) request.headers.emplace_back("If-Match", tag_);
    return Send(std::move(request), deadline);
  }

  // Which version there is, if this writer made it; none is fine, too.
  Status FindTag(MonoNs deadline) {
    Request request;
    request.method = "HEAD";
    request.url = url_;
    const Result<Response> response = Send(std::move(request), deadline);
    HEADWAY_RETURN_IF_ERROR(response.status());
    if (response->status == 404) {
      tag_.clear();
      return OkStatus();
    }
    HEADWAY_RETURN_IF_ERROR(StatusOf(*response, what_));
    if (response->Header("x-amz-meta-headway-writer") != options_.writer) {
      return {Code::kAlreadyExists,
              what_ +
                  ": someone else has written this object, and it isn't replaced; choose "
                  "another place, or remove it"};
    }
    tag_ = response->Header("etag");
    return OkStatus();
  }

  const AwsCredentials credentials_;
  const std::string region_, url_, what_;
  const RemoteObjectOptions options_;
  HttpClient* http_;
  const Clock* clock_;
  std::string tag_;          // of what the next Put replaces; empty: of nothing
  bool conditional_ = true;  // the store knows preconditions, as far as is known
};

}  // namespace

Result<std::unique_ptr<RemoteObject>> OpenS3Object(const std::string& bucket,
                                                   const std::string& name,
                                                   const RemoteObjectOptions& options,
                                                   HttpClient* http, const Clock* clock) {
  Result<AwsCredentials> credentials = AwsCredentialsFromEnvironment();
  HEADWAY_RETURN_IF_ERROR(credentials.status());
  std::string region = FirstOf({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = "us-east-1";
  const std::string path = "/" + PercentEncode(name, true);
  std::string url;
  if (const std::string given = FirstOf({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
      !given.empty()) {
    const Result<std::string> base = MakeBaseUrl("AWS_ENDPOINT_URL", given);
    HEADWAY_RETURN_IF_ERROR(base.status());
    url = *base + "/" + bucket + path;
  } else {
    const std::string host = "s3." + region + ".amazonaws.com";
    // The certificate covers one label in front of the host.
    url = bucket.find('.') == std::string::npos ? "https://" + bucket + "." + host + path
                                                : "https://" + host + "/" + bucket + path;
  }
  return std::unique_ptr<RemoteObject>(
      std::make_unique<S3Object>(*std::move(credentials), std::move(region), std::move(url),
                                 "cannot put s3://" + bucket + "/" + name, options, http, clock));
}

}  // namespace headway::net
