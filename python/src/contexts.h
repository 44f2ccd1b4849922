#pragma once

#include <headway/headway.h>

#include <cstdint>
#include <vector>

#include "common.h"

/// The context objects that steps and spans return. A recorder keeps a few and hands them out again
/// while nobody else holds them, so that a training loop allocates nothing.

namespace headway::python {

/// What a recorder and its contexts share. Counted under the GIL.
struct RecorderState {
  headway_recorder* recorder = nullptr;  ///< null: disabled
  std::int64_t last_step = HEADWAY_NO_STEP;
  bool finished = false;
  std::int64_t references = 1;
};
void Release(RecorderState* state) noexcept;

/// `with run.step(i):`; the step has started when this is made.
struct StepContext {
  PyObject_HEAD RecorderState* state;
  std::int64_t step;
  bool hard;   ///< its end says that the device has finished
  bool valid;  ///< false: the step number could not be read, nothing is recorded
};

/// `with run.span(...):` and `@run.span(...)`; begins when it is entered, as often as it is
/// entered.
struct SpanContext {
  struct Entry {
    std::uintptr_t thread;  ///< 0: free
    headway_span span;
  };
  PyObject_HEAD RecorderState* state;
  std::int64_t step;
  headway_name_id name;
  headway_span_kind kind;
  headway_blocking blocking;
  Entry entry;               ///< the first that is open
  std::vector<Entry>* more;  ///< further ones: nested, or in other threads; null: none ever
};

/// Makes the two types and adds them to the module. False with an exception set.
bool AddContextTypes(PyObject* module) noexcept;

/// () -> bool: whether a checkpoint_save or checkpoint_restore span that this thread has entered is
/// open, of whichever recorder.
PyObject* InCheckpoint(PyObject* module, PyObject*) noexcept;

/// Owned references, or null with an exception set.
StepContext* NewStepContext(RecorderState* state) noexcept;
SpanContext* NewSpanContext(RecorderState* state) noexcept;

}  // namespace headway::python
