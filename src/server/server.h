#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/pages.h"
#include "server/tls.h"
#include "store/blob_store.h"
#include "store/store.h"

namespace headway::server {

struct ServerOptions {
  std::string dir;  ///< the server's own directory; made where it is not there
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;      ///< 0: any that is free
  bool access_control = true;  ///< false only for an address of the loopback interface
  std::optional<TlsFiles> tls = std::nullopt;  ///< the key and certificate of a server with TLS
  /// TLS with a certificate of the server's own, which lies in `dir`; made where it is not there.
  bool own_certificate = false;
  std::vector<std::string> names = {};  ///< what that is good for beside the usual (NamesOfServer)
  std::string store_path = {};          ///< where the store lies: only for its size
  std::span<const PageFile> page = {};  ///< what a browser gets; empty: there is no page
};

/// The certificate of a server with TLS.
struct ServerCertificate {
  std::string path;
  CertificateFacts facts;
  bool own = false;                        ///< clients have to be told of it
  std::vector<std::string> names_missing;  ///< of those that it should be good for
};

/// Server: everything behind one port. Serves until it is destroyed.
class Server {
 public:
  /// Errors as HttpServer::Start and MakeTlsFiles; InvalidArgument also for a server without access
  /// control that others could reach. `clock` must outlive it.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                               std::unique_ptr<store::Store> store,
                                               std::unique_ptr<store::BlobStore> blobs,
                                               const Clock* clock);
  ~Server();

  std::uint16_t port() const;
  /// Where the administrator's token lies; empty without access control.
  const std::string& token_path() const;
  /// Nothing without TLS.
  const std::optional<ServerCertificate>& certificate() const;
  /// Whether only this machine reaches it.
  bool is_loopback() const;
  /// As HttpServer::Stop.
  void Stop(int grace_seconds);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headway::server
