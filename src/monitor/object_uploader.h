#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "monitor/retry_pause.h"
#include "net/google_auth.h"
#include "net/http.h"
#include "net/object_store.h"

namespace headway::monitor {

/// Keeps an object in an object store the same as a local file that grows, such as an event file of
/// TensorBoard: the whole file is put whenever it has changed. One thread.
class ObjectUploader {
 public:
  /// `url`: "gs://bucket/name" or "s3://bucket/name". The others must outlive it. No network.
  /// Errors: net::OpenObject.
  static Result<std::unique_ptr<ObjectUploader>> Open(const std::string& file,
                                                      const std::string& url,
                                                      net::GoogleAuth* google,
                                                      net::HttpClient* http, const Clock* clock);

  const std::string& url() const { return url_; }

  /// Puts the file, if it has changed since it was last put, and returns by `deadline`. After an
  /// error it waits (RetryPause; five minutes where another try hardly helps) and goes on, if there
  /// is time; else a later call does. A file that isn't there yet is no error. Errors: those of
  /// net::RemoteObject::Put and of reading the file; ResourceExhausted: it is larger than 1 GiB.
  Status Deliver(MonoNs deadline);

  /// What waits in place of a sleep; false: Deliver is to return.
  void set_wait(std::function<bool(std::int64_t ns)> wait) { wait_ = std::move(wait); }

  /// The last call: tries once more at once.
  Status Finish(MonoNs deadline);

 private:
  struct Version {
    std::uint64_t inode = 0, bytes = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  ObjectUploader(std::string file, std::string url, std::unique_ptr<net::RemoteObject> object,
                 const Clock* clock)
      : file_(std::move(file)),
        url_(std::move(url)),
        object_(std::move(object)),
        clock_(clock),
        pause_(clock) {}

  static Version VersionOf(const struct stat& info);
  Status PutOnce(MonoNs deadline);

  const std::string file_, url_;
  std::unique_ptr<net::RemoteObject> object_;
  const Clock* clock_;
  Version put_;  // what the object holds
  RetryPause pause_;
  std::function<bool(std::int64_t)> wait_;
  Status waits_for_;  // why the last try has failed
};

}  // namespace headway::monitor
