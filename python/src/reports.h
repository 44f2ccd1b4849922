#pragma once

#include "base/status.h"
#include "common.h"

namespace headway::python {

/// report(dirs, project, run, as_of, window_from, window_to), and the same for timeline and steps:
/// the JSON that the command line prints. Times are text as the command line takes it, or None.
/// runs(dirs, project): the runs there are, as JSON.
/// All return (JSON, list of problems met on the way, as text).
/// categories(): (name, what it means) of each.
/// Errors are headway._native.Error with `code` (as google.rpc.Code spells it) and a message.
extern PyMethodDef report_functions[];

/// Raises headway._native.Error for `status`; returns null.
PyObject* RaiseError(const Status& status);

/// Makes the exception Error and adds it to the module. False with an exception set.
bool AddError(PyObject* module) noexcept;

}  // namespace headway::python
