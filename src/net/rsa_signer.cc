#include "net/rsa_signer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "net/library.h"

namespace headway::net {
namespace {

/// The functions of libcrypto that are used, with the types of its own headers. They are the same
/// in releases 1.1.1 and 3.
struct Crypto {
  decltype(&BIO_new_mem_buf) bio_new_mem_buf = nullptr;
  decltype(&BIO_free) bio_free = nullptr;
  decltype(&PEM_read_bio_PrivateKey) pem_read_private_key = nullptr;
  decltype(&EVP_PKEY_free) pkey_free = nullptr;
  decltype(&EVP_MD_CTX_new) context_new = nullptr;
  decltype(&EVP_MD_CTX_free) context_free = nullptr;
  decltype(&EVP_sha256) sha256 = nullptr;
  decltype(&EVP_DigestSignInit) sign_init = nullptr;
  decltype(&EVP_DigestSign) sign = nullptr;
};

Status LoadCrypto(Crypto* crypto) {
  const Result<Library> library =
      Library::Load({"libcrypto.so.3", "libcrypto.so.1.1"},
                    "install OpenSSL (the package libssl3, or openssl-libs), which signs for "
                    "service accounts");
  HEADWAY_RETURN_IF_ERROR(library.status());
  HEADWAY_RETURN_IF_ERROR(library->Find("BIO_new_mem_buf", &crypto->bio_new_mem_buf));
  HEADWAY_RETURN_IF_ERROR(library->Find("BIO_free", &crypto->bio_free));
  HEADWAY_RETURN_IF_ERROR(library->Find("PEM_read_bio_PrivateKey", &crypto->pem_read_private_key));
  HEADWAY_RETURN_IF_ERROR(library->Find("EVP_PKEY_free", &crypto->pkey_free));
  HEADWAY_RETURN_IF_ERROR(library->Find("EVP_MD_CTX_new", &crypto->context_new));
  HEADWAY_RETURN_IF_ERROR(library->Find("EVP_MD_CTX_free", &crypto->context_free));
  HEADWAY_RETURN_IF_ERROR(library->Find("EVP_sha256", &crypto->sha256));
  HEADWAY_RETURN_IF_ERROR(library->Find("EVP_DigestSignInit", &crypto->sign_init));
  return library->Find("EVP_DigestSign", &crypto->sign);
}

// Without it OpenSSL asks at the terminal for the password of an encrypted key.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) { return -1; }

}  // namespace

Result<std::string> SignRs256(const std::string& private_key, std::string_view text) {
  static const Result<Crypto> loaded = [] {
    Crypto table;
    const Status status = LoadCrypto(&table);
    return status.ok() ? Result<Crypto>(table) : Result<Crypto>(status);
  }();
  HEADWAY_RETURN_IF_ERROR(loaded.status());
  const Crypto& crypto = *loaded;
  const Status unusable(Code::kInvalidArgument,
                        "the private key can't be used for RS256: it must "
                        "be an RSA key in PEM, not encrypted");

  const std::unique_ptr<BIO, decltype(crypto.bio_free)> bio(
      crypto.bio_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())),
      crypto.bio_free);
  if (bio == nullptr) return unusable;
  const std::unique_ptr<EVP_PKEY, decltype(crypto.pkey_free)> key(
      crypto.pem_read_private_key(bio.get(), nullptr, &NoPassword, nullptr), crypto.pkey_free);
  if (key == nullptr) return unusable;
  const std::unique_ptr<EVP_MD_CTX, decltype(crypto.context_free)> context(crypto.context_new(),
                                                                           crypto.context_free);
  if (context == nullptr) return unusable;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (crypto.sign_init(context.get(), nullptr, crypto.sha256(), nullptr, key.get()) != 1 ||
      crypto.sign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return unusable;
  }
  std::string signature(size, '\0');
  if (crypto.sign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                  text.size()) != 1) {
    return unusable;
  }
  signature.resize(size);
  return signature;
}

std::string Base64Url(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out.push_back(kDigits[bits >> (held - 6) & 63]);
  }
  if (held > 0) out.push_back(kDigits[bits << (6 - held) & 63]);
  return out;
}

}  // namespace headway::net
