#pragma once

#include <google/protobuf/message.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "client/event_parser.h"
#include "net/http.h"

namespace headway::client {

/// Which server, and as whom.
struct ServerAddress {
  std::string url;      ///< "http://host:port"
  std::string token;    ///< empty: none is sent
  std::string ca = {};  ///< file of the certificates (PEM) that are trusted; empty: the system's
};

/// ServerClient: calls methods of proto/ on a server (the unary Connect protocol, protobuf
/// bodies). One thread.
class ServerClient {
 public:
  /// `clock` must outlive it; `interrupted` (may be null) as in HttpOptions.
  ServerClient(const ServerAddress& address, const Clock* clock,
               const std::atomic<bool>* interrupted = nullptr);
  /// The same over a given connection.
  ServerClient(ServerAddress address, const Clock* clock, std::unique_ptr<net::HttpClient> http);

  /// `method` is its full name, "headway.v1.RunService.GetReport". Errors are the server's own
  /// (its code and message); Unavailable when it can't be reached, names it; FailedPrecondition
  /// when its certificate is not trusted. `dense`: the request hardly becomes smaller by
  /// compressing it, which is left out then.
  Status Call(std::string_view method, const google::protobuf::Message& request,
              google::protobuf::Message* response, bool dense = false);

  /// Reads the events that the server sends for `target`, such as "/live?run=r", as they come,
  /// until `take` returns false, or the server ends (OK); `last_id` is that of the last event
  /// before. Errors as Call, also what the server says why no more will come; Unavailable also when
  /// it has fallen silent.
  Status Follow(const std::string& target, const std::string& last_id,
                const std::function<bool(const ServerEvent&)>& take);

  /// Calls end by then at the latest.
  void set_deadline(MonoNs deadline) { deadline_ = deadline; }

  /// Whether the last call failed because the server's certificate is not trusted.
  bool distrusts() const { return distrusts_; }

  const std::string& url() const { return address_.url; }

 private:
  /// Why a request got no answer.
  Status Unanswered(const Status& status);

  ServerAddress address_;
  const Clock* clock_;
  std::optional<MonoNs> deadline_;
  bool distrusts_ = false;
  std::unique_ptr<net::HttpClient> http_;
};

}  // namespace headway::client
