#include "contexts.h"

#include <pthread.h>

#include <algorithm>
#include <new>

namespace headway::python {
namespace {

PyTypeObject* step_type = nullptr;
PyTypeObject* span_type = nullptr;

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;

void Free(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* Enter(PyObject* self, PyObject*) noexcept {
  Py_INCREF(self);
  return self;
}

// --- steps
// -----------------------------------------------------------------------------------------

void DeallocateStep(PyObject* self) noexcept {
  Release(reinterpret_cast<StepContext*>(self)->state);
  Free(self);
}

PyObject* ExitStep(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  const auto& step = *reinterpret_cast<StepContext*>(self);
  if (step.valid) [[likely]] {
    // Whoever leaves by an exception promises nothing about the device.
    const bool raised = count > 0 && arguments[0] != Py_None;
    if (step.hard && !raised) {
      headway_step_end(step.state->recorder, step.step);
    } else {
      headway_step_soft_end(step.state->recorder, step.step);
    }
  }
  Py_RETURN_NONE;
}

PyDoc_STRVAR(kStepDoc,
             "A step that has started; leaving its ``with`` block tells that the host is done.");

PyMethodDef step_methods[] = {
    {"__enter__", AsMethod(Enter), METH_NOARGS, nullptr},
    {"__exit__", AsMethod(ExitStep), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot step_slots[] = {
    {Py_tp_doc, const_cast<char*>(kStepDoc)},
    {Py_tp_dealloc, AsSlot(DeallocateStep)},
    {Py_tp_methods, step_methods},
    {0, nullptr},
};
PyType_Spec step_spec = {"headway.Step", sizeof(StepContext), 0, kFlags, step_slots};

// --- spans
// -----------------------------------------------------------------------------------------

std::uintptr_t ThisThread() { return static_cast<std::uintptr_t>(::pthread_self()); }

// The threads of the checkpoint spans that are open, one entry a span. Guarded by the GIL.
std::vector<std::uintptr_t> checkpoint_threads;

bool IsCheckpoint(headway_span_kind kind) {
  return kind == HEADWAY_CHECKPOINT_SAVE || kind == HEADWAY_CHECKPOINT_RESTORE;
}

void CheckpointEntered(std::uintptr_t thread) noexcept {
  try {
    checkpoint_threads.push_back(thread);
  } catch (const std::bad_alloc&) {
    return;  // what a library saves meanwhile is one more span
  }
}

void CheckpointLeft(std::uintptr_t thread) noexcept {
  const auto found = std::find(checkpoint_threads.begin(), checkpoint_threads.end(), thread);
  if (found != checkpoint_threads.end()) checkpoint_threads.erase(found);
}

void DeallocateSpan(PyObject* self) noexcept {
  auto& span = *reinterpret_cast<SpanContext*>(self);
  delete span.more;
  Release(span.state);
  Free(self);
}

PyObject* EnterSpan(PyObject* self, PyObject*) noexcept {
  auto& span = *reinterpret_cast<SpanContext*>(self);
  const SpanContext::Entry entry = {
      ThisThread(),
      headway_span_begin(span.state->recorder, span.kind, span.blocking, span.name, span.step)};
  if (span.entry.thread == 0) [[likely]] {
    span.entry = entry;
  } else {
    try {
      if (span.more == nullptr) span.more = new std::vector<SpanContext::Entry>;
      span.more->push_back(entry);
    } catch (const std::bad_alloc&) {
      headway_span_end(span.state->recorder, entry.span);
      Py_INCREF(self);
      return self;
    }
  }
  if (IsCheckpoint(span.kind)) CheckpointEntered(entry.thread);
  Py_INCREF(self);
  return self;
}

// The entry to leave: the newest of this thread, else the newest.
SpanContext::Entry TakeEntry(SpanContext* span) {
  const std::uintptr_t thread = ThisThread();
  const SpanContext::Entry first = span->entry;
  if (span->more == nullptr || span->more->empty()) [[likely]] {
    span->entry = {};
    return first;
  }
  std::vector<SpanContext::Entry>& more = *span->more;
  std::size_t newest = more.size() - 1;
  for (std::size_t i = more.size(); i-- > 0;) {
    if (more[i].thread == thread) {
      newest = i;
      break;
    }
  }
  if (first.thread == thread && more[newest].thread != thread) {
    span->entry = {};
    return first;
  }
  const SpanContext::Entry entry = more[newest];
  more.erase(more.begin() + static_cast<std::ptrdiff_t>(newest));
  return entry;
}

PyObject* ExitSpan(PyObject* self, PyObject* const*, Py_ssize_t) noexcept {
  auto& span = *reinterpret_cast<SpanContext*>(self);
  const SpanContext::Entry entry = TakeEntry(&span);
  headway_span_end(span.state->recorder, entry.span);
  if (IsCheckpoint(span.kind)) CheckpointLeft(entry.thread);
  Py_RETURN_NONE;
}

// As a decorator; making the wrapper is Python's business.
PyObject* CallSpan(PyObject* self, PyObject* arguments, PyObject* keywords) noexcept {
  PyObject* function = nullptr;
  static const char* const names[] = {"", nullptr};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:span", const_cast<char**>(names),
                                   &function)) {
    return nullptr;
  }
  const Ref module(PyImport_ImportModule("headway._decorator"));
  if (!module) return nullptr;
  const Ref decorate(PyObject_GetAttrString(module.get(), "decorate"));
  if (!decorate) return nullptr;
  return PyObject_CallFunctionObjArgs(decorate.get(), self, function, nullptr);
}

PyDoc_STRVAR(kSpanDoc, "A stretch of time, as a context manager or a decorator.");

PyMethodDef span_methods[] = {
    {"__enter__", AsMethod(EnterSpan), METH_NOARGS, nullptr},
    {"__exit__", AsMethod(ExitSpan), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot span_slots[] = {
    {Py_tp_doc, const_cast<char*>(kSpanDoc)},
    {Py_tp_dealloc, AsSlot(DeallocateSpan)},
    {Py_tp_methods, span_methods},
    {Py_tp_call, AsSlot(CallSpan)},
    {0, nullptr},
};
PyType_Spec span_spec = {"headway.Span", sizeof(SpanContext), 0, kFlags, span_slots};

bool AddType(PyObject* module, const char* name, PyType_Spec* spec, PyTypeObject** type) {
  if (*type == nullptr) *type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
  return *type != nullptr &&
         PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(*type)) == 0;
}

}  // namespace

void Release(RecorderState* state) noexcept {
  if (--state->references != 0) return;
  // One that is not finished is ended by the exit hook, which knows how the program ends.
  if (state->finished) headway_close(state->recorder);
  delete state;
}

PyObject* InCheckpoint(PyObject*, PyObject*) noexcept {
  const auto found = std::find(checkpoint_threads.begin(), checkpoint_threads.end(), ThisThread());
  return PyBool_FromLong(found != checkpoint_threads.end() ? 1 : 0);
}

bool AddContextTypes(PyObject* module) noexcept {
  return AddType(module, "Step", &step_spec, &step_type) &&
         AddType(module, "Span", &span_spec, &span_type);
}

StepContext* NewStepContext(RecorderState* state) noexcept {
  auto* const step = PyObject_New(StepContext, step_type);
  if (step == nullptr) return nullptr;
  ++state->references;
  step->state = state;
  step->step = 0;
  step->hard = step->valid = false;
  return step;
}

SpanContext* NewSpanContext(RecorderState* state) noexcept {
  auto* const span = PyObject_New(SpanContext, span_type);
  if (span == nullptr) return nullptr;
  ++state->references;
  span->state = state;
  span->entry = {};
  span->more = nullptr;
  span->kind = HEADWAY_CUSTOM;
  span->blocking = HEADWAY_BLOCKING_DEFAULT;
  span->name = 0;
  span->step = HEADWAY_NO_STEP;
  return span;
}

}  // namespace headway::python
