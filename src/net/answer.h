#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "net/http.h"

/// What an answer means for whoever asked. Pure.

namespace headway::net {

/// `text` without what looks like an access token, a JSON web token or a secret key of AWS: each
/// becomes "[masked]". For text of servers, which may repeat what was sent to them.
std::string MaskTokens(std::string_view text);

/// Replaces `secret` by "[masked]" wherever it is in the body of an answer. Fewer than eight bytes
/// are no secret.
void MaskSecret(std::string_view secret, Response* response);

/// Words of a server for people: on one line, valid UTF-8, at most 300 bytes, masked.
std::string CleanWords(std::string_view words);

/// The server's own words on an error: the message of Google's JSON or of the XML of S3
/// and Cloud Storage, else the beginning of the body; cleaned.
std::string WordsOf(const Response& response);

/// OK for 2xx; else "WHAT: the server answers STATUS: ITS WORDS". Unavailable, for which another
/// try can help: 408, 429, 5xx. PermissionDenied: 401, 403. InvalidArgument: 400.
/// FailedPrecondition: all others.
Status StatusOf(const Response& response, std::string_view what);

/// How long the server asks to wait (Retry-After, in seconds or as a date), in nanoseconds, at
/// least 0; nothing if it doesn't say.
std::optional<std::int64_t> RetryAfterNs(const Response& response, WallNs now);

}  // namespace headway::net
