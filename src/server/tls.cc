#include "server/tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/limits.h"
#include "server/private_file.h"

namespace headway::server {
namespace {

constexpr int kDays = 3650;
constexpr int kSecurityLevel = 2;                           // RSA from 2048 bits on, no SHA-1
constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";  // of TLS 1.2
constexpr std::string_view kHttp = "\x08http/1.1";

template <auto kFree>
struct Freer {
  template <typename Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

// The first reason that OpenSSL gives; what else it has to say is forgotten.
std::string Reason() {
  const unsigned long error = ::ERR_get_error();
  ::ERR_clear_error();
  const char* const words = error == 0 ? nullptr : ::ERR_reason_error_string(error);
  return words == nullptr ? "for a reason that OpenSSL does not give" : words;
}

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

Result<std::string> ReadPem(const std::string& path, bool is_private) {
  UniqueFd fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) return ErrnoStatus(errno, "open", path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "examine", path);
  if (!S_ISREG(info.st_mode)) return Bad(path + " is no file");
  if (is_private) {
    HEADWAY_RETURN_IF_ERROR(CheckPrivate(fd.get(), path, "holds the server's key"));
  }
  std::string text(limits::kServerPemBytes + 1, '\0');
  const Result<std::size_t> size = ReadAt(fd.get(), text.data(), text.size(), 0, path);
  if (!size.ok()) return size.status();
  if (*size == text.size()) {
    return Bad(path + " is no certificate or key: it has more than " +
               std::to_string(limits::kServerPemBytes) + " bytes");
  }
  text.resize(*size);
  return text;
}

Bio ToBio(const std::string& text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// In place of a question at the terminal.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Result<Key> ReadKey(const std::string& path, bool is_private) {
  const Result<std::string> text = ReadPem(path, is_private);
  if (!text.ok()) return text.status();
  bool encrypted = false;
  const Bio bio = ToBio(*text);
  Key key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, &encrypted));
  if (key != nullptr) return key;
  const std::string why = Reason();
  if (encrypted) return Bad(path + " is encrypted: a server takes a key without a password");
  return Bad(path + " holds no private key in PEM: " + why);
}

// The server's own first.
Result<std::vector<Certificate>> ReadCertificates(const std::string& path) {
  const Result<std::string> text = ReadPem(path, false);
  if (!text.ok()) return text.status();
  const Bio bio = ToBio(*text);
  bool encrypted = false;
  std::vector<Certificate> chain;
  while (Certificate one{::PEM_read_bio_X509(bio.get(), nullptr, NoPassword, &encrypted)}) {
    chain.push_back(std::move(one));
  }
  // Behind the last one there is none any more; anything else is damage.
  const unsigned long last = ::ERR_peek_last_error();
  const bool ended = ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const std::string why = Reason();
  if (!chain.empty() && ended) return chain;
  return Bad(path + " holds no certificate in PEM: " + why);
}

int SelectProtocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void* /*context*/) {
  unsigned char* found = nullptr;
  const int result = ::SSL_select_next_proto(
      &found, chosen_size, reinterpret_cast<const unsigned char*>(kHttp.data()),
      static_cast<unsigned int>(kHttp.size()), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<std::shared_ptr<SSL_CTX>> MakeContext() {
  std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free);
  if (context == nullptr) return Status(Code::kResourceExhausted, "cannot begin TLS: " + Reason());
  ::SSL_CTX_set_security_level(context.get(), kSecurityLevel);
  ::SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA | SSL_OP_NO_TICKET);
  // No session is taken up again: what that needs would outlive it, here or with the client.
  ::SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(context.get(), 0);
  ::SSL_CTX_set_alpn_select_cb(context.get(), SelectProtocol, nullptr);
  if (::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      ::SSL_CTX_set_cipher_list(context.get(), kCiphers) != 1) {
    return Status(Code::kUnavailable, "this OpenSSL has not what TLS 1.2 needs: " + Reason());
  }
  return context;
}

Result<CertificateFacts> FactsOf(X509* certificate) {
  std::array<unsigned char, 32> hash;
  tm end = {};
  if (::X509_digest(certificate, ::EVP_sha256(), hash.data(), nullptr) != 1 ||
      ::ASN1_TIME_to_tm(::X509_get0_notAfter(certificate), &end) != 1) {
    return Bad("a certificate of which nothing can be told: " + Reason());
  }
  CertificateFacts facts;
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const unsigned char byte : hash) {
    if (!facts.fingerprint.empty()) facts.fingerprint += ':';
    facts.fingerprint += kDigits[byte >> 4];
    facts.fingerprint += kDigits[byte & 15];
  }
  // Some are meant to be good for longer than there are nanoseconds.
  const std::int64_t seconds = std::min<std::int64_t>(::timegm(&end), INT64_MAX / kNanosPerSecond);
  facts.not_after = {seconds * kNanosPerSecond};
  return facts;
}

/// An address in figures, without the brackets of a URL; nothing: it is none.
std::optional<std::string> ToAddress(std::string_view name) {
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  std::string text(name);
  std::array<unsigned char, 16> bytes;
  const bool known = ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
                     ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
  return known ? std::optional(std::move(text)) : std::nullopt;
}

// Nothing that means something in a list of names, either.
bool IsHostName(std::string_view name) {
  if (name.starts_with("*.")) name.remove_prefix(2);
  if (name.empty() || name.size() > 253 || name.front() == '.' || name.back() == '.') return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
  });
}

// "DNS:localhost,IP:127.0.0.1"
Result<std::string> AlternativeNames(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) {
    if (!all.empty()) all += ',';
    if (const std::optional<std::string> address = ToAddress(name)) {
      all.append("IP:").append(*address);
    } else if (IsHostName(name)) {
      all.append("DNS:").append(name);
    } else {
      return Bad("\"" + name + "\" can be the name of no server: give a host name or an address");
    }
  }
  return all;
}

bool AddExtension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(::X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension != nullptr && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetRandomSerial(X509* certificate) {
  const std::unique_ptr<BIGNUM, Freer<BN_free>> number(::BN_new());
  return number != nullptr &&
         ::BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(certificate)) != nullptr;
}

Result<Certificate> MakeCertificate(EVP_PKEY* key, const std::string& names, WallNs now) {
  Certificate made(::X509_new());
  X509* const one = made.get();
  time_t begin = now.ns / kNanosPerSecond;
  X509_NAME* const name = one == nullptr ? nullptr : ::X509_get_subject_name(one);
  constexpr unsigned char kName[] = "headway server";
  const bool done =
      name != nullptr && ::X509_set_version(one, X509_VERSION_3) == 1 && SetRandomSerial(one) &&
      ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, kName, -1, -1, 0) == 1 &&
      ::X509_set_issuer_name(one, name) == 1 && ::X509_set_pubkey(one, key) == 1 &&
      // The clocks of clients differ.
      ::X509_time_adj_ex(::X509_getm_notBefore(one), -1, 0, &begin) != nullptr &&
      ::X509_time_adj_ex(::X509_getm_notAfter(one), kDays, 0, &begin) != nullptr &&
      AddExtension(one, NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(one, NID_key_usage, "critical,digitalSignature") &&
      AddExtension(one, NID_ext_key_usage, "serverAuth") &&
      AddExtension(one, NID_subject_key_identifier, "hash") &&
      AddExtension(one, NID_authority_key_identifier, "keyid:always") &&
      AddExtension(one, NID_subject_alt_name, names) && ::X509_sign(one, key, ::EVP_sha256()) > 0;
  if (!done) return Status(Code::kInternal, "cannot make a certificate: " + Reason());
  return made;
}

// Under `path`, as `write` writes it.
template <typename Write>
Status Save(const std::string& path, const Write& write) {
  const Bio bio(::BIO_new(::BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) {
    return {Code::kInternal, "cannot write " + path + ": " + Reason()};
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return CreatePrivateFile(path, {data, static_cast<std::size_t>(size)});
}

bool IsThere(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

Result<TlsIdentity> LoadTls(const TlsFiles& files) {
  Result<std::vector<Certificate>> chain = ReadCertificates(files.certificate);
  if (!chain.ok()) return chain.status();
  const Result<Key> key = ReadKey(files.key, false);
  if (!key.ok()) return key.status();
  Result<std::shared_ptr<SSL_CTX>> context = MakeContext();
  if (!context.ok()) return context.status();
  X509* const own = chain->front().get();
  if (::X509_check_private_key(own, key->get()) != 1) {
    ::ERR_clear_error();
    return Bad("the key in " + files.key + " is not that of the certificate in " +
               files.certificate);
  }
  if (::SSL_CTX_use_certificate(context->get(), own) != 1) {
    return Bad("the certificate in " + files.certificate + " is not taken: " + Reason());
  }
  if (::SSL_CTX_use_PrivateKey(context->get(), key->get()) != 1) {
    return Bad("the key in " + files.key + " is not taken: " + Reason());
  }
  for (std::size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context->get(), (*chain)[i].get()) != 1) {
      return Bad("certificate " + std::to_string(i + 1) + " in " + files.certificate +
                 " is not taken: " + Reason());
    }
  }
  Result<CertificateFacts> facts = FactsOf(own);
  if (!facts.ok()) return facts.status();
  return TlsIdentity{*std::move(context), *std::move(facts)};
}

Result<std::unique_ptr<TlsKeeper>> TlsKeeper::Open(const TlsFiles& files) {
  std::unique_ptr<TlsKeeper> keeper(new TlsKeeper(files));
  keeper->seen_ = keeper->tried_ = StampOf(files);
  HEADWAY_RETURN_IF_ERROR(keeper->Load());
  return keeper;
}

TlsKeeper::Stamp TlsKeeper::StampOf(const TlsFiles& files) {
  Stamp stamp;
  for (const std::string* path : {&files.certificate, &files.key}) {
    struct stat info = {};
    if (::stat(path->c_str(), &info) != 0) info = {};
    for (const std::int64_t part :
         {std::int64_t{info.st_mtim.tv_sec}, std::int64_t{info.st_mtim.tv_nsec},
          std::int64_t{info.st_ctim.tv_sec}, std::int64_t{info.st_ctim.tv_nsec},
          std::int64_t{info.st_size}, static_cast<std::int64_t>(info.st_ino)}) {
      stamp.push_back(part);
    }
  }
  return stamp;
}

Status TlsKeeper::Load() {
  Result<TlsIdentity> identity = LoadTls(files_);
  if (!identity.ok()) return identity.status();
  identity_ = *std::move(identity);
  return OkStatus();
}

std::optional<Status> TlsKeeper::Look() {
  // What is being written is not read yet.
  Stamp now = StampOf(files_);
  if (now != seen_) {
    seen_ = std::move(now);
    return std::nullopt;
  }
  if (now == tried_) return std::nullopt;
  tried_ = std::move(now);
  return Load();
}

Result<TlsFiles> MakeTlsFiles(const std::string& directory, const std::vector<std::string>& names,
                              WallNs now) {
  TlsFiles files = {.certificate = JoinPath(directory, "tls-certificate.pem"),
                    .key = JoinPath(directory, "tls-key.pem")};
  const Result<std::string> alternatives = AlternativeNames(names);
  if (!alternatives.ok()) return alternatives.status();
  if (!IsThere(files.key)) {
    if (IsThere(files.certificate)) {
      return Status(Code::kFailedPrecondition,
                    files.key +
                        " is missing, the key of the certificate beside it: put it back, "
                        "or remove the certificate, too, and new ones are made");
    }
    const Key key(EVP_EC_gen("P-256"));
    if (key == nullptr) return Status(Code::kInternal, "cannot make a key: " + Reason());
    HEADWAY_RETURN_IF_ERROR(Save(files.key, [&key](BIO* bio) {
      return ::PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    }));
  }
  const Result<Key> key = ReadKey(files.key, true);
  if (!key.ok()) return key.status();
  if (!IsThere(files.certificate)) {
    const Result<Certificate> made = MakeCertificate(key->get(), *alternatives, now);
    if (!made.ok()) return made.status();
    HEADWAY_RETURN_IF_ERROR(Save(
        files.certificate, [&made](BIO* bio) { return ::PEM_write_bio_X509(bio, made->get()); }));
  }
  return files;
}

Result<std::vector<std::string>> NamesMissing(const std::string& certificate,
                                              const std::vector<std::string>& names) {
  const Result<std::vector<Certificate>> chain = ReadCertificates(certificate);
  if (!chain.ok()) return chain.status();
  X509* const own = chain->front().get();
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const std::optional<std::string> address = ToAddress(name);
    // Of a pattern itself nothing can be asked; "x" stands for what it stands for.
    const std::string host = name.starts_with("*.") ? "x" + name.substr(1) : name;
    const int found = address ? ::X509_check_ip_asc(own, address->c_str(), 0)
                              : ::X509_check_host(own, host.data(), host.size(), 0, nullptr);
    if (found != 1) missing.push_back(name);
  }
  ::ERR_clear_error();
  return missing;
}

std::vector<std::string> NamesOfServer(const std::string& address,
                                       const std::vector<std::string>& more) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const char* const here : {"localhost", "127.0.0.1", "::1"}) add(here);
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) == 0 && IsHostName(host.data())) {
    add(host.data());
  }
  if (address != "0.0.0.0" && address != "::") add(address);
  for (const std::string& name : more) add(name);
  return names;
}

}  // namespace headway::server
