#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "monitor/outbox.h"
#include "net/google_auth.h"

namespace headway::monitor {

/// Where a Google API is: what `variable` of the environment names, else `usual`. InvalidArgument:
/// the variable holds no URL.
Result<std::string> GoogleEndpoint(const char* variable, const char* usual);

/// Posts the JSON `body` to `url`, and says what becomes of it. Refused for good: 400, 403, 404,
/// 409 and what else says that the request is wrong. Later: 401 (after a fresh token was refused,
/// too), 408, 429, 5xx, no network, no credentials. `what` begins the reason.
Delivery PostToGoogle(net::GoogleAuth* auth, const Clock* clock, const std::string& url,
                      std::string_view what, std::string_view body, MonoNs deadline);

}  // namespace headway::monitor
