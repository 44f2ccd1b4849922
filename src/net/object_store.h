#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "net/google_auth.h"
#include "net/http.h"

namespace headway::net {

/// One object of an object store, put as a whole, again and again, by one writer. What someone else
/// wrote is never replaced. One thread at a time.
class RemoteObject {
 public:
  virtual ~RemoteObject() = default;

  /// Makes `data` the object's contents; returns by `deadline`. Sending the same again does no
  /// harm, also after an answer that got lost. Errors carry the server's own words.
  /// Unavailable, for which another try can help: 408, 409, 429, 5xx, no network. PermissionDenied:
  /// 401, 403. Unauthenticated: no credentials. AlreadyExists: the object is someone else's;
  /// choose another name. InvalidArgument, FailedPrecondition: any other answer.
  virtual Status Put(std::string_view data, MonoNs deadline) = 0;
};

struct RemoteObjectOptions {
  /// Who writes. It is kept as metadata of the object (`headway-writer`), so that the same writer
  /// may go on after a restart. Letters, digits and hyphens.
  std::string writer = {};
  std::string content_type = "application/octet-stream";
};

/// Whether `url` is one that OpenObject knows: it begins with gs:// or s3://.
bool IsObjectUrl(std::string_view url);

/// The object at `gs://bucket/name` or `s3://bucket/name`. No network.
///
/// gs: with `google`, which must outlive the object, as `http` and `clock` must. A
/// STORAGE_EMULATOR_HOST is used in place of Google's service; credentials are sent to it only over
/// https or on this machine, and none are needed. Preconditions: each Put names the generation it
/// replaces.
///
/// s3: with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION (or
/// AWS_DEFAULT_REGION, else us-east-1), AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL). Preconditions:
/// If-None-Match and If-Match, left out where a store doesn't implement them.
///
/// InvalidArgument: another scheme, no bucket, no name. Unauthenticated: no credentials for S3.
Result<std::unique_ptr<RemoteObject>> OpenObject(std::string_view url,
                                                 const RemoteObjectOptions& options,
                                                 GoogleAuth* google, HttpClient* http,
                                                 const Clock* clock);

}  // namespace headway::net
