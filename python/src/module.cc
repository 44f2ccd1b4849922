#include <headway/headway.h>

#include "beside.h"
#include "common.h"
#include "compat.h"
#include "contexts.h"
#include "recorder.h"
#include "reports.h"

/// headway._native: the recorder and the ledger for Python.

namespace headway::python {
namespace {

PyMethodDef functions[] = {
    {"in_checkpoint", AsMethod(InCheckpoint), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

int Execute(PyObject* module) noexcept {
  // Recorders, their threads and their exit hook belong to the process.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "headway works in the main interpreter only, not in a subinterpreter");
    return -1;
  }
  if (!AddContextTypes(module) || !AddRecorderType(module) || !AddError(module) ||
      !AddCompatType(module) || PyModule_AddFunctions(module, functions) != 0 ||
      PyModule_AddFunctions(module, beside_functions) != 0 ||
      PyModule_AddStringConstant(module, "VERSION", headway_version()) != 0 ||
      PyModule_AddIntConstant(module, "FROM_ENVIRONMENT", HEADWAY_FROM_ENVIRONMENT) != 0) {
    return -1;
  }
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, AsSlot(Execute)}, {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "headway._native",
                          "The recorder and the ledger.",
                          0,
                          report_functions,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace headway::python

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&headway::python::definition); }
