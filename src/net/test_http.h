#pragma once

#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/http.h"

namespace headway::net {

/// Answers requests from a list, and keeps them.
class FakeHttp final : public HttpClient {
 public:
  struct Sent {
    std::string method, url, body;
    Headers headers;
    bool direct = false;

    std::string Header(std::string_view name) const {
      for (const auto& [key, value] : headers) {
        if (key == name) return value;
      }
      return {};
    }
  };

  void Answer(int status, std::string body = {}, Headers headers = {}) {
    answers.emplace_back(Response{status, std::move(headers), std::move(body)});
  }
  void Fail(Status status) { answers.emplace_back(std::move(status)); }

  Result<Response> Send(const Request& request, MonoNs /*deadline*/) override {
    sent.push_back(
        {request.method, request.url, std::string(request.body), request.headers, request.direct});
    if (on_send) on_send();
    if (answers.empty()) return Status(Code::kUnavailable, "no answer from fake: none is left");
    Result<Response> answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }

  std::deque<Result<Response>> answers;
  std::vector<Sent> sent;
  std::function<void()> on_send;
};

/// A variable of the environment for as long as it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) {
      before_ = before;
      was_set_ = true;
    }
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() {
    if (was_set_) {
      ::setenv(name_, before_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

}  // namespace headway::net
