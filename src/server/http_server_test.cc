#include "server/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/test_scratch_dir.h"

namespace headway::server {
namespace {

/// What came back for one request.
struct Answer {
  std::string head;  // with its last line end; empty: the connection ended before
  std::string body;

  int status() const { return head.size() < 12 ? 0 : std::atoi(head.c_str() + 9); }
  bool Has(std::string_view text) const { return head.find(text) != head.npos; }
  bool keeps() const { return Has("\r\nConnection: keep-alive\r\n"); }
};

/// What a client says in a TLS handshake.
struct TlsOffer {
  std::string trusted;  // file
  int lowest = 0;       // of the protocol; 0: whatever OpenSSL has
  int highest = 0;
  const char* ciphers = nullptr;  // of TLS 1.2
};

/// A client that sends and takes exact bytes. Gives up after 20 seconds of silence.
class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (receive_buffer > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }

  /// What follows goes through TLS. False: the handshake failed.
  bool SpeakTls(const TlsOffer& offer) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        ::SSL_CTX_new(::TLS_client_method()), &SSL_CTX_free);
    // Old protocols are offered too, if they are asked for.
    ::SSL_CTX_set_security_level(context.get(), 0);
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    EXPECT_EQ(::SSL_CTX_load_verify_file(context.get(), offer.trusted.c_str()), 1);
    ::SSL_CTX_set_min_proto_version(context.get(), offer.lowest);
    ::SSL_CTX_set_max_proto_version(context.get(), offer.highest);
    if (offer.ciphers != nullptr) {
      EXPECT_EQ(::SSL_CTX_set_cipher_list(context.get(), offer.ciphers), 1);
    }
    tls_.reset(::SSL_new(context.get()));
    ::SSL_set_fd(tls_.get(), fd_.get());
    X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(tls_.get()), "127.0.0.1");
    return ::SSL_connect(tls_.get()) == 1;
  }
  SSL* tls() { return tls_.get(); }

  /// False: the server has ended the connection.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      if (tls_ != nullptr) {
        const int sent =
            ::SSL_write(tls_.get(), bytes.data(), static_cast<int>(std::min(bytes.size(), kMost)));
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        continue;
      }
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void EndSending() {
    if (tls_ != nullptr) ::SSL_shutdown(tls_.get());
    ::shutdown(fd_.get(), SHUT_WR);
  }

  Answer Receive(bool only_head = false) {
    Answer answer;
    while (received_.find("\r\n\r\n") == received_.npos) {
      if (!More()) return answer;
    }
    answer.head = Cut(received_.find("\r\n\r\n") + 4);
    const std::size_t at = answer.head.find("\r\nContent-Length: ");
    if (at == answer.head.npos || only_head) return answer;
    const auto size = static_cast<std::size_t>(std::atoll(answer.head.c_str() + at + 18));
    while (received_.size() < size) {
      if (!More()) break;
    }
    answer.body = Cut(std::min(size, received_.size()));
    return answer;
  }

  Answer Ask(std::string_view request) {
    Send(request);
    return Receive();
  }

  /// What comes up to and with `end`; empty: the connection ended before.
  std::string ReceiveTo(std::string_view end) {
    while (received_.find(end) == received_.npos) {
      if (!More()) return {};
    }
    return Cut(received_.find(end) + end.size());
  }

  /// Up to `size` bytes as they come, without TLS; 0: the connection has ended.
  std::size_t Take(char* bytes, std::size_t size) {
    return static_cast<std::size_t>(std::max<ssize_t>(::recv(fd_.get(), bytes, size, 0), 0));
  }

  /// Nothing further came before the server ended the connection.
  bool IsEnded() { return received_.empty() && !More() && errno != EAGAIN; }

  /// Within `milliseconds`.
  bool IsReadable(int milliseconds) {
    if (tls_ != nullptr) return IsReadableThroughTls(milliseconds);
    pollfd entry = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, milliseconds) > 0;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  bool More() {
    char bytes[16384];
    errno = 0;
    if (tls_ != nullptr) {
      const int got = ::SSL_read(tls_.get(), bytes, sizeof(bytes));
      if (got > 0) received_.append(bytes, static_cast<std::size_t>(got));
      return got > 0;
    }
    const ssize_t size = ::recv(fd_.get(), bytes, sizeof(bytes), 0);
    if (size > 0) received_.append(bytes, static_cast<std::size_t>(size));
    return size > 0;
  }

  // What comes may be for TLS alone.
  bool IsReadableThroughTls(int milliseconds) {
    const MonoNs end = SystemClock::MonoNow() + milliseconds * std::int64_t{1'000'000};
    const int flags = ::fcntl(fd_.get(), F_GETFL);
    ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK);
    bool readable = false;
    for (;;) {
      char byte = 0;
      const int got = ::SSL_peek(tls_.get(), &byte, 1);
      readable = got > 0 || ::SSL_get_error(tls_.get(), got) != SSL_ERROR_WANT_READ;
      const std::int64_t left_ms = (end - SystemClock::MonoNow()) / 1'000'000;
      if (readable || left_ms < 0) break;
      pollfd entry = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, static_cast<int>(left_ms) + 1);
    }
    ::fcntl(fd_.get(), F_SETFL, flags);
    return readable;
  }

  std::string Cut(std::size_t size) {
    std::string first = received_.substr(0, size);
    received_.erase(0, size);
    return first;
  }

  UniqueFd fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, &SSL_free};
  std::string received_;
};

/// Lets handlers wait until the test has seen what it wants to see.
class Gate {
 public:
  ~Gate() { Open(); }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void AwaitArrived(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

/// A body that goes on, whose newest part the test says.
class Tap {
 public:
  class Stream final : public HttpStream {
   public:
    explicit Stream(Tap* tap) : tap_(tap) {}
    ~Stream() override {
      const std::lock_guard lock(tap_->mutex_);
      std::erase(tap_->streams_, this);
      tap_->changed_.notify_all();
    }
    void Start(std::function<void()> wake) override {
      const std::lock_guard lock(tap_->mutex_);
      wake_ = std::move(wake);
      tap_->streams_.push_back(this);
      tap_->changed_.notify_all();
    }
    Piece Next() override {
      const std::lock_guard lock(tap_->mutex_);
      Piece piece = {.parts = {}, .last = tap_->last_};
      if (tap_->version_ > sent_) {
        piece.parts = {tap_->newest_, std::make_shared<const std::string>("\n")};
        ++tap_->taken_;
      }
      sent_ = tap_->version_;
      return piece;
    }
    std::string_view Pulse() const override { return ":\n"; }

   private:
    friend class Tap;
    Tap* tap_;
    int sent_ = 0;
    std::function<void()> wake_;
  };

  void Say(std::string text, bool last = false) {
    const std::lock_guard lock(mutex_);
    newest_ = std::make_shared<const std::string>(std::move(text));
    ++version_;
    last_ = last;
    for (Stream* const stream : streams_) stream->wake_();
  }
  void AwaitStreams(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return streams_.size() == count; });
  }
  int taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Stream*> streams_;
  std::shared_ptr<const std::string> newest_;
  int version_ = 0;
  int taken_ = 0;
  bool last_ = false;
};

std::string Get(std::string_view target, std::string_view more = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: here\r\n" + std::string(more) + "\r\n";
}

std::string Post(std::string_view target, std::string_view body, std::string_view more = "") {
  return "POST " + std::string(target) +
         " HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

std::string PostChunks(std::string_view chunks) {
  return "POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n" +
         std::string(chunks);
}

class ServerFixture : public ::testing::Test {
 protected:
  static constexpr std::size_t kBodyLimit = 1000;

  void UseTls() {
    ::signal(SIGPIPE, SIG_IGN);  // which OpenSSL's clients get
    const Result<TlsFiles> files =
        MakeTlsFiles(folder_.path(), NamesOfServer("127.0.0.1", {}), SystemClock::WallNow());
    ASSERT_TRUE(files.ok()) << files.status().ToString();
    options_.tls = *files;
  }

  void Start() {
    Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(
        options_,
        [](const HttpRequest& head) -> BodyVerdict {
          if (head.path == "/unjudged") throw std::runtime_error("secret");
          if (head.path == "/refused") return {.refusal = HttpResponse{.status = 401}};
          if (head.path == "/large") return {.limit = std::size_t{4} << 20};
          return {.limit = head.path == "/none" ? 0 : kBodyLimit};
        },
        [this](const HttpRequest& request) { return Answer(request); });
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(*server);
  }

  void TearDown() override { gate_.Open(); }

  Client Connect(int receive_buffer = 0) {
    Client client(server_->port(), receive_buffer);
    if (options_.tls) {
      EXPECT_TRUE(client.SpeakTls({.trusted = options_.tls->certificate}));
    }
    return client;
  }

  HttpResponse Answer(const HttpRequest& request) {
    HttpResponse response;
    if (request.path == "/wait") gate_.Pass();
    if (request.path == "/throw") throw std::runtime_error("secret");
    if (request.path == "/throw-int") throw 1;
    if (request.path == "/header") response.headers.emplace_back(header_);
    if (request.path == "/type") response.type = "text/html\r\nEvil: 1";
    if (request.path == "/status") response.status = std::atoi(request.query.c_str());
    if (request.path == "/stream") {
      response.stream = std::make_shared<Tap::Stream>(&tap_);
      return response;
    }
    if (request.path == "/much") {
      response.body.assign(static_cast<std::size_t>(std::atoll(request.query.c_str())), 'x');
      return response;
    }
    response.body = request.method + " " + request.path + "?" + request.query + " " + request.body;
    if (request.path == "/headers") {
      for (const auto& [name, value] : request.headers) response.body += name + "=" + value + ";";
      response.body += request.peer;
    }
    return response;
  }

  ScratchDir folder_;
  HttpStats stats_;
  HttpServerOptions options_;
  std::pair<std::string, std::string> header_;
  Gate gate_;
  Tap tap_;
  std::unique_ptr<HttpServer> server_;  // ends first
};

/// What holds with TLS as without.
class HttpServerTest : public ServerFixture, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) UseTls();
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, HttpServerTest, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "Tls" : "Plain"; });

TEST_P(HttpServerTest, AnswersRequestAfterRequestOfOneConnection) {
  Start();
  Client client = Connect();
  struct Answer answer = client.Ask(Get("/a%20b?c=d&e"));
  EXPECT_EQ(answer.body, "GET /a%20b?c=d&e ");
  EXPECT_TRUE(answer.head.starts_with("HTTP/1.1 200 OK\r\nDate: "));
  tm utc = {};
  const char* end = ::strptime(answer.head.c_str() + 23, "%a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
  ASSERT_NE(end, nullptr) << answer.head;
  EXPECT_LT(std::abs(::timegm(&utc) - SystemClock::WallNow().ns / kNanosPerSecond), 60);
  EXPECT_TRUE(answer.Has("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_TRUE(answer.Has("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_TRUE(answer.keeps());
  EXPECT_EQ(client.Ask(Post("/echo", "body")).body, "POST /echo? body");
  EXPECT_EQ(client.Ask(Post("/echo", "")).body, "POST /echo? ");
  EXPECT_EQ(client.Ask("\r\n" + Get("/after-a-line-end")).body, "GET /after-a-line-end? ");
  EXPECT_EQ(client.Ask(Get("/headers", "X-Some: Thing\r\nEmpty:\r\n")).body,
            "GET /headers? host=here;x-some=Thing;empty=;127.0.0.1");
  answer = client.Ask(Get("/last", "Connection: close\r\n"));
  EXPECT_EQ(answer.body, "GET /last? ");
  EXPECT_TRUE(answer.Has("\r\nConnection: close\r\n"));
  EXPECT_TRUE(client.IsEnded());
}

TEST_P(HttpServerTest, KnowsHttp10) {
  Start();
  Client client = Connect();
  EXPECT_TRUE(client.Ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keeps());
  EXPECT_EQ(client.Ask("GET /b HTTP/1.0\r\n\r\n").body, "GET /b? ");
  EXPECT_TRUE(client.IsEnded());
}

TEST_P(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  Start();
  Client client = Connect();
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "/" + std::to_string(i);
    requests += i % 3 == 0   ? Get(name)
                : i % 3 == 1 ? Post(name, std::string(500, 'b'))
                             : "PUT " + name +
                                   " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                   "3\r\nabc\r\n0\r\n\r\n";
  }
  std::thread sender([&] { client.Send(requests); });
  for (int i = 0; i < 1000; ++i) {
    const std::string name = " /" + std::to_string(i) + "? ";
    const std::string expected = i % 3 == 0   ? "GET" + name
                                 : i % 3 == 1 ? "POST" + name + std::string(500, 'b')
                                              : "PUT" + name + "abc";
    EXPECT_EQ(client.Receive().body, expected);
  }
  sender.join();
}

TEST_P(HttpServerTest, TakesRequestsByteByByte) {
  Start();
  Client client = Connect();
  for (const std::string& request :
       {Get("/a"), Post("/b", "body"), PostChunks("2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: 1\r\n\r\n")}) {
    for (const char c : request) ASSERT_TRUE(client.Send({&c, 1}));
    EXPECT_EQ(client.Receive().status(), 200);
  }
}

TEST_P(HttpServerTest, AnswersClientsThatHaveEndedSending) {
  Start();
  Client client = Connect();
  client.Send(Post("/echo", "body"));
  client.EndSending();
  EXPECT_EQ(client.Receive().body, "POST /echo? body");
  EXPECT_TRUE(client.IsEnded());
}

TEST_P(HttpServerTest, LeavesTheBodyOut) {
  Start();
  Client client = Connect();
  client.Send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(client.Receive(/*only_head=*/true).Has("\r\nContent-Length: 9\r\n"));
  client.Send(Get("/status?204"));
  const struct Answer none = client.Receive();
  EXPECT_EQ(none.status(), 204);
  EXPECT_FALSE(none.Has("Content-Length"));
  EXPECT_EQ(client.Ask(Get("/b")).body, "GET /b? ");
  client.Send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Receive(/*only_head=*/true).status(), 200);
  EXPECT_EQ(client.Ask("nonsense\r\n\r\n").body, "this is no HTTP request\n");
}

TEST_P(HttpServerTest, TakesChunks) {
  Start();
  Client client = Connect();
  EXPECT_EQ(client.Ask(PostChunks("3\r\nabc\r\nA;n=v\r\n0123456789\r\n0\r\nMore: 1\r\n\r\n")).body,
            "POST /echo? abc0123456789");
  EXPECT_EQ(client.Ask(PostChunks("0\r\n\r\n")).body, "POST /echo? ");
  for (const char* bad : {"x\r\n", "3\r\nabcd\r\n0\r\n\r\n", "-1\r\n", "\r\n\r\n", "3 3\r\nabc",
                          "11111111111111111\r\n", "0\r\nbad trailer\r\n\r\n"}) {
    Client other = Connect();
    EXPECT_EQ(other.Ask(PostChunks(bad)).status(), 400) << bad;
    EXPECT_TRUE(other.IsEnded());
  }
  Client endless = Connect();
  EXPECT_EQ(endless.Ask(PostChunks("1;" + std::string(20'000, 'x'))).status(), 400);
}

TEST_P(HttpServerTest, TellsToContinue) {
  Start();
  Client client = Connect();
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ";
  client.Send(head + "4\r\n\r\n");
  EXPECT_EQ(client.Receive().head, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.Ask("body").body, "POST /echo? body");
  // Whoever does not wait is not told.
  EXPECT_EQ(client.Ask(head + "4\r\n\r\nbody").body, "POST /echo? body");
  EXPECT_EQ(client.Ask(Get("/a", "Expect: 100-continue\r\n")).body, "GET /a? ");
  EXPECT_EQ(client.Ask(head + "1001\r\n\r\n").status(), 413);
  EXPECT_TRUE(client.IsEnded());
  Client other = Connect();
  EXPECT_EQ(other.Ask(Post("/echo", "body", "Expect: tea\r\n")).status(), 417);
}

TEST_P(HttpServerTest, TakesLargeBodies) {
  Start();
  Client client = Connect();
  const std::string body(std::size_t{4} << 20, 'b');
  EXPECT_EQ(client.Ask(Post("/large", body)).body, "POST /large? " + body);
}

TEST_P(HttpServerTest, RefusesBodiesThatAreTooLarge) {
  Start();
  const std::string full(kBodyLimit, 'b');
  EXPECT_EQ(Connect().Ask(Post("/echo", full)).status(), 200);
  EXPECT_EQ(Connect().Ask(PostChunks("3e8\r\n" + full + "\r\n0\r\n\r\n")).status(), 200);
  for (const std::string& request :
       {Post("/echo", full + "b"), Post("/none", "b"),
        PostChunks("3e8\r\n" + full + "\r\n1\r\nb\r\n0\r\n\r\n"),
        PostChunks("ffffffffffffffff\r\n"),
        "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n" + full}) {
    Client client = Connect();
    const struct Answer answer = client.Ask(request);
    EXPECT_EQ(answer.status(), 413);
    EXPECT_TRUE(answer.Has("\r\nConnection: close\r\n"));
    EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 1);
    EXPECT_TRUE(client.IsEnded());
  }
  Client refused = Connect();
  EXPECT_EQ(refused.Ask(Post("/refused", full + full)).status(), 401);
  EXPECT_TRUE(refused.IsEnded());
  // A client that sends all of it before it reads gets the answer all the same.
  Client eager = Connect();
  EXPECT_EQ(eager.Ask(Post("/echo", std::string(std::size_t{8} << 20, 'b'))).status(), 413);
}

TEST_P(HttpServerTest, RefusesBodiesThatAreTooLargeTogether) {
  options_.body_bytes_limit = 100;
  Start();
  const std::string most(60, 'b');
  Client first = Connect();
  first.Send(Post("/wait", most));
  gate_.AwaitArrived(1);
  for (const std::string& request :
       {Post("/echo", most), PostChunks("3c\r\n" + most + "\r\n0\r\n\r\n")}) {
    Client second = Connect();
    const struct Answer answer = second.Ask(request);
    EXPECT_EQ(answer.status(), 429);
    EXPECT_TRUE(answer.Has("\r\nRetry-After: 1\r\n"));
    EXPECT_TRUE(second.IsEnded());
  }
  EXPECT_EQ(Connect().Ask(Post("/echo", "small")).status(), 200);
  gate_.Open();
  EXPECT_EQ(first.Receive().status(), 200);
  EXPECT_EQ(Connect().Ask(Post("/echo", most)).status(), 200);
  // What never came is given back too.
  {
    Client leaving = Connect();
    leaving.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nb");
    leaving.EndSending();
    EXPECT_TRUE(leaving.IsEnded());
  }
  EXPECT_EQ(Connect().Ask(Post("/echo", std::string(100, 'b'))).status(), 200);
}

TEST_P(HttpServerTest, BodiesOfWhichNothingComesMakeRoom) {
  options_.body_bytes_limit = 100;
  options_.slow_body_ns = 1'000'000;
  Start();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 90\r\n\r\n";
  // What is only announced takes no room.
  std::vector<Client> announcing;
  for (int i = 0; i < 5; ++i) announcing.push_back(Connect());
  for (Client& one : announcing) one.Send(head + "b");
  EXPECT_EQ(Connect().Ask(Post("/echo", std::string(60, 'b'))).status(), 200);
  Client holding = Connect();
  holding.Send(head + std::string(70, 'b'));
  EXPECT_FALSE(holding.IsReadable(20));
  EXPECT_EQ(Connect().Ask(Post("/echo", std::string(60, 'b'))).status(), 200);
  EXPECT_TRUE(holding.IsEnded());
}

TEST_P(HttpServerTest, RefusesWhatTheQueueDoesNotHold) {
  options_.workers = 1;
  options_.queue_limit = 1;
  Start();
  Client running = Connect();
  running.Send(Get("/wait"));
  gate_.AwaitArrived(1);
  // Of two further ones, one waits.
  Client one = Connect();
  Client two = Connect();
  one.Send(Get("/echo"));
  two.Send(Get("/echo"));
  while (!one.IsReadable(10) && !two.IsReadable(10)) {
  }
  Client& refused = one.IsReadable(0) ? one : two;
  Client& waiting = one.IsReadable(0) ? two : one;
  const struct Answer answer = refused.Receive();
  EXPECT_EQ(answer.status(), 429);
  EXPECT_TRUE(answer.Has("\r\nRetry-After: 1\r\n"));
  EXPECT_TRUE(answer.keeps());
  gate_.Open();
  EXPECT_EQ(running.Receive().status(), 200);
  EXPECT_EQ(waiting.Receive().status(), 200);
  EXPECT_EQ(refused.Ask(Get("/echo")).status(), 200);
}

TEST_P(HttpServerTest, BoundsTheHead) {
  Start();
  const std::string most = Get("/a", "X: \r\n");
  const std::string filler(limits::kServerHeadBytes - most.size(), 'x');
  Client client = Connect();
  EXPECT_EQ(client.Ask(Get("/a", "X: " + filler + "\r\n")).status(), 200);
  EXPECT_EQ(client.Ask(Get("/a", "X: " + filler + "x\r\n")).status(), 431);
  EXPECT_TRUE(client.IsEnded());
  // Line by line makes no difference.
  Client lines = Connect();
  lines.Send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 3000 && !lines.IsReadable(0); ++i) {
    if (!lines.Send("Line: " + std::to_string(i) + "\r\n")) break;
  }
  EXPECT_EQ(lines.Receive().status(), 431);
}

TEST_P(HttpServerTest, RefusesBadRequests) {
  Start();
  const struct {
    std::string request;
    int status;
  } kCases[] = {
      {"nonsense\r\n\r\n", 400},
      {"\x16\x03\x01\x02", 400},
      {"GET / HTTP/1.1\nHost: h\n\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / TEA/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {Get("/", "Host: other\r\n"), 400},
      {Get("/", "Authorization: Bearer a\r\nauthorization: Bearer b\r\n"), 400},
      {Get("/", "Content-Encoding: gzip\r\nContent-Encoding: identity\r\n"), 400},
      {Get("no-path"), 400},
      {Get("*"), 400},
      {Get("http://"), 400},
      {"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {Get("/", "no colon\r\n"), 400},
      {Get("/", "Content-Length: x\r\n"), 400},
      {Get("/", "Content-Length: -1\r\n"), 400},
      {Get("/", "Content-Length: 1\r\nContent-Length: 2\r\n"), 400},
      {Get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
      {Get("/", "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), 400},
      {Get("/", "Transfer-Encoding: gzip\r\n"), 400},
      {Get("/", "Transfer-Encoding: gzip, chunked\r\n"), 400},
      {Get("/", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/3.0\r\n\r\n", 505},
  };
  for (const auto& [request, status] : kCases) {
    Client client = Connect();
    const struct Answer answer = client.Ask(request);
    EXPECT_EQ(answer.status(), status) << request;
    EXPECT_EQ(answer.body.find('\n'), answer.body.size() - 1);
    EXPECT_FALSE(answer.keeps());
    EXPECT_TRUE(client.IsEnded());
  }
}

TEST_P(HttpServerTest, TakesTheServersNameOffATarget) {
  Start();
  Client client = Connect();
  EXPECT_EQ(client.Ask(Get("http://here:80/a?b")).body, "GET /a?b ");
  EXPECT_EQ(client.Ask(Get("HTTP://here")).body, "GET /? ");
  EXPECT_EQ(client.Ask(Get("http://here?b")).body, "GET /?b ");
  EXPECT_EQ(client.Ask(Get("/a?b#c")).body, "GET /a?b ");
  EXPECT_EQ(client.Ask(Get("/http://x")).body, "GET /http://x? ");
}

TEST_P(HttpServerTest, NeverSplitsAnAnswer) {
  Start();
  Client client = Connect();
  const std::pair<std::string, std::string> kBad[] = {{"A", "b\r\nEvil: 1"},
                                                      {"A", "b\nEvil: 1"},
                                                      {"A", "b\r"},
                                                      {"A\r\nEvil", "1"},
                                                      {"A: b", "c"},
                                                      {"", "c"},
                                                      {"A", {"b\0c", 3}},
                                                      {"content-length", "10"},
                                                      {"Transfer-Encoding", "chunked"}};
  for (const auto& bad : kBad) {
    header_ = bad;
    const struct Answer answer = client.Ask(Get("/header"));
    EXPECT_EQ(answer.status(), 500);
    EXPECT_EQ(answer.body, "internal error\n");
    EXPECT_FALSE(answer.Has("Evil"));
  }
  EXPECT_EQ(client.Ask(Get("/type")).status(), 500);
  for (const char* status : {"0", "100", "1000", "-1"}) {
    EXPECT_EQ(client.Ask(Get(std::string("/status?") + status)).status(), 500);
  }
  header_ = {"Cache-Control", "no-store, max-age=0"};
  EXPECT_TRUE(client.Ask(Get("/header")).Has("\r\nCache-Control: no-store, max-age=0\r\n"));
}

TEST_P(HttpServerTest, KeepsExceptionsToItself) {
  Start();
  Client client = Connect();
  for (const std::string& request : {Get("/throw"), Get("/throw-int"), Post("/unjudged", "body")}) {
    const struct Answer answer = client.Ask(request);
    EXPECT_EQ(answer.status(), 500);
    EXPECT_EQ(answer.body, "internal error\n");
    EXPECT_FALSE(answer.Has("secret"));
  }
}

TEST_P(HttpServerTest, CutsOffSlowHeads) {
  options_.head_seconds = 1;
  Start();
  Client silent = Connect();
  Client kept = Connect();
  EXPECT_EQ(kept.Ask(Get("/a")).status(), 200);
  Client slow = Connect();
  Client slow_second = Connect();
  EXPECT_EQ(slow_second.Ask(Get("/a")).status(), 200);
  slow.Send("GET / HTTP/1.1\r\n");
  slow_second.Send("GET / HTTP/1.1\r\n");
  // A line now and then is no excuse.
  for (Client* client : {&slow, &slow_second}) {
    for (int i = 0; i < 400 && !client->IsReadable(25); ++i) client->Send("A: b\r\n");
    EXPECT_TRUE(client->IsReadable(0));
    EXPECT_EQ(client->Receive().head, "");
  }
  EXPECT_TRUE(silent.IsEnded());
  EXPECT_EQ(kept.Ask(Get("/a")).status(), 200);
}

TEST_P(HttpServerTest, CutsOffSlowBodies) {
  options_.body_seconds = 1;
  Start();
  Client slow = Connect();
  Client chunks = Connect();
  slow.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  chunks.Send(PostChunks(""));
  for (int i = 0; i < 400 && !slow.IsReadable(25); ++i) {
    slow.Send("b");
    chunks.Send("1\r\nb\r\n");
  }
  EXPECT_TRUE(slow.IsReadable(0));
  EXPECT_EQ(slow.Receive().head, "");
  EXPECT_EQ(chunks.Receive().head, "");
  EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
}

TEST_P(HttpServerTest, CutsOffSlowReaders) {
  options_.body_seconds = 1;
  options_.connections_limit = 1;
  Start();
  // More than the system takes off the server's hands.
  const std::string size = std::to_string(std::size_t{5} << 20);
  Client slow = Connect(/*receive_buffer=*/4096);
  slow.Send(Get("/much?" + size));
  EXPECT_TRUE(slow.IsReadable(20'000));
  // Who waits for its place is served once it has been cut off.
  EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
  const struct Answer answer = slow.Receive();
  EXPECT_TRUE(answer.Has("\r\nContent-Length: " + size + "\r\n"));
  EXPECT_LT(answer.body.size(), std::size_t{5} << 20);
}

TEST_P(HttpServerTest, EndsIdleConnections) {
  options_.idle_seconds = 1;
  Start();
  Client client = Connect();
  EXPECT_TRUE(client.Ask(Get("/a")).keeps());
  EXPECT_TRUE(client.IsEnded());
}

TEST_P(HttpServerTest, EndsTheLongestIdleConnectionForANewOne) {
  options_.connections_limit = 2;
  Start();
  Client first = Connect();
  EXPECT_TRUE(first.Ask(Get("/a")).keeps());
  Client second = Connect();
  EXPECT_TRUE(second.Ask(Get("/a")).keeps());
  EXPECT_TRUE(first.Ask(Get("/a")).keeps());  // now the second is idle for longer
  Client third = Connect();
  EXPECT_TRUE(third.Ask(Get("/a")).keeps());
  EXPECT_TRUE(second.IsEnded());
  EXPECT_TRUE(first.Ask(Get("/a")).keeps());
}

TEST_P(HttpServerTest, LetsClientsWaitWhileAllConnectionsAreBusy) {
  options_.connections_limit = 2;
  Start();
  Client first = Connect();
  first.Send(Get("/wait"));
  Client second = Connect();
  second.Send(Get("/wait"));
  gate_.AwaitArrived(2);
  std::atomic<bool> answered = false;
  std::thread third([&] {
    EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
    answered = true;
  });
  // Long enough for any answer to come.
  EXPECT_FALSE(second.IsReadable(50));
  EXPECT_FALSE(answered);
  gate_.Open();
  third.join();
  EXPECT_EQ(first.Receive().status(), 200);
  EXPECT_EQ(second.Receive().status(), 200);
}

TEST_P(HttpServerTest, StopsOnceAllIsAnswered) {
  options_.head_seconds = 60;
  Start();
  Client idle = Connect();
  EXPECT_TRUE(idle.Ask(Get("/a")).keeps());
  Client fresh = Connect();
  Client running = Connect();
  running.Send(Get("/wait"));
  gate_.AwaitArrived(1);
  std::thread stopper([&] { server_->Stop(20); });
  EXPECT_TRUE(idle.IsEnded());
  EXPECT_TRUE(fresh.IsEnded());
  gate_.Open();
  const struct Answer answer = running.Receive();
  EXPECT_EQ(answer.body, "GET /wait? ");
  EXPECT_TRUE(answer.Has("\r\nConnection: close\r\n"));
  EXPECT_TRUE(running.IsEnded());
  stopper.join();
  server_->Stop(20);
}

TEST_P(HttpServerTest, StopWaitsNoLongerThanItsGrace) {
  Start();
  Client running = Connect();
  running.Send(Get("/wait"));
  gate_.AwaitArrived(1);
  server_->Stop(1);
  EXPECT_FALSE(running.IsReadable(0));
  gate_.Open();
  EXPECT_EQ(running.Receive().status(), 200);
}

TEST_P(HttpServerTest, MayBeDestroyedWithConnectionsInEveryState) {
  options_.workers = 1;
  for (int round = 0; round < 10; ++round) {
    Start();
    Client fresh = Connect();
    Client idle = Connect();
    EXPECT_EQ(idle.Ask(Get("/a")).status(), 200);
    Client head = Connect();
    head.Send("GET /");
    Client body = Connect();
    body.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nb");
    Client chunks = Connect();
    chunks.Send(PostChunks("3\r\na"));
    Client refused = Connect();
    EXPECT_EQ(refused.Ask(Post("/none", "b")).status(), 413);
    Client taking = Connect(/*receive_buffer=*/4096);
    for (int i = 0; i < 8; ++i) taking.Send(Get("/much?1000000"));
    EXPECT_TRUE(taking.IsReadable(10'000));
    Client running = Connect();
    Client waiting = Connect();
    if (round % 2 == 0) {
      running.Send(Get("/echo"));
      waiting.Send(Get("/much?1000000"));
    }
    if (round % 3 == 0) server_->Stop(0);
    server_.reset();
    EXPECT_TRUE(fresh.IsEnded());
    EXPECT_TRUE(idle.IsEnded());
  }
}

TEST_P(HttpServerTest, IsDestroyedOnceTheHandlerReturns) {
  options_.workers = 1;
  Start();
  Client running = Connect();
  running.Send(Get("/wait"));
  gate_.AwaitArrived(1);
  Client waiting = Connect();
  waiting.Send(Get("/a"));
  std::thread destroyer([&] { server_.reset(); });
  gate_.Open();
  destroyer.join();
  EXPECT_TRUE(waiting.IsReadable(10'000));
}

TEST_P(HttpServerTest, SendsAStreamAsItComes) {
  Start();
  Client client = Connect();
  client.Send(Get("/stream"));
  const struct Answer head = client.Receive(/*only_head=*/true);
  EXPECT_EQ(head.status(), 200);
  EXPECT_TRUE(head.Has("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_FALSE(head.Has("Content-Length"));
  EXPECT_FALSE(head.keeps());
  tap_.AwaitStreams(1);
  tap_.Say("one");
  EXPECT_EQ(client.ReceiveTo("\n\r\n"), "4\r\none\n\r\n");
  tap_.Say("two and three");
  EXPECT_EQ(client.ReceiveTo("\n\r\n"), "e\r\ntwo and three\n\r\n");
  EXPECT_FALSE(client.IsReadable(50));
  tap_.Say("end", /*last=*/true);
  EXPECT_EQ(client.ReceiveTo("0\r\n\r\n"), "4\r\nend\n\r\n0\r\n\r\n");
  EXPECT_TRUE(client.IsEnded());
}

TEST_P(HttpServerTest, SendsAStreamToOldClientsAndItsHeadToThoseWhoWantThat) {
  Start();
  Client old = Connect();
  old.Send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_FALSE(old.Receive(/*only_head=*/true).Has("chunked"));
  tap_.AwaitStreams(1);
  tap_.Say("all", /*last=*/true);
  EXPECT_EQ(old.ReceiveTo("\n"), "all\n");
  EXPECT_TRUE(old.IsEnded());
  Client head = Connect();
  head.Send("HEAD /stream HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_TRUE(head.Receive(/*only_head=*/true).Has("chunked"));
  EXPECT_EQ(head.Ask(Get("/next")).body, "GET /next? ");
}

TEST_P(HttpServerTest, AStreamThatIsReadSlowlySkips) {
  Start();
  Client client = Connect(/*receive_buffer=*/65536);
  client.Send(Get("/stream"));
  tap_.AwaitStreams(1);
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) tap_.Say(std::string(1 << 20, 'x'));
  tap_.Say("the newest");
  EXPECT_NE(client.ReceiveTo("the newest\n"), "");
  EXPECT_LT(tap_.taken(), kTimes / 2);
}

TEST_P(HttpServerTest, AStreamEndsWithItsClient) {
  options_.stats = &stats_;
  Start();
  {
    Client first = Connect();
    first.Send(Get("/stream"));
    Client second = Connect();
    second.Send(Get("/stream"));
    tap_.AwaitStreams(2);
  }
  tap_.AwaitStreams(0);
  // One that says more and more meanwhile is sent away.
  Client third = Connect();
  third.Send(Get("/stream"));
  tap_.AwaitStreams(1);
  third.Send(std::string(256 << 10, 'x'));
  tap_.AwaitStreams(0);
  while (stats_.connections_open > 1) std::this_thread::yield();
}

TEST_P(HttpServerTest, StreamsEndWithTheServer) {
  Start();
  Client quiet = Connect();
  quiet.Send(Get("/stream"));
  Client slow = Connect(/*receive_buffer=*/65536);
  slow.Send(Get("/stream"));
  tap_.AwaitStreams(2);
  for (int i = 0; i < 20; ++i) tap_.Say(std::string(1 << 20, 'x'));
  EXPECT_NE(quiet.ReceiveTo("\n\r\n"), "");
  const MonoNs begin = SystemClock::MonoNow();
  server_->Stop(20);
  EXPECT_LT(SystemClock::MonoNow() - begin, 10 * kNanosPerSecond);
  tap_.AwaitStreams(0);
}

TEST_P(HttpServerTest, TellsWhatBecameOfRequests) {
  std::mutex mutex;
  std::vector<std::pair<std::string, int>> told;
  options_.stats = &stats_;
  options_.on_answer = [&](const HttpOutcome& outcome) {
    const std::lock_guard lock(mutex);
    told.emplace_back(outcome.path, outcome.status);
    EXPECT_GE(outcome.ns, 0);
    EXPECT_LT(outcome.ns, 20 * kNanosPerSecond);
  };
  Start();
  Client client = Connect();
  const std::string request = Post("/echo", "body");
  const struct Answer answer = client.Ask(request);
  EXPECT_EQ(stats_.bytes_in, request.size());
  client.Ask(Get("/throw"));
  client.Ask(Post("/none", "b"));
  Connect().Ask("nonsense\r\n\r\n");
  server_.reset();
  EXPECT_EQ(told, (std::vector<std::pair<std::string, int>>{
                      {"/echo", 200}, {"/throw", 500}, {"/none", 413}, {"", 400}}));
  EXPECT_EQ(stats_.connections, 2U);
  EXPECT_EQ(stats_.connections_open, 0U);
  EXPECT_GE(stats_.bytes_out, answer.head.size() + answer.body.size());
  EXPECT_EQ(stats_.requests_waiting, 0U);
}

TEST_P(HttpServerTest, ClientsGetTheirOwnAnswers) {
  Start();
  std::atomic<int> good = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      Client client = Connect();
      for (int i = 0; i < 200; ++i) {
        const std::string name = std::to_string(c) + "-" + std::to_string(i);
        const bool posts = i % 2 == 0;
        const struct Answer answer =
            client.Ask(posts ? Post("/p" + name, name) : Get("/g?" + name));
        good += answer.body == (posts ? "POST /p" + name + "? " + name : "GET /g?" + name + " ");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 8 * 200);
}

TEST_P(HttpServerTest, OutlivesRandomRequests) {
  options_.connections_limit = 16;
  Start();
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const std::string kModels[] = {
      Get("/a", "Accept: */*\r\n"), Post("/echo", "some body", "Expect: 100-continue\r\n"),
      PostChunks("3\r\nabc\r\nA;n=v\r\n0123456789\r\n0\r\nMore: 1\r\n\r\n"),
      Get("/a") + PostChunks("1\r\na\r\n0\r\n\r\n") + Get("/b"), ""};
  constexpr std::string_view kPieces[] = {
      "\r\n", "\n",   "\r",           ":", " ",  {"\0", 1}, "0",     ";",
      "ffff", "\xff", "HTTP/1.1\r\n", "=", "\"", "\t",      "\r\n ", "0\r\n\r\n"};
  for (int i = 0; i < 1000; ++i) {
    std::string request = kModels[below(std::size(kModels))];
    if (request.empty()) {
      for (std::size_t n = below(600); n > 0; --n) request.push_back(static_cast<char>(random()));
    }
    for (std::size_t n = below(4); n > 0; --n) {
      const std::size_t at = below(request.size() + 1);
      switch (below(4)) {
        case 0: request.insert(at, kPieces[below(std::size(kPieces))]); break;
        case 1: request.erase(at, below(8)); break;
        case 2: request.resize(at); break;
        default:
          if (at < request.size()) request[at] = static_cast<char>(random());
      }
    }
    Client client = Connect();
    const std::size_t cut = below(request.size() + 1);
    client.Send(std::string_view(request).substr(0, cut));
    client.Send(std::string_view(request).substr(cut));
    if (below(2) == 0) continue;  // leaves without a word
    client.EndSending();
    while (!client.Receive().head.empty()) {
    }
  }
  EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
}

/// What there is only with TLS.
class TlsServerTest : public ServerFixture {
 protected:
  void SetUp() override { UseTls(); }
  void TearDown() override {
    ServerFixture::TearDown();
    server_.reset();
  }
  Client ConnectPlainly() { return Client(server_->port()); }
  TlsOffer Offer() const { return {.trusted = options_.tls->certificate}; }

  std::atomic<int> taken_ = 0;  // changes of the certificate
  std::atomic<int> refused_ = 0;
};

std::string CommonNameOf(SSL* tls) {
  const std::unique_ptr<X509, decltype(&X509_free)> shown(::SSL_get1_peer_certificate(tls),
                                                          &X509_free);
  char name[100] = {};
  ::X509_NAME_get_text_by_NID(::X509_get_subject_name(shown.get()), NID_commonName, name,
                              sizeof(name));
  return name;
}

std::string SerialOf(SSL* tls) {
  const std::unique_ptr<X509, decltype(&X509_free)> shown(::SSL_get1_peer_certificate(tls),
                                                          &X509_free);
  const ASN1_INTEGER* const serial = ::X509_get0_serialNumber(shown.get());
  return {reinterpret_cast<const char*>(serial->data), static_cast<std::size_t>(serial->length)};
}

TEST_F(TlsServerTest, SpeaksCurrentProtocolsOnly) {
  Start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Client client = ConnectPlainly();
    TlsOffer offer = Offer();
    offer.lowest = offer.highest = version;
    ASSERT_TRUE(client.SpeakTls(offer));
    EXPECT_EQ(::SSL_version(client.tls()), version);
    EXPECT_EQ(CommonNameOf(client.tls()), "headway server");
    EXPECT_EQ(client.Ask(Get("/a")).body, "GET /a? ");
  }
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    Client client = ConnectPlainly();
    TlsOffer offer = Offer();
    offer.lowest = offer.highest = version;
    offer.ciphers = "ALL:@SECLEVEL=0";
    EXPECT_FALSE(client.SpeakTls(offer));
  }
  // Not with a block cipher, and not with a key that is good for what was recorded before.
  for (const char* const ciphers : {"ECDHE+AES128+SHA256:!AESGCM", "kRSA", "aNULL:eNULL"}) {
    Client client = ConnectPlainly();
    TlsOffer offer = Offer();
    offer.highest = TLS1_2_VERSION;
    offer.ciphers = ciphers;
    EXPECT_FALSE(client.SpeakTls(offer)) << ciphers;
  }
}

TEST_F(TlsServerTest, IsRefusedByWhoDoesNotKnowItsCertificate) {
  Start();
  const ScratchDir other;
  const Result<TlsFiles> stranger =
      MakeTlsFiles(other.path(), NamesOfServer("127.0.0.1", {}), SystemClock::WallNow());
  ASSERT_TRUE(stranger.ok());
  EXPECT_FALSE(ConnectPlainly().SpeakTls({.trusted = stranger->certificate}));
  EXPECT_TRUE(ConnectPlainly().SpeakTls(Offer()));
}

TEST_F(TlsServerTest, TellsPlainClientsWhatItSpeaks) {
  options_.stats = &stats_;
  Start();
  for (const std::string& words : {Get("/a"), Post("/echo", std::string(100'000, 'b')),
                                   std::string("\x80\x01"), std::string("\r\n")}) {
    Client client = ConnectPlainly();
    const struct Answer answer = client.Ask(words);
    EXPECT_EQ(answer.status(), 400);
    EXPECT_EQ(answer.body, "this server speaks TLS: its URL begins with https://\n");
    EXPECT_FALSE(answer.keeps());
    EXPECT_TRUE(client.IsEnded());
  }
  EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
  while (stats_.connections_open > 0) std::this_thread::yield();
  EXPECT_EQ(stats_.handshakes, 1U);
  EXPECT_EQ(stats_.handshakes_failed, 4U);
}

TEST_F(TlsServerTest, EndsWhatBecomesNoHandshake) {
  Start();
  std::mt19937 random(20240608);
  for (int i = 0; i < 200; ++i) {
    Client client = ConnectPlainly();
    std::string bytes = "\x16\x03\x01";
    for (std::size_t n = random() % 600; n > 0; --n) bytes += static_cast<char>(random());
    client.Send(bytes);
    if (i % 2 == 0) client.EndSending();
    if (i % 4 == 0) continue;  // leaves without a word
    client.EndSending();
    char rest[64];
    while (client.IsReadable(10'000) && client.Take(rest, sizeof(rest))) {
    }
  }
  EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
}

TEST_F(TlsServerTest, CutsOffSlowHandshakes) {
  options_.head_seconds = 1;
  Start();
  Client kept = Connect();
  EXPECT_EQ(kept.Ask(Get("/a")).status(), 200);
  Client silent = ConnectPlainly();
  Client slow = ConnectPlainly();
  Client after_it = Connect();  // has shaken hands, and says nothing more
  // The beginning of a hello, byte by byte, is no excuse.
  slow.Send("\x16");
  for (int i = 0; i < 400 && !slow.IsReadable(25); ++i) {
    slow.Send(i == 0 ? "\x03" : i == 1 ? "\x01" : "\x02");
    EXPECT_EQ(kept.Ask(Get("/a")).status(), 200);
  }
  EXPECT_TRUE(slow.IsReadable(0));
  EXPECT_TRUE(silent.IsEnded());
  EXPECT_TRUE(after_it.IsEnded());
  EXPECT_EQ(kept.Ask(Get("/a")).status(), 200);
}

TEST_F(TlsServerTest, TakesHandshakesByteByByte) {
  Start();
  Client client = ConnectPlainly();
  // What OpenSSL would send, in pieces of one byte.
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_client_method()), &SSL_CTX_free);
  ASSERT_EQ(::SSL_CTX_load_verify_file(context.get(), options_.tls->certificate.c_str()), 1);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(::SSL_new(context.get()), &SSL_free);
  BIO* const in = ::BIO_new(::BIO_s_mem());
  BIO* const out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(tls.get(), in, out);
  int done = 0;
  for (int turns = 0; turns < 10'000 && done != 1; ++turns) {
    done = ::SSL_connect(tls.get());
    char bytes[4096];
    for (int size = 0; (size = ::BIO_read(out, bytes, sizeof(bytes))) > 0;) {
      for (int i = 0; i < size; ++i) ASSERT_TRUE(client.Send({bytes + i, 1}));
    }
    if (done == 1) break;
    ASSERT_EQ(::SSL_get_error(tls.get(), done), SSL_ERROR_WANT_READ);
    const std::size_t got = client.Take(bytes, 1);
    ASSERT_EQ(got, 1U);
    ::BIO_write(in, bytes, 1);
  }
  EXPECT_EQ(done, 1);
}

TEST_F(TlsServerTest, WhoSaysNothingTakesNobodysPlace) {
  options_.connections_limit = 8;
  Start();
  std::vector<Client> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(ConnectPlainly());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
  }
  EXPECT_TRUE(silent.front().IsEnded());
}

TEST_F(TlsServerTest, ServesManyAtATime) {
  options_.stats = &stats_;
  options_.connections_limit = 64;
  Start();
  std::atomic<int> good = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 32; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 10; ++i) {
        Client client = Connect();
        const std::string body(1000, static_cast<char>('a' + c % 26));
        good += client.Ask(Post("/echo", body)).body == "POST /echo? " + body;
        good += client.Ask(Get("/much?100000")).body.size() == 100'000;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 32 * 10 * 2);
  EXPECT_EQ(stats_.handshakes, 320U);
  EXPECT_GE(stats_.bytes_in, 320U * 1000);
  EXPECT_GE(stats_.bytes_out, 320U * 100'000);
}

TEST_F(TlsServerTest, SaysThatItEndsTheConnection) {
  Start();
  Client client = Connect();
  EXPECT_EQ(client.Ask(Get("/a", "Connection: close\r\n")).status(), 200);
  EXPECT_TRUE(client.IsEnded());
  EXPECT_EQ(::SSL_get_shutdown(client.tls()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
}

TEST_F(TlsServerTest, TakesANewCertificateWhileItRuns) {
  options_.stats = &stats_;
  options_.on_tls_files = [&](const Status& status) { ++(status.ok() ? taken_ : refused_); };
  const TlsFiles first = *options_.tls;
  Start();
  Client before = Connect();
  const std::string serial = SerialOf(before.tls());
  const std::int64_t expires = stats_.certificate_expires;
  // One whose key is another one is no good, and changes nothing.
  const ScratchDir other;
  const Result<TlsFiles> next = MakeTlsFiles(other.path(), NamesOfServer("127.0.0.1", {}),
                                             SystemClock::WallNow() + kNanosPerSecond);
  ASSERT_TRUE(next.ok());
  ASSERT_EQ(::rename(first.certificate.c_str(), (first.certificate + ".old").c_str()), 0);
  ASSERT_EQ(::rename(next->certificate.c_str(), first.certificate.c_str()), 0);
  while (refused_ == 0) std::this_thread::yield();
  Client still = ConnectPlainly();
  ASSERT_TRUE(still.SpeakTls({.trusted = first.certificate + ".old"}));
  EXPECT_EQ(SerialOf(still.tls()), serial);
  EXPECT_EQ(taken_, 0);
  // With its key it counts, and who is connected goes on.
  ASSERT_EQ(::rename(next->key.c_str(), first.key.c_str()), 0);
  while (taken_ == 0) std::this_thread::yield();
  EXPECT_NE(SerialOf(Connect().tls()), serial);
  EXPECT_EQ(before.Ask(Get("/a")).status(), 200);
  EXPECT_GT(stats_.certificate_expires, expires);
  // What disappears is kept.
  ASSERT_EQ(::unlink(first.key.c_str()), 0);
  while (refused_ == 1) std::this_thread::yield();
  EXPECT_EQ(Connect().Ask(Get("/a")).status(), 200);
}

TEST(HttpServerStartTest, SaysWhyItCannotListen) {
  const JudgeBody none = [](const HttpRequest&) { return BodyVerdict(); };
  const Handler handler = [](const HttpRequest&) { return HttpResponse(); };
  const auto start = [&](const std::string& address, std::uint16_t port) {
    HttpServerOptions options;
    options.address = address;
    options.port = port;
    return HttpServer::Start(options, none, handler);
  };
  EXPECT_EQ(start("somewhere", 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(start("192.0.2.1", 0).status().code(), Code::kInvalidArgument);
  const auto first = start("localhost", 0);
  ASSERT_TRUE(first.ok());
  const auto second = start("127.0.0.1", first->get()->port());
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(second.status().message().find("name another port"), std::string::npos);
}

}  // namespace
}  // namespace headway::server
