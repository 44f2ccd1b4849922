#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "net/http.h"

namespace headway::net {

struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< of temporary credentials; else empty
};

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. Unauthenticated: not set.
Result<AwsCredentials> AwsCredentialsFromEnvironment();

/// Signs `request` for a service of AWS, and those with its interface: Signature Version 4, in the
/// header Authorization. All its headers are signed. The URL's path must be percent-encoded as S3
/// wants it (once, slashes kept), its query sorted and encoded. Pure.
void SignAws(const AwsCredentials& credentials, const std::string& region,
             const std::string& service, WallNs now, Request* request);

}  // namespace headway::net
