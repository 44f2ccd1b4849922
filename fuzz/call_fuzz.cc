#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/test_scratch_dir.h"
#include "journal/format.h"
#include "server/access.h"
#include "server/config_service.h"
#include "server/event_service.h"
#include "server/fleet_service.h"
#include "server/journal_service.h"
#include "server/operation_service.h"
#include "server/process_service.h"
#include "server/profile_service.h"
#include "server/project_service.h"
#include "server/record_service.h"
#include "server/roles.h"
#include "server/run_ledger.h"
#include "server/run_registry.h"
#include "server/run_service.h"
#include "server/series_service.h"
#include "server/server_service.h"
#include "server/tokens.h"
#include "server/upkeep.h"
#include "server/view_service.h"
#include "store/directory/blob_store.h"
#include "store/sqlite/record_store.h"

// Whatever requests say, each method of proto/ answers, by everybody who may ask, and never with
// an error of the server's own; what was kept of them is read and tidied up afterwards.
//
// An input is one call or more. The first byte of each says who asks, and how the body is sent; it
// is the rest of the input, after the method's name and a line feed, or, where the byte says so, it
// is made from the bytes that follow, field by field, of words that mean something here. A server
// answers some hundred inputs before it makes room for a new one, so that a failure may take
// inputs that came before it.

namespace headway::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::Reflection;

constexpr int kInputsOfAServer = 500;
constexpr std::size_t kCallsMost = 4;
constexpr std::size_t kWordsMost = 128;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "call_fuzz: %s\n", why.c_str());
  std::abort();
}

/// All rpc methods of proto/, by name.
std::vector<const MethodDescriptor*> FindMethods() {
  std::vector<const MethodDescriptor*> methods;
  std::string files = HEADWAY_PROTO_FILES;
  for (std::size_t at = 0; at < files.size();) {
    const std::size_t end = std::min(files.find(',', at), files.size());
    const std::string name = files.substr(at, end - at);
    at = end + 1;
    const auto* const file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(name);
    if (file == nullptr) Fail(name + " is not linked: its services are not here");
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.push_back(file->service(i)->method(j));
      }
    }
  }
  std::ranges::sort(methods, {}, &MethodDescriptor::full_name);
  return methods;
}

const std::vector<const MethodDescriptor*>& Methods() {
  static const std::vector<const MethodDescriptor*> kMethods = FindMethods();
  return kMethods;
}

std::string PathOf(const MethodDescriptor* method) {
  return "/" + std::string(method->service()->full_name()) + "/" + std::string(method->name());
}

std::string MemoryDir() {
  struct stat info;
  return ::stat("/dev/shm", &info) == 0 ? "/dev/shm" : "";
}

template <typename T>
T Checked(Result<T> result) {
  if (!result.ok()) Fail(result.status().message());
  return *std::move(result);
}

/// All that a server is but its connections, and some runs that it knows.
class World {
 public:
  World()
      : dir_(MemoryDir()),
        store_(Checked(store::OpenSqliteStore(dir_.path() + "/records.sqlite", {}))),
        blobs_(Checked(store::OpenDirectoryBlobStore(dir_.path(), &clock_))),
        ledgers_({store_.get(), store_.get(), store_.get()}, &clock_),
        journals_(store_.get(), &clock_),
        upkeep_(store_.get(), blobs_.get(), &ledgers_, &clock_, {}),
        registry_(store_.get(), &upkeep_, &clock_),
        runs_(&registry_, &ledgers_, &clock_),
        views_(&registry_, &ledgers_, &clock_),
        configs_(&registry_, &ledgers_, store_.get(), &clock_),
        processes_(&registry_, &ledgers_, store_.get(), &clock_),
        fleet_(store_.get(), &clock_),
        records_(&registry_, store_.get(), &clock_),
        series_(store_.get(), &registry_, &ledgers_, &clock_),
        projects_(store_.get(), &clock_),
        operations_(store_.get(), &upkeep_, &clock_),
        events_(store_.get(), &registry_, &clock_),
        profiles_(store_.get(), &registry_, &clock_),
        itself_(dir_.path(), &clock_),
        roles_(Checked(Roles::Load(store_.get(), &clock_))),
        tokens_(Checked(Tokens::Load(store_.get(), roles_.get(), &clock_))),
        links_(Checked(Links::Load(store_.get(), &clock_))),
        access_(Access::Open()),
        router_([this](const HttpRequest& head) { return access_.Authenticate(head); }) {
    roles_->AddTo(&router_);
    tokens_->AddTo(&router_);
    links_->AddTo(&router_, &registry_);
    journals_.AddTo(&router_);
    registry_.AddTo(&router_);
    runs_.AddTo(&router_);
    views_.AddTo(&router_);
    configs_.AddTo(&router_);
    processes_.AddTo(&router_);
    fleet_.AddTo(&router_);
    records_.AddTo(&router_);
    series_.AddTo(&router_);
    projects_.AddTo(&router_);
    operations_.AddTo(&router_);
    events_.AddTo(&router_);
    profiles_.AddTo(&router_);
    itself_.AddTo(&router_);
    for (const MethodDescriptor* const method : Methods()) {
      if (!router_.Has(PathOf(method))) Fail("nobody answers " + PathOf(method));
    }
    Fill();
  }

  HttpResponse Answer(const HttpRequest& request) {
    const HttpResponse answer = router_.Answer(request);
    clock_.Advance(1'000'000);
    if (answer.status >= 500 && answer.status != 501) {
      Fail(request.path + " was answered with " + std::to_string(answer.status) + ": " +
           answer.body.substr(0, 1000));
    }
    const bool plain = answer.status == 405 || answer.status == 415;
    if (answer.status != 200 && !plain && !answer.body.starts_with("{\"code\":\"")) {
      Fail("an error is no JSON: " + answer.body.substr(0, 1000));
    }
    return answer;
  }

  /// What a server does by itself.
  void Tidy() {
    if (const Status status = upkeep_.Pass(); !status.ok() && status.code() != Code::kDataLoss) {
      Fail("upkeep: " + status.message());
    }
  }

  /// Names and numbers that mean something here.
  const std::vector<std::string>& words() const { return words_; }
  void Learn(std::string word) {
    if (words_.size() < kWordsMost) words_.push_back(std::move(word));
  }
  /// The administrator's, that of an editor of one run, and what stands for a link to it.
  const std::array<std::string, 3>& secrets() const { return secrets_; }
  /// The headers of two journals.
  const std::vector<std::string>& headers() const { return headers_; }

 private:
  template <typename Response>
  Response Call(const std::string& method, const Message& message) {
    HttpRequest request{.method = "POST", .path = "/headway.v1." + method};
    request.headers = {{"content-type", "application/proto"}};
    if (!secrets_[0].empty()) {
      request.headers.emplace_back("authorization", "Bearer " + secrets_[0]);
    }
    request.body = message.SerializeAsString();
    const HttpResponse answer = Answer(request);
    Response response;
    if (answer.status != 200 || !response.ParseFromString(answer.body)) Fail(method + answer.body);
    return response;
  }

  std::string HeaderOf(std::uint8_t number, const std::string& run) {
    journal::Header header;
    header.uid.bytes.fill(number);
    header.run_uid.bytes.fill(static_cast<std::uint8_t>(number + 100));
    header.project = "default";
    header.run = run;
    header.rank = number;
    header.anchor = {WallNs{1'700'000'000 * kNanosPerSecond}, MonoNs{1'000 * kNanosPerSecond}};
    const auto bytes = journal::EncodeHeader(header);
    words_.push_back(ToHex(header.uid));
    words_.push_back(ToHex(header.run_uid));
    words_.emplace_back(reinterpret_cast<const char*>(header.uid.bytes.data()),
                        header.uid.bytes.size());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void Fill() {
    words_ = {"",
              "default",
              "p",
              "r",
              "s",
              "t",
              "loss",
              "lo*",
              "*",
              "group",
              "labels.team",
              "team",
              "+1s",
              "@0",
              "system_configs.api_key",
              "api_key",
              "1",
              "viewer",
              "editor",
              "mine",
              "runs.get",
              "runs.list",
              "***",
              "goodput desc, name",
              "labels.team = a AND goodput < 90% OR NOT end < @5",
              "state = running",
              "source",
              "2023-11-14T22:13:20Z",
              "a\nb"};
    headers_ = {HeaderOf(1, "r"), HeaderOf(2, "s")};
    const std::string token_path = dir_.path() + "/admin-token";
    access_ = Checked(Access::WithTokenFile(token_path));
    access_.Use(tokens_.get(), links_.get());
    if (std::FILE* const file = std::fopen(token_path.c_str(), "r"); file != nullptr) {
      std::array<char, 256> line{};
      if (std::fgets(line.data(), line.size(), file) != nullptr) secrets_[0] = line.data();
      std::fclose(file);
    }
    while (secrets_[0].ends_with('\n')) secrets_[0].pop_back();
    v1::AppendJournalsRequest pieces;
    for (const std::string& header : headers_) {
      v1::JournalPiece* const piece = pieces.add_pieces();
      piece->set_uid(std::string(16, static_cast<char>(pieces.pieces_size())));
      piece->set_header(header);
      piece->set_writer(v1::WRITER_STATE_ALIVE);
    }
    Call<v1::AppendJournalsResponse>("JournalService/AppendJournals", pieces);
    v1::CreateRunRequest create;
    create.mutable_run()->set_name("t");
    (*create.mutable_run()->mutable_system_configs())["api_key"] = "a secret";
    Learn(Call<v1::CreateRunResponse>("RunService/CreateRun", create).run().uid());
    v1::WritePointsRequest write;
    write.set_run("r");
    write.set_source("source");
    v1::PointFrame* const frame = write.add_frames();
    v1::PointColumn* const column = frame->add_columns();
    column->set_name("loss");
    for (int i = 0; i < 10; ++i) {
      frame->add_times(clock_.Wall().ns + i);
      frame->add_steps(i);
      column->add_values(i);
    }
    Call<v1::WritePointsResponse>("SeriesService/WritePoints", write);
    v1::PutRoleRequest role;
    role.set_name("mine");
    role.add_permissions("runs.get");
    Call<v1::Role>("RoleService/PutRole", role);
    v1::CreateTokenRequest token;
    token.set_role("editor");
    token.set_project("default");
    token.set_run("r");
    const auto made = Call<v1::CreateTokenResponse>("TokenService/CreateToken", token);
    secrets_[1] = made.secret();
    Learn(made.token().id());
    v1::CreateLinkRequest link;
    link.set_run("r");
    const auto shared = Call<v1::CreateLinkResponse>("LinkService/CreateLink", link);
    secrets_[2] = shared.secret();
    Learn(shared.link().id());
    v1::CreateEventRequest event;
    event.set_run("r");
    event.mutable_event()->set_type(v1::EVENT_TYPE_HANG);
    Learn(Call<v1::CreateEventResponse>("EventService/CreateEvent", event).event().uid());
    v1::CreateProfilerTargetRequest target;
    target.set_run("r");
    target.mutable_target()->set_host("host");
    Call<v1::CreateProfilerTargetResponse>("ProfileService/CreateProfilerTarget", target);
    v1::CreateProfileSessionRequest session;
    session.set_run("r");
    session.mutable_session()->set_kind(v1::PROFILE_KIND_SCANNED);
    Learn(Call<v1::CreateProfileSessionResponse>("ProfileService/CreateProfileSession", session)
              .session()
              .uid());
    v1::DeleteRunRequest gone;
    gone.set_run("s");
    gone.set_force(true);
    Learn(Call<v1::DeleteRunResponse>("RunService/DeleteRun", gone).operation());
  }

  ScratchDir dir_;
  FakeClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::BlobStore> blobs_;
  RunLedgers ledgers_;
  JournalService journals_;
  Upkeep upkeep_;
  RunRegistry registry_;
  RunService runs_;
  ViewService views_;
  ConfigService configs_;
  ProcessService processes_;
  FleetService fleet_;
  RecordService records_;
  SeriesService series_;
  ProjectService projects_;
  OperationService operations_;
  EventService events_;
  ProfileService profiles_;
  ServerService itself_;
  std::unique_ptr<Roles> roles_;
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<Links> links_;
  Access access_;
  ConnectRouter router_;
  std::vector<std::string> words_;
  std::vector<std::string> headers_;
  std::array<std::string, 3> secrets_;
};

/// Choices, as the input makes them; at its end all are 0.
class Choices {
 public:
  explicit Choices(std::string_view input) : left_(input) {}

  bool done() const { return left_.empty(); }
  std::uint8_t Byte() { return static_cast<std::uint8_t>(Take(1)[0]); }
  std::size_t Below(std::size_t count) { return Byte() % count; }
  std::string Take(std::size_t size) {
    std::string bytes(left_.substr(0, size));
    left_.remove_prefix(bytes.size());
    bytes.resize(size);
    return bytes;
  }
  std::string Text(std::size_t most) { return Take(std::min(Below(most + 1), left_.size())); }
  template <typename T>
  T Number() {
    constexpr T kOdd[] = {T(0),
                          T(1),
                          T(2),
                          std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::lowest(),
                          T(std::int64_t{1'700'000'000'000'000'000}),
                          T(1000),
                          T(-1)};
    const std::uint8_t which = Byte();
    if (which % 16 < std::size(kOdd)) return kOdd[which % 16];
    if (which % 16 < 12) return static_cast<T>(Byte());
    T value;
    std::memcpy(&value, Take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string Rest() { return Take(left_.size()); }

 private:
  std::string_view left_;
};

/// Messages of what a World knows.
class Maker {
 public:
  Maker(const World& world, Choices* choices) : world_(world), choices_(choices) {}

  void Fill(Message* message, int depth = 0) {
    const Descriptor* const type = message->GetDescriptor();
    for (int i = 0; i < type->field_count() && !choices_->done(); ++i) {
      const FieldDescriptor* const field = type->field(i);
      const std::size_t count = field->is_repeated() ? choices_->Below(4) : choices_->Below(4) > 0;
      for (std::size_t n = 0; n < count; ++n) Set(message, field, depth);
    }
  }

 private:
  std::string Word() {
    const std::size_t which = choices_->Byte();
    if (which < 192) return world_.words()[which % world_.words().size()];
    return choices_->Text(which % 32);
  }

  std::string Blob(const FieldDescriptor* field) {
    if (field->name() == "header" && choices_->Below(8) > 0) {
      std::string header = world_.headers()[choices_->Below(world_.headers().size())];
      if (choices_->Below(4) == 0) {
        header[choices_->Byte() * 16U] = static_cast<char>(choices_->Byte());
      }
      return header;
    }
    if (field->name() == "slots")
      return choices_->Text(4) + choices_->Take(32 * choices_->Below(8));
    return Word();
  }

  void Set(Message* message, const FieldDescriptor* field, int depth) {
    const Reflection* const reflection = message->GetReflection();
    const bool many = field->is_repeated();
    const auto put = [&](auto set, auto add, auto value) {
      many ? (reflection->*add)(message, field, value) : (reflection->*set)(message, field, value);
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return put(&Reflection::SetInt32, &Reflection::AddInt32, choices_->Number<std::int32_t>());
      case FieldDescriptor::CPPTYPE_INT64:
        return put(&Reflection::SetInt64, &Reflection::AddInt64, choices_->Number<std::int64_t>());
      case FieldDescriptor::CPPTYPE_UINT32:
        return put(&Reflection::SetUInt32, &Reflection::AddUInt32,
                   choices_->Number<std::uint32_t>());
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(&Reflection::SetUInt64, &Reflection::AddUInt64,
                   choices_->Number<std::uint64_t>());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(&Reflection::SetDouble, &Reflection::AddDouble, choices_->Number<double>());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return put(&Reflection::SetFloat, &Reflection::AddFloat, choices_->Number<float>());
      case FieldDescriptor::CPPTYPE_BOOL:
        return put(&Reflection::SetBool, &Reflection::AddBool, choices_->Below(2) == 1);
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(&Reflection::SetEnumValue, &Reflection::AddEnumValue,
                   static_cast<int>(choices_->Below(16)));
      case FieldDescriptor::CPPTYPE_STRING: {
        const bool blob = field->type() == FieldDescriptor::TYPE_BYTES;
        std::string value = blob ? Blob(field) : Word();
        many ? reflection->AddString(message, field, std::move(value))
             : reflection->SetString(message, field, std::move(value));
        return;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        if (depth > 4) return;
        Fill(many ? reflection->AddMessage(message, field)
                  : reflection->MutableMessage(message, field),
             depth + 1);
        return;
      }
    }
  }

  const World& world_;
  Choices* choices_;
};

std::string BodyOf(const Message& message, bool json) {
  std::string body;
  // What is no UTF-8 is in no JSON.
  if (json && google::protobuf::util::MessageToJsonString(message, &body).ok()) return body;
  return message.SerializePartialAsString();
}

std::string Packed(const std::string& body) {
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), 1));
  return packed;
}

// What is read of a page leads to the next one.
void LearnFrom(const std::string& body, World* world) {
  constexpr std::string_view kNext = "\"nextPageToken\":\"";
  const std::size_t at = body.find(kNext);
  if (at == std::string::npos) return;
  const std::size_t begin = at + kNext.size();
  const std::string token = body.substr(begin, body.find('"', begin) - begin);
  if (!token.empty()) world->Learn(token);
}

void Call(Choices* choices, World* world) {
  const std::uint8_t how = choices->Byte();
  const bool json = (how & 0x40) != 0;
  HttpRequest request;
  request.method = "POST";
  request.headers = {{"content-type", json ? "application/json" : "application/proto"}};
  const std::size_t who = (how >> 4) & 3;
  if (who < world->secrets().size()) {
    request.headers.emplace_back("authorization", "Bearer " + world->secrets()[who]);
  }
  if ((how & 1) != 0) {
    const MethodDescriptor* const method = Methods()[choices->Below(Methods().size())];
    request.path = PathOf(method);
    const std::unique_ptr<Message> message(google::protobuf::MessageFactory::generated_factory()
                                               ->GetPrototype(method->input_type())
                                               ->New());
    Maker(*world, choices).Fill(message.get());
    request.body = BodyOf(*message, json);
    if ((how & 0x80) != 0) request.body = Packed(request.body);
  } else {
    const std::string rest = choices->Rest();
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    request.path = "/headway.v1." + rest.substr(0, line);
    request.body = rest.substr(std::min(line + 1, rest.size()));
  }
  if ((how & 0x80) != 0) request.headers.emplace_back("content-encoding", "zstd");
  const HttpResponse answer = world->Answer(request);
  if (answer.status == 200) LearnFrom(answer.body, world);
}

void Run(std::string_view input) {
  static std::unique_ptr<World> world;
  static int answered = 0;
  google::protobuf::SetLogHandler(nullptr);  // what it says of each body is told in the answer
  if (world == nullptr || ++answered % kInputsOfAServer == 0) {
    world.reset();
    world = std::make_unique<World>();
  }
  Choices choices(input);
  for (std::size_t n = 0; n < kCallsMost && !choices.done(); ++n) Call(&choices, world.get());
  if (choices.Below(8) == 1 || answered % 32 == 0) world->Tidy();
}

}  // namespace
}  // namespace headway::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headway::server::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
