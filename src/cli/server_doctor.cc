#include "cli/server_doctor.h"

#ifdef HEADWAY_REMOTE
#include <headway/v1/server_service.pb.h>
#endif

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/time_format.h"
#include "cli/server_call.h"
#include "model/text.h"
#include "net/url.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kClockWarningNs = kNanosPerSecond;
constexpr std::int64_t kClockProblemNs = 60 * kNanosPerSecond;
constexpr std::int64_t kDiskNeeded = std::int64_t{64} << 20;
constexpr std::int64_t kDiskWanted = std::int64_t{1} << 30;
constexpr std::int64_t kExpiresSoonNs = std::int64_t{24} * 3600 * kNanosPerSecond;

// Why it did not answer, or not us.
Check Refused(const ServerEvidence& evidence) {
  const std::string& why = evidence.answer.message();
  switch (evidence.answer.code()) {
    case Code::kUnauthenticated:
      return {"token", Verdict::kProblem, why,
              evidence.token ? "set HEADWAY_TOKEN to one that is good: headway tokens create makes "
                               "one, where an administrator runs it"
                             : "set HEADWAY_TOKEN: headway tokens create makes one, where an "
                               "administrator runs it"};
    case Code::kPermissionDenied:
      if (evidence.link) {
        return {"token", Verdict::kGood,
                "the share link is good: it shows its run to whoever reads it", ""};
      }
      return {"token", Verdict::kProblem, why, "ask an administrator for a token with that"};
    case Code::kFailedPrecondition:
      return {"certificate", Verdict::kProblem, why,
              "let HEADWAY_CA name the file of the certificate that signed the server's"};
    case Code::kUnimplemented:
      return {"server", Verdict::kProblem, why,
              "look whether " + evidence.url + " is a headway server, and as new as this headway"};
    default:
      return {"server", Verdict::kProblem, why,
              "look whether the server runs, and whether a firewall or proxy lies between"};
  }
}

Check JudgeClock(const ServerEvidence& evidence) {
  const std::int64_t ahead = evidence.server_time - evidence.time;
  const std::int64_t off = std::max(ahead, -ahead);
  const std::int64_t unsure = evidence.took_ns / 2;
  if (off <= kClockWarningNs + unsure) {
    return {"server_clock", Verdict::kGood,
            "its clock and the one here agree within " + ShowDuration(std::max(off, unsure)), ""};
  }
  return {"server_clock", off > kClockProblemNs + unsure ? Verdict::kProblem : Verdict::kWarning,
          "its clock is " + ShowDuration(off) + (ahead > 0 ? " ahead of" : " behind") +
              " the one here: live runs look longer or shorter than they are",
          "let NTP or chrony set both"};
}

Check JudgeDisk(const ServerEvidence& evidence) {
  const std::string found = ShowBytes(static_cast<std::uint64_t>(evidence.free_bytes)) + " of " +
                            ShowBytes(static_cast<std::uint64_t>(evidence.total_bytes)) +
                            " are free on the disk of its store";
  const std::string remedy = "make room there, or let it keep less: headway projects create --keep";
  if (evidence.free_bytes < kDiskNeeded) {
    return {"server_disk", Verdict::kProblem, found + "; it takes in nothing when it is full",
            remedy};
  }
  const bool little = evidence.free_bytes < kDiskWanted;
  return {"server_disk", little ? Verdict::kWarning : Verdict::kGood, found, little ? remedy : ""};
}

Check JudgeToken(const ServerEvidence& evidence) {
  Check check = {"token", Verdict::kGood,
                 "it takes us for " + evidence.name + ", role " + evidence.role, ""};
  if (!evidence.only_project.empty()) {
    check.message += ", for project " + evidence.only_project;
    if (!evidence.only_run.empty()) check.message += " and its run " + evidence.only_run;
    check.message += " only";
  }
  if (evidence.expires != 0) {
    const std::int64_t left = evidence.expires - evidence.server_time;
    check.message += "; the token is good until " + FormatTime(WallNs{evidence.expires});
    if (left < kExpiresSoonNs) {
      check.verdict = Verdict::kWarning;
      check.remedy = "make a new one in time: headway tokens create";
    }
  }
  if (!evidence.only_project.empty() && evidence.only_project != evidence.project) {
    check.verdict = Verdict::kProblem;
    check.message += ", and the project here is " + evidence.project;
    check.remedy = "set HEADWAY_PROJECT, or take a token for that project";
  }
  return check;
}

Check JudgePermissions(const ServerEvidence& evidence) {
  const auto may = [&evidence](std::string_view permission) {
    return std::ranges::find(evidence.permissions, permission) != evidence.permissions.end();
  };
  const bool sends = may("journals.append");
  const bool reads = may("runs.get");
  Check check = {"permissions", sends && reads ? Verdict::kGood : Verdict::kNote, "", ""};
  if (sends && reads) {
    check.message = "records can be sent there, and runs be looked at";
  } else if (sends) {
    check.message = "records can be sent there, but no run be looked at";
    check.remedy = "a token of the role viewer or editor looks at runs";
  } else if (reads) {
    check.message = "runs can be looked at, but no records be sent there";
    check.remedy = "a token of the role writer or editor sends records";
  } else {
    check.verdict = Verdict::kProblem;
    check.message = "neither can records be sent there nor runs be looked at";
    check.remedy = "ask an administrator for a token of the role writer, viewer or editor";
  }
  return check;
}

}  // namespace

#ifdef HEADWAY_REMOTE

ServerEvidence GatherServerEvidence(const Place& place, std::string_view version) {
  ServerEvidence evidence;
  evidence.url = place.server;
  evidence.token = !place.token.empty();
  evidence.link = place.token.starts_with("hw_link_");
  evidence.project = place.project;
  evidence.version = version;
  const SystemClock clock;
  v1::GetServerResponse response;
  client::ServerClient client({.url = place.server, .token = place.token, .ca = place.ca}, &clock);
  for (int i = 0; i < 2; ++i) {  // the first call also connects
    const MonoNs begin = clock.Mono();
    evidence.answer =
        client.Call("headway.v1.ServerService.GetServer", v1::GetServerRequest(), &response);
    evidence.took_ns = clock.Mono() - begin;
    evidence.time = clock.Wall().ns - evidence.took_ns / 2;
    if (!evidence.answer.ok()) return evidence;
  }
  evidence.server_version = response.version();
  evidence.server_time = response.time();
  const v1::ServerCaller& caller = response.caller();
  evidence.name = caller.name();
  evidence.role = caller.role();
  evidence.permissions.assign(caller.permissions().begin(), caller.permissions().end());
  evidence.only_project = caller.project();
  evidence.only_run = caller.run();
  evidence.expires = caller.expires();
  evidence.free_bytes = response.free_bytes();
  evidence.total_bytes = response.total_bytes();
  return evidence;
}

#else

ServerEvidence GatherServerEvidence(const Place& place, std::string_view version) {
  ServerEvidence evidence;
  evidence.url = place.server;
  evidence.version = version;
  evidence.answer = NoServersBuilt();
  return evidence;
}

#endif

std::vector<Check> JudgeServer(const ServerEvidence& evidence) {
  std::vector<Check> checks;
  if (net::SchemeOf(evidence.url) == "http" && !net::IsLoopback(evidence.url)) {
    checks.push_back({"encryption", Verdict::kWarning,
                      "what is sent to " + evidence.url + ", the token too, can be read on the way",
                      "let the server speak TLS, and ask it by https"});
  }
  if (!evidence.answer.ok()) {
    checks.insert(checks.begin(), Refused(evidence));
    return checks;
  }
  checks.insert(checks.begin(),
                {"server", Verdict::kGood,
                 evidence.url + " answers, in " + ShowDuration(evidence.took_ns), ""});
  checks.push_back(JudgeToken(evidence));
  checks.push_back(JudgePermissions(evidence));
  checks.push_back(JudgeClock(evidence));
  if (evidence.total_bytes > 0) checks.push_back(JudgeDisk(evidence));
  if (evidence.server_version == evidence.version) {
    checks.push_back({"server_version", Verdict::kGood,
                      "it is headway " + evidence.server_version + ", as this one", ""});
  } else {
    checks.push_back(
        {"server_version", Verdict::kNote,
         "it is headway " + evidence.server_version + ", this one is " + evidence.version,
         "upgrade the older of them where something is missing"});
  }
  return checks;
}

}  // namespace headway::cli
