#include "recorder.h"

#include <headway/headway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string_view>

#include "arguments.h"
#include "contexts.h"
#include "model/record.h"

/// The type Recorder: headway.h as Python methods. What a training loop calls raises nothing,
/// whatever it is given: a call that can't be understood is dropped and counted, and told once to
/// `on_drop`.

namespace headway::python {
namespace {

constexpr std::size_t kSpansKept = 4;       // as deep as spans nest in a loop
constexpr Py_ssize_t kNamesKept = 1 << 16;  // distinct names whose ids are kept at hand

/// The calls that drops are told apart by.
enum class Call : unsigned {
  kStep,
  kStepEnd,
  kLog,
  kSpan,
  kCheckpointSaved,
  kRollback,
  kCapacity,
  kNotice,
  kExclude,
  kConfig,
  kAt,
};
constexpr std::array<const char*, 11> kCallNames = {
    "step",     "step_end", "log",     "span",   "checkpoint_saved", "rollback",
    "capacity", "notice",   "exclude", "config", "history"};

struct RecorderObject {
  PyObject_HEAD RecorderState* state;
  StepContext* step;                           ///< handed out again while nobody else holds it
  std::array<SpanContext*, kSpansKept> spans;  ///< likewise; null: not made yet
  PyObject* names;                             ///< dict: str -> id
  PyObject* on_drop;                           ///< callable(call, value) or None
  PyObject* error;                             ///< str: why it is disabled
  std::uint64_t bad_calls;
  unsigned told;  ///< bit for each Call
};

RecorderObject& Self(PyObject* self) { return *reinterpret_cast<RecorderObject*>(self); }

void Drop(RecorderObject* self, Call call, PyObject* value) noexcept {
  ++self->bad_calls;
  const unsigned bit = 1u << static_cast<unsigned>(call);
  if ((self->told & bit) != 0 || self->state->recorder == nullptr) return;
  self->told |= bit;
  if (self->on_drop == Py_None) return;
  const char* const name = kCallNames[static_cast<unsigned>(call)];
  // Without a value its arguments are wrong in number or name; None is a value like any other.
  const Ref result(value == nullptr ? PyObject_CallFunction(self->on_drop, "s", name)
                                    : PyObject_CallFunction(self->on_drop, "sO", name, value));
  Swallow();
}

/// The arguments of one call, taken by position or keyword.
class Arguments {
 public:
  Arguments(RecorderObject* self, Call call, PyObject* const* values, Py_ssize_t count,
            PyObject* keywords)
      : self_(self), call_(call), values_(values), count_(count), keywords_(keywords) {
    expected_ = count + (keywords == nullptr ? 0 : PyTuple_Size(keywords));
  }
  /// Surplus arguments are a dropped call of their own: what was understood is kept.
  ~Arguments() {
    if (taken_ < expected_) Drop(self_, call_, nullptr);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// The next parameter's value, borrowed; null when it was not given.
  PyObject* Next(const char* name) {
    const Py_ssize_t index = index_++;
    PyObject* found = index < count_ ? values_[index] : nullptr;
    if (keywords_ != nullptr) {
      const Py_ssize_t size = PyTuple_Size(keywords_);
      for (Py_ssize_t i = 0; i < size && found == nullptr; ++i) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords_, i), name) == 0) {
          found = values_[count_ + i];
        }
      }
    }
    if (found != nullptr) ++taken_;
    return found;
  }

  /// A number; `otherwise` for None, for what was not given and for what is none.
  std::int64_t NextInteger(const char* name, std::int64_t otherwise) {
    return NextNumber<ToInteger>(name, otherwise);
  }
  /// Likewise the number of a step.
  std::int64_t NextStep(const char* name) { return NextNumber<ToStep>(name, HEADWAY_NO_STEP); }
  Choice NextChoice(const char* name) {
    PyObject* const value = Next(name);
    if (value == nullptr) return Choice::kNone;
    const std::optional<Choice> choice = ToChoice(value);
    if (!choice) Drop(self_, call_, value);
    return choice.value_or(Choice::kNone);
  }

 private:
  template <std::optional<std::int64_t> (*convert)(PyObject*) noexcept>
  std::int64_t NextNumber(const char* name, std::int64_t otherwise) {
    PyObject* const value = Next(name);
    if (value == nullptr || value == Py_None) return otherwise;
    const std::optional<std::int64_t> number = convert(value);
    if (!number) Drop(self_, call_, value);
    return number.value_or(otherwise);
  }

  RecorderObject* self_;
  Call call_;
  PyObject* const* values_;
  Py_ssize_t count_;
  PyObject* keywords_;
  Py_ssize_t index_ = 0;
  Py_ssize_t taken_ = 0;
  Py_ssize_t expected_ = 0;
};

/// The id of a name, or nothing (counted) when it is no text.
std::optional<headway_name_id> NameOf(RecorderObject* self, Call call, PyObject* name) noexcept {
  if (name == nullptr || !PyUnicode_Check(name)) {
    Drop(self, call, name);
    return std::nullopt;
  }
  PyObject* const known = PyDict_GetItemWithError(self->names, name);
  if (known != nullptr) [[likely]] {
    return static_cast<headway_name_id>(PyLong_AsUnsignedLong(known));
  }
  Swallow();
  const char* const text = PyUnicode_AsUTF8AndSize(name, nullptr);
  if (text == nullptr) {
    Swallow();
    Drop(self, call, name);
    return std::nullopt;
  }
  const headway_name_id id = headway_name(self->state->recorder, text);
  if (PyDict_Size(self->names) < kNamesKept) {
    const Ref number(PyLong_FromUnsignedLong(id));
    if (number) PyDict_SetItem(self->names, name, number.get());
    Swallow();
  }
  return id;
}

// --- steps
// -----------------------------------------------------------------------------------------

PyObject* Step(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
               PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  RecorderState& state = *self.state;
  std::optional<std::int64_t> number;
  bool hard = false;
  if (count == 1 && keywords == nullptr && PyLong_CheckExact(values[0])) [[likely]] {
    int overflow = 0;  // then the result is negative, as that of a slip is
    const long long value = PyLong_AsLongLongAndOverflow(values[0], &overflow);
    if (IsStep(value)) [[likely]] {
      number = value;
    } else {
      Drop(&self, Call::kStep, values[0]);
    }
  } else {
    Arguments arguments(&self, Call::kStep, values, count, keywords);
    PyObject* const value = arguments.Next("step");
    if (value != nullptr) number = ToStep(value);
    if (!number) Drop(&self, Call::kStep, value);
    hard = arguments.NextChoice("blocking") == Choice::kTrue;
  }
  if (number) [[likely]] {
    headway_step_start(state.recorder, *number);
    state.last_step = *number;
  }
  if (Py_REFCNT(reinterpret_cast<PyObject*>(self.step)) != 1) [[unlikely]] {
    // Nested or kept: the earlier one goes on to mean its own step.
    if (StepContext* const fresh = NewStepContext(self.state)) {
      Py_DECREF(reinterpret_cast<PyObject*>(self.step));
      self.step = fresh;
    } else {
      Swallow();
    }
  }
  StepContext* const context = self.step;
  context->step = number.value_or(0);
  context->hard = hard;
  context->valid = number.has_value();
  Py_INCREF(reinterpret_cast<PyObject*>(context));
  return reinterpret_cast<PyObject*>(context);
}

using IntegerFunction = void (*)(headway_recorder*, std::int64_t);

/// A method with one number, which must be one.
template <IntegerFunction function, Call call>
PyObject* WithInteger(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
                      PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  Arguments arguments(&self, call, values, count, keywords);
  PyObject* const value = arguments.Next("step");
  const std::optional<std::int64_t> number = value == nullptr ? std::nullopt : ToStep(value);
  if (number) {
    function(self.state->recorder, *number);
  } else {
    Drop(&self, call, value);
  }
  Py_RETURN_NONE;
}

// --- spans
// -----------------------------------------------------------------------------------------

SpanContext* FreeSpan(RecorderObject* self) noexcept {
  for (SpanContext*& kept : self->spans) {
    if (kept == nullptr) {
      kept = NewSpanContext(self->state);
      if (kept == nullptr) return nullptr;
    }
    if (Py_REFCNT(reinterpret_cast<PyObject*>(kept)) == 1) {
      Py_INCREF(reinterpret_cast<PyObject*>(kept));
      kept->entry = {};
      if (kept->more != nullptr) kept->more->clear();
      return kept;
    }
  }
  return NewSpanContext(self->state);
}

enum class Parameter { kNone, kName, kStep, kBlocking };

/// A method that returns a span: what it records and which parameters it has, in their order.
struct SpanMethod {
  headway_span_kind kind;
  Parameter first = Parameter::kNone;
  Parameter second = Parameter::kNone;
};

template <SpanMethod method>
PyObject* Span(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
               PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  headway_name_id name = 0;
  std::int64_t step = HEADWAY_NO_STEP;
  Choice blocking = Choice::kNone;
  if (count != 0 || keywords != nullptr) {
    Arguments arguments(&self, Call::kSpan, values, count, keywords);
    for (const Parameter parameter : {method.first, method.second}) {
      switch (parameter) {
        case Parameter::kNone: break;
        case Parameter::kName:
          name = NameOf(&self, Call::kSpan, arguments.Next("name")).value_or(0);
          break;
        case Parameter::kStep: step = arguments.NextStep("step"); break;
        case Parameter::kBlocking: blocking = arguments.NextChoice("blocking"); break;
      }
    }
  } else if (method.first == Parameter::kName) {
    Drop(&self, Call::kSpan, nullptr);
  }
  SpanContext* const span = FreeSpan(&self);
  if (span == nullptr) return nullptr;
  span->kind = method.kind;
  span->name = name;
  span->step = step;
  // Everything but data loading blocks by itself.
  span->blocking = blocking == Choice::kFalse ? HEADWAY_BLOCKING_NO
                   : blocking == Choice::kTrue && method.kind == HEADWAY_DATA_LOADING
                       ? HEADWAY_BLOCKING_YES
                       : HEADWAY_BLOCKING_DEFAULT;
  return reinterpret_cast<PyObject*>(span);
}

// --- facts
// -----------------------------------------------------------------------------------------

PyObject* Log(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
              PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  headway_recorder* const recorder = self.state->recorder;
  if (recorder == nullptr) Py_RETURN_NONE;
  Arguments arguments(&self, Call::kLog, values, count, keywords);
  const Ref metrics = Ref::Share(arguments.Next("metrics"));
  const std::int64_t step = arguments.NextStep("step");
  if (!metrics || !PyDict_Check(metrics.get())) {
    Drop(&self, Call::kLog, metrics.get());
    Py_RETURN_NONE;
  }
  // They are taken together, for they get one time; with more of them than this another one begins.
  constexpr std::size_t kMost = 1024;
  std::array<headway_name_id, kMost> names;
  std::array<double, kMost> numbers;
  std::size_t taken = 0;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(metrics.get(), &position, &key, &value)) {
    // Held, for a drop is told to Python code.
    const Ref held_key = Ref::Share(key);
    const Ref held_value = Ref::Share(value);
    const std::optional<double> number = ToNumber(value);
    if (!number) {
      Drop(&self, Call::kLog, value);
      continue;
    }
    const std::optional<headway_name_id> name = NameOf(&self, Call::kLog, key);
    if (!name) continue;
    names[taken] = *name;
    numbers[taken++] = *number;
    if (taken < kMost) continue;
    headway_log_all(recorder, names.data(), numbers.data(), taken, step);
    taken = 0;
  }
  headway_log_all(recorder, names.data(), numbers.data(), taken, step);
  Py_RETURN_NONE;
}

PyObject* Capacity(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
                   PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  Arguments arguments(&self, Call::kCapacity, values, count, keywords);
  const std::int64_t available = arguments.NextInteger("available", HEADWAY_UNKNOWN);
  const std::int64_t active = arguments.NextInteger("active", HEADWAY_UNKNOWN);
  const std::int64_t total = arguments.NextInteger("total", HEADWAY_UNKNOWN);
  headway_capacity(self.state->recorder, available, active, total);
  Py_RETURN_NONE;
}

PyObject* Notice(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
                 PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  Arguments arguments(&self, Call::kNotice, values, count, keywords);
  // What is no signal's number is a notice, too: that the process has been told to stop counts.
  const std::int64_t signal = arguments.NextInteger("signal", 0);
  headway_notice(self.state->recorder, static_cast<std::int32_t>(std::clamp<std::int64_t>(
                                           signal, -1, std::numeric_limits<std::int32_t>::max())));
  Py_RETURN_NONE;
}

PyObject* Heartbeat(PyObject* self_object, PyObject*) noexcept {
  headway_heartbeat(Self(self_object).state->recorder);
  Py_RETURN_NONE;
}

// Nanoseconds; made by headway.Run.exclude from what people write.
PyObject* ExcludeNs(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
                    PyObject* keywords) noexcept {
  RecorderObject& self = Self(self_object);
  Arguments arguments(&self, Call::kExclude, values, count, keywords);
  const std::int64_t from = arguments.NextInteger("from_ns", HEADWAY_NO_TIME);
  const std::int64_t to = arguments.NextInteger("to_ns", HEADWAY_NO_TIME);
  const std::optional<headway_name_id> reason =
      NameOf(&self, Call::kExclude, arguments.Next("reason"));
  if (from != HEADWAY_NO_TIME) {
    headway_exclude(self.state->recorder, from, to, reason.value_or(0));
  }
  Py_RETURN_NONE;
}

// --- history: what happened at another time, which is None for now
// -----------------------------------------------------------------------------------------

// Nothing: it is no time, or one that nanoseconds in 64 bits don't reach (1677 to 2262); the call
// is dropped.
std::optional<std::int64_t> TimeOf(PyObject* self, PyObject* value) {
  if (value == nullptr || value == Py_None) return HEADWAY_NO_TIME;
  const std::optional<std::int64_t> time = ToInteger(value);
  if (!time) Drop(&Self(self), Call::kAt, value);
  return time;
}

PyObject* JobStartAt(PyObject* self, PyObject* value) noexcept {
  const std::optional<std::int64_t> time = TimeOf(self, value);
  if (time) headway_job_start_at(Self(self).state->recorder, *time);
  Py_RETURN_NONE;
}

PyObject* JobEndAt(PyObject* self, PyObject* value) noexcept {
  const std::optional<std::int64_t> time = TimeOf(self, value);
  if (time) headway_job_end_at(Self(self).state->recorder, 0, *time);
  Py_RETURN_NONE;
}

// (step, time)
PyObject* StepStartAt(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
                      PyObject*) noexcept {
  RecorderObject& self = Self(self_object);
  const std::optional<std::int64_t> step = count == 2 ? ToInteger(values[0]) : std::nullopt;
  if (step) {
    const std::optional<std::int64_t> time = TimeOf(self_object, values[1]);
    if (time) headway_step_start_at(self.state->recorder, *step, *time);
  } else {
    Drop(&self, Call::kAt, count > 0 ? values[0] : nullptr);
  }
  Py_RETURN_NONE;
}

// (kind, name, step, time): the handle for _span_end_at.
PyObject* SpanBeginAt(PyObject* self_object, PyObject* const* values, Py_ssize_t count,
                      PyObject*) noexcept {
  RecorderObject& self = Self(self_object);
  headway_span span = 0;
  if (count == 4) {
    const std::int64_t kind = ToInteger(values[0]).value_or(0);
    const std::optional<headway_name_id> name = NameOf(&self, Call::kAt, values[1]);
    const std::int64_t step = ToInteger(values[2]).value_or(HEADWAY_NO_STEP);
    const std::optional<std::int64_t> time = TimeOf(self_object, values[3]);
    if (name && time) {
      span = headway_span_begin_at(self.state->recorder, static_cast<headway_span_kind>(kind),
                                   HEADWAY_BLOCKING_DEFAULT, *name, step, *time);
    }
  }
  return PyLong_FromUnsignedLongLong(span);
}

// (handle, time)
PyObject* SpanEndAt(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject*) noexcept {
  if (count == 2) {
    const headway_span span = PyLong_AsUnsignedLongLong(values[0]);
    Swallow();
    const std::optional<std::int64_t> time = TimeOf(self, values[1]);
    if (time) headway_span_end_at(Self(self).state->recorder, span, *time);
  }
  Py_RETURN_NONE;
}

// (available, active, total, time)
PyObject* CapacityAt(PyObject* self, PyObject* const* values, Py_ssize_t count,
                     PyObject*) noexcept {
  if (count == 4) {
    const auto number = [values](int i) { return ToInteger(values[i]).value_or(-1); };
    const std::optional<std::int64_t> time = TimeOf(self, values[3]);
    if (time) {
      headway_capacity_at(Self(self).state->recorder, number(0), number(1), number(2), *time);
    }
  }
  Py_RETURN_NONE;
}

PyObject* ConfigJson(PyObject* self_object, PyObject* arguments) noexcept {
  const char* config_class = nullptr;
  const char* json = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(arguments, "ss#:config_json", &config_class, &json, &size)) return nullptr;
  headway_config(Self(self_object).state->recorder, config_class, json,
                 static_cast<std::size_t>(size));
  Py_RETURN_NONE;
}

// What the Python half of exclude and config could not understand.
template <Call call>
PyObject* DropCall(PyObject* self_object, PyObject* value) noexcept {
  Drop(&Self(self_object), call, value);
  Py_RETURN_NONE;
}

// Stops recording by `stop(recorder)`, which may wait for the heartbeat.
template <typename Stop>
PyObject* StopBy(PyObject* self_object, const Stop& stop) {
  RecorderState& state = *Self(self_object).state;
  ++state.references;  // another thread may drop the recorder meanwhile
  PyThreadState* const thread = PyEval_SaveThread();
  stop(state.recorder);
  PyEval_RestoreThread(thread);
  state.finished = true;
  Release(&state);
  Py_RETURN_NONE;
}

PyObject* FinishWith(PyObject* self, PyObject* value) noexcept {
  const long status = PyLong_AsLong(value);
  if (status == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return StopBy(self, [status](headway_recorder* recorder) {
    headway_finish(recorder, static_cast<std::int32_t>(status));
  });
}

PyObject* Abandon(PyObject* self, PyObject*) noexcept { return StopBy(self, headway_abandon); }

// --- questions
// -------------------------------------------------------------------------------------

using TextFunction = const char* (*)(const headway_recorder*);
template <TextFunction function>
PyObject* GetText(PyObject* self, void*) noexcept {
  const std::string_view text = function(Self(self).state->recorder);
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

using NumberFunction = std::int64_t (*)(const headway_recorder*);
template <NumberFunction function>
PyObject* GetNumber(PyObject* self, void*) noexcept {
  const std::int64_t number = function(Self(self).state->recorder);
  if (number == HEADWAY_UNKNOWN) Py_RETURN_NONE;
  return PyLong_FromLongLong(number);
}

PyObject* GetEnabled(PyObject* self, void*) noexcept {
  const RecorderState& state = *Self(self).state;
  return PyBool_FromLong(state.recorder != nullptr && !state.finished);
}
PyObject* GetContinued(PyObject* self, void*) noexcept {
  return PyBool_FromLong(headway_continued(Self(self).state->recorder));
}
PyObject* GetDropped(PyObject* self, void*) noexcept {
  return PyLong_FromUnsignedLongLong(Self(self).bad_calls +
                                     headway_dropped(Self(self).state->recorder));
}
PyObject* GetLastStep(PyObject* self, void*) noexcept {
  const std::int64_t step = Self(self).state->last_step;
  if (step == HEADWAY_NO_STEP) Py_RETURN_NONE;
  return PyLong_FromLongLong(step);
}
PyObject* GetError(PyObject* self, void*) noexcept {
  return Ref::Share(Self(self).error).release();
}

// --- the type
// --------------------------------------------------------------------------------------

void Deallocate(PyObject* self_object) noexcept {
  RecorderObject& self = Self(self_object);
  Py_XDECREF(reinterpret_cast<PyObject*>(self.step));
  for (SpanContext* span : self.spans) Py_XDECREF(reinterpret_cast<PyObject*>(span));
  Py_XDECREF(self.names);
  Py_XDECREF(self.on_drop);
  Py_XDECREF(self.error);
  if (self.state != nullptr) Release(self.state);
  PyTypeObject* const type = Py_TYPE(self_object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self_object);
  Py_DECREF(type);
}

bool OpenInto(RecorderObject* self, const headway_options& options) {
  char error[1024] = "";
  headway_recorder* recorder = nullptr;
  PyThreadState* const thread = PyEval_SaveThread();
  headway_open(&options, &recorder, error, sizeof error);
  PyEval_RestoreThread(thread);
  self->state->recorder = recorder;
  self->error = PyUnicode_DecodeUTF8(error, static_cast<Py_ssize_t>(std::string_view(error).size()),
                                     "replace");
  self->names = PyDict_New();
  self->step = NewStepContext(self->state);
  return self->error != nullptr && self->names != nullptr && self->step != nullptr;
}

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject* keywords) noexcept {
  headway_options options = HEADWAY_OPTIONS_INIT;
  int heartbeat = 1;
  int sigterm = 0;
  int disabled = 0;
  int exit_ends_job = 1;
  int job_start = 1;
  long long rank = HEADWAY_FROM_ENVIRONMENT;
  long long world_size = HEADWAY_FROM_ENVIRONMENT;
  long long local_rank = HEADWAY_FROM_ENVIRONMENT;
  long long attempt_index = HEADWAY_FROM_ENVIRONMENT;
  PyObject* on_drop = Py_None;
  static const char* const names[] = {
      "project",  "run",        "dir",           "resume",        "job_id",    "attempt_key",
      "rank",     "world_size", "local_rank",    "attempt_index", "heartbeat", "hook_sigterm",
      "disabled", "on_drop",    "exit_ends_job", "job_start",     nullptr};
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "|$zzzzzzLLLLpppOpp:Recorder", const_cast<char**>(names),
          &options.project, &options.run, &options.dir, &options.resume, &options.job_id,
          &options.attempt_key, &rank, &world_size, &local_rank, &attempt_index, &heartbeat,
          &sigterm, &disabled, &on_drop, &exit_ends_job, &job_start)) {
    return nullptr;
  }
  options.rank = rank;
  options.world_size = world_size;
  options.local_rank = local_rank;
  options.attempt_index = attempt_index;
  options.heartbeat = heartbeat;
  options.hook_sigterm = sigterm;
  options.hook_exit = exit_ends_job != 0 ? 1 : 2;
  options.job_start = job_start;

  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  Ref object(allocate(type, 0));  // zeroed
  if (!object) return nullptr;
  RecorderObject& self = Self(object.get());
  self.state = new (std::nothrow) RecorderState;
  if (self.state == nullptr) return PyErr_NoMemory();
  self.on_drop = Ref::Share(on_drop).release();
  if (disabled != 0) {
    self.error = PyUnicode_FromString("");
    self.names = PyDict_New();
    self.step = NewStepContext(self.state);
    if (self.error == nullptr || self.names == nullptr || self.step == nullptr) return nullptr;
  } else if (!OpenInto(&self, options)) {
    return nullptr;
  }
  return object.release();
}

constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;

// What people read is at headway.Run; these texts carry the signatures.
PyMethodDef methods[] = {
    {"step", AsMethod(Step), kFast,
     "step($self, step, blocking=False)\n--\n\n"
     "Starts step number ``step``; the result is a context manager around its work.\n\n"
     "A step lasts until the next one starts, so that ``run.step(i)`` alone is enough. With\n"
     "``blocking=True`` leaving the ``with`` block is the step's end: the device has finished."},
    {"step_end", AsMethod(WithInteger<headway_step_end, Call::kStepEnd>), kFast,
     "step_end($self, step)\n--\n\nThe device has finished step number ``step``."},
    {"log", AsMethod(Log), kFast,
     "log($self, metrics, step=None)\n--\n\n"
     "Records metrics: a dict from names to Python or NumPy scalars.\n\n"
     "Other values, above all arrays on a device, are dropped and counted: to convert one would\n"
     "wait for the device. Write ``float(loss)`` where waiting is right."},
    {"accelerator_init", AsMethod(Span<SpanMethod{HEADWAY_ACCELERATOR_INIT}>), kFast,
     "accelerator_init($self)\n--\n\nBringing up accelerators and their runtime."},
    {"training_prep", AsMethod(Span<SpanMethod{HEADWAY_TRAINING_PREP}>), kFast,
     "training_prep($self)\n--\n\nBuilding model, data pipeline and state."},
    {"data_loading", AsMethod(Span<SpanMethod{HEADWAY_DATA_LOADING, Parameter::kBlocking}>), kFast,
     "data_loading($self, blocking=None)\n--\n\n"
     "Waiting for data. Inside a step it overlaps the device's work unless ``blocking=True``."},
    {"async_data_loading", AsMethod(Span<SpanMethod{HEADWAY_ASYNC_DATA_LOADING}>), kFast,
     "async_data_loading($self)\n--\n\nLoading in the background: takes no time from training."},
    {"checkpoint_save",
     AsMethod(Span<SpanMethod{HEADWAY_CHECKPOINT_SAVE, Parameter::kStep, Parameter::kBlocking}>),
     kFast,
     "checkpoint_save($self, step=None, blocking=True)\n--\n\n"
     "Writing a checkpoint. ``blocking=False``: in the background."},
    {"checkpoint_restore", AsMethod(Span<SpanMethod{HEADWAY_CHECKPOINT_RESTORE, Parameter::kStep}>),
     kFast, "checkpoint_restore($self, step=None)\n--\n\nReading a checkpoint."},
    {"span", AsMethod(Span<SpanMethod{HEADWAY_CUSTOM, Parameter::kName, Parameter::kBlocking}>),
     kFast,
     "span($self, name, blocking=True)\n--\n\nTime that is not training, by name: ``\"eval\"``."},
    {"phase", AsMethod(Span<SpanMethod{HEADWAY_PHASE, Parameter::kName}>), kFast,
     "phase($self, name)\n--\n\nProductive time, by name: ``\"rollout\"``."},
    {"elastic_wait", AsMethod(Span<SpanMethod{HEADWAY_ELASTIC_WAIT, Parameter::kName}>), kFast,
     "elastic_wait($self, name)\n--\n\n"
     "Waiting for the set of slices: ``\"slice_down\"`` or ``\"scale_up\"``."},
    {"elastic_reinit", AsMethod(Span<SpanMethod{HEADWAY_ELASTIC_REINIT}>), kFast,
     "elastic_reinit($self)\n--\n\nStarting anew after the set of slices has changed."},
    {"checkpoint_saved", AsMethod(WithInteger<headway_checkpoint_saved, Call::kCheckpointSaved>),
     kFast, "checkpoint_saved($self, step)\n--\n\nThe state after ``step`` is safe now."},
    {"rollback", AsMethod(WithInteger<headway_rollback, Call::kRollback>), kFast,
     "rollback($self, step)\n--\n\nTraining goes back to ``step`` on purpose."},
    {"capacity", AsMethod(Capacity), kFast,
     "capacity($self, available=None, active=None, total=None)\n--\n\n"
     "How many accelerators (or slices) there are now; None where it is not known."},
    {"notice", AsMethod(Notice), kFast,
     "notice($self, signal=0)\n--\n\n"
     "The process has been told to stop: by a signal's number (1 to 64), or by a preemption\n"
     "notice (0, and whatever is no signal's number)."},
    {"heartbeat", AsMethod(Heartbeat), METH_NOARGS,
     "heartbeat($self)\n--\n\nA sign of life; the recorder gives one each second by itself."},
    {"_exclude_ns", AsMethod(ExcludeNs), kFast, nullptr},
    {"_job_start_at", AsMethod(JobStartAt), METH_O, nullptr},
    {"_job_end_at", AsMethod(JobEndAt), METH_O, nullptr},
    {"_step_start_at", AsMethod(StepStartAt), kFast, nullptr},
    {"_span_begin_at", AsMethod(SpanBeginAt), kFast, nullptr},
    {"_span_end_at", AsMethod(SpanEndAt), kFast, nullptr},
    {"_capacity_at", AsMethod(CapacityAt), kFast, nullptr},
    {"_config_json", AsMethod(ConfigJson), METH_VARARGS, nullptr},
    {"_drop_exclude", AsMethod(DropCall<Call::kExclude>), METH_O, nullptr},
    {"_drop_config", AsMethod(DropCall<Call::kConfig>), METH_O, nullptr},
    {"_finish", AsMethod(FinishWith), METH_O, nullptr},
    {"_abandon", AsMethod(Abandon), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"enabled", GetEnabled, nullptr, "Whether it records: opened, and not finished.", nullptr},
    {"project", GetText<headway_project>, nullptr, "Project of the run.", nullptr},
    {"name", GetText<headway_run>, nullptr, "Name of the run.", nullptr},
    {"uid", GetText<headway_run_uid>, nullptr, "Uid of the run: 32 hexadecimal digits.", nullptr},
    {"attempt_key", GetText<headway_attempt_key>, nullptr,
     "Processes with an equal one are one attempt; may be empty.", nullptr},
    {"journal_path", GetText<headway_journal_path>, nullptr, "The file it records into.", nullptr},
    {"destination", GetText<headway_destination>, nullptr,
     "The directory asked for, when the journal had to be written elsewhere; else empty.", nullptr},
    {"rank", GetNumber<headway_rank>, nullptr, "Rank of this process; None: not known.", nullptr},
    {"world_size", GetNumber<headway_world_size>, nullptr, "Number of ranks; None: not known.",
     nullptr},
    {"continued", GetContinued, nullptr, "Whether an earlier run is being continued.", nullptr},
    {"dropped", GetDropped, nullptr, "Records and calls that could not be kept.", nullptr},
    {"last_step", GetLastStep, nullptr, "The step started last; None: none yet.", nullptr},
    {"error", GetError, nullptr, "Why it could not be opened; empty: it could.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyDoc_STRVAR(kDoc, "An open recorder: what headway.Run is made of.");

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(kDoc)}, {Py_tp_new, AsSlot(New)},
    {Py_tp_dealloc, AsSlot(Deallocate)},  {Py_tp_methods, methods},
    {Py_tp_getset, properties},           {0, nullptr},
};
PyType_Spec spec = {"headway._native.Recorder", sizeof(RecorderObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool AddRecorderType(PyObject* module) noexcept {
  static PyObject* type = nullptr;
  if (type == nullptr) type = PyType_FromSpec(&spec);
  return type != nullptr && PyModule_AddObjectRef(module, "Recorder", type) == 0;
}

}  // namespace headway::python
