#include "net/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "net/library.h"
#include "net/url.h"

namespace headway::net {
namespace {

/// The functions of libcurl that are used, with the types of its own header.
struct Curl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&curl_multi_perform) multi_perform = nullptr;
  decltype(&curl_multi_poll) multi_poll = nullptr;
  decltype(&curl_multi_info_read) multi_info_read = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

Status LoadCurl(Curl* curl) {
  const Result<Library> library =
      Library::Load({"libcurl.so.4", "libcurl-gnutls.so.4"},
                    "install libcurl (the package libcurl4, or libcurl), which sends to networks");
  HEADWAY_RETURN_IF_ERROR(library.status());
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_global_init", &curl->global_init));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_easy_init", &curl->easy_init));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_easy_reset", &curl->easy_reset));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_easy_setopt", &curl->easy_setopt));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_init", &curl->multi_init));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_add_handle", &curl->multi_add_handle));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_remove_handle", &curl->multi_remove_handle));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_perform", &curl->multi_perform));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_poll", &curl->multi_poll));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_info_read", &curl->multi_info_read));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_multi_cleanup", &curl->multi_cleanup));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_easy_getinfo", &curl->easy_getinfo));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_easy_cleanup", &curl->easy_cleanup));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_easy_strerror", &curl->easy_strerror));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_slist_append", &curl->slist_append));
  HEADWAY_RETURN_IF_ERROR(library->Find("curl_slist_free_all", &curl->slist_free_all));
  if (curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return {Code::kUnavailable, "libcurl cannot be initialised on this machine"};
  }
  return OkStatus();
}

const Result<Curl>& TheCurl() {
  static const Result<Curl> curl = [] {
    Curl table;
    const Status status = LoadCurl(&table);
    return status.ok() ? Result<Curl>(table) : Result<Curl>(status);
  }();
  return curl;
}

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// What comes in, and how much of it is taken.
struct Incoming {
  Response response;
  std::size_t header_bytes = 0;
  std::size_t limit = 0;
  bool too_large = false;
  const Request* request = nullptr;
  bool succeeds = false;  // its status is 200
  bool enough = false;    // the rest is not wanted
  MonoNs heard;           // when something came last
};

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* context) {
  auto* const in = static_cast<Incoming*>(context);
  in->heard = SystemClock::MonoNow();
  const std::size_t bytes = size * count;
  if (in->succeeds && in->request->on_body) {
    in->enough = !in->request->on_body({data, bytes});
    return in->enough ? 0 : bytes;
  }
  if (bytes > in->limit - std::min(in->limit, in->response.body.size())) {
    in->too_large = true;
    return 0;
  }
  in->response.body.append(data, bytes);
  return bytes;
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* context) {
  auto* const in = static_cast<Incoming*>(context);
  in->heard = SystemClock::MonoNow();
  const std::size_t bytes = size * count;
  const std::string_view line(data, bytes);
  in->header_bytes += bytes;
  if (in->header_bytes > in->limit) {
    in->too_large = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    in->response.headers.clear();  // those of "100 Continue" before it
    const std::size_t blank = line.find(' ');
    in->succeeds = blank != line.npos && Trim(line.substr(blank, 5)) == "200";
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bytes;
  std::string name(line.substr(0, colon));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  in->response.headers.emplace_back(std::move(name), Trim(line.substr(colon + 1)));
  return bytes;
}

std::string CertificateFile(const HttpOptions& options) {
  if (!options.trusted.empty()) return options.trusted;
  for (const char* const name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

Code CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return Code::kInvalidArgument;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return Code::kFailedPrecondition;
    default: return Code::kUnavailable;
  }
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(const Clock* clock, const HttpOptions& options) : clock_(clock), options_(options) {}
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;
  ~CurlClient() override {
    if (handle_ != nullptr) curl_->easy_cleanup(handle_);
    if (multi_ != nullptr) curl_->multi_cleanup(multi_);
  }

  Result<Response> Send(const Request& request, MonoNs deadline) override {
    const std::string host(AuthorityOf(request.url));
    const std::string_view scheme = SchemeOf(request.url);
    if ((scheme != "http" && scheme != "https") || host.empty()) {
      return Status(Code::kInvalidArgument, "no URL of http or https to send a request to");
    }
    HEADWAY_RETURN_IF_ERROR(Prepare());
    const std::int64_t left_ms = (deadline - clock_->Mono()) / 1'000'000;
    if (left_ms <= 0) {
      return Status(Code::kUnavailable, "no time is left to send anything to " + host);
    }
    Incoming in;
    in.limit = options_.response_bytes_limit;
    in.request = &request;
    curl_slist* headers = nullptr;
    Status status = SetUp(request, static_cast<long>(left_ms), &in, &headers);
    if (status.ok()) status = Perform(host, in);
    curl_->slist_free_all(headers);
    HEADWAY_RETURN_IF_ERROR(std::move(status));
    return std::move(in.response);
  }

 private:
  Status Prepare() {
    if (handle_ != nullptr) {
      curl_->easy_reset(handle_);  // connections stay
      return OkStatus();
    }
    HEADWAY_RETURN_IF_ERROR(TheCurl().status());
    curl_ = &*TheCurl();
    multi_ = curl_->multi_init();
    if (multi_ != nullptr) handle_ = curl_->easy_init();
    if (handle_ == nullptr) return {Code::kUnavailable, "libcurl has no memory for a request"};
    return OkStatus();
  }

  template <typename Value>
  void Set(CURLoption option, Value value) {
    set_ &= curl_->easy_setopt(handle_, option, value) == CURLE_OK;
  }

  Status SetUp(const Request& request, long left_ms, Incoming* in, curl_slist** headers) {
    set_ = true;
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_PATH_AS_IS, 1L);  // ".." in the name of an object is a part of it
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_TIMEOUT_MS, left_ms);
    const long silence = request.silence_seconds;
    Set(CURLOPT_CONNECTTIMEOUT_MS, silence == 0 ? left_ms : std::min(left_ms, silence * 1000));
    Set(CURLOPT_FOLLOWLOCATION, 0L);
    Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    Set(CURLOPT_USERAGENT, "headway/" HEADWAY_VERSION);
    // Else a name service that doesn't answer holds up past the deadline. Older ones don't know it.
    (void)curl_->easy_setopt(handle_, CURLOPT_QUICK_EXIT, 1L);
    Set(CURLOPT_ERRORBUFFER, error_);
    Set(CURLOPT_WRITEFUNCTION, &OnBody);
    Set(CURLOPT_WRITEDATA, static_cast<void*>(in));
    Set(CURLOPT_HEADERFUNCTION, &OnHeader);
    Set(CURLOPT_HEADERDATA, static_cast<void*>(in));
    if (request.direct) Set(CURLOPT_NOPROXY, "*");
    trusted_ = CertificateFile(options_);
    if (!trusted_.empty()) Set(CURLOPT_CAINFO, trusted_.c_str());
    if (!options_.trusted.empty()) {
      // Else those of the system would count beside them. Where there is no such path it is
      // refused.
      (void)curl_->easy_setopt(handle_, CURLOPT_CAPATH, static_cast<char*>(nullptr));
    }
    if (request.method == "HEAD") {
      Set(CURLOPT_NOBODY, 1L);
    } else if (request.method != "GET") {
      Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      Set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
      Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
    // Without "Expect" curl would wait a second for a server that doesn't know it.
    const auto add = [&](const std::string& line) {
      curl_slist* const longer = curl_->slist_append(*headers, line.c_str());
      set_ &= longer != nullptr;
      if (longer != nullptr) *headers = longer;
    };
    add("Expect:");
    for (const auto& [name, value] : request.headers) {
      if (value.find_first_of("\r\n") != std::string::npos) {
        return {Code::kInvalidArgument, "a line break in the header " + name};
      }
      add(name + ": " + value);
    }
    Set(CURLOPT_HTTPHEADER, *headers);
    if (!set_) return {Code::kUnavailable, "libcurl is too old or has no memory for a request"};
    return OkStatus();
  }

  // nullopt: interrupted.
  std::optional<CURLcode> Transfer(const Incoming& in) {
    constexpr int kLookMs = 100;  // how often it looks whether it is
    if (curl_->multi_add_handle(multi_, handle_) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
    std::optional<CURLcode> done;
    int running = 1;
    while (!done && !IsInterrupted()) {
      if (curl_->multi_perform(multi_, &running) != CURLM_OK) done = CURLE_OUT_OF_MEMORY;
      int left = 0;
      while (const CURLMsg* const message = curl_->multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) done = message->data.result;
      }
      if (!done && IsSilent(in)) done = CURLE_OPERATION_TIMEDOUT;
      if (!done) curl_->multi_poll(multi_, nullptr, 0, kLookMs, nullptr);
    }
    curl_->multi_remove_handle(multi_, handle_);
    return done;
  }

  // libcurl's own measure takes a few bytes now and then for nothing.
  static bool IsSilent(const Incoming& in) {
    const std::int64_t most = in.request->silence_seconds * kNanosPerSecond;
    return most != 0 && SystemClock::MonoNow() - in.heard > most;
  }

  bool IsInterrupted() const {
    return options_.interrupted != nullptr && options_.interrupted->load();
  }

  Status Perform(const std::string& host, Incoming& in) {
    error_[0] = '\0';
    in.heard = SystemClock::MonoNow();
    const std::optional<CURLcode> done = Transfer(in);
    if (!done) return {Code::kUnavailable, "no answer from " + host + ": interrupted"};
    const CURLcode code = *done;
    if (code == CURLE_OPERATION_TIMEDOUT && IsSilent(in)) {
      return {Code::kUnavailable, "nothing has come from " + host + " for " +
                                      std::to_string(in.request->silence_seconds) + " s"};
    }
    if (in.too_large) {
      return {Code::kResourceExhausted,
              "the answer of " + host + " is larger than " + std::to_string(in.limit) + " bytes"};
    }
    if (code != CURLE_OK && !in.enough) return {CodeOf(code), What(code, host)};
    long status = 0;
    curl_->easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    in.response.status = static_cast<int>(status);
    return OkStatus();
  }

  std::string What(CURLcode code, const std::string& host) const {
    const std::string why = error_[0] != '\0' ? error_ : curl_->easy_strerror(code);
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_ISSUER_ERROR: return "the certificate of " + host + " is not trusted: " + why;
      case CURLE_SSL_CACERT_BADFILE:
        return "the certificates in " + trusted_ + " can't be used: " + why;
      case CURLE_SSL_CONNECT_ERROR:
        return "no TLS with " + host + ": " + why +
               "; if it speaks none, its URL begins with http://";
      default: return "no answer from " + host + ": " + why;
    }
  }

  const Clock* clock_;
  HttpOptions options_;
  std::string trusted_;  // file of trusted certificates of the last request
  const Curl* curl_ = nullptr;
  CURLM* multi_ = nullptr;
  CURL* handle_ = nullptr;
  bool set_ = true;  // all options so far were taken
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace

std::string_view Response::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::unique_ptr<HttpClient> MakeHttpClient(const Clock* clock, const HttpOptions& options) {
  return std::make_unique<CurlClient>(clock, options);
}

}  // namespace headway::net
