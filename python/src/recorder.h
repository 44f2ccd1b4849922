#pragma once

#include "common.h"

namespace headway::python {

/// Makes the type `Recorder`, an open recorder, and adds it to the module. False with an exception
/// set.
bool AddRecorderType(PyObject* module) noexcept;

}  // namespace headway::python
