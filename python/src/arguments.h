#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common.h"

/// What Python values mean to the recorder. Nothing here raises, and nothing asks a device for a
/// value: only what is known to live on the host is looked at.

namespace headway::python {

/// Python's int but no bool, or an integer of NumPy, that fits; else nothing.
std::optional<std::int64_t> ToInteger(PyObject* value) noexcept;

/// Likewise, and not below 0: the number of a step.
std::optional<std::int64_t> ToStep(PyObject* value) noexcept;

/// Python's int, float or bool, or a scalar of NumPy; else nothing.
std::optional<double> ToNumber(PyObject* value) noexcept;

/// None, True or False, as blocking arguments are.
enum class Choice { kNone, kTrue, kFalse };
std::optional<Choice> ToChoice(PyObject* value) noexcept;

/// The texts of a sequence, as the file system spells them. False with an exception set.
bool ToStrings(PyObject* sequence, std::vector<std::string>* strings);

}  // namespace headway::python
