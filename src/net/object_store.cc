#include "net/object_store.h"

#include <algorithm>
#include <cctype>

#include "net/gs_object.h"
#include "net/s3_object.h"

namespace headway::net {

bool IsObjectUrl(std::string_view url) {
  return url.starts_with("gs://") || url.starts_with("s3://");
}

Result<std::unique_ptr<RemoteObject>> OpenObject(std::string_view url,
                                                 const RemoteObjectOptions& options,
                                                 GoogleAuth* google, HttpClient* http,
                                                 const Clock* clock) {
  const auto fault = [&](const char* what) {
    return Status(Code::kInvalidArgument, "no object " + std::string(url) + ": " + what);
  };
  if (!IsObjectUrl(url)) return fault("it must begin with gs:// or s3://");
  const std::string_view rest = url.substr(5);
  const std::string bucket(rest.substr(0, rest.find('/')));
  const std::string name(rest.substr(std::min(rest.size(), bucket.size() + 1)));
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  if (bucket.empty() || !std::ranges::all_of(bucket, is_plain)) return fault("it has no bucket");
  if (name.empty() || name.ends_with('/')) return fault("it has no name within the bucket");
  constexpr std::size_t kNameBytes = 1024;  // of both services
  if (name.size() > kNameBytes) return fault("its name is longer than 1024 bytes");
  if (url.starts_with("gs://")) return OpenGsObject(bucket, name, options, google, http);
  return OpenS3Object(bucket, name, options, http, clock);
}

}  // namespace headway::net
