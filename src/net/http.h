#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace headway::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string url = {};  ///< http or https
  Headers headers = {};
  std::string_view body = {};  ///< must outlive Send
  bool direct = false;         ///< past any proxy, for services of this machine
  /// For answers that go on: is given the body of one with status 200 piece by piece, as it comes,
  /// and returns whether more is wanted. The Response has no body then, and no limit counts for it.
  std::function<bool(std::string_view)> on_body = {};
  /// A connection, or an answer, of which nothing comes for so long has failed (Unavailable); 0:
  /// only the deadline counts.
  int silence_seconds = 0;
};

struct Response {
  int status = 0;
  Headers headers = {};  ///< names in lower case
  std::string body = {};

  /// The header of this name (in lower case), or nothing.
  std::string_view Header(std::string_view name) const;
};

/// Sends HTTP requests. One thread at a time.
class HttpClient {
 public:
  virtual ~HttpClient() = default;

  /// Sends `request` once and waits for the whole answer until `deadline`, whatever its status.
  /// No redirect is followed: one could take credentials elsewhere. Errors name the host, never
  /// a header or the rest of the URL. Unavailable: no connection, no answer in time, or no library;
  /// another try can help. FailedPrecondition: the server's certificate isn't trusted, is of
  /// another name or has expired, or the file of trusted ones can't be used. InvalidArgument: no
  /// URL to send anything to. ResourceExhausted: the answer is too large.
  virtual Result<Response> Send(const Request& request, MonoNs deadline) = 0;
};

struct HttpOptions {
  /// Once it is true requests end within a tenth of a second (Unavailable). May be null; must
  /// outlive the client.
  const std::atomic<bool>* interrupted = nullptr;
  std::size_t response_bytes_limit = std::size_t{4} << 20;  ///< of a body, and of its headers
  /// File (PEM) of the only certificates that are trusted; empty: as MakeHttpClient says.
  std::string trusted = {};
};

/// A client on libcurl, which is loaded with the first request. Connections are kept and used
/// again. Proxies come from the environment as libcurl has it (`https_proxy`, `no_proxy`); trusted
/// certificates are those of libcurl, or of the file that CURL_CA_BUNDLE or SSL_CERT_FILE names.
/// Nothing turns their check off.
std::unique_ptr<HttpClient> MakeHttpClient(const Clock* clock, const HttpOptions& options = {});

}  // namespace headway::net
