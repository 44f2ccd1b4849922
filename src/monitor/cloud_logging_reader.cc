#include "monitor/cloud_logging_reader.h"

#include <poll.h>

#include <string>
#include <utility>

#include "monitor/google_delivery.h"
#include "monitor/retry_pause.h"
#include "net/answer.h"
#include "net/json_fields.h"

namespace headway::monitor {
namespace {

/// Posts until there is an answer that counts.
Result<net::Response> Ask(net::GoogleAuth* auth, const Clock* clock, const std::string& url,
                          const std::string& body, MonoNs deadline) {
  RetryPause pause(clock);
  while (true) {
    net::Request request;
    request.method = "POST";
    request.url = url;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = body;
    Result<net::Response> response = auth->Send(std::move(request), deadline);
    Status status = response.ok() ? net::StatusOf(*response, "cannot read from Cloud Logging")
                                  : response.status();
    if (status.ok()) return response;
    if (status.code() != Code::kUnavailable) return status;
    pause.Failed(response.ok() ? net::RetryAfterNs(*response, clock->Wall()) : std::nullopt);
    if (pause.next() >= deadline) return status;
    ::poll(nullptr, 0, static_cast<int>((pause.next() - clock->Mono()) / 1'000'000 + 1));
  }
}

}  // namespace

Status ReadLogEntries(net::GoogleAuth* auth, const Clock* clock, const gcp::JobLog& log,
                      const gcp::EntryRange& range,
                      const std::function<Status(std::string_view page)>& take, MonoNs deadline) {
  const Result<std::string> base =
      GoogleEndpoint("HEADWAY_LOGGING_ENDPOINT", "https://logging.googleapis.com");
  HEADWAY_RETURN_IF_ERROR(base.status());
  const std::string filter = gcp::EntryFilter(log, range);
  std::string token;
  do {
    const Result<net::Response> response =
        Ask(auth, clock, *base + "/v2/entries:list", gcp::ListBody(log, filter, token), deadline);
    HEADWAY_RETURN_IF_ERROR(response.status());
    const Result<std::string> page = net::ReadJsonArray(response->body, "entries");
    const Result<net::JsonFields> fields = net::ReadJsonFields(response->body);
    if (!page.ok() || !fields.ok()) {
      return {Code::kUnavailable, "cannot read from Cloud Logging: the answer is no JSON object"};
    }
    HEADWAY_RETURN_IF_ERROR(take(*page));
    // A page can be empty and not the last one.
    std::string next(net::FieldOf(*fields, "nextPageToken"));
    if (!next.empty() && next == token) {
      return {Code::kUnavailable, "Cloud Logging says twice that the same page comes next"};
    }
    token = std::move(next);
  } while (!token.empty());
  return OkStatus();
}

}  // namespace headway::monitor
