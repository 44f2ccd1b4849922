#pragma once

#include "common.h"

namespace headway::python {

/// start_beside(program, arguments, environment): starts a program beside this process; returns the
/// descriptor of the socket to it and its pid. Raises headway._native.Error.
extern PyMethodDef beside_functions[];

}  // namespace headway::python
