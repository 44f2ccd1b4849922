#include "beside.h"

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/beside.h"
#include "reports.h"

namespace headway::python {
namespace {

PyObject* StartBeside(PyObject*, PyObject* arguments) noexcept {
  const char* program = nullptr;
  PyObject* words = nullptr;
  PyObject* variables = nullptr;
  if (PyArg_ParseTuple(arguments, "sOO", &program, &words, &variables) == 0) return nullptr;
  try {
    std::vector<std::string> argv;
    std::vector<std::string> environment;
    if (!ToStrings(words, &argv) || !ToStrings(variables, &environment)) return nullptr;
    std::optional<Result<Beside>> beside;
    PyThreadState* const thread = PyEval_SaveThread();
    try {
      beside = headway::StartBeside(program, argv, environment);
    } catch (const std::exception& exception) {
      beside = Status(Code::kInternal, exception.what());
    }
    PyEval_RestoreThread(thread);
    if (!beside->ok()) return RaiseError(beside->status());
    return Py_BuildValue("(ii)", (*beside)->control.Release(), static_cast<int>((*beside)->pid));
  } catch (const std::exception&) {
    return PyErr_NoMemory();
  }
}

}  // namespace

PyMethodDef beside_functions[] = {
    {"start_beside", StartBeside, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace headway::python
