#pragma once

#include <fcntl.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/status.h"
#include "net/http.h"
#include "server/connect.h"

/// What the tests of a server without its HTTP have in common.

namespace headway {

/// The files of a folder as they were once. Nobody may have them open meanwhile.
class FolderCopy {
 public:
  bool empty() const { return files_.empty(); }

  void Take(const std::string& folder) {
    files_.clear();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const Result<UniqueFd> fd = OpenForReading(entry.path().string());
      HEADWAY_CHECK(fd.ok());
      std::string bytes(std::filesystem::file_size(entry.path()), '\0');
      HEADWAY_CHECK(ReadAt(fd->get(), bytes.data(), bytes.size(), 0, "").ok());
      files_[entry.path().filename().string()] = bytes;
    }
  }

  void PutBack(const std::string& folder) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::filesystem::remove(entry.path());
    }
    for (const auto& [name, bytes] : files_) {
      const UniqueFd fd = OpenFile(folder + "/" + name, O_WRONLY | O_CREAT | O_EXCL, 0600);
      HEADWAY_CHECK(fd.ok() && WriteAll(fd.get(), bytes, name).ok());
    }
  }

 private:
  std::map<std::string, std::string> files_;
};

/// What the server says to what a client sends.
inline server::HttpResponse Answer(const server::ConnectRouter& router,
                                   const net::Request& request) {
  server::HttpRequest arrived;
  arrived.method = request.method;
  arrived.path = request.url.substr(request.url.find('/', 7));
  arrived.body = request.body;
  for (const auto& [name, value] : request.headers) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    arrived.headers.emplace_back(lower, value);
  }
  return router.Answer(arrived);
}

/// The same, as it arrives.
inline net::Response Arrived(server::HttpResponse answer) {
  return {.status = answer.status,
          .headers = {{"content-type", answer.type}},
          .body = std::move(answer.body)};
}

}  // namespace headway
