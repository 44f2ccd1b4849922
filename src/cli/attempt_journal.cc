#include "cli/attempt_journal.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/names.h"
#include "base/utf8.h"
#include "journal/placement.h"
#include "journal/reader.h"
#include "model/attempt_key.h"

namespace headway::cli {
namespace {

constexpr std::size_t kKeyBaseBytes = 200;  // room for a number within limits::kNameBytes

std::string FirstOf(const std::string& a, const std::string& b) { return !a.empty() ? a : b; }

// As ChooseSupervisedRun and AttemptKey make them.
bool IsSupervisorsKey(std::string_view key) {
  constexpr std::size_t kDigits = 16;
  const std::string_view base = key.substr(0, key.rfind('#'));
  if (base.size() == key.size()) return false;
  return base.ends_with("+run") || (base.starts_with("run:") && base.size() == 4 + kDigits);
}

}  // namespace

Result<SupervisedRun> ChooseSupervisedRun(const recorder::Environment& env, const std::string& dir,
                                          const std::string& project, const std::string& run) {
  SupervisedRun chosen;
  // A supervisor or an orchestrator further out has settled it: what we start records there.
  const bool settled = !env.run_uid.empty();
  const auto choose = [settled](const std::string& told, const std::string& found) {
    return settled ? FirstOf(found, told) : FirstOf(told, found);
  };
  chosen.project = FirstOf(choose(project, env.project), "default");
  chosen.run = FirstOf(choose(run, env.run), "default");
  // As the recorder in the child will.
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the project", chosen.project));
  HEADWAY_RETURN_IF_ERROR(CheckNewName("the run's name", chosen.run));
  const std::string wanted = choose(dir, env.dir);
  if (wanted.empty()) {
    return Status(Code::kFailedPrecondition,
                  "no data directory: give --dir or set HEADWAY_DIR, for there is no HOME");
  }
  std::error_code error;
  chosen.dir = std::filesystem::absolute(wanted, error).string();  // the child may change directory
  if (error) chosen.dir = wanted;
  chosen.rank = env.rank;
  chosen.world_size = env.world_size;
  chosen.job_id = env.job_id;
  chosen.cluster = env.cluster;
  chosen.location = env.location;
  chosen.index_base = std::max<std::int64_t>(0, env.attempt_index);
  chosen.rules = recorder::RulesOf(env);
  const journal::Place place = journal::ChoosePlace(chosen.dir, env.rank, chosen.rules);
  chosen.journal_dir = place.dir;
  chosen.destination = place.destination;

  journal::RunRequest request;
  request.dirs = {chosen.dir};
  if (place.dir != chosen.dir) request.dirs.push_back(place.dir);
  request.project = chosen.project;
  request.run = chosen.run;
  request.job_id = env.job_id;
  request.attempt_index = env.attempt_index;
  const Result<journal::Resume> resume = recorder::ResumeOf(env);
  HEADWAY_RETURN_IF_ERROR(resume.status());
  request.resume = *resume;
  if (!env.run_uid.empty()) {
    const Result<RunUid> uid = ParseUid<RunUid>(env.run_uid);
    if (!uid.ok()) {
      return Status(uid.status().code(), "HEADWAY_RUN_UID: " + uid.status().message());
    }
    request.run_uid = *uid;
  }
  const Result<journal::RunChoice> choice = journal::ChooseRun(request);
  if (!choice.ok()) return choice.status();
  chosen.uid = choice->uid;
  // Supervisors of one job on several machines restart together: their attempts must meet.
  chosen.nested = settled && IsSupervisorsKey(env.attempt_key);
  if (chosen.nested) {
    chosen.key_base = env.attempt_key;
    return chosen;
  }
  chosen.key_base = env.attempt_key.empty()
                        ? "run:" + ToHex(RandomUid<RunUid>()).substr(0, 16)
                        : std::string(TruncateUtf8(env.attempt_key, kKeyBaseBytes)) + "+run";
  return chosen;
}

std::string AttemptKey(const SupervisedRun& run, std::int64_t number) {
  if (!run.nested) return run.key_base + "#" + std::to_string(number);
  return number == 0 ? run.key_base : run.key_base + "+run#" + std::to_string(number);
}

std::vector<std::string> ChildEnvironment(const recorder::EnvMap& env, const SupervisedRun& run,
                                          std::int64_t number) {
  recorder::EnvMap child = env;
  if (run.recorded) {
    child["HEADWAY_DIR"] = run.dir;
    child["HEADWAY_PROJECT"] = run.project;
    child["HEADWAY_RUN"] = run.run;
    child["HEADWAY_RUN_UID"] = ToHex(run.uid);
    child["HEADWAY_ATTEMPT_KEY"] = AttemptKey(run, number);
  }
  child["HEADWAY_ATTEMPT"] = std::to_string(run.index_base + number);
  std::vector<std::string> entries;
  for (const auto& [name, value] : child) entries.push_back(name + "=" + value);
  return entries;
}

std::optional<std::int64_t> HighestStep(const SupervisedRun& run, std::int64_t number) {
  std::optional<std::int64_t> highest;
  if (!run.recorded) return highest;
  const std::string key = AttemptKey(run, number);
  const std::set<std::string> dirs = {run.dir, run.journal_dir};
  for (const std::string& dir : dirs) {
    const auto journals = journal::ListJournals(dir, run.project, run.run);
    if (!journals.ok()) continue;
    for (const journal::JournalFile& file : *journals) {
      const bool ours = file.header.run_uid == run.uid &&
                        AttemptPartOf(key, file.header.attempt_key) &&
                        file.header.origin == journal::Origin::kRecorder;
      if (!ours) continue;
      NameTable names;
      Result<journal::JournalReader> reader =
          journal::JournalReader::Open(file.path, {.names = &names});
      if (!reader.ok()) continue;
      std::vector<Record> batch(1024);
      while (true) {
        const Result<std::size_t> got = reader->Next(batch);
        if (!got.ok() || *got == 0) break;
        for (std::size_t i = 0; i < *got; ++i) {
          if (batch[i].type != RecordType::kStepStart) continue;
          highest = std::max(highest.value_or(batch[i].a), batch[i].a);
        }
      }
    }
  }
  return highest;
}

bool HasRecords(const SupervisedRun& run) {
  const auto journals = journal::ListJournals(run.journal_dir, run.project, run.run);
  return journals.ok() &&
         std::any_of(journals->begin(), journals->end(), [&run](const journal::JournalFile& file) {
           return file.header.run_uid == run.uid;
         });
}

Result<AttemptJournal> AttemptJournal::Create(const SupervisedRun& run, std::int64_t number,
                                              std::uint64_t part) {
  if (!run.recorded || (run.nested && number == 0)) return AttemptJournal();
  journal::WriterOptions options;
  journal::Header& header = options.header;
  header.origin = journal::Origin::kSupervisor;
  header.project = run.project;
  header.run = run.run;
  header.run_uid = run.uid;
  header.rank = run.rank;
  header.world_size = run.world_size;
  header.job_id = run.job_id;
  header.cluster = run.cluster;
  header.location = run.location;
  header.attempt_key = AttemptPartKey(AttemptKey(run, number), part);
  header.attempt_index = run.index_base + number;
  header.destination = run.destination;
  header.software = "headway " HEADWAY_VERSION;
  if (run.rules.file_system == "local") options.mode = journal::WriterOptions::Mode::kWrite;
  const Result<UniqueFd> made = journal::MakeRunDirectory(run.journal_dir, run.project, run.run);
  if (!made.ok()) return made.status();
  Result<std::unique_ptr<journal::JournalWriter>> writer = journal::JournalWriter::Create(
      journal::RunDirectory(run.journal_dir, run.project, run.run), options);
  if (!writer.ok()) return writer.status();
  AttemptJournal journal;
  journal.writer_ = *std::move(writer);
  return journal;
}

void AttemptJournal::Discard() {
  if (writer_ == nullptr) return;
  const std::string path = writer_->path();
  Finish();
  ::unlink(path.c_str());
  ::rmdir(path.substr(0, path.rfind('/')).c_str());  // fails where there is anything else
}

void AttemptJournal::Began(MonoNs time) {
  if (writer_ == nullptr) return;
  writer_->Append(journal::MetaHigh(RecordType::kJobStart, 0), time, 0, 0);
}

void AttemptJournal::Beat() {
  if (writer_ == nullptr) return;
  writer_->Append(journal::MetaHigh(RecordType::kHeartbeat, 0), writer_->Now(),
                  SystemClock::WallNow().ns, 0);
  writer_->Maintain();
}

void AttemptJournal::Notice(int signal) {
  if (writer_ == nullptr) return;
  writer_->AppendEssential(journal::MetaHigh(RecordType::kNotice, 0), writer_->Now(), signal, 0);
}

void AttemptJournal::ProcessEnded(MonoNs time, std::int64_t pid) {
  if (writer_ == nullptr) return;
  writer_->AppendEssential(journal::MetaHigh(RecordType::kProcessEnd, 0), time, pid, 0);
}

void AttemptJournal::LastWords(MonoNs time, std::string_view stderr_tail) {
  if (writer_ == nullptr || stderr_tail.empty()) return;
  writer_->AppendPayload(RecordType::kStderrTail, 0, time, stderr_tail);
}

void AttemptJournal::End(MonoNs time, int exit_status, int signal) {
  if (writer_ == nullptr) return;
  writer_->AppendEssential(journal::MetaHigh(RecordType::kExit, 0), time,
                           signal != 0 ? -1 : exit_status, signal);
}

void AttemptJournal::Finish() {
  if (writer_ != nullptr) writer_->Finish();
  writer_.reset();
}

}  // namespace headway::cli
