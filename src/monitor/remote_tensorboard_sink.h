#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "monitor/object_uploader.h"
#include "monitor/sink.h"
#include "monitor/tensorboard_sink.h"
#include "net/google_auth.h"
#include "net/http.h"

namespace headway::monitor {

/// Samples as an event file of TensorBoard's in an object store: written to this machine, and put
/// there as a whole at each upload. What an earlier process has left on this machine is put, too.
class RemoteTensorBoardSink final : public Sink {
 public:
  /// `url`: "gs://bucket/directory" or "s3://bucket/directory". `options.directory` is where the
  /// files lie meanwhile, one for each `url`. The others must outlive it. No network.
  /// Errors: net::OpenObject.
  static Result<std::unique_ptr<RemoteTensorBoardSink>> Open(std::string url,
                                                             TensorBoardSink::Options options,
                                                             net::GoogleAuth* google,
                                                             net::HttpClient* http,
                                                             const Clock* clock);

  std::string Destination() const override { return "TensorBoard event files in " + url_; }
  DestinationKind Kind() const override {
    return url_.starts_with("s3:") ? DestinationKind::kS3 : DestinationKind::kGoogleStorage;
  }
  /// As ObjectUploader has it.
  void set_wait(std::function<bool(std::int64_t ns)> wait);
  Status Put(const Sample& sample) override;
  Status Deliver(MonoNs deadline) override { return Send(deadline, false); }
  Status Finish(MonoNs deadline) override { return Send(deadline, true); }

 private:
  struct File {
    std::string path;
    std::unique_ptr<ObjectUploader> uploader;
    bool left = false;  // by a process that is gone: it goes once it has arrived
  };

  RemoteTensorBoardSink(std::string url, TensorBoardSink::Options options, net::GoogleAuth* google,
                        net::HttpClient* http, const Clock* clock)
      : url_(std::move(url)),
        directory_(options.directory),
        local_(std::move(options)),
        google_(google),
        http_(http),
        clock_(clock) {}

  void FindLeft();
  Status Add(const std::string& path, bool left);
  Status Send(MonoNs deadline, bool last);

  const std::string url_;
  const std::string directory_;
  TensorBoardSink local_;
  net::GoogleAuth* google_;
  net::HttpClient* http_;
  const Clock* clock_;
  std::function<bool(std::int64_t)> wait_;
  std::vector<File> files_;
};

}  // namespace headway::monitor
