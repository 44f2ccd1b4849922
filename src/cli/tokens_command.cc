#include <algorithm>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/server_runs.h"
#include "model/text.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/token_service.pb.h>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/server_call.h"
#include "cli/table.h"
#endif

/// `headway tokens ...`: who may do what on a server.

namespace headway::cli {
namespace {

struct NewToken {
  std::string name;
  std::string role;
  std::string project;
  std::string run;
  std::int64_t lifetime_ns = 0;
};

#ifdef HEADWAY_REMOTE

template <typename Request, typename Response>
Status Call(Place* place, std::string_view method, const Request& request, Response* response) {
  HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(place, "tokens are"));
  return CallServer(*place, "TokenService." + std::string(method), request, response);
}

std::string Time(std::int64_t ns, const char* otherwise) {
  return ns == 0 ? otherwise : FormatTime(WallNs{ns}).substr(0, 19);
}

void WriteFields(const v1::Token& token, JsonWriter* json) {
  const auto time = [json](const char* name, std::int64_t ns) {
    json->Key(name);
    ns == 0 ? json->Null() : json->String(FormatTime(WallNs{ns}));
  };
  json->Field("id", token.id())
      .Field("name", token.name())
      .Field("role", token.role())
      .Field("project", token.project())
      .Field("run", token.run());
  time("created", token.created());
  time("expires", token.expires());
  time("revoked", token.revoked());
}

// `secret` empty: without.
void PrintJson(const Context& context, const v1::Token& token, const std::string& secret = {}) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject();
  WriteFields(token, &json);
  if (!secret.empty()) json.Field("secret", secret);
  json.EndObject();
  *context.out << text << "\n";
}

Status Create(const Context& context, Place* place, const NewToken& wanted) {
  v1::CreateTokenRequest request;
  request.set_name(wanted.name);
  request.set_role(wanted.role);
  request.set_project(wanted.project);
  request.set_run(wanted.run);
  request.set_lifetime_ns(wanted.lifetime_ns);
  v1::CreateTokenResponse response;
  HEADWAY_RETURN_IF_ERROR(Call(place, "CreateToken", request, &response));
  if (!place->json) {
    // Alone on standard output: TOKEN=$(headway tokens create ...).
    *context.out << response.secret() << "\n";
    Complain("token " + response.token().id() + ", " + response.token().role() +
             "; it is shown this once");
    return OkStatus();
  }
  PrintJson(context, response.token(), response.secret());
  return OkStatus();
}

Status List(const Context& context, Place* place) {
  v1::ListTokensResponse response;
  HEADWAY_RETURN_IF_ERROR(Call(place, "ListTokens", v1::ListTokensRequest(), &response));
  if (place->json) {
    std::string text;
    JsonWriter json(&text, 1);
    json.BeginObject().Key("tokens").BeginArray();
    for (const v1::Token& token : response.tokens()) {
      json.BeginObject();
      WriteFields(token, &json);
      json.EndObject();
    }
    json.EndArray().EndObject();
    *context.out << text << "\n";
    return OkStatus();
  }
  if (response.tokens().empty()) {
    *context.out << "no tokens but the administrator's\n";
    return OkStatus();
  }
  Table table({{"id"},
               {"name"},
               {"role"},
               {"project"},
               {"run", false, 1},
               {"created (UTC)", false, 3},
               {"expires (UTC)", false, 2},
               {"revoked (UTC)"}});
  for (const v1::Token& token : response.tokens()) {
    table.AddRow({token.id(), token.name(), token.role(),
                  token.project().empty() ? "all" : token.project(),
                  token.run().empty() ? "all" : token.run(), Time(token.created(), ""),
                  Time(token.expires(), "never"), Time(token.revoked(), "")});
  }
  *context.out << table.Render(context.terminal);
  return OkStatus();
}

Status Revoke(const Context& context, Place* place, const std::string& id) {
  v1::RevokeTokenRequest request;
  request.set_id(id);
  v1::RevokeTokenResponse response;
  HEADWAY_RETURN_IF_ERROR(Call(place, "RevokeToken", request, &response));
  if (!place->json) {
    *context.out << "token " << response.token().id() << " is good for nothing any more\n";
    return OkStatus();
  }
  PrintJson(context, response.token());
  return OkStatus();
}

Status Log(const Context& context, Place* place, std::int64_t limit) {
  v1::ListAuditEventsRequest request;
  request.set_page_size(static_cast<std::int32_t>(std::min<std::int64_t>(limit, 1000)));
  Table table({{"time (UTC)"}, {"who"}, {"did"}, {"project", false, 1}, {"what"}});
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject().Key("events").BeginArray();
  for (std::int64_t left = limit; left > 0;) {
    v1::ListAuditEventsResponse response;
    HEADWAY_RETURN_IF_ERROR(Call(place, "ListAuditEvents", request, &response));
    for (const v1::AuditEvent& event : response.events()) {
      if (left-- <= 0) break;
      table.AddRow({Time(event.time(), ""), event.who(), event.action(),
                    event.project().empty() ? "all" : event.project(), event.what()});
      json.BeginObject()
          .Field("number", event.number())
          .Field("time", FormatTime(WallNs{event.time()}))
          .Field("who", event.who())
          .Field("action", event.action())
          .Field("project", event.project())
          .Field("what", event.what())
          .EndObject();
    }
    if (response.next_page_token().empty()) break;
    request.set_page_token(response.next_page_token());
  }
  json.EndArray().EndObject();
  *context.out << (place->json ? text + "\n" : table.Render(context.terminal));
  return OkStatus();
}

#else

Status Create(const Context&, Place*, const NewToken&) { return NoServersBuilt(); }
Status List(const Context&, Place*) { return NoServersBuilt(); }
Status Revoke(const Context&, Place*, const std::string&) { return NoServersBuilt(); }
Status Log(const Context&, Place*, std::int64_t) { return NoServersBuilt(); }

#endif

void DescribeServerOfTokens(Description* description, Place* place) {
  description->Option("--server", "URL", &place->server,
                      "the server (HEADWAY_SERVER), as whoever HEADWAY_TOKEN says");
  description->Flag("--json", &place->json, "JSON");
}

class TokensCreateCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Makes a token of a server and prints it, this once: the server keeps a hash of it. A "
        "program or a person sends it along (HEADWAY_TOKEN). A viewer lists and reads runs; a "
        "writer sends journals and reads nothing, which is all that a training job needs; an "
        "editor does both; an admin also makes and revokes tokens. Nobody can give away more than "
        "they have.");
    Argument& role = description->Option(
        "--role", "ROLE", &token_.role,
        "what it is good for (viewer): writer, editor, admin, or one of headway roles list");
    role.completion = Completion::kChoices;
    role.choices = {"viewer", "writer", "editor", "admin"};
    description->Option("--name", "NAME", &token_.name, "whose it is, for people");
    description->Option("--project", "PROJECT", &token_.project,
                        "the only project that it is good for (all)");
    description->Option("--run", "RUN", &token_.run,
                        "the only run of that project, by its name (all)");
    description->Duration("--expires", &expires_, "how long it is good (until it is revoked)");
    DescribeServerOfTokens(description, &place_);
    description->Example("headway tokens create --role writer --project lm --name 'lm training'",
                         "for training jobs");
    description->Example("export HEADWAY_TOKEN=$(headway tokens create --expires 30d)",
                         "to look at runs for a month");
  }

  Result<int> Run(const Context& context) override {
    if (token_.role.empty()) token_.role = "viewer";
    if (expires_ && *expires_ == 0) {
      return Status(Code::kInvalidArgument, "--expires is above 0");
    }
    token_.lifetime_ns = expires_.value_or(0);
    HEADWAY_RETURN_IF_ERROR(Create(context, &place_, token_));
    return 0;
  }

 private:
  NewToken token_;
  std::optional<std::int64_t> expires_;
  Place place_;
};

class TokensListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("The tokens of a server, but for the administrator's, which lies in a file.");
    DescribeServerOfTokens(description, &place_);
    description->Example("headway tokens list", "who may do what");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(List(context, &place_));
    return 0;
  }

 private:
  Place place_;
};

class TokensRevokeCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("Makes a token good for nothing, at once and for ever.");
    description->Positional("ID", &id_, "as headway tokens list shows it");
    DescribeServerOfTokens(description, &place_);
    description->Example("headway tokens revoke 1f0c9d2a77b3", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(Revoke(context, &place_, id_));
    return 0;
  }

 private:
  std::string id_;
  Place place_;
};

class TokensLogCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "What was done to the tokens of a server, when and by whom, the newest first. It is "
        "written "
        "down together with what is done, and stays.");
    description->Count("--limit", "N", 1, &limit_, "how many (50)");
    DescribeServerOfTokens(description, &place_);
    description->Example("headway tokens log", "who made and revoked tokens last");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(Log(context, &place_, limit_.value_or(50)));
    return 0;
  }

 private:
  std::optional<std::int64_t> limit_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeTokensLog() { return std::make_unique<TokensLogCommand>(); }
std::unique_ptr<Command> MakeTokensCreate() { return std::make_unique<TokensCreateCommand>(); }
std::unique_ptr<Command> MakeTokensList() { return std::make_unique<TokensListCommand>(); }
std::unique_ptr<Command> MakeTokensRevoke() { return std::make_unique<TokensRevokeCommand>(); }

}  // namespace headway::cli
