#include <optional>
#include <string>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/server_runs.h"
#include "model/text.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/link_service.pb.h>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/server_call.h"
#include "cli/table.h"
#endif

/// `headway link` and `headway links ...`: share links to runs of a server.

namespace headway::cli {
namespace {

#ifdef HEADWAY_REMOTE

constexpr int kPage = 1000;

std::string Time(std::int64_t ns) { return ns == 0 ? "" : FormatTime(WallNs{ns}).substr(0, 19); }

void WriteFields(const v1::Link& link, JsonWriter* json) {
  const auto time = [json](const char* name, std::int64_t ns) {
    json->Key(name);
    ns == 0 ? json->Null() : json->String(FormatTime(WallNs{ns}));
  };
  json->Field("id", link.id())
      .Field("project", link.project())
      .Field("run", link.run())
      .Field("run_uid", link.run_uid())
      .Field("view", link.view())
      .Field("creator", link.creator());
  time("created", link.created());
  time("expires", link.expires());
  time("revoked", link.revoked());
  time("used", link.used());
}

Status Create(const Context& context, const Place& place, const std::string& run,
              const std::string& view, std::int64_t lifetime_ns) {
  v1::CreateLinkRequest request;
  request.set_project(place.project);
  request.set_run(run);
  request.set_view(view);
  request.set_lifetime_ns(lifetime_ns);
  v1::CreateLinkResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "LinkService.CreateLink", request, &response));
  std::string url = place.server;
  while (url.ends_with('/')) url.pop_back();
  url += response.path();
  if (!place.json) {
    // Alone on standard output: URL=$(headway link ...).
    *context.out << url << "\n";
    Complain("link " + response.link().id() + " to run " + PrintableLine(response.link().run()) +
             ", until " + Time(response.link().expires()) + " UTC; it is shown this once");
    return OkStatus();
  }
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject();
  WriteFields(response.link(), &json);
  json.Field("url", url).Field("secret", response.secret()).EndObject();
  *context.out << text << "\n";
  return OkStatus();
}

Status List(const Context& context, const Place& place) {
  Table table({{"id"},
               {"project"},
               {"run"},
               {"created (UTC)", false, 3},
               {"by", false, 2},
               {"expires (UTC)"},
               {"used (UTC)", false, 1},
               {"revoked (UTC)"}});
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject().Key("links").BeginArray();
  bool any = false;
  v1::ListLinksRequest request;
  request.set_page_size(kPage);
  do {
    v1::ListLinksResponse response;
    HEADWAY_RETURN_IF_ERROR(CallServer(place, "LinkService.ListLinks", request, &response));
    for (const v1::Link& link : response.links()) {
      any = true;
      table.AddRow({link.id(), link.project(), link.run(), Time(link.created()), link.creator(),
                    Time(link.expires()), Time(link.used()), Time(link.revoked())});
      json.BeginObject();
      WriteFields(link, &json);
      json.EndObject();
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  json.EndArray().EndObject();
  if (place.json) {
    *context.out << text << "\n";
  } else {
    *context.out << (any ? table.Render(context.terminal) : "no links\n");
  }
  return OkStatus();
}

Status Revoke(const Context& context, const Place& place, const std::string& id) {
  v1::RevokeLinkRequest request;
  request.set_id(id);
  v1::RevokeLinkResponse response;
  HEADWAY_RETURN_IF_ERROR(CallServer(place, "LinkService.RevokeLink", request, &response));
  if (!place.json) {
    *context.out << "link " << response.link().id() << " is good for nothing any more\n";
    return OkStatus();
  }
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject();
  WriteFields(response.link(), &json);
  json.EndObject();
  *context.out << text << "\n";
  return OkStatus();
}

#else

Status Create(const Context&, const Place&, const std::string&, const std::string&, std::int64_t) {
  return NoServersBuilt();
}
Status List(const Context&, const Place&) { return NoServersBuilt(); }
Status Revoke(const Context&, const Place&, const std::string&) { return NoServersBuilt(); }

#endif

class LinkCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "Makes a link to a run of a server and prints it, this once: whoever has it reads that run "
        "and nothing else, until it ends. It shows no later run of that name, and neither labels "
        "nor configs; it ends at once when it is revoked or the run is deleted. Its last part, "
        "from hw_link_ up to a #, is good in the place of a token (HEADWAY_TOKEN).");
    DescribeRun(description, &run_);
    description->Duration("--expires", &expires_, "how long it is good (7d; at most 90d)");
    description->Option("--view", "TEXT", &view_,
                        "what a page shows first: what stands behind the # of its address");
    DescribeServerOnly(description, &place_);
    description->Example("headway link llama-7b", "for a week");
    description->Example("headway link llama-7b --expires 2h", "until after the meeting");
  }

  Result<int> Run(const Context& context) override {
    if (expires_ && *expires_ == 0) {
      return Status(Code::kInvalidArgument, "--expires is above 0");
    }
    if (expires_.value_or(0) > limits::kLinkDaysMost * 24 * 3600 * kNanosPerSecond) {
      return Status(Code::kInvalidArgument,
                    "--expires is at most " + std::to_string(limits::kLinkDaysMost) + "d");
    }
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "links lead to runs of"));
    HEADWAY_RETURN_IF_ERROR(Create(context, place_, run_, view_, expires_.value_or(0)));
    return 0;
  }

 private:
  std::string run_;
  std::string view_;
  std::optional<std::int64_t> expires_;
  Place place_;
};

void DescribeServerOfLinks(Description* description, Place* place) {
  description->Option("--server", "URL", &place->server,
                      "the server (HEADWAY_SERVER), as whoever HEADWAY_TOKEN says");
  description->Flag("--json", &place->json, "JSON");
}

class LinksListCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text(
        "The links to runs of a server, the newest first. When one was used is looked at once a "
        "day. Those that expired are forgotten after thirty days.");
    DescribeServerOfLinks(description, &place_);
    description->Example("headway links list", "which runs are shown to whom");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "links are"));
    HEADWAY_RETURN_IF_ERROR(List(context, place_));
    return 0;
  }

 private:
  Place place_;
};

class LinksRevokeCommand final : public Command {
 public:
  void Describe(Description* description) override {
    description->Text("Makes a link good for nothing, at once and for ever.");
    description->Positional("ID", &id_, "as headway links list shows it");
    DescribeServerOfLinks(description, &place_);
    description->Example("headway links revoke 1f0c9d2a77b3", "");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServerOnly(&place_, "links are"));
    HEADWAY_RETURN_IF_ERROR(Revoke(context, place_, id_));
    return 0;
  }

 private:
  std::string id_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeLink() { return std::make_unique<LinkCommand>(); }
std::unique_ptr<Command> MakeLinksList() { return std::make_unique<LinksListCommand>(); }
std::unique_ptr<Command> MakeLinksRevoke() { return std::make_unique<LinksRevokeCommand>(); }

}  // namespace headway::cli
