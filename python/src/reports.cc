#include "reports.h"

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/status.h"
#include "base/time_format.h"
#include "base/uid.h"
#include "ledger/ledger.h"
#include "model/category.h"
#include "model/report.h"
#include "runs/runs.h"

namespace headway::python {
namespace {

PyObject* error_type = nullptr;

PyObject* Raise(const Status& status) {
  const std::string_view code = CodeName(status.code());
  const Ref arguments(Py_BuildValue("(s#s#)", code.data(), static_cast<Py_ssize_t>(code.size()),
                                    status.message().data(),
                                    static_cast<Py_ssize_t>(status.message().size())));
  if (arguments) PyErr_SetObject(error_type, arguments.get());
  return nullptr;
}

/// What is asked, in words of the command line.
struct Question {
  std::vector<std::string> dirs;
  std::string project;
  std::string run;
  std::optional<std::string> as_of, from, to;
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
  if (as_of != nullptr) question->as_of = as_of;
  if (from != nullptr) question->from = from;
  if (to != nullptr) question->to = to;
  return true;
}

enum class What { kReport, kTimeline, kSteps };

Result<ledger::Query> MakeQuery(const Question& question, std::optional<std::int64_t> start) {
  std::optional<WallNs> origin;
  if (start) origin = WallNs{*start};
  ledger::Query query;
  query.now = SystemClock::WallNow().ns;
  if (question.as_of) {
    const Result<WallNs> time = ParseTime(*question.as_of, origin);
    if (!time.ok()) return time.status();
    query.as_of = time->ns;
  }
  if (question.from || question.to) {
    const Result<WallNs> from = ParseTime(question.from.value_or("+0"), origin);
    if (!from.ok()) return from.status();
    std::int64_t end = *query.now;
    if (question.to) {
      const Result<WallNs> to = ParseTime(*question.to, origin);
      if (!to.ok()) return to.status();
      end = to->ns;
    }
    if (end < from->ns) {
      return Status(Code::kInvalidArgument, "the window ends before it begins");
    }
    query.window = {from->ns, end};
  }
  return query;
}

Result<std::string> Answer(const Question& question, What what) {
  Result<runs::Run> run = runs::Find(question.dirs, question.project, question.run);
  if (!run.ok()) return run.status();
  Result<runs::Loaded> loaded = runs::Load(*run);
  if (!loaded.ok()) return loaded.status();
  const Result<ledger::Query> query =
      MakeQuery(question, loaded->ledger.MakeReport().start);
  if (!query.ok()) return query.status();
  if (what == What::kTimeline) return ToJson(loaded->ledger.Timeline(*query));
  if (what == What::kSteps) return ToJson(loaded->ledger.Steps(*query));
  Report report = loaded->ledger.MakeReport(*query);
  report.run = run->label;
  report.project = run->project;
  return ToJson(report);
}

Result<std::string> ListRuns(const Question& question) {
  const Result<std::vector<runs::Run>> found = runs::List(question.dirs, question.project);
  if (!found.ok()) return found.status();
  std::string out;
  JsonWriter json(&out);
  json.BeginArray();
  for (const runs::Run& run : *found) {
    json.BeginObject()
        .Field("run", run.label)
        .Field("project", run.project)
        .Field("uid", ToHex(run.uid))
        .Field("start", FormatTime(WallNs{run.start}))
        .Field("journals", run.journals.size())
        .EndObject();
  }
  json.EndArray();
  return out;
}

// Runs `work` without the GIL; its text, or its error as an exception.
template <typename Work>
PyObject* WithoutGil(Work work) {
  PyThreadState* const thread = PyEval_SaveThread();
  std::optional<Result<std::string>> result;
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
  if (!result->ok()) return Raise(result->status());
  const std::string& text = **result;
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

template <What what>
PyObject* Ask(PyObject*, PyObject* arguments) noexcept {
  try {
    Question question;
    if (!Parse(arguments, true, &question)) return nullptr;
    return WithoutGil([&question] { return Answer(question, what); });
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
