#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "server/tls.h"

/// HttpServer: HTTP/1.1 on one port, as it is or through TLS, with bounds on everything that a
/// client may take. It knows nothing of what is asked for.

namespace headway::server {

struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< without the query, as it came: still percent-encoded
  std::string query;   ///< behind the "?", or empty
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case
  std::string body;
  std::string peer;            ///< the client's address, for logs
  std::int64_t waited_ns = 0;  ///< for a worker, after all of it had come

  /// The header of this name (in lower case), or nothing.
  std::string_view Header(std::string_view name) const;
};

/// A body that goes on for as long as both sides want. The server asks it for the next piece
/// whenever it can send one: nothing piles up before a client that reads slowly. It is destroyed
/// when the connection has ended, by the thread that reads and writes.
class HttpStream {
 public:
  virtual ~HttpStream() = default;

  struct Piece {
    /// What is sent, one behind the other; none: there is nothing now.
    std::vector<std::shared_ptr<const std::string>> parts = {};
    bool last = false;  ///< the body ends behind it
  };
  /// Called once, before Next. `wake` has Next called again; any thread may call it for as long as
  /// the stream lives.
  virtual void Start(std::function<void()> wake) = 0;
  /// By the thread that reads and writes: it must be quick. Not before all is sent that it gave
  /// last.
  virtual Piece Next() = 0;
  /// What is sent when nothing else was for limits::kServerPulseSeconds, so that whoever is between
  /// sees the connection live.
  virtual std::string_view Pulse() const = 0;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< further ones
  /// Sent in the place of `body`, where it is set; must outlive the server.
  std::string_view fixed_body = {};
  std::shared_ptr<HttpStream> stream = {};  ///< instead of either

  std::string_view Body() const { return fixed_body.empty() ? std::string_view(body) : fixed_body; }
};

/// Whether the client takes an answer with this content encoding (in lower case, not "identity"),
/// by its Accept-Encoding; without one: no.
bool Accepts(const HttpRequest& head, std::string_view encoding);

/// Answers a request; called by worker threads, several at once. What it throws is answered with
/// 500.
using Handler = std::function<HttpResponse(const HttpRequest&)>;

/// What becomes of a request's body.
struct BodyVerdict {
  std::size_t limit = 0;                     ///< the largest that is taken; 0: none
  std::optional<HttpResponse> refusal = {};  ///< answered at once; the body is not read
};

/// Judges a request by its head, before its body is read. Called for those with a body only, by
/// the thread that reads: it must be quick.
using JudgeBody = std::function<BodyVerdict(const HttpRequest& head)>;

/// What became of one request, for statistics.
struct HttpOutcome {
  std::string_view path;  ///< as in HttpRequest; empty: no request could be made of what came
  int status = 0;
  std::int64_t ns = 0;  ///< from its last byte to the answer's first; 0: refused before it was read
};

/// What has come and gone so far, for statistics. Any thread may read.
struct HttpStats {
  using Number = std::atomic<std::uint64_t>;
  Number connections_open = 0;
  Number connections = 0;                             ///< ever taken
  Number handshakes = 0;                              ///< of TLS, that came to their end
  Number handshakes_failed = 0;                       ///< or did not, plain HTTP included
  Number requests_waiting = 0;                        ///< for a worker
  Number refused_queue = 0;                           ///< because too many waited
  Number refused_bytes = 0;                           ///< because of body_bytes_limit
  Number bytes_in = 0;                                ///< of requests, without what TLS adds
  Number bytes_out = 0;                               ///< of answers
  std::atomic<std::int64_t> certificate_expires = 0;  ///< wall time; 0: without TLS
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";  ///< an IP address of this machine, or localhost
  std::uint16_t port = 0;             ///< 0: any that is free
  int workers = 4;                    ///< threads that run the handler
  // Beyond them a client waits (connections) or is answered 429 with retry-after (the others).
  std::size_t connections_limit = limits::kServerConnections;
  std::size_t queue_limit = limits::kServerQueue;           ///< requests that wait for a worker
  std::size_t body_bytes_limit = limits::kServerBodyBytes;  ///< of all requests together
  // A client that takes longer is cut off.
  int head_seconds = limits::kServerHeadSeconds;  ///< for the head of a request to arrive
  int body_seconds = limits::kServerBodySeconds;  ///< for its body, and to take an answer
  int idle_seconds = limits::kServerIdleSeconds;  ///< between requests of a connection
  /// Where body_bytes_limit is reached, bodies of which hardly anything came for so long make room.
  std::int64_t slow_body_ns = std::int64_t{limits::kServerSlowSeconds} * 1'000'000'000;
  /// With it clients have to speak TLS; a handshake counts as part of the first head. The files are
  /// read again when they change.
  std::optional<TlsFiles> tls = std::nullopt;
  /// Is told what came of such a change. By the thread that reads.
  std::function<void(const Status&)> on_tls_files = {};
  /// Puts what is refused here (429: too much at once, 413: too large) as those expect it who ask
  /// for this path; empty: a line of text. By the thread that reads.
  std::function<HttpResponse(std::string_view path, HttpResponse refusal)> dress = {};
  HttpStats* stats = nullptr;  ///< counted there; may be null; must outlive the server
  /// Is told of every request that is answered. By the thread that reads: it must be quick.
  std::function<void(const HttpOutcome&)> on_answer = {};
};

class HttpServer {
 public:
  /// Listens and serves until it is destroyed. As MetricsServer::Start, and as LoadTls.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                   JudgeBody judge_body, Handler handler);
  /// Ends at once what Stop has not let end; waits only for the handlers that run.
  ~HttpServer();

  std::uint16_t port() const;
  /// Takes no new connection or request, lets those under way be answered, and returns once they
  /// are, after `grace_seconds` at the latest. Streams end at once.
  void Stop(int grace_seconds);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headway::server
