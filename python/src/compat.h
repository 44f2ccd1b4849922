#pragma once

#include "common.h"

namespace headway::python {

/// CompatCalculator(elastic): accounting as ml-goodput-measurement 0.2.3 does it, for the drop-in.
/// Its methods hold the GIL and take and return plain values: times are POSIX seconds, badput is a
/// dict by the incumbent's numbers (10: a dict by type), None stands for what it would not have.
///
/// ideal_step_time(seconds): its ideal of a list of times, or None.
/// environment_rank(): this process's rank as the environment tells it, or None.
extern PyMethodDef compat_functions[];

/// Makes the type CompatCalculator and adds it to the module. False with an exception set.
bool AddCompatType(PyObject* module) noexcept;

}  // namespace headway::python
