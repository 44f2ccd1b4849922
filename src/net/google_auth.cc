#include "net/google_auth.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "base/files.h"
#include "base/json_writer.h"
#include "base/percent.h"
#include "net/answer.h"
#include "net/json_fields.h"
#include "net/rsa_signer.h"
#include "net/url.h"

namespace headway::net {
namespace {

constexpr std::size_t kFileBytesLimit = 64 << 10;
constexpr std::int64_t kEarlyNs = 60 * kNanosPerSecond;  // a token is renewed before it expires
constexpr std::int64_t kAssertionSeconds = 3600;         // the most that Google accepts
constexpr char kDefaultTokenUri[] = "https://oauth2.googleapis.com/token";
constexpr char kNoCredentials[] =
    "no credentials for Google Cloud: name the JSON file of a service account in "
    "GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or run on "
    "Google Cloud with a service account";

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Mounted secrets are often symbolic links, so links are followed.
Result<std::string> ReadCredentials(const std::string& path) {
  const UniqueFd fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) return ErrnoStatus(errno, "open the Google credentials", path);
  std::string text(kFileBytesLimit, '\0');
  const Result<std::size_t> size = ReadAt(fd.get(), text.data(), text.size(), 0, path);
  HEADWAY_RETURN_IF_ERROR(size.status());
  text.resize(*size);
  return text;
}

}  // namespace

GoogleAuthOptions GoogleAuthFromEnvironment() {
  GoogleAuthOptions options;
  options.access_token = FromEnvironment("HEADWAY_GOOGLE_ACCESS_TOKEN");
  options.project_id = FromEnvironment("GOOGLE_CLOUD_PROJECT");
  options.credentials_file = FromEnvironment("GOOGLE_APPLICATION_CREDENTIALS");
  if (options.credentials_file.empty()) {
    std::string folder = FromEnvironment("CLOUDSDK_CONFIG");
    const std::string home = FromEnvironment("HOME");
    if (folder.empty() && !home.empty()) folder = JoinPath(home, ".config/gcloud");
    const std::string path = JoinPath(folder, "application_default_credentials.json");
    struct stat info;
    if (!folder.empty() && ::stat(path.c_str(), &info) == 0) options.credentials_file = path;
  }
  return options;
}

Result<Response> GoogleAuth::Send(Request request, MonoNs deadline) {
  if (SchemeOf(request.url) != "https" && !IsLoopback(request.url) && !options_.allow_plain_http) {
    return Status(Code::kInvalidArgument, "an access token isn't sent over plain http to " +
                                              std::string(AuthorityOf(request.url)) +
                                              "; use an endpoint with https");
  }
  request.headers.emplace_back("Authorization", "");
  for (bool again = false;; again = true) {
    Result<std::string> token = Token(deadline);
    HEADWAY_RETURN_IF_ERROR(token.status());
    request.headers.back().second = "Bearer " + *token;
    Result<Response> response = http_->Send(request, deadline);
    if (response.ok() && response->status >= 400) MaskSecret(*token, &*response);
    const bool refused = response.ok() && response->status == 401;
    if (refused) grant_ = {};
    if (!refused || again || !options_.access_token.empty()) return response;
  }
}

Result<std::string> GoogleAuth::Token(MonoNs deadline) {
  if (!options_.access_token.empty()) return options_.access_token;
  if (grant_.token.empty() || clock_->Mono() >= grant_.expires - kEarlyNs) {
    Result<Grant> grant = Fetch(deadline);
    HEADWAY_RETURN_IF_ERROR(grant.status());
    grant_ = *std::move(grant);
  }
  return grant_.token;
}

GoogleMachine GoogleAuth::LookUpMachine(MonoNs deadline) {
  GoogleMachine machine;
  if (const Result<GoogleMachine> found = metadata_.Machine(deadline); found.ok()) machine = *found;
  if (!options_.project_id.empty()) machine.project_id = options_.project_id;
  if (machine.project_id.empty() && !options_.credentials_file.empty() && ReadFile().ok()) {
    machine.project_id = file_.project_id;
  }
  return machine;
}

std::string GoogleAuth::Description() const {
  if (!options_.access_token.empty()) return "an access token";
  if (!file_.email.empty()) return "the service account " + file_.email;
  if (!options_.credentials_file.empty()) return "the credentials in " + options_.credentials_file;
  return "the service account of this machine";
}

Status GoogleAuth::ReadFile() {
  if (file_read_) return OkStatus();
  const std::string& path = options_.credentials_file;
  const Result<std::string> text = ReadCredentials(path);
  HEADWAY_RETURN_IF_ERROR(text.status());
  const Result<JsonFields> fields = ReadJsonFields(*text);
  const auto field = [&](std::string_view name) { return std::string(FieldOf(*fields, name)); };
  if (!fields.ok()) {
    return {Code::kUnauthenticated, "the Google credentials in " + path + " are no JSON object"};
  }
  File file{.type = field("type"),
            .project_id = field("project_id"),
            .email = field("client_email"),
            .key_id = field("private_key_id"),
            .private_key = field("private_key"),
            .token_uri = field("token_uri"),
            .client_id = field("client_id"),
            .client_secret = field("client_secret"),
            .refresh_token = field("refresh_token")};
  if (file.project_id.empty()) file.project_id = field("quota_project_id");
  if (file.token_uri.empty()) file.token_uri = kDefaultTokenUri;
  if (file.type != "service_account" && file.type != "authorized_user") {
    return {Code::kUnauthenticated, "the Google credentials in " + path + " are of the type \"" +
                                        file.type +
                                        "\"; only service_account and authorized_user can be used"};
  }
  if (SchemeOf(file.token_uri) != "https" && !IsLoopback(file.token_uri)) {
    return {Code::kUnauthenticated,
            "the Google credentials in " + path + " name a token_uri without https"};
  }
  file_ = std::move(file);
  file_read_ = true;
  return OkStatus();
}

Result<GoogleAuth::Grant> GoogleAuth::Fetch(MonoNs deadline) {
  if (!options_.credentials_file.empty()) return FetchWithFile(deadline);
  const Result<Response> response = metadata_.Get(
      "instance/service-accounts/default/token?scopes=" + PercentEncode(options_.scope), deadline);
  if (!response.ok() && response.status().code() == Code::kNotFound) {
    return Status(Code::kUnauthenticated, kNoCredentials);
  }
  HEADWAY_RETURN_IF_ERROR(response.status());
  return GrantOf(*response, "the metadata server's access token");
}

Result<GoogleAuth::Grant> GoogleAuth::FetchWithFile(MonoNs deadline) {
  HEADWAY_RETURN_IF_ERROR(ReadFile());
  std::string form;
  if (file_.type == "service_account") {
    const Result<std::string> assertion = SignedAssertion();
    HEADWAY_RETURN_IF_ERROR(assertion.status());
    form = "grant_type=" + PercentEncode("urn:ietf:params:oauth:grant-type:jwt-bearer") +
           "&assertion=" + *assertion;
  } else {
    form = "grant_type=refresh_token&client_id=" + PercentEncode(file_.client_id) +
           "&client_secret=" + PercentEncode(file_.client_secret) +
           "&refresh_token=" + PercentEncode(file_.refresh_token);
  }
  Request request;
  request.method = "POST";
  request.url = file_.token_uri;
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  request.body = form;
  Result<Response> response = http_->Send(request, deadline);
  HEADWAY_RETURN_IF_ERROR(response.status());
  MaskSecret(file_.client_secret, &*response);
  MaskSecret(file_.refresh_token, &*response);
  return GrantOf(*response, "an access token for " + Description());
}

Result<std::string> GoogleAuth::SignedAssertion() const {
  std::string header, claims;
  JsonWriter head(&header);
  head.BeginObject().Field("alg", "RS256").Field("typ", "JWT");
  if (!file_.key_id.empty()) head.Field("kid", file_.key_id);
  head.EndObject();
  const std::int64_t now = clock_->Wall().ns / kNanosPerSecond;
  JsonWriter(&claims)
      .BeginObject()
      .Field("iss", file_.email)
      .Field("scope", options_.scope)
      .Field("aud", file_.token_uri)
      .Field("iat", now)
      .Field("exp", now + kAssertionSeconds)
      .EndObject();
  std::string text = Base64Url(header) + "." + Base64Url(claims);
  const Result<std::string> signature = SignRs256(file_.private_key, text);
  if (!signature.ok()) {
    const Code code = signature.status().code();
    return Status(code == Code::kInvalidArgument ? Code::kUnauthenticated : code,
                  options_.credentials_file + ": " + signature.status().message());
  }
  return text + "." + Base64Url(*signature);
}

Result<GoogleAuth::Grant> GoogleAuth::GrantOf(const Response& response,
                                              std::string_view what) const {
  const Status status = StatusOf(response, what);
  if (!status.ok()) {
    const bool passing = status.code() == Code::kUnavailable;
    return Status(passing ? Code::kUnavailable : Code::kUnauthenticated, status.message());
  }
  const Result<JsonFields> fields = ReadJsonFields(response.body);
  Grant grant;
  std::int64_t seconds = 0;
  if (fields.ok()) {
    grant.token = FieldOf(*fields, "access_token");
    const std::string_view lasts = FieldOf(*fields, "expires_in");
    std::from_chars(lasts.data(), lasts.data() + lasts.size(), seconds);
  }
  if (grant.token.empty()) {
    return Status(Code::kUnavailable, std::string(what) + ": the answer has no access_token");
  }
  constexpr std::int64_t kDay = 86'400;
  grant.expires = clock_->Mono() + std::clamp<std::int64_t>(seconds, 0, kDay) * kNanosPerSecond;
  return grant;
}

}  // namespace headway::net
