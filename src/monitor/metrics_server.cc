#include "monitor/metrics_server.h"

#include <fcntl.h>
#include <signal.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "formats/prometheus/writer.h"

namespace headway::monitor {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kTimeout(limits::kMetricsSeconds);
constexpr std::chrono::seconds kLinger(1);
constexpr std::size_t kLingerBytes = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kAcceptAgain(100);

using Text = std::shared_ptr<const std::string>;

/// The latest text, shared between who publishes and who serves.
class Board {
 public:
  void Set(Text text) {
    const std::lock_guard lock(mutex_);
    text_.swap(text);
  }
  Text Get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  Text text_ = std::make_shared<const std::string>();
};

struct Answer {
  http::status status = http::status::ok;
  Text body;
  std::string_view type = "text/plain; charset=utf-8";
  std::string_view more = {};  // further header lines
};

Answer Refusal(http::status status, std::string_view why) {
  return {.status = status, .body = std::make_shared<const std::string>(std::string(why) + "\n")};
}

Answer RefusalOf(error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Refusal(http::status::request_header_fields_too_large, "the request's head is too long");
  }
  if (error == http::error::bad_version) {
    return Refusal(http::status::http_version_not_supported, "this is HTTP/1.1");
  }
  return Refusal(http::status::bad_request, "this is no HTTP request");
}

// And not the end of the connection.
bool IsFaultOfRequest(error_code error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

using Request = http::request_parser<http::empty_body>;

// Without the query, and without the server's name that a proxy may send along.
std::string_view PathOf(std::string_view target) {
  if (target.starts_with("http://")) {
    const std::size_t slash = target.find('/', 7);
    target = slash == target.npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

bool HasBody(const Request& request) {
  return request.chunked() || request.content_length().value_or(0) > 0;
}

Answer AnswerTo(const Request& request, const Board& board) {
  const http::verb method = request.get().method();
  if (method != http::verb::get && method != http::verb::head) {
    Answer answer = Refusal(http::status::method_not_allowed, "only GET and HEAD are answered");
    answer.more = "Allow: GET, HEAD\r\n";
    return answer;
  }
  if (HasBody(request)) {
    return Refusal(http::status::payload_too_large, "a request has no body here");
  }
  const std::string_view path = PathOf(request.get().target());
  if (path == "/metrics") return {.body = board.Get(), .type = prometheus::kContentType};
  if (path == "/healthz") return Refusal(http::status::ok, "ok");
  return Refusal(http::status::not_found, "there is /metrics and /healthz");
}

/// One connection. Lives as long as something of it is under way; MetricsServer::Impl counts them.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const Board& board, std::shared_ptr<void> place)
      : stream_(std::move(socket)), board_(board), place_(std::move(place)) {}

  void Read() {
    request_.emplace();
    request_->header_limit(limits::kMetricsRequestBytes);
    request_->body_limit(boost::none);  // none is read
    stream_.expires_after(kTimeout);
    http::async_read_header(
        stream_, buffer_, *request_,
        [self = shared_from_this()](error_code error, std::size_t) { self->OnRequest(error); });
  }

 private:
  void OnRequest(error_code error) {
    const bool parsed = !error;
    if (!parsed && !IsFaultOfRequest(error)) return;
    const Answer answer = parsed ? AnswerTo(*request_, board_) : RefusalOf(error);
    keep_ = parsed && request_->get().keep_alive() && !HasBody(*request_);
    const bool only_head = parsed && request_->get().method() == http::verb::head;
    body_ = answer.body;
    head_ = "HTTP/1.1 " + std::to_string(static_cast<unsigned>(answer.status)) + " ";
    head_ += std::string_view(http::obsolete_reason(answer.status));
    head_.append("\r\nContent-Type: ").append(answer.type);
    head_.append("\r\nContent-Length: ").append(std::to_string(body_->size()));
    head_.append("\r\nConnection: ").append(keep_ ? "keep-alive" : "close");
    head_.append("\r\n").append(answer.more).append("\r\n");
    stream_.expires_after(kTimeout);
    const std::array<asio::const_buffer, 2> parts = {
        asio::buffer(head_), asio::buffer(*body_, only_head ? 0 : body_->size())};
    asio::async_write(stream_, parts, [self = shared_from_this()](error_code failed, std::size_t) {
      self->OnAnswered(failed);
    });
  }

  void OnAnswered(error_code error) {
    if (error) return;
    body_.reset();
    if (keep_) return Read();
    // A socket that is closed while something lies unread takes the answer back.
    stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    stream_.expires_after(kLinger);
    Drain(0);
  }

  void Drain(std::size_t drained) {
    stream_.async_read_some(asio::buffer(rest_), [self = shared_from_this(), drained](
                                                     error_code error, std::size_t size) {
      if (!error && drained + size < kLingerBytes) self->Drain(drained + size);
    });
  }

  beast::tcp_stream stream_;
  const Board& board_;
  std::shared_ptr<void> place_;
  beast::flat_buffer buffer_{2 * limits::kMetricsRequestBytes};
  std::optional<Request> request_;
  std::string head_;
  Text body_;
  bool keep_ = false;
  std::array<char, 4096> rest_;
};

void CloseOnExec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

Status CannotListen(const std::string& where, error_code error) {
  const std::string what = "cannot listen on " + where + ": " + error.message();
  if (error == asio::error::address_in_use) {
    return {Code::kFailedPrecondition, what + "; name another port, or 0 for any that is free"};
  }
  if (error == asio::error::access_denied) {
    return {Code::kPermissionDenied, what + "; ports from 1024 on are for everyone"};
  }
  if (error == boost::system::errc::address_not_available) {
    return {Code::kInvalidArgument, what + "; name an address of this machine"};
  }
  return {Code::kUnavailable, what};
}

}  // namespace

class MetricsServer::Impl {
 public:
  ~Impl() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    closing_ = true;
  }

  Status Listen(const std::string& address, std::uint16_t port) {
    error_code error;
    const asio::ip::address ip =
        asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
    if (error) {
      return {Code::kInvalidArgument, "\"" + address +
                                          "\" is no IP address: name one of this machine in "
                                          "figures, such as 127.0.0.1, or localhost"};
    }
    const tcp::endpoint endpoint(ip, port);
    const std::string where =
        (ip.is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(port);
    acceptor_.open(endpoint.protocol(), error);
    if (error) return CannotListen(where, error);
    CloseOnExec(acceptor_.native_handle());
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (error) return CannotListen(where, error);
    port_ = acceptor_.local_endpoint(error).port();
    return error ? CannotListen(where, error) : OkStatus();
  }

  void Run() {
    // Signals are for the threads of the program.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { Serve(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::uint16_t port() const { return port_; }
  Board* board() { return &board_; }

 private:
  // What a connection throws (no memory) ends that connection, and the others go on.
  void Serve() {
    for (;;) {
      try {
        if (!accepting_ && connections_ < limits::kMetricsConnections) Accept();
        context_.run();
        return;
      } catch (...) {
        continue;
      }
    }
  }

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      accepting_ = false;
      if (error) return AcceptLater();
      CloseOnExec(socket.native_handle());
      ++connections_;
      std::shared_ptr<void> place(this, [](Impl* impl) { impl->OnClosed(); });
      std::make_shared<Session>(std::move(socket), board_, std::move(place))->Read();
      if (!accepting_ && connections_ < limits::kMetricsConnections) Accept();
    });
    accepting_ = true;
  }

  // Such as: no descriptor is left.
  void AcceptLater() {
    again_.expires_after(kAcceptAgain);
    again_.async_wait([this](error_code) {
      if (!accepting_) Accept();
    });
  }

  void OnClosed() {
    --connections_;
    if (!accepting_ && !closing_) Accept();
  }

  Board board_;
  std::size_t connections_ = 0;
  bool accepting_ = false;
  bool closing_ = false;
  std::uint16_t port_ = 0;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer again_{context_};
  std::thread thread_;
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address,
                                                            std::uint16_t port) {
  try {
    auto impl = std::make_unique<Impl>();
    HEADWAY_RETURN_IF_ERROR(impl->Listen(address, port));
    impl->Run();
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
  } catch (const std::exception& error) {
    return Status(Code::kResourceExhausted, std::string("cannot serve metrics: ") + error.what());
  }
}

std::uint16_t MetricsServer::port() const { return impl_->port(); }

void MetricsServer::Publish(std::string text) {
  impl_->board()->Set(std::make_shared<const std::string>(std::move(text)));
}

}  // namespace headway::monitor
