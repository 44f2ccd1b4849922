#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "net/google_metadata.h"
#include "net/http.h"

namespace headway::net {

struct GoogleAuthOptions {
  std::string access_token = {};  ///< used as it is; it can't be refreshed
  std::string credentials_file =
      {};                       ///< JSON of a service account, or what `gcloud auth
                                ///< application-default login` leaves; empty: the metadata server
  std::string project_id = {};  ///< outweighs what a metadata server or the file names
  std::string scope = "https://www.googleapis.com/auth/cloud-platform";
  bool allow_plain_http = false;  ///< send tokens over http to other machines, too
};

/// What the environment says: HEADWAY_GOOGLE_ACCESS_TOKEN, GOOGLE_APPLICATION_CREDENTIALS, else the
/// file in which gcloud keeps application default credentials, if there is one, and
/// GOOGLE_CLOUD_PROJECT.
GoogleAuthOptions GoogleAuthFromEnvironment();

/// Proves to Google's services who is asking. The first of these that there is counts: an access
/// token, a credentials file, the metadata server of a machine on Google Cloud. A token is kept
/// until 60 s before it expires.
///
/// One thread at a time. `http` and `clock` outlive it.
class GoogleAuth {
 public:
  GoogleAuth(HttpClient* http, const Clock* clock, GoogleAuthOptions options)
      : http_(http), clock_(clock), options_(std::move(options)), metadata_(http, clock) {}

  /// Sends `request` with a token. After a 401 the token is fetched anew and the request sent once
  /// more. Errors: those of HttpClient::Send; Unauthenticated: there are no credentials, or they
  /// are refused; InvalidArgument: the request would carry a token over plain http to another
  /// machine.
  Result<Response> Send(Request request, MonoNs deadline);

  /// A token for the header "Authorization: Bearer …". Unauthenticated, Unavailable as above.
  Result<std::string> Token(MonoNs deadline);

  /// Where this machine is, and which project things belong to: the one of the options, of the
  /// metadata server, or of the credentials file. What isn't known is empty. Takes a second at most
  /// where there is no metadata server.
  GoogleMachine LookUpMachine(MonoNs deadline);

  /// For people, without secrets: "the service account a@p.iam.gserviceaccount.com".
  std::string Description() const;

 private:
  struct File {
    std::string type, project_id, email, key_id, private_key, token_uri;
    std::string client_id, client_secret, refresh_token;
  };
  struct Grant {
    std::string token;
    MonoNs expires;
  };

  Status ReadFile();
  Result<Grant> Fetch(MonoNs deadline);
  Result<Grant> FetchWithFile(MonoNs deadline);
  Result<std::string> SignedAssertion() const;
  Result<Grant> GrantOf(const Response& response, std::string_view what) const;

  HttpClient* http_;
  const Clock* clock_;
  GoogleAuthOptions options_;
  GoogleMetadata metadata_;
  File file_;
  bool file_read_ = false;
  Grant grant_;  // without a token: none was fetched yet
};

}  // namespace headway::net
