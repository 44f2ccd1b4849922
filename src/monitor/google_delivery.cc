#include "monitor/google_delivery.h"

#include <cstdlib>
#include <utility>

#include "net/answer.h"
#include "net/url.h"

namespace headway::monitor {

Result<std::string> GoogleEndpoint(const char* variable, const char* usual) {
  const char* const given = std::getenv(variable);
  return net::MakeBaseUrl(variable, given != nullptr && *given != '\0' ? given : usual);
}

Delivery PostToGoogle(net::GoogleAuth* auth, const Clock* clock, const std::string& url,
                      std::string_view what, std::string_view body, MonoNs deadline) {
  net::Request request;
  request.method = "POST";
  request.url = url;
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = body;
  const Result<net::Response> response = auth->Send(std::move(request), deadline);
  if (!response.ok()) {
    const Status& status = response.status();
    return {
        Delivery::Fate::kLater, {status.code(), std::string(what) + ": " + status.message()}, {}};
  }
  Status status = net::StatusOf(*response, what);
  if (status.ok()) return {};
  const bool later = status.code() == Code::kUnavailable || response->status == 401;
  return {later ? Delivery::Fate::kLater : Delivery::Fate::kRefused, std::move(status),
          net::RetryAfterNs(*response, clock->Wall())};
}

}  // namespace headway::monitor
