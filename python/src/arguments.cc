#include "arguments.h"

#include "model/record.h"

namespace headway::python {
namespace {

// Whether `value` is of one of NumPy's classes of scalars.
bool IsA(PyObject* value, PyObject* numpy, const char* name) {
  const Ref type(PyObject_GetAttrString(numpy, name));
  const bool is = type && PyType_Check(type.get()) != 0 &&
                  PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<PyTypeObject*>(type.get()));
  Swallow();
  return is;
}

// Whether `value` is a real scalar of NumPy, told without importing it: what was never imported has
// no values.
bool IsNumpyScalar(PyObject* value) {
  PyObject* const modules = PySys_GetObject("modules");  // borrowed
  const Ref numpy(modules == nullptr ? nullptr : PyMapping_GetItemString(modules, "numpy"));
  if (!numpy) {
    Swallow();
    return false;
  }
  return IsA(value, numpy.get(), "generic") && !IsA(value, numpy.get(), "complexfloating") &&
         !IsA(value, numpy.get(), "flexible");  // text and structures
}

std::optional<std::int64_t> FromLong(PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> ToInteger(PyObject* value) noexcept {
  if (PyLong_Check(value)) {
    if (PyBool_Check(value)) return std::nullopt;  // a slip, never a number
    return FromLong(value);
  }
  if (!IsNumpyScalar(value)) return std::nullopt;
  const Ref number(PyNumber_Index(value));
  if (!number) {
    Swallow();
    return std::nullopt;
  }
  return FromLong(number.get());
}

std::optional<std::int64_t> ToStep(PyObject* value) noexcept {
  const std::optional<std::int64_t> number = ToInteger(value);
  return number && IsStep(*number) ? number : std::nullopt;
}

std::optional<double> ToNumber(PyObject* value) noexcept {
  if (PyFloat_Check(value) || PyLong_Check(value) || IsNumpyScalar(value)) {
    const double number = PyFloat_AsDouble(value);
    if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
    Swallow();
  }
  return std::nullopt;
}

std::optional<Choice> ToChoice(PyObject* value) noexcept {
  if (value == Py_None) return Choice::kNone;
  if (value == Py_True) return Choice::kTrue;
  if (value == Py_False) return Choice::kFalse;
  if (PyLong_Check(value)) return FromLong(value) == 0 ? Choice::kFalse : Choice::kTrue;
  if (IsNumpyScalar(value)) {
    const int truth = PyObject_IsTrue(value);
    if (truth >= 0) return truth != 0 ? Choice::kTrue : Choice::kFalse;
    Swallow();
  }
  return std::nullopt;
}

bool ToStrings(PyObject* sequence, std::vector<std::string>* strings) {
  const Py_ssize_t size = PySequence_Size(sequence);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    const Ref bytes(item ? PyUnicode_EncodeFSDefault(item.get()) : nullptr);
    const char* const text = bytes ? PyBytes_AsString(bytes.get()) : nullptr;
    if (text == nullptr) return false;
    strings->emplace_back(text);
  }
  return size >= 0;
}

}  // namespace headway::python
