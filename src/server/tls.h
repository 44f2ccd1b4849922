#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

struct ssl_ctx_st;  // SSL_CTX of OpenSSL

/// What a server shows to clients that speak TLS with it: its key and certificate.

namespace headway::server {

/// Where they lie, in PEM. Both may be links, and are never written to.
struct TlsFiles {
  std::string certificate;  ///< the server's own first, then those between it and its root, if any
  std::string key;
};

/// What is told about a certificate.
struct CertificateFacts {
  std::string fingerprint;  ///< SHA-256, "0A:1B:..."
  WallNs not_after;
};

/// A key and a certificate, read and found to fit: TLS 1.2 and 1.3 with ciphers that keep what was
/// recorded secret also from who steals the key later.
struct TlsIdentity {
  std::shared_ptr<ssl_ctx_st> context;
  CertificateFacts certificate;
};

/// NotFound, PermissionDenied: as the files have it. InvalidArgument: there is no certificate or no
/// key in them, they do not belong together, the key is encrypted or too weak.
Result<TlsIdentity> LoadTls(const TlsFiles& files);

/// TlsKeeper: the identity in use. A change of its files is noticed, and what is then in them taken
/// once they have come to rest. One thread.
class TlsKeeper {
 public:
  /// As LoadTls.
  static Result<std::unique_ptr<TlsKeeper>> Open(const TlsFiles& files);

  ssl_ctx_st* context() const { return identity_.context.get(); }

  /// To be called now and then: takes what has been in the files since the call before, if that is
  /// new. OK: from now on it counts. An error: it is no good, and what was there before stays.
  /// Nothing: there is no news.
  std::optional<Status> Look();

  /// The one in use.
  const CertificateFacts& certificate() const { return identity_.certificate; }

 private:
  /// Tells one state of both files from another.
  using Stamp = std::vector<std::int64_t>;

  explicit TlsKeeper(TlsFiles files) : files_(std::move(files)) {}
  static Stamp StampOf(const TlsFiles& files);
  Status Load();

  TlsFiles files_;
  TlsIdentity identity_;
  Stamp tried_;  // read, or found to be no good
  Stamp seen_;   // at the last look
};

/// Makes a key and a certificate of a server's own (0600) in `directory` where there are none yet;
/// what is there stays. The certificate is good for `names`, host names and addresses, for ten
/// years from `now`. A key without a certificate gets one. FailedPrecondition: a certificate lies
/// there without its key. InvalidArgument: a name that can be none. PermissionDenied: others can
/// read the key.
Result<TlsFiles> MakeTlsFiles(const std::string& directory, const std::vector<std::string>& names,
                              WallNs now);

/// Those of `names` that the certificate in the file is not good for. Errors as LoadTls.
Result<std::vector<std::string>> NamesMissing(const std::string& certificate,
                                              const std::vector<std::string>& names);

/// What a certificate of one's own is good for: `address` unless it stands for all (0.0.0.0), this
/// machine's name, its loopback addresses, and `more`.
std::vector<std::string> NamesOfServer(const std::string& address,
                                       const std::vector<std::string>& more);

}  // namespace headway::server
