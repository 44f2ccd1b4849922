#include "cli/import_tensorboard.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "cli/output.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kProblemsShown = 10;

using tensorboard::NamedFile;
using tensorboard::Problem;
using tensorboard::ProblemKind;

std::string PlaceOf(const NamedFile& file, const Problem& problem) {
  return file.name + " (byte " + std::to_string(problem.offset) + "): " + problem.sentence;
}

std::string_view ConsequenceOf(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kTornTail: return "; what stands before it is read";
    case ProblemKind::kBadLength: return "; the rest of the file is left out";
    case ProblemKind::kForeign: return "; the file is left out";
    default: return "; skipped";
  }
}

std::uint64_t PointsOf(const tensorboard::Restart& restart) {
  std::uint64_t points = 0;
  for (const auto& [tag, count] : restart.superseded) points += count;
  return points;
}

}  // namespace

Status TensorboardImport::Read(Input* input, bool strict) {
  text_.Begin(input->name);
  const std::size_t begin = text_.text.size();
  HEADWAY_RETURN_IF_ERROR(ReadRest(input, &text_.text));
  const std::string_view bytes = std::string_view(text_.text).substr(begin);
  NamedFile file{input->name, tensorboard::ReadEventFile(bytes)};
  if (strict && !file.file.problems.empty()) {
    return {Code::kDataLoss, PlaceOf(file, file.file.problems.front()) +
                                 "; import without --strict to take what can be read"};
  }
  files_.push_back(std::move(file));
  return OkStatus();
}

Result<std::vector<ImportedRun>> TensorboardImport::Write(const EventTarget& target) {
  const RunRecords run = tensorboard::MakeRun(files_);
  if (run.records.empty()) {
    for (const NamedFile& file : files_) {
      if (file.file.problems.empty()) continue;
      return Status(Code::kDataLoss,
                    PlaceOf(file, file.file.problems.front()) + "; there is no scalar before it");
    }
    return Status(Code::kDataLoss, "there is no scalar in " + files_.front().name +
                                       (files_.size() > 1 ? " and the other files" : ""));
  }
  restarts_ = tensorboard::FindRestarts(files_);
  return WriteRuns({run}, target);
}

void TensorboardImport::Tell() const {
  std::size_t shown = 0;
  for (const NamedFile& file : files_) {
    for (const Problem& problem : file.file.problems) {
      if (shown++ == kProblemsShown) break;
      Complain("warning: " + PlaceOf(file, problem) + std::string(ConsequenceOf(problem.kind)));
    }
  }
  if (const std::uint64_t total = problems_total(); total > kProblemsShown) {
    Complain("warning: and " + ShowCount(static_cast<std::int64_t>(total - kProblemsShown)) +
             " more records that can't be read; skipped");
  }
  std::uint64_t others = 0;
  for (const NamedFile& file : files_) others += file.file.other_values;
  if (others > 0) {
    Complain("warning: " + ShowCount(static_cast<std::int64_t>(others)) +
             (others == 1 ? " value is no scalar" : " values are no scalars") + "; skipped");
  }
  if (names_cut() > 0) {
    Complain("warning: " + ShowCount(static_cast<std::int64_t>(names_cut())) +
             " tags longer than " + std::to_string(limits::kNameBytes) + " bytes are cut");
  }
  for (std::size_t i = 0; i < restarts_.size() && i < kProblemsShown; ++i) {
    const tensorboard::Restart& restart = restarts_[i];
    const std::uint64_t points = PointsOf(restart);
    Complain("note: " + files_[restart.file].name + " goes on from step " +
             std::to_string(restart.step) +
             ", which was there before: " + ShowCount(static_cast<std::int64_t>(points)) +
             (points == 1 ? " earlier point is" : " earlier points are") +
             " superseded, and kept as history");
  }
}

void TensorboardImport::WriteProblems(JsonWriter* json) const {
  for (const NamedFile& file : files_) {
    for (const Problem& problem : file.file.problems) {
      json->BeginObject()
          .Field("file", file.name)
          .Field("offset", problem.offset)
          .Field("code", tensorboard::ProblemCode(problem.kind))
          .Field("message", problem.sentence)
          .EndObject();
    }
  }
}

void TensorboardImport::WriteRestarts(JsonWriter* json) const {
  json->Key("restarts").BeginArray();
  for (const tensorboard::Restart& restart : restarts_) {
    json->BeginObject().Field("file", files_[restart.file].name).Field("step", restart.step);
    json->Key("superseded").BeginObject();
    for (const auto& [tag, count] : restart.superseded) json->Field(tag, count);
    json->EndObject().EndObject();
  }
  json->EndArray();
}

std::uint64_t TensorboardImport::problems_total() const {
  std::uint64_t total = 0;
  for (const NamedFile& file : files_) total += file.file.problems_total;
  return total;
}

std::uint64_t TensorboardImport::names_cut() const {
  std::uint64_t total = 0;
  for (const NamedFile& file : files_) total += file.file.tags_cut;
  return total;
}

}  // namespace headway::cli
