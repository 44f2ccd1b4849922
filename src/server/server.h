#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "store/store.h"

namespace headway::server {

struct ServerOptions {
  std::string dir;  ///< the server's own directory; made where it is not there
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;      ///< 0: any that is free
  bool access_control = true;  ///< false only for an address of the loopback interface
};

/// Server: everything behind one port. Serves until it is destroyed.
class Server {
 public:
  /// InvalidArgument and FailedPrecondition as HttpServer::Start, or for a server without access
  /// control that others could reach. `clock` must outlive it.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                               std::unique_ptr<store::Store> store,
                                               const Clock* clock);
  ~Server();

  std::uint16_t port() const;
  /// Where the administrator's token lies; empty without access control.
  const std::string& token_path() const;
  /// As HttpServer::Stop.
  void Stop(int grace_seconds);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headway::server
