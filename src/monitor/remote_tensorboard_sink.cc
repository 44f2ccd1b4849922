#include "monitor/remote_tensorboard_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <utility>

#include "base/files.h"
#include "net/object_store.h"

namespace headway::monitor {
namespace {

// Whether the process that writes "events.out.tfevents.<seconds>.<host>.<pid>.<number>" lives.
bool IsWritten(const std::string& name) {
  const std::size_t number = name.rfind('.');
  const std::size_t pid = number == std::string::npos ? number : name.rfind('.', number - 1);
  if (pid == std::string::npos) return true;
  pid_t process = 0;
  const char* const end = name.data() + number;
  const auto [rest, error] = std::from_chars(name.data() + pid + 1, end, process);
  if (error != std::errc() || rest != end || process <= 0) return true;
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

}  // namespace

Result<std::unique_ptr<RemoteTensorBoardSink>> RemoteTensorBoardSink::Open(
    std::string url, TensorBoardSink::Options options, net::GoogleAuth* google,
    net::HttpClient* http, const Clock* clock) {
  // Tells at once what is wrong with the URL.
  const std::size_t scheme = url.find("://");
  if (scheme != url.npos && url.find_first_not_of('/', scheme + 3) != scheme + 3) {
    return Status(Code::kInvalidArgument, "\"" + url + "\" names no bucket");
  }
  while (url.ends_with('/')) url.pop_back();
  net::RemoteObjectOptions writer;
  writer.writer = "headway";
  const auto object = net::OpenObject(url + "/x", writer, google, http, clock);
  HEADWAY_RETURN_IF_ERROR(object.status());
  std::unique_ptr<RemoteTensorBoardSink> sink(
      new RemoteTensorBoardSink(std::move(url), std::move(options), google, http, clock));
  sink->FindLeft();
  return sink;
}

void RemoteTensorBoardSink::FindLeft() {
  const Result<std::vector<std::string>> names = ListDirectory(directory_);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with("events.out.tfevents.") || IsWritten(name)) continue;
    (void)Add(JoinPath(directory_, name), true).ok();
  }
}

Status RemoteTensorBoardSink::Add(const std::string& path, bool left) {
  const std::string name = path.substr(path.rfind('/') + 1);
  auto uploader = ObjectUploader::Open(path, url_ + "/" + name, google_, http_, clock_);
  HEADWAY_RETURN_IF_ERROR(uploader.status());
  (*uploader)->set_wait(wait_);
  files_.push_back({path, *std::move(uploader), left});
  return OkStatus();
}

void RemoteTensorBoardSink::set_wait(std::function<bool(std::int64_t)> wait) {
  wait_ = std::move(wait);
  for (const File& file : files_) file.uploader->set_wait(wait_);
}

Status RemoteTensorBoardSink::Put(const Sample& sample) {
  const Status written = local_.Put(sample);
  const std::string& path = local_.path();
  const bool known = std::ranges::any_of(files_, [&](const File& f) { return f.path == path; });
  if (!path.empty() && !known) HEADWAY_RETURN_IF_ERROR(Add(path, false));
  return written;
}

Status RemoteTensorBoardSink::Send(MonoNs deadline, bool last) {
  Status first;
  // The newest first: it is this run's.
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    Status status = last ? file->uploader->Finish(deadline) : file->uploader->Deliver(deadline);
    if (status.ok() && (file->left || last)) {
      ::unlink(file->path.c_str());
      file->uploader.reset();
    }
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  std::erase_if(files_, [](const File& file) { return file.uploader == nullptr; });
  return first;
}

}  // namespace headway::monitor
