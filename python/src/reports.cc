#include "reports.h"

#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/status.h"
#include "base/time_format.h"
#include "base/uid.h"
#include "journal/placement.h"
#include "ledger/ledger.h"
#include "model/category.h"
#include "model/report.h"
#include "runs/question.h"
#include "runs/runs.h"

namespace headway::python {
namespace {

PyObject* error_type = nullptr;

}  // namespace

PyObject* RaiseError(const Status& status) {
  const std::string_view code = CodeName(status.code());
  const Ref arguments(Py_BuildValue("(s#s#)", code.data(), static_cast<Py_ssize_t>(code.size()),
                                    status.message().data(),
                                    static_cast<Py_ssize_t>(status.message().size())));
  if (arguments) PyErr_SetObject(error_type, arguments.get());
  return nullptr;
}

namespace {

/// What is asked, in words of the command line.
struct Question {
  std::vector<std::string> dirs;
  std::string project;
  std::string run;
  runs::Question times;
};

// The tuple's dirs, project and, if `whole`, the rest. False with an exception set.
bool Parse(PyObject* arguments, bool whole, Question* question) {
  PyObject* dirs = nullptr;
  const char* project = nullptr;
  const char* run = "";
  const char* as_of = nullptr;
  const char* from = nullptr;
  const char* to = nullptr;
  if (!(whole ? PyArg_ParseTuple(arguments, "Osszzz", &dirs, &project, &run, &as_of, &from, &to)
              : PyArg_ParseTuple(arguments, "Os", &dirs, &project))) {
    return false;
  }
  const Py_ssize_t size = PySequence_Size(dirs);
  if (size < 0) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Ref item(PySequence_GetItem(dirs, i));
    const char* const text = item ? PyUnicode_AsUTF8AndSize(item.get(), nullptr) : nullptr;
    if (text == nullptr) return false;
    question->dirs.emplace_back(text);
  }
  question->project = project;
  question->run = run;
  if (as_of != nullptr) question->times.as_of = as_of;
  if (from != nullptr) question->times.from = from;
  if (to != nullptr) question->times.to = to;
  return true;
}

enum class What { kReport, kTimeline, kSteps };

/// JSON, and what could not be read on the way.
struct Answer {
  std::string json;
  std::vector<Status> problems;
};

Result<Answer> AskRun(const Question& question, What what) {
  Answer answer;
  const char* const node_dir = std::getenv("HEADWAY_NODE_DIR");
  Result<runs::Run> run =
      runs::Find(question.dirs, question.project, question.run, &answer.problems,
                 journal::NodeLocalDirectory({.node_local = node_dir == nullptr ? "" : node_dir}));
  if (!run.ok()) return run.status();
  Result<runs::Loaded> loaded = runs::Load(*run);
  if (!loaded.ok()) return loaded.status();
  answer.problems.insert(answer.problems.end(), loaded->problems.begin(), loaded->problems.end());
  const Result<ledger::Query> query = runs::MakeQuery(question.times, &loaded->ledger, loaded->now);
  if (!query.ok()) return query.status();
  switch (what) {
    case What::kTimeline: answer.json = ToJson(loaded->ledger.Timeline(*query)); break;
    case What::kSteps: answer.json = ToJson(loaded->ledger.Steps(*query)); break;
    case What::kReport: {
      Report report = loaded->ledger.MakeReport(*query);
      report.run = run->label;
      report.project = run->project;
      answer.json = ToJson(report);
      break;
    }
  }
  return answer;
}

Result<Answer> ListRuns(const Question& question) {
  Answer answer;
  const Result<std::vector<runs::Run>> found =
      runs::List(question.dirs, question.project, &answer.problems);
  if (!found.ok()) return found.status();
  JsonWriter json(&answer.json);
  json.BeginArray();
  ledger::Query query;
  query.now = SystemClock::WallNow().ns;
  for (const runs::Run& run : *found) {
    Result<runs::Loaded> loaded = runs::Load(run);
    if (!loaded.ok()) {
      answer.problems.push_back(loaded.status());
      continue;
    }
    const Report report = loaded->ledger.MakeReport(query);
    std::set<JournalUid> journals;  // a copy is no second one
    for (const journal::JournalFile& file : run.journals) journals.insert(file.header.uid);
    json.BeginObject()
        .Field("run", run.label)
        .Field("project", run.project)
        .Field("uid", ToHex(run.uid))
        .Field("start", FormatTime(WallNs{report.start.value_or(run.start)}))
        .Field("journals", journals.size())
        .Field("state", RunStateName(report.state))
        .Field("elapsed_ns", report.elapsed_ns);
    json.Key("goodput");
    report.goodput ? json.Double(*report.goodput) : json.Null();
    json.Key("last_step");
    report.steps.last_step ? json.Int(*report.steps.last_step) : json.Null();
    json.EndObject();
  }
  json.EndArray();
  return answer;
}

PyObject* Text(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// Runs `work` without the GIL; (JSON, list of problems), or its error as an exception.
template <typename Work>
PyObject* WithoutGil(Work work) {
  PyThreadState* const thread = PyEval_SaveThread();
  std::optional<Result<Answer>> result;
  try {
    result = work();
  } catch (const std::exception& exception) {
    try {
      result = Status(Code::kInternal, exception.what());
    } catch (...) {
      // Without memory for the message there is none.
    }
  }
  PyEval_RestoreThread(thread);
  if (!result) return PyErr_NoMemory();
  if (!result->ok()) return RaiseError(result->status());
  const Answer& answer = **result;
  const Ref problems(PyList_New(0));
  for (const Status& problem : answer.problems) {
    const Ref text(Text(problem.message()));
    if (!problems || !text || PyList_Append(problems.get(), text.get()) != 0) return nullptr;
  }
  const Ref json(Text(answer.json));
  return problems && json ? PyTuple_Pack(2, json.get(), problems.get()) : nullptr;
}

template <What what>
PyObject* Ask(PyObject*, PyObject* arguments) noexcept {
  try {
    Question question;
    if (!Parse(arguments, true, &question)) return nullptr;
    return WithoutGil([&question] { return AskRun(question, what); });
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* Runs(PyObject*, PyObject* arguments) noexcept {
  try {
    Question question;
    if (!Parse(arguments, false, &question)) return nullptr;
    return WithoutGil([&question] { return ListRuns(question); });
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* Categories(PyObject*, PyObject*) noexcept {
  Ref list(PyList_New(0));
  for (int i = 0; list && i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    const Ref pair(Py_BuildValue("(ss)", std::string(CategoryName(category)).c_str(),
                                 std::string(CategoryHelp(category)).c_str()));
    if (!pair || PyList_Append(list.get(), pair.get()) != 0) return nullptr;
  }
  return list.release();
}

}  // namespace

PyMethodDef report_functions[] = {
    {"report", AsMethod(Ask<What::kReport>), METH_VARARGS, nullptr},
    {"timeline", AsMethod(Ask<What::kTimeline>), METH_VARARGS, nullptr},
    {"steps", AsMethod(Ask<What::kSteps>), METH_VARARGS, nullptr},
    {"runs", AsMethod(Runs), METH_VARARGS, nullptr},
    {"categories", AsMethod(Categories), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

bool AddError(PyObject* module) noexcept {
  if (error_type == nullptr) {
    error_type = PyErr_NewException("headway._native.Error", PyExc_Exception, nullptr);
  }
  return error_type != nullptr && PyModule_AddObjectRef(module, "Error", error_type) == 0;
}

}  // namespace headway::python
