#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/output.h"

namespace headway::cli {
namespace {

constexpr char kListen[] = "127.0.0.1:8460";

// `headway serve`, and `headway ui`, which also opens a browser.
class ServeCommand final : public Command {
 public:
  explicit ServeCommand(bool browser) : browser_(browser) {}

  void Describe(Description* description) override {
    browser_ ? DescribeUi(description) : DescribeServe(description);
    description->Option("--dir", "DIR", &dir_, "data directory (HEADWAY_DIR, else ~/.headway)")
        .completion = Completion::kDirectory;
    description->Option(
        "--listen", "ADDRESS:PORT", &listen_,
        std::string("where it listens; port 0: any that is free (") + kListen + ")");
    description->Flag("--no-access-control", &open_,
                      "everybody may do everything; on the loopback interface only");
    if (browser_) return;
    description->Flag("--tls", &tls_,
                      "speak TLS, with a key and a certificate that are made at the first start");
    description->Option("--tls-name", "NAME", &names_,
                        "with --tls: a host name or an address under which clients reach it, "
                        "beside its own; may be given several times");
    description
        ->Option("--tls-cert", "FILE", &certificate_,
                 "speak TLS, with this certificate (PEM, with those between it and its "
                 "root); a new one is taken as soon as it is there")
        .completion = Completion::kFile;
    description->Option("--tls-key", "FILE", &key_, "the key of that certificate (PEM)")
        .completion = Completion::kFile;
    description->Example("headway serve", "for programs of this machine");
    description->Example("headway serve --listen 0.0.0.0:8460 --tls --tls-name goodput",
                         "for other machines, which know it as https://goodput:8460");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(CheckTls());
    const Result<std::string> directory = ServerDirectory(dir_);
    if (!directory.ok()) return directory.status();
    std::vector<std::string> arguments = {"serve", *directory, listen_.empty() ? kListen : listen_};
    if (open_) arguments.emplace_back("--no-access-control");
    if (browser_) arguments.emplace_back("--browser");
    if (tls_) arguments.emplace_back("--tls");
    for (const std::string& name : names_) arguments.insert(arguments.end(), {"--tls-name", name});
    if (!certificate_.empty()) {
      arguments.insert(arguments.end(), {"--tls-cert", certificate_, "--tls-key", key_});
    }
    HEADWAY_RETURN_IF_ERROR(context.out->Flush());
    return BecomeDaemon(arguments);
  }

 private:
  static void DescribeServe(Description* description) {
    description->Text(
        "Takes in the journals that headway ship sends, keeps them below DIR/server, and answers "
        "about their runs. The first start makes a token for its administrator and says in which "
        "file it lies; a client sends it along (HEADWAY_TOKEN).\n"
        "SIGTERM and SIGINT end it: requests under way are answered first.");
  }

  static void DescribeUi(Description* description) {
    description->Text(
        "headway serve, and its page in a browser (xdg-open), where there is a desktop; elsewhere "
        "it prints the address. The page asks for a token: the administrator's lies in the file "
        "that is named, and headway tokens create makes others. headway ship sends the runs of "
        "this machine there.");
    description->Example("headway ui", "the page of this machine's server");
    description->Example("headway ui --no-access-control", "without a token");
  }

  Status CheckTls() const {
    if (certificate_.empty() != key_.empty()) {
      return {Code::kInvalidArgument,
              "--tls-cert and --tls-key go together: a certificate and the key that it is of"};
    }
    if (tls_ && !certificate_.empty()) {
      return {Code::kInvalidArgument,
              "--tls makes a certificate, --tls-cert names one: give only one of them"};
    }
    if (!tls_ && !names_.empty()) {
      return {Code::kInvalidArgument,
              "--tls-name is for the certificate that --tls makes: give that, too"};
    }
    return OkStatus();
  }

  const bool browser_;
  std::string dir_;
  std::string listen_;
  bool open_ = false;
  bool tls_ = false;
  std::vector<std::string> names_;
  std::string certificate_;
  std::string key_;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<ServeCommand>(false); }
std::unique_ptr<Command> MakeUi() { return std::make_unique<ServeCommand>(true); }

}  // namespace headway::cli
