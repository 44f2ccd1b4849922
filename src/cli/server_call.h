#pragma once

#ifdef HEADWAY_REMOTE

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "cli/place.h"
#include "client/server_client.h"

namespace headway::cli {

/// Calls a method of proto/ on the server of `place`, which must be known: "RunService.GetRun".
/// Errors as ServerClient::Call.
template <typename Request, typename Response>
Status CallServer(const Place& place, std::string_view method, const Request& request,
                  Response* response) {
  const SystemClock clock;
  client::ServerClient client({.url = place.server, .token = place.token, .ca = place.ca}, &clock);
  return client.Call("headway.v1." + std::string(method), request, response);
}

}  // namespace headway::cli

#endif
