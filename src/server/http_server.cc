#include "server/http_server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/live_limits.h"

namespace headway::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kLinger(1);
constexpr std::size_t kLingerBytes = limits::kServerRequestBytes;
constexpr std::chrono::milliseconds kAcceptAgain(100);
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::size_t kReserveBytes = std::size_t{8} << 20;
// Whoever sends less of a body than this, in bytes a second, gives way to others when room is
// short.
constexpr std::size_t kBodyRate = std::size_t{64} << 10;
constexpr std::size_t kUnaskedBytes = std::size_t{64} << 10;  // that come while a stream is sent
constexpr std::int64_t kPulseNs = limits::kServerPulseSeconds * kNanosPerSecond;
constexpr unsigned char kTlsHandshake = 22;  // the first byte of whoever speaks TLS
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = Lower(c);
  return lower;
}

bool IsTokenChar(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') ||
         kOthers.find(c) != kOthers.npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

// Nothing that could end the line.
bool IsFieldValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

// The server writes these itself; a second one would contradict it.
bool IsOurs(std::string_view name) {
  constexpr std::array<std::string_view, 6> kOurs = {"connection",        "content-length",
                                                     "content-type",      "date",
                                                     "transfer-encoding", "x-content-type-options"};
  return std::find(kOurs.begin(), kOurs.end(), Lower(name)) != kOurs.end();
}

bool MayBeSent(const HttpResponse& response) {
  if (response.status < 200 || response.status > 599 || !IsFieldValue(response.type)) return false;
  return std::all_of(response.headers.begin(), response.headers.end(), [](const auto& header) {
    return IsToken(header.first) && IsFieldValue(header.second) && !IsOurs(header.first);
  });
}

HttpResponse Plain(http::status status, std::string_view line) {
  HttpResponse response;
  response.status = static_cast<int>(status);
  response.body.append(line).append("\n");
  return response;
}

HttpResponse InternalError() {
  return Plain(http::status::internal_server_error, "internal error");
}

HttpResponse Busy(std::string_view line) {
  HttpResponse response = Plain(http::status::too_many_requests, line);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

HttpResponse TooLarge(std::size_t limit) {
  return Plain(http::status::payload_too_large,
               limit == 0 ? "a request has no body here"
                          : "the request's body is too large: at most " + std::to_string(limit) +
                                " bytes are taken");
}

// IMF-fixdate of RFC 9110, e.g. "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(std::int64_t second) {
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const time_t time = second;
  struct tm utc = {};
  ::gmtime_r(&time, &utc);
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                                 kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900,
                                 utc.tm_hour, utc.tm_min, utc.tm_sec);
  return {text.data(), static_cast<std::size_t>(size)};
}

// "/path?query", perhaps behind the server's name that a proxy sends along. False: no path.
bool SplitTarget(std::string_view target, HttpRequest* request) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (Lower(target.substr(0, scheme.size())) != scheme) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?#"), target.size());
    if (end == 0) return false;
    target.remove_prefix(end);
    if (!target.starts_with('/')) request->path = "/";
    break;
  }
  if (!target.starts_with('/') && request->path.empty()) return false;
  target = target.substr(0, target.find('#'));
  const std::size_t question = std::min(target.find('?'), target.size());
  request->path += target.substr(0, question);
  if (question < target.size()) request->query = target.substr(question + 1);
  return true;
}

using Parser = http::request_parser<http::empty_body>;

class Connection;
using Connections = std::list<std::shared_ptr<Connection>>;

/// The threads that run the handler, and the requests that wait for them.
class Workers {
 public:
  ~Workers() { Stop(); }
  /// `*waiting` is how many requests wait, from then on.
  void Start(int count, std::size_t queue_limit, HttpStats::Number* waiting);
  /// Drops what waits and returns once what runs has returned.
  void Stop();
  /// False: too many wait already.
  bool TryHandle(std::shared_ptr<Connection> connection);

 private:
  void Work();

  std::size_t queue_limit_ = 0;
  HttpStats::Number* waiting_ = nullptr;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::shared_ptr<Connection>> queue_;
  std::size_t free_ = 0;  // workers that run nothing
  bool stopped_ = false;
};

/// What the connections have in common. All but the workers belongs to the thread that reads and
/// writes.
struct Commons {
  explicit Commons(const HttpServerOptions& given) : options(given) {}

  HttpServerOptions options;
  JudgeBody judge_body;
  Handler handler;
  std::function<void()> on_room;  // a connection ended, or waits for its next request
  std::size_t body_bytes = 0;     // of all requests
  bool stopping = false;
  bool crowded = false;  // somebody waits for a connection to end
  std::int64_t date_second = -1;
  std::string date;
  asio::io_context context{1};
  Connections busy;
  Connections idle;  // between two requests; the longest first
  std::unique_ptr<TlsKeeper> tls;
  HttpStats unread;
  HttpStats& stats = options.stats == nullptr ? unread : *options.stats;
  Workers workers;

  std::string_view Date() {
    const std::int64_t second = SystemClock::WallNow().ns / kNanosPerSecond;
    if (second != date_second) date = HttpDate(second);
    date_second = second;
    return date;
  }
};

/// One connection: reads a request, has it answered, writes the answer, and so on; never two of
/// these at once. Commons lists it until Close().
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Commons* commons)
      : socket_(std::move(socket)), timer_(commons->context), commons_(*commons) {
    error_code error;
    peer_ = socket_.remote_endpoint(error).address().to_string();
  }

  void Start() {
    place_ = commons_.busy.insert(commons_.busy.end(), shared_from_this());
    ++commons_.stats.connections;
    ++commons_.stats.connections_open;
    awaits_head_ = true;
    try {
      SetDeadline(std::chrono::seconds(commons_.options.head_seconds));
      commons_.tls != nullptr ? AwaitHandshake() : ReadHead();
    } catch (...) {
      Close();
    }
  }

  void Close() {
    if (closed_) return;
    const std::shared_ptr<Connection> self = shared_from_this();
    closed_ = true;
    ++deadline_;
    timer_.cancel();
    error_code error;
    socket_.close(error);
    ReturnBodyBytes();
    stream_.reset();
    --commons_.stats.connections_open;
    if (shakes_) ++commons_.stats.handshakes_failed;
    (idle_ ? commons_.idle : commons_.busy).erase(place_);
    commons_.on_room();
  }

  /// Ends the stream that it sends, if it does.
  void EndStream() {
    if (stream_ == nullptr) return;
    if (sending_) return Close();  // whoever reads slowly is not waited for
    Guard([this] { SendPiece({.parts = {}, .last = true}); });
  }

  /// Nothing of a request has come yet.
  bool IsBetweenRequests() const { return between_; }

  /// Nothing lies unread.
  bool IsQuiet() {
    error_code error;
    return begin_ == end_ && (socket_.available(error) == 0 || error);
  }

  /// It has not said yet what it wants, and nothing of that lies unread.
  bool IsTardy() {
    error_code error;
    return awaits_head_ && (socket_.available(error) == 0 || error);
  }

  // By a worker.

  void Handle() noexcept {
    try {
      request_.waited_ns = SystemClock::MonoNow() - *came_;
      response_ = commons_.handler(request_);
    } catch (...) {
      failed_ = true;
    }
  }
  static void Deliver(std::shared_ptr<Connection> self) {
    asio::io_context& context = self->commons_.context;
    asio::post(context, [self = std::move(self)] { self->Guard([&] { self->OnAnswer(); }); });
  }

 private:
  // What a connection throws (no memory) ends that connection, and the others go on.
  template <typename Step>
  void Guard(Step step) {
    if (closed_) return;
    try {
      step();
    } catch (...) {
      Close();
    }
  }

  auto Then(void (Connection::*step)(error_code, std::size_t)) {
    return [self = shared_from_this(), step](error_code error, std::size_t size) {
      self->Guard([&] { ((*self).*step)(error, size); });
    };
  }

  // Instead of the one before.
  void SetDeadline(std::chrono::seconds time) {
    timer_.expires_after(time);
    AwaitDeadline();
  }
  void AwaitDeadline() {
    timer_.async_wait([self = shared_from_this(), mine = ++deadline_](error_code) {
      if (mine == self->deadline_) self->Close();
    });
  }
  void NoDeadline() {
    ++deadline_;
    timer_.cancel();
  }
  std::chrono::seconds TimeFor(std::uint64_t bytes) const {
    return std::chrono::seconds(commons_.options.body_seconds +
                                static_cast<std::int64_t>(bytes >> 20));
  }

  // Room for what has come. Where there is none, those that hold some and hardly send any more
  // are cut off, the one that holds most first.
  bool TakeBodyBytes(std::uint64_t bytes) {
    while (bytes > commons_.options.body_bytes_limit - commons_.body_bytes) {
      std::shared_ptr<Connection> most;
      for (const std::shared_ptr<Connection>& one : commons_.busy) {
        if (one.get() == this || !one->IsSlow()) continue;
        if (most == nullptr || one->body_bytes_ > most->body_bytes_) most = one;
      }
      if (most == nullptr) return false;
      most->Close();
    }
    commons_.body_bytes += bytes;
    body_bytes_ += bytes;
    return true;
  }
  void ReturnBodyBytes() {
    commons_.body_bytes -= body_bytes_;
    body_bytes_ = 0;
    window_.reset();
  }

  // How much of a body comes is looked at in windows of time.
  void NoteBodyBytes(std::size_t size) {
    came_in_window_ += size;
    const MonoNs now = SystemClock::MonoNow();
    const std::int64_t passed = now - *window_;
    if (passed < commons_.options.slow_body_ns) return;
    was_slow_ = IsSlow(passed);
    window_ = now;
    came_in_window_ = 0;
  }
  bool IsSlow(std::int64_t passed) const {
    const auto least = static_cast<double>(kBodyRate) * static_cast<double>(passed) / 1e9;
    return static_cast<double>(came_in_window_) < least;
  }
  bool IsSlow() const {
    if (!window_ || body_bytes_ == 0) return false;
    const std::int64_t passed = SystemClock::MonoNow() - *window_;
    return passed < commons_.options.slow_body_ns ? was_slow_ : IsSlow(passed);
  }

  // The way to and from the client: the socket, or TLS on it.

  template <typename Taken>
  void ReadSome(asio::mutable_buffer buffer, Taken taken) {
    tls_ ? tls_->async_read_some(buffer, std::move(taken))
         : socket_.async_read_some(buffer, std::move(taken));
  }

  template <typename Buffers>
  void Write(const Buffers& buffers, void (Connection::*step)(error_code, std::size_t)) {
    tls_ ? asio::async_write(*tls_, buffers, Then(step))
         : asio::async_write(socket_, buffers, Then(step));
  }

  auto ThenOf(void (Connection::*step)(error_code)) {
    return [self = shared_from_this(), step](error_code error) {
      self->Guard([&] { ((*self).*step)(error); });
    };
  }

  void AwaitHandshake() {
    shakes_ = true;
    socket_.async_wait(tcp::socket::wait_read, ThenOf(&Connection::OnFirstByte));
  }

  void OnFirstByte(error_code error) {
    unsigned char first = 0;
    const ssize_t size =
        error ? 0 : ::recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return AwaitHandshake();
    if (size <= 0) return Close();
    if (first != kTlsHandshake) {
      return Refuse(
          Plain(http::status::bad_request, "this server speaks TLS: its URL begins with https://"));
    }
    SSL* const ssl = ::SSL_new(commons_.tls->context());
    if (ssl == nullptr) return Close();
    tls_.emplace(socket_, ssl);  // which frees it
    tls_->async_handshake(asio::ssl::stream_base::server, ThenOf(&Connection::OnHandshake));
  }

  void OnHandshake(error_code error) {
    if (error) return Close();
    shakes_ = false;
    ++commons_.stats.handshakes;
    ReadHead();
  }

  // The head.

  void NextRequest() {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = line_ = scanned_ = 0;
    between_ = true;
    if (end_ > 0) return TakeHead();
    idle_ = true;
    commons_.idle.splice(commons_.idle.end(), commons_.busy, place_);
    SetDeadline(std::chrono::seconds(commons_.options.idle_seconds));
    ReadHead();
    commons_.on_room();
  }

  void ReadHead() {
    ReadSome(asio::buffer(in_.data() + end_, in_.size() - end_), Then(&Connection::OnHeadBytes));
  }

  void OnHeadBytes(error_code error, std::size_t size) {
    if (error) return Close();
    commons_.stats.bytes_in += size;
    end_ += size;
    if (idle_) commons_.busy.splice(commons_.busy.end(), commons_.idle, place_);
    TakeHead();
  }

  void TakeHead() {
    // Some clients end a body with a line end that belongs to nothing.
    if (line_ == 0 && (in_[0] == '\r' || in_[0] == '\n')) {
      const char* first = std::find_if(in_.data(), in_.data() + end_,
                                       [](char c) { return c != '\r' && c != '\n'; });
      end_ -= static_cast<std::size_t>(first - in_.data());
      std::memmove(in_.data(), first, end_);
      scanned_ = 0;
    }
    // What has been waiting since it was accepted goes on with that deadline.
    const bool first_bytes = std::exchange(between_, false) && (idle_ || answered_);
    idle_ = false;
    if (end_ > 0 && !IsTokenChar(in_[0])) return RefuseHead();
    // Beast's parser takes line by line and bounds what is left, not the sum: it gets whole heads.
    while (const void* found = std::memchr(in_.data() + scanned_, '\n', end_ - scanned_)) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - in_.data());
      if (at == line_ || in_[at - 1] != '\r') return RefuseHead();
      const bool last = at == line_ + 1;
      line_ = scanned_ = at + 1;
      if (last) return OnHead(line_);
    }
    scanned_ = end_;
    if (end_ == in_.size()) {
      return Refuse(
          Plain(http::status::request_header_fields_too_large, "the request's head is too long"));
    }
    if (first_bytes) SetDeadline(std::chrono::seconds(commons_.options.head_seconds));
    ReadHead();
  }

  void RefuseHead() { Refuse(Plain(http::status::bad_request, "this is no HTTP request")); }

  void OnHead(std::size_t size) {
    begin_ = size;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(size + 1));
    parser_->body_limit(boost::none);  // it is ours to judge
    error_code error;
    parser_->put(asio::buffer(in_.data(), size), error);
    if (error == http::error::bad_version) {
      const std::string_view head(in_.data(), size);
      if (head.substr(0, head.find('\r')).find(" HTTP/") == head.npos) return RefuseHead();
      return Refuse(Plain(http::status::http_version_not_supported, "this is HTTP/1.1"));
    }
    if (error || !parser_->is_header_done()) return RefuseHead();
    keep_ = parser_->keep_alive();
    takes_chunks_ = parser_->get().version() >= 11;
    TakeRequest();
    awaits_head_ = false;
    if (const std::optional<HttpResponse> refusal = Judge()) return Refuse(*refusal);
    if (!parser_->chunked() && parser_->content_length().value_or(0) == 0) return Dispatch();
    StartBody();
  }

  void TakeRequest() {
    const auto& head = parser_->get();
    request_ = {};
    request_.method = head.method_string();
    request_.peer = peer_;
    for (const auto& field : head) {
      request_.headers.emplace_back(Lower(field.name_string()), field.value());
      auto& [name, value] = request_.headers.back();
      if (name == "content-encoding") value = Lower(value);  // as the names of encodings are
    }
    only_head_ = head.method() == http::verb::head;
  }

  // Why a well-formed head is refused.
  std::optional<HttpResponse> Judge() {
    const bool since_1_1 = parser_->get().version() >= 11;
    // What whoever is between may have read another one of.
    std::array<std::pair<std::string_view, int>, 4> once = {
        {{"Host", 0}, {"Authorization", 0}, {"Content-Type", 0}, {"Content-Encoding", 0}}};
    for (const auto& [name, value] : request_.headers) {
      for (auto& [single, count] : once) {
        if (name == Lower(single)) ++count;
      }
      // Whoever is between may have seen another end of the body than we do.
      if (name == "transfer-encoding" && (Lower(value) != "chunked" || !since_1_1)) {
        return Plain(http::status::bad_request,
                     "Transfer-Encoding is chunked, in HTTP/1.1, or none here");
      }
      if (name == "expect" && Lower(value) != "100-continue") {
        return Plain(http::status::expectation_failed, "Expect is 100-continue or none here");
      }
    }
    for (const auto& [single, count] : once) {
      if (count > 1 || (count == 0 && since_1_1 && single == "Host")) {
        return Plain(http::status::bad_request,
                     "a request has one " + std::string(single) + " header");
      }
    }
    const std::string_view target = parser_->get().target();
    if (!SplitTarget(target, &request_)) {
      return Plain(http::status::bad_request, "the request's target is no path");
    }
    return std::nullopt;
  }

  // The body.

  void StartBody() {
    BodyVerdict verdict;
    try {
      verdict = commons_.judge_body(request_);
    } catch (...) {
      return Refuse(InternalError());
    }
    if (verdict.refusal) return Refuse(*std::move(verdict.refusal));
    body_limit_ = verdict.limit;
    left_ = parser_->content_length().value_or(0);
    if (left_ > body_limit_ || (parser_->chunked() && body_limit_ == 0)) {
      return Refuse(TellTooLarge());
    }
    window_ = SystemClock::MonoNow();
    was_slow_ = false;
    came_in_window_ = 0;
    request_.body.reserve(std::min<std::uint64_t>(left_, kReserveBytes));
    if (parser_->chunked()) {
      chunk_refusal_.reset();
      parser_->on_chunk_header(on_chunk_);
      parser_->on_chunk_body(on_chunk_body_);
      parser_->eager(true);
    }
    SetDeadline(TimeFor(left_));
    const bool continues =
        begin_ == end_ && parser_->get().version() >= 11 && !request_.Header("expect").empty();
    if (!continues) return TakeBody();
    Write(asio::buffer(kContinue), &Connection::OnContinued);
  }

  HttpResponse TellBusy(std::string_view line) const { return Dressed(Busy(line)); }
  HttpResponse TellTooLarge() const { return Dressed(TooLarge(body_limit_)); }
  HttpResponse Dressed(HttpResponse refusal) const {
    if (!commons_.options.dress) return refusal;
    return commons_.options.dress(request_.path, std::move(refusal));
  }

  HttpResponse TooManyBytes() {
    ++commons_.stats.refused_bytes;
    return TellBusy("too many requests are under way; try again");
  }

  void OnContinued(error_code error, std::size_t size) {
    if (error) return Close();
    commons_.stats.bytes_out += size;
    TakeBody();
  }

  void TakeBody() {
    if (parser_->chunked()) return TakeChunks();
    const std::size_t size = std::min<std::uint64_t>(left_, end_ - begin_);
    if (!TakeBodyBytes(size)) return Refuse(TooManyBytes());
    request_.body.append(in_.data() + begin_, size);
    begin_ += size;
    left_ -= size;
    ReadBody();
  }

  // Straight to where it belongs.
  void ReadBody() {
    if (left_ == 0) return Dispatch();
    const std::size_t have = request_.body.size();
    const std::size_t size = std::min<std::uint64_t>(left_, kReadBytes);
    request_.body.resize(have + size);
    reading_ = size;
    ReadSome(asio::buffer(request_.body.data() + have, size), Then(&Connection::OnBodyBytes));
  }

  void OnBodyBytes(error_code error, std::size_t size) {
    if (error) return Close();
    request_.body.resize(request_.body.size() - reading_ + size);
    NoteBodyBytes(size);
    if (!TakeBodyBytes(size)) return Refuse(TooManyBytes());
    left_ -= size;
    ReadBody();
  }

  void TakeChunks() {
    error_code error;
    while (begin_ < end_ && !parser_->is_done() && !error) {
      begin_ += parser_->put(asio::buffer(in_.data() + begin_, end_ - begin_), error);
    }
    if (chunk_refusal_) return Refuse(*chunk_refusal_);
    if (error && error != http::error::need_more) {
      return Refuse(Plain(http::status::bad_request, "the request's body has bad chunks"));
    }
    if (parser_->is_done()) return Dispatch();
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    if (end_ == in_.size()) {
      return Refuse(Plain(http::status::bad_request,
                          "the head or the trailer of a chunk of the request is too long"));
    }
    ReadSome(asio::buffer(in_.data() + end_, in_.size() - end_), Then(&Connection::OnChunkBytes));
  }

  void OnChunkBytes(error_code error, std::size_t size) {
    if (error) return Close();
    NoteBodyBytes(size);
    end_ += size;
    TakeChunks();
  }

  void OnChunk(std::uint64_t size, error_code* error) {
    const std::uint64_t before = request_.body.size();
    if (size > body_limit_ - before) {
      chunk_refusal_ = TellTooLarge();
      *error = http::error::body_limit;
      return;
    }
    const std::chrono::seconds more = TimeFor(before + size) - TimeFor(before);
    if (more.count() == 0) return;
    timer_.expires_at(timer_.expiry() + more);
    AwaitDeadline();
  }

  void OnChunkBody(std::string_view bytes, error_code* error) {
    if (TakeBodyBytes(bytes.size())) {
      request_.body.append(bytes);
      return;
    }
    chunk_refusal_ = TooManyBytes();
    *error = http::error::body_limit;
  }

  // The answer.

  void Dispatch() {
    window_.reset();  // all of it has come
    parser_.reset();
    NoDeadline();
    failed_ = false;
    came_ = SystemClock::MonoNow();
    if (commons_.workers.TryHandle(shared_from_this())) return;
    ++commons_.stats.refused_queue;
    response_ = TellBusy("too many requests wait; try again");
    FreeRequest();
    Send();
  }

  void FreeRequest() {
    asked_ = std::move(request_.path);
    request_ = {};
    ReturnBodyBytes();
  }

  void OnAnswer() {
    FreeRequest();
    if (failed_ || !MayBeSent(response_)) response_ = InternalError();
    Send();
  }

  // What is left of the request stays unread.
  void Refuse(HttpResponse response) {
    parser_.reset();
    FreeRequest();
    came_.reset();
    keep_ = false;
    unread_ = true;
    response_ = std::move(response);
    Send();
  }

  void Send() {
    const bool streams = response_.stream != nullptr && !only_head_;
    keep_ = keep_ && !commons_.stopping && !commons_.crowded && !streams;
    Tell();
    const int status = response_.status;
    const bool has_body = status != 204 && status != 304;
    const http::status known = http::int_to_status(static_cast<unsigned>(status));
    head_ = "HTTP/1.1 " + std::to_string(status) + " ";
    if (known != http::status::unknown) head_ += std::string_view(http::obsolete_reason(known));
    head_.append("\r\nDate: ").append(commons_.Date());
    if (has_body) {
      head_.append("\r\nContent-Type: ").append(response_.type);
      if (response_.stream == nullptr) {
        head_.append("\r\nContent-Length: ").append(std::to_string(response_.Body().size()));
      } else if (takes_chunks_) {
        head_.append("\r\nTransfer-Encoding: chunked");
      }
    }
    head_.append("\r\nConnection: ").append(keep_ ? "keep-alive" : "close");
    head_.append("\r\nX-Content-Type-Options: nosniff\r\n");
    for (const auto& [name, value] : response_.headers) {
      head_.append(name).append(": ").append(value).append("\r\n");
    }
    head_.append("\r\n");
    if (streams) {
      SetDeadline(TimeFor(0));
      Write(asio::buffer(head_), &Connection::OnStreamHead);
      return;
    }
    const std::size_t size = has_body && !only_head_ ? response_.Body().size() : 0;
    SetDeadline(TimeFor(size));
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_),
                                                     asio::buffer(response_.Body().data(), size)};
    Write(parts, &Connection::OnSent);
  }

  void Tell() {
    if (!commons_.options.on_answer) return;
    const std::int64_t ns = came_ ? SystemClock::MonoNow() - *came_ : 0;
    commons_.options.on_answer({.path = asked_, .status = response_.status, .ns = ns});
    asked_.clear();
  }

  void OnSent(error_code error, std::size_t size) {
    commons_.stats.bytes_out += size;
    if (error) return Close();
    response_ = {};
    only_head_ = false;
    answered_ = true;
    if (keep_) return NextRequest();
    End();
  }

  void End() {
    // A socket that is closed while something lies unread takes the answer back.
    const bool urgent = commons_.stopping || commons_.crowded;
    if (urgent && !unread_ && IsQuiet()) return Close();
    SetDeadline(kLinger);
    if (!tls_) return EndSending({});
    tls_->async_shutdown(ThenOf(&Connection::EndSending));
  }

  void EndSending(error_code /*error*/) {
    error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    if (stream_ == nullptr) Drain();  // else that is being done
  }

  // What still comes is nobody's, and stays as it is.
  void Drain() { socket_.async_read_some(asio::buffer(in_), Then(&Connection::OnDrained)); }

  void OnDrained(error_code error, std::size_t size) {
    drained_ += size;
    if (error || drained_ > kLingerBytes) return Close();
    Drain();
  }

  // An answer that goes on.

  void OnStreamHead(error_code error, std::size_t size) {
    commons_.stats.bytes_out += size;
    if (error) return Close();
    stream_ = std::move(response_.stream);
    response_ = {};
    pulse_at_ = SystemClock::MonoNow() + kPulseNs;
    NoDeadline();
    asio::io_context& context = commons_.context;
    stream_->Start([&context, weak = weak_from_this()] {
      asio::post(context, [weak] {
        const std::shared_ptr<Connection> self = weak.lock();
        if (self != nullptr) self->Guard([&] { self->Continue(); });
      });
    });
    AwaitEnd();
    Continue();
  }

  // What a client says meanwhile is nobody's; that it ends the connection counts.
  void AwaitEnd() { ReadSome(asio::buffer(in_), Then(&Connection::OnUnasked)); }

  void OnUnasked(error_code error, std::size_t size) {
    unasked_ += size;
    if (error || unasked_ > kUnaskedBytes) return Close();
    AwaitEnd();
  }

  void Continue() {
    if (sending_ || ended_) return;
    HttpStream::Piece piece =
        commons_.stopping ? HttpStream::Piece{.parts = {}, .last = true} : stream_->Next();
    if (!piece.parts.empty() || piece.last) return SendPiece(std::move(piece));
    timer_.expires_after(std::chrono::nanoseconds(pulse_at_ - SystemClock::MonoNow()));
    timer_.async_wait([self = shared_from_this(), mine = ++deadline_](error_code) {
      if (mine == self->deadline_) self->Guard([&] { self->SendPulse(); });
    });
  }

  void SendPulse() {
    SendPiece({.parts = {std::make_shared<const std::string>(stream_->Pulse())}, .last = false});
  }

  void SendPiece(HttpStream::Piece piece) {
    piece_ = std::move(piece);
    sending_ = true;
    ended_ = piece_.last;
    std::size_t size = 0;
    for (const auto& part : piece_.parts) size += part->size();
    std::vector<asio::const_buffer> buffers;
    if (takes_chunks_ && size > 0) {
      std::array<char, 20> digits;
      const int count = std::snprintf(digits.data(), digits.size(), "%zx\r\n", size);
      head_.assign(digits.data(), static_cast<std::size_t>(count));
      buffers.push_back(asio::buffer(head_));
    }
    for (const auto& part : piece_.parts) buffers.push_back(asio::buffer(*part));
    static constexpr std::string_view kChunkEnd = "\r\n";
    static constexpr std::string_view kBodyEnd = "0\r\n\r\n";
    if (takes_chunks_ && size > 0) buffers.push_back(asio::buffer(kChunkEnd));
    if (takes_chunks_ && ended_) buffers.push_back(asio::buffer(kBodyEnd));
    SetDeadline(TimeFor(size));
    Write(buffers, &Connection::OnPieceSent);
  }

  void OnPieceSent(error_code error, std::size_t size) {
    commons_.stats.bytes_out += size;
    if (error) return Close();
    piece_ = {};
    sending_ = false;
    pulse_at_ = SystemClock::MonoNow() + kPulseNs;
    if (ended_) return End();
    Continue();
  }

  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;  // since the handshake began
  bool shakes_ = false;                                 // hands
  asio::steady_timer timer_;
  Commons& commons_;
  Connections::iterator place_;
  std::string peer_;
  std::uint64_t deadline_ = 0;  // counts them
  bool idle_ = false;           // listed as such
  bool between_ = true;
  bool answered_ = false;  // a request, at least
  bool closed_ = false;

  // What has come and is not taken yet is [begin_, end_) of in_. While a head is read, begin_ is 0.
  std::array<char, limits::kServerHeadBytes> in_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t line_ = 0;     // where the last line of the head begins
  std::size_t scanned_ = 0;  // up to where line ends were looked for

  std::optional<Parser> parser_;
  HttpRequest request_;
  std::size_t body_limit_ = 0;
  bool awaits_head_ = false;      // of its first request
  std::uint64_t body_bytes_ = 0;  // accounted for
  std::optional<MonoNs> window_;  // when it began, while a body comes
  std::uint64_t came_in_window_ = 0;
  bool was_slow_ = false;    // in the window before
  std::uint64_t left_ = 0;   // of the body, to come
  std::size_t reading_ = 0;  // bytes at the body's end that are being read
  std::optional<HttpResponse> chunk_refusal_;
  std::function<void(std::uint64_t, beast::string_view, error_code&)> on_chunk_ =
      [this](std::uint64_t size, beast::string_view, error_code& error) { OnChunk(size, &error); };
  std::function<std::size_t(std::uint64_t, beast::string_view, error_code&)> on_chunk_body_ =
      [this](std::uint64_t, beast::string_view bytes, error_code& error) {
        OnChunkBody({bytes.data(), bytes.size()}, &error);
        return bytes.size();
      };

  std::string asked_;           // the path, once the request is gone
  std::optional<MonoNs> came_;  // all of the request
  HttpResponse response_;
  bool failed_ = false;  // the handler
  std::string head_;     // of the answer
  bool only_head_ = false;
  bool takes_chunks_ = false;  // HTTP/1.1
  bool keep_ = false;
  bool unread_ = false;
  std::size_t drained_ = 0;

  std::shared_ptr<HttpStream> stream_;  // once its head is sent
  HttpStream::Piece piece_;             // that is being sent
  bool sending_ = false;                // a piece
  bool ended_ = false;                  // with that piece
  MonoNs pulse_at_;
  std::size_t unasked_ = 0;
};

void Workers::Start(int count, std::size_t queue_limit, HttpStats::Number* waiting) {
  queue_limit_ = queue_limit;
  waiting_ = waiting;
  free_ = static_cast<std::size_t>(std::max(count, 1));
  for (std::size_t i = 0, all = free_; i < all; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

void Workers::Stop() {
  std::deque<std::shared_ptr<Connection>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
  }
  more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Workers::TryHandle(std::shared_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    // Those for which a worker is free do not wait.
    if (queue_.size() >= free_ && queue_.size() - free_ >= queue_limit_) return false;
    queue_.push_back(std::move(connection));
    *waiting_ = queue_.size();
  }
  more_.notify_one();
  return true;
}

void Workers::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    if (stopped_) return;
    std::shared_ptr<Connection> connection = std::move(queue_.front());
    queue_.pop_front();
    *waiting_ = queue_.size();
    --free_;
    lock.unlock();
    connection->Handle();
    lock.lock();
    ++free_;  // before its client can know
    lock.unlock();
    Connection::Deliver(std::move(connection));
    lock.lock();
  }
}

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

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& header : headers) {
    if (header.first == name) return header.second;
  }
  return {};
}

namespace {

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// What is before the separator; it and the separator are taken off.
std::string_view TakeUpTo(char separator, std::string_view* text) {
  const std::size_t end = std::min(text->find(separator), text->size());
  const std::string_view part = Trim(text->substr(0, end));
  text->remove_prefix(std::min(end + 1, text->size()));
  return part;
}

}  // namespace

// RFC 9110, 12.5.3: "gzip, br;q=0.5, *;q=0". A weight of 0 is a refusal; of others we ask no more.
bool Accepts(const HttpRequest& head, std::string_view encoding) {
  bool others = false;
  for (std::string_view list = head.Header("accept-encoding"); !list.empty();) {
    std::string_view element = TakeUpTo(',', &list);
    const std::string name = Lower(TakeUpTo(';', &element));
    const std::string weight = Lower(TakeUpTo(';', &element));
    const bool taken =
        !weight.starts_with("q=0") || weight.find_first_of("123456789") != weight.npos;
    if (name == encoding) return taken;
    if (name == "*") others = taken;
  }
  return others;
}

class HttpServer::Impl {
 public:
  Impl(const HttpServerOptions& options, JudgeBody judge_body, Handler handler)
      : commons_(options) {
    commons_.judge_body = std::move(judge_body);
    commons_.handler = std::move(handler);
    commons_.on_room = [this] { OnRoom(); };
  }

  ~Impl() {
    commons_.context.stop();
    if (thread_.joinable()) thread_.join();
    commons_.workers.Stop();
    commons_.on_room = [] {};
    CloseAll();
  }

  Status Listen() {
    const std::string& address = commons_.options.address;
    error_code error;
    const asio::ip::address ip =
        asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
    if (error) {
      return {Code::kInvalidArgument, "\"" + address +
                                          "\" is no IP address: name one of this machine in "
                                          "figures, such as 127.0.0.1, or localhost"};
    }
    const tcp::endpoint endpoint(ip, commons_.options.port);
    const std::string where =
        (ip.is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(commons_.options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (error) return CannotListen(where, error);
    CloseOnExec(acceptor_.native_handle());
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (error) return CannotListen(where, error);
    port_ = acceptor_.local_endpoint(error).port();
    return error ? CannotListen(where, error) : OkStatus();
  }

  Status ReadCertificate() {
    if (!commons_.options.tls) return OkStatus();
    Result<std::unique_ptr<TlsKeeper>> keeper = TlsKeeper::Open(*commons_.options.tls);
    if (!keeper.ok()) return keeper.status();
    commons_.tls = *std::move(keeper);
    commons_.stats.certificate_expires = commons_.tls->certificate().not_after.ns;
    LookLater();
    return OkStatus();
  }

  void Run() {
    // Signals are for the threads of the program.
    struct Mask {
      Mask() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
      }
      ~Mask() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
      sigset_t before;
    };
    const Mask mask;
    commons_.workers.Start(commons_.options.workers, commons_.options.queue_limit,
                           &commons_.stats.requests_waiting);
    thread_ = std::thread([this] { Serve(); });
  }

  std::uint16_t port() const { return port_; }

  void Stop(int grace_seconds) {
    asio::post(commons_.context, [this] { BeginStop(); });
    std::unique_lock lock(mutex_);
    drained_.wait_for(lock, std::chrono::seconds(std::max(grace_seconds, 0)),
                      [this] { return is_drained_; });
  }

 private:
  void Serve() {
    for (;;) {
      try {
        if (!awaiting_) AwaitClients();
        commons_.context.run();
        return;
      } catch (...) {
        continue;
      }
    }
  }

  // At the certificate's files.
  void LookLater() {
    look_.expires_after(std::chrono::seconds(limits::kServerTlsLookSeconds));
    look_.async_wait([this](error_code error) {
      if (error || commons_.stopping) return;
      const std::optional<Status> news = commons_.tls->Look();
      commons_.stats.certificate_expires = commons_.tls->certificate().not_after.ns;
      LookLater();
      if (news && commons_.options.on_tls_files) commons_.options.on_tls_files(*news);
    });
  }

  // Says that a client waits, and takes it not yet.
  void AwaitClients() {
    if (commons_.stopping || commons_.crowded) return;
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
      awaiting_ = false;
      if (commons_.stopping) return;
      if (error || !Accept()) return AwaitLater();
      AwaitClients();
    });
    awaiting_ = true;
  }

  // Such as: no descriptor is left.
  void AwaitLater() {
    again_.expires_after(kAcceptAgain);
    again_.async_wait([this](error_code) {
      awaiting_ = false;
      AwaitClients();
    });
    awaiting_ = true;
  }

  // Those that wait, as far as there is room. False: that failed.
  bool Accept() {
    if (IsFull() && !CloseLongestIdle()) {
      commons_.crowded = true;
      return true;
    }
    while (!IsFull()) {
      error_code error;
      tcp::socket socket(commons_.context);
      acceptor_.accept(socket, error);
      if (error == asio::error::would_block) return true;
      if (error == asio::error::connection_aborted) continue;
      if (error) return false;
      CloseOnExec(socket.native_handle());
      socket.set_option(tcp::no_delay(true), error);
      std::make_shared<Connection>(std::move(socket), &commons_)->Start();
    }
    return true;
  }

  bool IsFull() const {
    return commons_.busy.size() + commons_.idle.size() >=
           std::max<std::size_t>(commons_.options.connections_limit, 1);
  }

  bool CloseLongestIdle() {
    for (const std::shared_ptr<Connection>& connection : commons_.idle) {
      if (!connection->IsQuiet()) continue;  // its next request has just come
      connection->Close();
      return true;
    }
    // Then one that has not said yet what it wants, the first that came: whoever means it says so
    // at once.
    for (const std::shared_ptr<Connection>& connection : commons_.busy) {
      if (!connection->IsTardy()) continue;
      connection->Close();
      return true;
    }
    return false;
  }

  void OnRoom() {
    if (commons_.stopping) {
      if (!commons_.busy.empty() || !commons_.idle.empty()) return;
      const std::lock_guard lock(mutex_);
      is_drained_ = true;
      drained_.notify_all();
    } else if (std::exchange(commons_.crowded, false) && !awaiting_) {
      AwaitClients();
    }
  }

  void BeginStop() {
    commons_.stopping = true;
    error_code error;
    acceptor_.close(error);
    again_.cancel();
    look_.cancel();
    const Connections busy = commons_.busy;
    for (const auto& connection : busy) {
      if (connection->IsBetweenRequests() && connection->IsQuiet()) connection->Close();
      connection->EndStream();
    }
    const Connections idle = commons_.idle;
    for (const auto& connection : idle) {
      if (connection->IsQuiet()) connection->Close();
    }
    OnRoom();
  }

  void CloseAll() {
    while (!commons_.busy.empty()) commons_.busy.front()->Close();
    while (!commons_.idle.empty()) commons_.idle.front()->Close();
  }

  Commons commons_;
  std::uint16_t port_ = 0;
  asio::executor_work_guard<asio::io_context::executor_type> work_{commons_.context.get_executor()};
  tcp::acceptor acceptor_{commons_.context};
  asio::steady_timer again_{commons_.context};
  asio::steady_timer look_{commons_.context};
  bool awaiting_ = false;  // clients
  std::mutex mutex_;
  std::condition_variable drained_;
  bool is_drained_ = false;
  std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                      JudgeBody judge_body, Handler handler) {
  try {
    auto impl = std::make_unique<Impl>(options, std::move(judge_body), std::move(handler));
    HEADWAY_RETURN_IF_ERROR(impl->ReadCertificate());
    HEADWAY_RETURN_IF_ERROR(impl->Listen());
    impl->Run();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
  } catch (const std::exception& error) {
    return Status(Code::kResourceExhausted, std::string("cannot serve: ") + error.what());
  }
}

std::uint16_t HttpServer::port() const { return impl_->port(); }

void HttpServer::Stop(int grace_seconds) { impl_->Stop(grace_seconds); }

}  // namespace headway::server
