#pragma once

// PY_SSIZE_T_CLEAN and the limited API (Py_LIMITED_API, set by the build) for every file of the
// module.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

/// What every file of the extension module shares.
///
/// The module is written by hand on the limited API so that one build serves every CPython
/// from 3.10 on. Its types are made once a process and live for ever, which is why only the main
/// interpreter may import it. No C++ exception leaves a function that Python calls.

namespace headway::python {

/// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref Share(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// The signature of METH_FASTCALL | METH_KEYWORDS.
using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                                   PyObject* keywords);

/// A function as method tables want it.
template <typename Function>
PyCFunction AsMethod(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

template <typename Function>
void* AsSlot(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// Forgets the pending exception, if any: nothing is raised into a training loop. Ctrl-C is kept
/// for the next instruction of the program.
inline void Swallow() {
  if (PyErr_Occurred() == nullptr) return;
  const bool interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
  PyErr_Clear();
  if (interrupted) PyErr_SetInterrupt();
}

}  // namespace headway::python
