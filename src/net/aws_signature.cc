#include "net/aws_signature.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/sha256.h"
#include "base/time_format.h"
#include "net/url.h"

namespace headway::net {
namespace {

using Digest = std::array<std::uint8_t, 32>;

std::string_view BytesOf(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string Hex(const Digest& digest) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : digest) {
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

Digest HmacSha256(std::string_view key, std::string_view text) {  // RFC 2104
  constexpr std::size_t kBlock = 64;
  std::string block(key.size() > kBlock ? BytesOf(Sha256(key)) : key);
  block.resize(kBlock, '\0');
  std::string inner = block;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  std::string outer = std::move(block);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return Sha256(outer.append(BytesOf(Sha256(inner.append(text)))));
}

}  // namespace

Result<AwsCredentials> AwsCredentialsFromEnvironment() {
  const auto value = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  AwsCredentials credentials{value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY"),
                             value("AWS_SESSION_TOKEN")};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return Status(Code::kUnauthenticated,
                  "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  return credentials;
}

void SignAws(const AwsCredentials& credentials, const std::string& region,
             const std::string& service, WallNs now, Request* request) {
  const std::string time = FormatCompactTime(now);
  const std::string date = time.substr(0, 8);
  const std::string payload = Hex(Sha256(request->body));
  request->headers.emplace_back("X-Amz-Date", time);
  request->headers.emplace_back("X-Amz-Content-Sha256", payload);
  if (!credentials.session_token.empty()) {
    request->headers.emplace_back("X-Amz-Security-Token", credentials.session_token);
  }
  std::map<std::string, std::string> headers{{"host", std::string(AuthorityOf(request->url))}};
  for (const auto& [name, header] : request->headers) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    headers[lower] = header;
  }
  std::string names, lines;
  for (const auto& [name, header] : headers) {
    if (!names.empty()) names += ';';
    names += name;
    lines += name + ":" + header + "\n";
  }
  const std::string target(TargetOf(request->url));
  const std::size_t mark = target.find('?');
  const std::string path = target.substr(0, mark);
  const std::string query = mark == std::string::npos ? std::string() : target.substr(mark + 1);
  const std::string canonical = request->method + "\n" + (path.empty() ? "/" : path) + "\n" +
                                query + "\n" + lines + "\n" + names + "\n" + payload;

  const std::string scope = date + "/" + region + "/" + service + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + Hex(Sha256(canonical));
  Digest key = HmacSha256("AWS4" + credentials.secret_access_key, date);
  for (const std::string_view part :
       {std::string_view(region), std::string_view(service), std::string_view("aws4_request")}) {
    key = HmacSha256(BytesOf(key), part);
  }
  request->headers.emplace_back(
      "Authorization", "AWS4-HMAC-SHA256 Credential=" + credentials.access_key_id + "/" + scope +
                           ", SignedHeaders=" + names +
                           ", Signature=" + Hex(HmacSha256(BytesOf(key), to_sign)));
}

}  // namespace headway::net
