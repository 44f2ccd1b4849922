#include "model/secret_key.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace headway {
namespace {

// Anywhere in the key, also as a part of a word: `dbpassword`, `clientSecret`. Compared without
// what stands between words.
constexpr std::array<std::string_view, 18> kAnywhere = {
    "password", "passwd",     "passphrase", "secret",           "credential", "authorization",
    "apikey",   "privatekey", "accesskey",  "encryptionkey",    "signingkey", "accountkey",
    "authkey",  "sessionkey", "licensekey", "connectionstring", "connstr",    "bearertoken"};

// Whole words at the end of a key.
constexpr std::array<std::string_view, 4> kLast = {"bearer", "cookie", "cookies", "dsn"};

// Before "pass", "pwd" and "pat" at the end: `db_pass`, but not `forward_pass`.
constexpr std::array<std::string_view, 16> kOfAccounts = {
    "user",  "db", "database", "smtp",   "ftp",    "redis", "root", "admin",
    "mysql", "pg", "postgres", "github", "gitlab", "login", "ssh",  "azure"};

// Before "token" at the end: a piece of a vocabulary or a count, not a secret.
constexpr std::array<std::string_view, 66> kVocabulary = {
    "pad",     "padding",  "bos",   "eos",         "unk",   "unknown", "sep",       "cls",
    "mask",    "image",    "img",   "video",       "audio", "vision",  "speech",    "special",
    "start",   "end",      "begin", "stop",        "eot",   "eom",     "boi",       "eoi",
    "bov",     "eov",      "boa",   "eoa",         "sot",   "eod",     "prefix",    "suffix",
    "middle",  "fim",      "prev",  "next",        "first", "last",    "new",       "max",
    "min",     "num",      "per",   "by",          "each",  "every",   "timestamp", "timestamps",
    "class",   "register", "patch", "latent",      "query", "word",    "think",     "thinking",
    "tool",    "sentinel", "extra", "placeholder", "text",  "row",     "col",       "column",
    "decoder", "separator"};

// Before "tokens" at the end: several secrets; everything else counts.
constexpr std::array<std::string_view, 16> kOfSecrets = {
    "auth",    "authentication", "access", "api",    "bearer", "refresh", "hf",    "hub",
    "session", "oauth",          "github", "gitlab", "slack",  "deploy",  "wandb", "admin"};

// At the end of a key that says where something lies, or what kind it is.
constexpr std::array<std::string_view, 11> kWhere = {"file",     "path",   "dir",     "directory",
                                                     "filename", "folder", "url",     "uri",
                                                     "endpoint", "type",   "provider"};

bool In(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "apiKey", "api-key" and "API_KEY" are {"api", "key"}; what is no letter or digit parts words.
std::vector<std::string> WordsOf(std::string_view key) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    const bool letter = IsLower(c) || IsUpper(c) || IsDigit(c);
    const bool begins = IsUpper(c) && i > 0 &&
                        (IsLower(key[i - 1]) || IsDigit(key[i - 1]) ||
                         (IsUpper(key[i - 1]) && i + 1 < key.size() && IsLower(key[i + 1])));
    if ((begins || !letter) && !words.back().empty()) words.emplace_back();
    if (letter) words.back() += IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool IsNumber(std::string_view word) { return std::ranges::all_of(word, IsDigit); }

// By a word at the end, and the one before.
bool EndsAsSecret(std::span<const std::string> words) {
  const std::string_view last = words.back();
  const std::string_view before = words.size() > 1 ? std::string_view(words[words.size() - 2]) : "";
  if (In(last, kLast)) return true;
  if (last == "pass" || last == "pwd" || last == "pat") return In(before, kOfAccounts);
  if (last == "tokens") return In(before, kOfSecrets);
  if (last == "token") return !In(before, kVocabulary);
  // `authtoken`, but not `pretoken`.
  for (const std::string_view word : {"authtoken", "accesstoken", "apitoken", "hftoken"}) {
    if (last == word) return true;
  }
  if (last != "key") return false;
  for (const std::string_view word : {"ssh", "wandb", "comet", "neptune", "hmac", "master", "sas",
                                      "storage", "shared", "service", "client", "app"}) {
    if (before == word) return true;
  }
  return false;
}

}  // namespace

bool IsSecretKey(std::string_view key) {
  std::vector<std::string> words = WordsOf(key);
  while (!words.empty() && IsNumber(words.back())) words.pop_back();  // `HF_TOKEN_2`
  if (words.empty()) return false;
  // Whoever knows the address of a webhook may call it.
  if (std::ranges::find(words, "webhook") != words.end()) return true;
  if (In(words.back(), kWhere)) return false;
  const std::size_t count = words.size();
  if (count > 1 && words[count - 1] == "id" && words[count - 2] == "key") return false;
  std::string joined;
  for (const std::string& word : words) joined += word;
  for (const std::string_view part : kAnywhere) {
    if (joined.find(part) != std::string::npos) return true;
  }
  for (const std::string_view end : {"value", "string", "str", "base64", "b64", "plain"}) {
    if (words.size() > 1 && words.back() == end) words.pop_back();  // `token_value`
  }
  return EndsAsSecret(words);
}

}  // namespace headway
