#include "server/tls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "base/files.h"
#include "base/test_scratch_dir.h"

namespace headway::server {
namespace {

constexpr WallNs kNow = {1'800'000'000 * kNanosPerSecond};
constexpr std::int64_t kDayNs = 86'400 * kNanosPerSecond;

std::string Contents(const std::string& path) {
  std::string text(100'000, '\0');
  const Result<UniqueFd> fd = OpenForReading(path);
  if (!fd.ok()) return {};
  text.resize(ReadAt(fd->get(), text.data(), text.size(), 0, path).value());
  return text;
}

void Write(const std::string& path, const std::string& text) {
  const UniqueFd fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ASSERT_TRUE(fd.ok());
  ASSERT_TRUE(WriteAll(fd.get(), text, path).ok());
}

std::string Pem(const std::function<int(BIO*)>& write) {
  BIO* const bio = ::BIO_new(::BIO_s_mem());
  EXPECT_EQ(write(bio), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  ::BIO_free(bio);
  return text;
}

TlsFiles Make(const std::string& folder, std::vector<std::string> names = {"localhost"},
              WallNs now = kNow) {
  const Result<TlsFiles> files = MakeTlsFiles(folder, names, now);
  EXPECT_TRUE(files.ok()) << files.status().ToString();
  return files.ok() ? *files : TlsFiles();
}

// The message of an error of that code.
std::string Complaint(const TlsFiles& files, Code code = Code::kInvalidArgument) {
  const Result<TlsIdentity> identity = LoadTls(files);
  EXPECT_EQ(identity.status().code(), code) << identity.status().ToString();
  return identity.status().message();
}

TEST(MakeTlsFiles, MakesBothOnce) {
  const ScratchDir dir;
  const TlsFiles files = Make(dir.path());
  struct stat info;
  for (const std::string& path : {files.certificate, files.key}) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
  }
  const Result<TlsIdentity> identity = LoadTls(files);
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  EXPECT_EQ(identity->certificate.not_after, kNow + 3650 * kDayNs);
  EXPECT_EQ(identity->certificate.fingerprint.size(), 32 * 3 - 1U);
  const std::string certificate = Contents(files.certificate);
  const std::string key = Contents(files.key);
  Make(dir.path(), {"other"}, kNow + kDayNs);
  EXPECT_EQ(Contents(files.certificate), certificate);
  EXPECT_EQ(Contents(files.key), key);
  EXPECT_EQ(ListDirectory(dir.path())->size(), 2U);
}

TEST(MakeTlsFiles, MakesACertificateForAKeyThatIsThere) {
  const ScratchDir dir;
  const TlsFiles files = Make(dir.path());
  const std::string key = Contents(files.key);
  ASSERT_EQ(::unlink(files.certificate.c_str()), 0);
  Make(dir.path(), {"goodput.example.org"});
  EXPECT_EQ(Contents(files.key), key);
  EXPECT_TRUE(LoadTls(files).ok());
  EXPECT_EQ(NamesMissing(files.certificate, {"goodput.example.org"})->size(), 0U);
  // But not the other way round: who trusts the certificate waits for its key.
  ASSERT_EQ(::unlink(files.key.c_str()), 0);
  const Result<TlsFiles> half = MakeTlsFiles(dir.path(), {"localhost"}, kNow);
  EXPECT_EQ(half.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(half.status().message().find("tls-key.pem is missing"), std::string::npos);
}

TEST(MakeTlsFiles, RefusesAKeyThatOthersCanRead) {
  const ScratchDir dir;
  const TlsFiles files = Make(dir.path());
  ASSERT_EQ(::chmod(files.key.c_str(), 0640), 0);
  const Result<TlsFiles> open = MakeTlsFiles(dir.path(), {"localhost"}, kNow);
  EXPECT_EQ(open.status().code(), Code::kPermissionDenied);
  EXPECT_NE(open.status().message().find("others may read it"), std::string::npos);
}

TEST(MakeTlsFiles, IsGoodForItsNamesOnly) {
  const ScratchDir dir;
  const TlsFiles files = Make(dir.path(), {"localhost", "127.0.0.1", "::1", "a_host",
                                           "*.pods.local", "[2001:db8::1]", "10.1.2.3"});
  const Result<std::vector<std::string>> missing =
      NamesMissing(files.certificate, {"localhost", "LOCALHOST", "127.0.0.1", "0:0:0:0:0:0:0:1",
                                       "a_host", "x.pods.local", "*.pods.local", "2001:db8::1",
                                       "10.1.2.3", "127.0.0.2", "host", "pods.local", "::2"});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(*missing, (std::vector<std::string>{"127.0.0.2", "host", "pods.local", "::2"}));
}

TEST(MakeTlsFiles, RefusesWhatIsNoName) {
  for (const char* const name : {"", " ", "a b", "a,DNS:b", "a/b", ".a", "a.", "*", "a*", "\n",
                                 "1.2.3.4:5", "é", "a;b", "a=b"}) {
    const ScratchDir dir;
    const Result<TlsFiles> files = MakeTlsFiles(dir.path(), {"localhost", name}, kNow);
    EXPECT_EQ(files.status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(ListDirectory(dir.path())->size(), 0U);
  }
}

TEST(NamesOfServer, HasEachOnce) {
  const std::vector<std::string> names = NamesOfServer("10.0.0.1", {"a", "localhost", "a"});
  const std::vector<std::string> first(names.begin(), names.begin() + 3);
  EXPECT_EQ(first, (std::vector<std::string>{"localhost", "127.0.0.1", "::1"}));
  EXPECT_EQ(names[names.size() - 2], "10.0.0.1");
  EXPECT_EQ(names.back(), "a");
  for (const char* const all : {"0.0.0.0", "::"}) {
    EXPECT_EQ(NamesOfServer(all, {}), NamesOfServer("127.0.0.1", {})) << all;
  }
}

TEST(LoadTls, SaysWhatIsAmiss) {
  const ScratchDir dir;
  const ScratchDir other;
  const TlsFiles good = Make(dir.path());
  const TlsFiles strange = Make(other.path());
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(Complaint({good.certificate, strange.key}), "is not that of the certificate in");
  has(Complaint({good.key, good.key}), "holds no certificate");
  has(Complaint({good.certificate, good.certificate}), "holds no private key");
  has(Complaint({dir.path(), good.key}), "is no file");
  has(Complaint({good.certificate + "x", good.key}, Code::kNotFound), "cannot open");
  const std::string path = JoinPath(dir.path(), "bad.pem");
  Write(path, "");
  has(Complaint({path, good.key}), "holds no certificate");
  const std::string text = Contents(good.certificate);
  Write(path, text.substr(0, text.size() / 2));  // being written
  has(Complaint({path, good.key}), "holds no certificate");
  Write(path, text + text.substr(0, text.size() / 2));
  has(Complaint({path, good.key}), "holds no certificate");
  Write(path, std::string(limits::kServerPemBytes + 1, 'x'));
  has(Complaint({path, good.key}), "more than");
}

TEST(LoadTls, TakesNoKeyThatIsEncrypted) {
  const ScratchDir dir;
  const TlsFiles good = Make(dir.path());
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  const std::string path = JoinPath(dir.path(), "encrypted.pem");
  Write(path, Pem([key](BIO* bio) {
          return ::PEM_write_bio_PKCS8PrivateKey(bio, key, ::EVP_aes_256_cbc(), "secret", 6,
                                                 nullptr, nullptr);
        }));
  ::EVP_PKEY_free(key);
  EXPECT_NE(Complaint({good.certificate, path}).find("is encrypted"), std::string::npos);
}

TEST(LoadTls, TakesNoKeyThatIsWeak) {
  const ScratchDir dir;
  EVP_PKEY* const key = EVP_RSA_gen(1024);
  X509* const certificate = ::X509_new();
  ::X509_gmtime_adj(::X509_getm_notBefore(certificate), 0);
  ::X509_gmtime_adj(::X509_getm_notAfter(certificate), 1000);
  ::X509_set_pubkey(certificate, key);
  ASSERT_GT(::X509_sign(certificate, key, ::EVP_sha256()), 0);
  const TlsFiles files = {JoinPath(dir.path(), "c.pem"), JoinPath(dir.path(), "k.pem")};
  Write(files.certificate, Pem([&](BIO* bio) { return ::PEM_write_bio_X509(bio, certificate); }));
  Write(files.key, Pem([&](BIO* bio) {
          return ::PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
        }));
  ::X509_free(certificate);
  ::EVP_PKEY_free(key);
  EXPECT_NE(Complaint(files).find("key too small"), std::string::npos);
}

TEST(LoadTls, TakesLinksAndChains) {
  const ScratchDir dir;
  const ScratchDir other;
  const TlsFiles good = Make(dir.path());
  const TlsFiles root = Make(other.path());
  const TlsFiles links = {JoinPath(dir.path(), "fullchain.pem"), JoinPath(dir.path(), "link.pem")};
  Write(links.certificate, "about it\n" + Contents(good.certificate) + Contents(root.certificate));
  ASSERT_EQ(::symlink(good.key.c_str(), links.key.c_str()), 0);
  ASSERT_EQ(::chmod(good.key.c_str(), 0644), 0);  // whose key it is, is theirs to say
  const Result<TlsIdentity> identity = LoadTls(links);
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  EXPECT_EQ(identity->certificate.fingerprint, LoadTls(good)->certificate.fingerprint);
}

TEST(TlsKeeper, TakesWhatHasComeToRest) {
  const ScratchDir dir;
  const ScratchDir other;
  const TlsFiles files = Make(dir.path());
  const TlsFiles next = Make(other.path(), {"localhost"}, kNow + kDayNs);
  const Result<std::unique_ptr<TlsKeeper>> keeper = TlsKeeper::Open(files);
  ASSERT_TRUE(keeper.ok());
  const ssl_ctx_st* const first = (*keeper)->context();
  EXPECT_FALSE((*keeper)->Look().has_value());
  // Half of the change: not at once, once, and not again.
  ASSERT_EQ(::rename(next.certificate.c_str(), files.certificate.c_str()), 0);
  EXPECT_FALSE((*keeper)->Look().has_value());
  EXPECT_EQ((*keeper)->Look()->code(), Code::kInvalidArgument);
  EXPECT_FALSE((*keeper)->Look().has_value());
  EXPECT_EQ((*keeper)->context(), first);
  EXPECT_EQ((*keeper)->certificate().not_after, kNow + 3650 * kDayNs);
  ASSERT_EQ(::rename(next.key.c_str(), files.key.c_str()), 0);
  EXPECT_FALSE((*keeper)->Look().has_value());
  EXPECT_TRUE((*keeper)->Look()->ok());
  EXPECT_FALSE((*keeper)->Look().has_value());
  EXPECT_NE((*keeper)->context(), first);
  EXPECT_EQ((*keeper)->certificate().not_after, kNow + 3651 * kDayNs);
}

}  // namespace
}  // namespace headway::server
