#include "compat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.h"
#include "journal/format.h"
#include "ledger/compat/calculator.h"
#include "ledger/compat/keys.h"
#include "ledger/compat/report.h"
#include "ledger/compat/to_ledger.h"
#include "model/packed_records.h"
#include "model/run_records.h"
#include "recorder/environment.h"
#include "reports.h"
#include "runs/runs.h"

namespace headway::python {
namespace {

using compat::EntryKind;
using compat::Key;

struct CompatCalculator {
  PyObject_HEAD compat::Calculator* calculator;
  std::optional<ledger::Ledger>* ledger;  ///< of journals; empty: entries only
};

PyTypeObject* compat_type = nullptr;

compat::Calculator& CalculatorOf(PyObject* self) {
  return *reinterpret_cast<CompatCalculator*>(self)->calculator;
}

// Calls `work`; a C++ exception becomes one of Python's.
template <typename Work>
PyObject* Guard(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& exception) {
    PyErr_SetString(PyExc_RuntimeError, exception.what());
    return nullptr;
  }
}

// --- entries
// -----------------------------------------------------------------------------------------

std::optional<double> Number(PyObject* value) {
  if (value == nullptr || value == Py_None) return std::nullopt;
  Ref number;
  if (PyUnicode_Check(value)) {
    number = Ref(PyFloat_FromString(value));
    value = number.get();
  }
  const double result = value == nullptr ? -1 : PyFloat_AsDouble(value);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (!std::isfinite(result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> Integer(PyObject* value) {
  const Ref number(value == nullptr || value == Py_None ? nullptr : PyNumber_Long(value));
  if (!number) {
    PyErr_Clear();
    return std::nullopt;
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) return std::nullopt;
  return result;
}

std::optional<std::string> TextOf(PyObject* value) {
  if (value == nullptr) return std::nullopt;
  const Ref text(PyUnicode_Check(value) ? Ref::Share(value).release() : PyObject_Str(value));
  Py_ssize_t size = 0;
  const char* const utf8 = text ? PyUnicode_AsUTF8AndSize(text.get(), &size) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string(utf8, static_cast<std::size_t>(size));
}

/// One entry of the incumbent's log: a dict.
class EntryReader {
 public:
  EntryReader(PyObject* dict, compat::EntryLog* log) : dict_(dict), log_(log) {}

  /// Adds what the entry says. False: nothing, or some of it is unusable.
  bool Read() {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict_, &at, &key, &value) != 0) {
      Py_ssize_t size = 0;
      const char* const text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &size) : nullptr;
      if (text == nullptr) {
        PyErr_Clear();
        continue;
      }
      const auto found = compat::FindKey({text, static_cast<std::size_t>(size)});
      if (found) values_[static_cast<std::size_t>(*found)] = value;
    }
    bool any = false;
    bool usable = true;
    for (std::size_t i = 0; i < compat::kTimeKeys; ++i) {
      if (values_[i] == nullptr) continue;
      any = true;
      const std::optional<double> time = Number(values_[i]);
      usable &= time && AddTimed(compat::KindOf(static_cast<Key>(i)), *time);
    }
    if (PyObject* const time = At(Key::kSlicesTime)) {
      any = true;
      usable &= AddSlices(Number(time));
    }
    if (PyObject* const event = At(Key::kEvent)) {
      any = true;
      usable &= AddCheckpoint(TextOf(event).value_or(""));
    }
    return any && usable;
  }

 private:
  PyObject* At(Key key) const { return values_[static_cast<std::size_t>(key)]; }

  bool AddTimed(EntryKind kind, double time) {
    switch (kind) {
      case EntryKind::kStep: {
        const std::optional<std::int64_t> step = Integer(At(Key::kStepCount));
        if (step) log_->AddStep(*step, time);
        return step.has_value();
      }
      case EntryKind::kCustomStart:
      case EntryKind::kCustomEnd: {
        PyObject* const type = At(Key::kCustomType);
        if (type == nullptr || !PyUnicode_Check(type)) return false;
        const Ref upper(PyObject_CallMethod(type, "upper", nullptr));
        const std::optional<std::string> name = TextOf(upper.get());
        if (name) log_->AddNamed(kind, *name, time);
        return name.has_value();
      }
      case EntryKind::kWaitStart:
      case EntryKind::kWaitEnd:
        log_->AddNamed(kind, TextOf(At(Key::kWaitType)).value_or("unknown"), time);
        return true;
      default: log_->Add(kind, time); return true;
    }
  }

  bool AddSlices(std::optional<double> time) {
    auto count = [this](Key key, double otherwise) -> std::optional<double> {
      PyObject* const value = At(key);
      return value == nullptr ? otherwise : Number(value);
    };
    const std::optional<double> active = count(Key::kActive, 0);
    const std::optional<double> available = count(Key::kAvailable, 0);
    const std::optional<double> total = count(Key::kTotal, 1);
    if (!time || !active || !available || !total) return false;
    log_->AddSlices({*active, *available, std::max(*total, 1.0)}, *time);
    return true;
  }

  bool AddCheckpoint(const std::string& event) {
    const bool save = event == "save";
    if (!save && event != "restore" && event != "emergency_restore") return true;  // of no concern
    const std::optional<double> manager_s =
        Number(At(save ? Key::kSaveSeconds : Key::kRestoreSeconds));
    const std::optional<std::string> step = TextOf(At(Key::kCheckpointStep));
    const std::optional<std::string> directory = TextOf(At(Key::kDirectory));
    if (!manager_s || !step || !directory) return false;
    log_->AddCheckpoint(save ? EntryKind::kSave : EntryKind::kRestore, *step, *directory,
                        *manager_s, FirstTime());
    return true;
  }

  // The incumbent takes the first key with "time" in it for an entry's time.
  double FirstTime() const {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict_, &at, &key, &value) != 0) {
      const std::optional<std::string> name = TextOf(key);
      if (!name || name->find("time") == std::string::npos) continue;
      if (const std::optional<double> time = Number(value)) return *time;
    }
    return 0;
  }

  PyObject* dict_;
  compat::EntryLog* log_;
  std::array<PyObject*, compat::kKeys> values_{};  // borrowed
};

// --- answers
// -----------------------------------------------------------------------------------------

bool SetItem(PyObject* dict, PyObject* key, PyObject* value) {
  const Ref owned_key(key);
  const Ref owned_value(value);
  return owned_key && owned_value && PyDict_SetItem(dict, owned_key.get(), owned_value.get()) == 0;
}

PyObject* ToDict(const compat::Unproductive& unproductive, const NameTable& names) {
  Ref dict(PyDict_New());
  if (!dict) return nullptr;
  for (int i = 0; i < compat::kBadputCount; ++i) {
    const std::optional<double>& seconds = unproductive.seconds[static_cast<std::size_t>(i)];
    if (seconds && !SetItem(dict.get(), PyLong_FromLong(i), PyFloat_FromDouble(*seconds))) {
      return nullptr;
    }
  }
  if (unproductive.custom) {
    Ref custom(PyDict_New());
    if (!custom) return nullptr;
    for (const auto& [name, seconds] : *unproductive.custom) {
      const std::string_view text = names.Text(name);
      if (!SetItem(
              custom.get(),
              PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"),
              PyFloat_FromDouble(seconds))) {
        return nullptr;
      }
    }
    if (!SetItem(dict.get(), PyLong_FromLong(static_cast<long>(compat::Badput::kCustom)),
                 custom.release())) {
      return nullptr;
    }
  }
  return dict.release();
}

// (goodput, total, productive, badput, max step, last step, disruptions, excluded)
PyObject* ToTuple(const compat::Answer& answer, const NameTable& names) {
  const compat::Account& account = answer.account;
  Ref badput(ToDict(account.unproductive, names));
  if (!badput) return nullptr;
  return Py_BuildValue("(dddNLLLd)", answer.goodput_percent, answer.total_s, account.productive_s,
                       badput.release(), static_cast<long long>(account.max_productive_step),
                       static_cast<long long>(account.last_step),
                       static_cast<long long>(account.restarts.size()), answer.excluded_s);
}

PyObject* ToDict(const compat::StepTable& steps) {
  Ref dict(PyDict_New());
  for (const compat::StepTable::Item& item : steps.items()) {
    if (!dict ||
        !SetItem(dict.get(), PyLong_FromLongLong(item.step), PyFloat_FromDouble(item.value))) {
      return nullptr;
    }
  }
  return dict.release();
}

PyObject* ToTuple(const std::optional<compat::SliceEfficiency>& efficiency) {
  if (!efficiency) Py_RETURN_NONE;
  return Py_BuildValue("(dd)", efficiency->stepping, efficiency->available);
}

// A pair of numbers. False with an exception set.
bool ToPair(PyObject* pair, double* first, double* second) {
  return PyArg_ParseTuple(pair, "dd", first, second) != 0;
}

// Pairs of numbers. False with an exception set.
bool ToExclusions(PyObject* list, std::vector<compat::Exclusion>* exclusions) {
  const Py_ssize_t size = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Ref pair(PySequence_GetItem(list, i));
    compat::Exclusion exclusion;
    if (!pair || !ToPair(pair.get(), &exclusion.from, &exclusion.to)) return false;
    exclusions->push_back(exclusion);
  }
  return size >= 0;
}

ledger::Ledger Copy(const ledger::Ledger& ledger) {
  return ledger::Ledger::Restore(ledger.Pack()).value();
}

// --- methods
// -----------------------------------------------------------------------------------------

PyObject* Add(PyObject* self, PyObject* entries) noexcept {
  return Guard([&]() -> PyObject* {
    const Ref iterator(PyObject_GetIter(entries));
    if (!iterator) return nullptr;
    long unusable = 0;
    while (true) {
      const Ref entry(PyIter_Next(iterator.get()));
      if (!entry) break;
      const bool usable = PyDict_Check(entry.get()) != 0 &&
                          EntryReader(entry.get(), CalculatorOf(self).log()).Read();
      if (!usable) ++unusable;
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
    return PyLong_FromLong(unusable);
  });
}

PyObject* Cumulative(PyObject* self, PyObject* now) noexcept {
  return Guard([&]() -> PyObject* {
    const double time = PyFloat_AsDouble(now);
    if (PyErr_Occurred() != nullptr) return nullptr;
    compat::Calculator& calculator = CalculatorOf(self);
    const Result<compat::Answer> answer = calculator.Cumulative(time);
    return answer.ok() ? ToTuple(*answer, calculator.log()->names()) : RaiseError(answer.status());
  });
}

// (from, to): an answer, or text that says why there is none; and the efficiency of slices or None.
PyObject* Window(PyObject* self, PyObject* arguments) noexcept {
  return Guard([&]() -> PyObject* {
    double from = 0;
    double to = 0;
    if (!ToPair(arguments, &from, &to)) return nullptr;
    compat::Calculator& calculator = CalculatorOf(self);
    const compat::WindowAnswer window = calculator.Window(from, to);
    Ref efficiency(ToTuple(window.efficiency));
    Ref answer(window.answer.ok() ? ToTuple(*window.answer, calculator.log()->names())
                                  : PyUnicode_FromString(window.answer.status().message().c_str()));
    if (!answer || !efficiency) return nullptr;
    return Py_BuildValue("(NN)", answer.release(), efficiency.release());
  });
}

PyObject* Without(PyObject* self, PyObject* arguments) noexcept {
  return Guard([&]() -> PyObject* {
    PyObject* list = nullptr;
    double now = 0;
    if (PyArg_ParseTuple(arguments, "Od", &list, &now) == 0) return nullptr;
    std::vector<compat::Exclusion> exclusions;
    if (!ToExclusions(list, &exclusions)) return nullptr;
    compat::Calculator& calculator = CalculatorOf(self);
    compat::StepTable times;
    const compat::Answer without = calculator.Without(exclusions, now, &times);
    Ref answer(ToTuple(without, calculator.log()->names()));
    Ref steps(ToDict(times));
    if (!answer || !steps) return nullptr;
    return Py_BuildValue("(NN)", answer.release(), steps.release());
  });
}

// (dirs, project, run): what the run's lead has recorded, to be asked in its place.
PyObject* Load(PyObject* self, PyObject* arguments) noexcept {
  return Guard([&]() -> PyObject* {
    PyObject* list = nullptr;
    const char* project = nullptr;
    const char* run = nullptr;
    if (PyArg_ParseTuple(arguments, "Oss", &list, &project, &run) == 0) return nullptr;
    std::vector<std::string> dirs;
    if (!ToStrings(list, &dirs)) return nullptr;
    compat::Calculator& calculator = CalculatorOf(self);
    std::optional<Result<runs::Loaded>> loaded;
    PyThreadState* const thread = PyEval_SaveThread();
    try {
      const Result<runs::Run> found = runs::Find(dirs, project, run);
      loaded = found.ok() ? runs::Load(*found) : Result<runs::Loaded>(found.status());
      if (loaded->ok()) {
        compat::AppendEntries(&(*loaded)->ledger, INT64_MAX, calculator.log());
      }
    } catch (const std::exception& exception) {
      loaded = Status(Code::kInternal, exception.what());
    }
    PyEval_RestoreThread(thread);
    if (!loaded->ok()) return RaiseError(loaded->status());
    reinterpret_cast<CompatCalculator*>(self)->ledger->emplace(std::move((*loaded)->ledger));
    Py_RETURN_NONE;
  });
}

std::string_view BytesOf(PyObject* object) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(object, &data, &size) != 0) return {};
  return {data, static_cast<std::size_t>(size)};
}

// A page of a run's records: names, and (header, whether the writer lives, records) of journals.
// False with an exception set.
bool ReadPage(PyObject* page, RunRecords* all, bool* supervised, Status* status) {
  PyObject* names_list = nullptr;
  PyObject* parts = nullptr;
  if (PyArg_ParseTuple(page, "OO", &names_list, &parts) == 0) return false;
  std::vector<NameId> names = {0};
  for (Py_ssize_t i = 0; i < PySequence_Size(names_list); ++i) {
    const Ref name(PySequence_GetItem(names_list, i));
    if (!name) return false;
    names.push_back(all->names.Intern(BytesOf(name.get())));
  }
  for (Py_ssize_t i = 0; i < PySequence_Size(parts) && status->ok(); ++i) {
    const Ref part(PySequence_GetItem(parts, i));
    PyObject* header_bytes = nullptr;
    PyObject* records = nullptr;
    int writer = 0;
    if (!part || PyArg_ParseTuple(part.get(), "OiO", &header_bytes, &writer, &records) == 0) {
      return false;
    }
    if (std::string header(BytesOf(header_bytes)); !header.empty()) {
      header.resize(std::max(header.size(), journal::kHeaderBytes), '\0');
      const Result<journal::Header> decoded =
          journal::DecodeHeader(reinterpret_cast<const std::byte*>(header.data()), header.size(),
                                "a journal of the server");
      *status = decoded.status();
      if (!decoded.ok()) break;
      const auto liveness = static_cast<Liveness>(writer);
      all->writers.push_back(journal::ToModelWriter(*decoded));
      all->liveness.push_back(liveness);
      *supervised |= all->writers.back().supervisor && liveness == Liveness::kAlive;
    }
    if (all->writers.empty()) {
      *status = Status(Code::kInvalidArgument, "the records have no journal");
      break;
    }
    *status = ReadPacked(BytesOf(records), static_cast<WriterId>(all->writers.size() - 1), names,
                         &all->records);
  }
  return PyErr_Occurred() == nullptr;
}

// (pages): what the lead of a run of a server has recorded, to be asked in its place.
PyObject* LoadRecords(PyObject* self, PyObject* pages) noexcept {
  return Guard([&]() -> PyObject* {
    RunRecords all;
    bool supervised = false;
    Status status;
    const Ref iterator(PyObject_GetIter(pages));
    while (iterator && status.ok()) {
      const Ref page(PyIter_Next(iterator.get()));
      if (!page) break;
      if (!ReadPage(page.get(), &all, &supervised, &status)) return nullptr;
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
    compat::Calculator& calculator = CalculatorOf(self);
    ledger::Ledger ledger;
    PyThreadState* const thread = PyEval_SaveThread();
    try {
      if (status.ok()) {
        ledger.Add(all);
        ledger.SetSupervised(supervised);
        compat::AppendEntries(&ledger, INT64_MAX, calculator.log());
      }
    } catch (const std::exception& exception) {
      status = Status(Code::kInternal, exception.what());
    }
    PyEval_RestoreThread(thread);
    if (!status.ok()) return RaiseError(status);
    reinterpret_cast<CompatCalculator*>(self)->ledger->emplace(std::move(ledger));
    Py_RETURN_NONE;
  });
}

// (now, window or None, exclusions): the exact numbers in the incumbent's words.
PyObject* Exact(PyObject* self, PyObject* arguments) noexcept {
  return Guard([&]() -> PyObject* {
    double now = 0;
    PyObject* window = nullptr;
    PyObject* list = nullptr;
    if (PyArg_ParseTuple(arguments, "dOO", &now, &window, &list) == 0) return nullptr;
    std::vector<compat::Exclusion> exclusions;
    if (!ToExclusions(list, &exclusions)) return nullptr;
    ledger::Query query;
    query.now = compat::DatetimeNs(now);
    if (window != Py_None) {
      double from = 0;
      double to = 0;
      if (!ToPair(window, &from, &to)) return nullptr;
      query.window = {compat::DatetimeNs(from), compat::DatetimeNs(to)};
    }
    compat::Calculator& calculator = CalculatorOf(self);
    std::optional<ledger::Ledger>& own = *reinterpret_cast<CompatCalculator*>(self)->ledger;
    std::optional<ledger::Ledger> made;
    if (!own || !exclusions.empty()) {
      made = own ? Copy(*own) : compat::ToLedger(*calculator.log());
      compat::Exclude(exclusions, &*made);
    }
    if (!own) query.as_of = query.now;  // nobody knows whether the job still runs
    const Report report = (made ? *made : *own).MakeReport(query);
    const compat::Answer answer = compat::ToAnswer(report, calculator.log()->mutable_names());
    return ToTuple(answer, calculator.log()->names());
  });
}

PyObject* StepSeconds(PyObject* self, PyObject*) noexcept {
  return Guard([&] { return ToDict(CalculatorOf(self).StepSeconds()); });
}

PyObject* IdealStepSeconds(PyObject* self, PyObject*) noexcept {
  return Guard([&]() -> PyObject* {
    const std::optional<double> ideal = compat::IdealStepTime(CalculatorOf(self).StepSeconds());
    if (!ideal) Py_RETURN_NONE;
    return PyFloat_FromDouble(*ideal);
  });
}

PyObject* Efficiency(PyObject* self, PyObject* arguments) noexcept {
  return Guard([&]() -> PyObject* {
    double from = 0;
    double to = 0;
    if (!ToPair(arguments, &from, &to)) return nullptr;
    return ToTuple(CalculatorOf(self).Efficiency(from, to));
  });
}

PyObject* JobStart(PyObject* self, PyObject*) noexcept {
  return Guard([&]() -> PyObject* {
    const std::optional<double> start = CalculatorOf(self).JobStart();
    if (!start) Py_RETURN_NONE;
    return PyFloat_FromDouble(*start);
  });
}

PyObject* IdealStepTime(PyObject*, PyObject* list) noexcept {
  return Guard([&]() -> PyObject* {
    std::vector<double> times;
    const Ref iterator(PyObject_GetIter(list));
    if (!iterator) return nullptr;
    while (true) {
      const Ref item(PyIter_Next(iterator.get()));
      if (!item) break;
      times.push_back(PyFloat_AsDouble(item.get()));
      if (PyErr_Occurred() != nullptr) return nullptr;
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
    const std::optional<double> ideal = compat::IdealStepTime(times);
    if (!ideal) Py_RETURN_NONE;
    return PyFloat_FromDouble(*ideal);
  });
}

PyObject* EnvironmentRank(PyObject*, PyObject*) noexcept {
  return Guard([]() -> PyObject* {
    const std::int64_t rank = recorder::DetectEnvironment(recorder::ProcessEnvironment()).rank;
    if (rank < 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(rank);
  });
}

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject*) noexcept {
  return Guard([&]() -> PyObject* {
    int elastic = 0;
    if (PyArg_ParseTuple(arguments, "|p", &elastic) == 0) return nullptr;
    auto calculator = std::make_unique<compat::Calculator>(elastic != 0);
    auto own = std::make_unique<std::optional<ledger::Ledger>>();
    auto* const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* const self = allocate(type, 0);
    if (self == nullptr) return nullptr;
    reinterpret_cast<CompatCalculator*>(self)->calculator = calculator.release();
    reinterpret_cast<CompatCalculator*>(self)->ledger = own.release();
    return self;
  });
}

void Deallocate(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<CompatCalculator*>(self)->calculator;
  delete reinterpret_cast<CompatCalculator*>(self)->ledger;
  auto* const free = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"add", AsMethod(Add), METH_O, "Adds entries (dicts); returns how many were unusable."},
    {"cumulative", AsMethod(Cumulative), METH_O, nullptr},
    {"window", AsMethod(Window), METH_VARARGS, nullptr},
    {"without", AsMethod(Without), METH_VARARGS, nullptr},
    {"load", AsMethod(Load), METH_VARARGS, nullptr},
    {"load_records", AsMethod(LoadRecords), METH_O, nullptr},
    {"exact", AsMethod(Exact), METH_VARARGS, nullptr},
    {"step_seconds", AsMethod(StepSeconds), METH_NOARGS, nullptr},
    {"ideal_step_seconds", AsMethod(IdealStepSeconds), METH_NOARGS, nullptr},
    {"efficiency", AsMethod(Efficiency), METH_VARARGS, nullptr},
    {"job_start", AsMethod(JobStart), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot type_slots[] = {
    {Py_tp_new, AsSlot(New)},
    {Py_tp_dealloc, AsSlot(Deallocate)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec type_spec = {"headway._native.CompatCalculator", sizeof(CompatCalculator), 0,
                         Py_TPFLAGS_DEFAULT, type_slots};

}  // namespace

PyMethodDef compat_functions[] = {
    {"ideal_step_time", AsMethod(IdealStepTime), METH_O, nullptr},
    {"environment_rank", AsMethod(EnvironmentRank), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

bool AddCompatType(PyObject* module) noexcept {
  if (compat_type == nullptr) {
    compat_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&type_spec));
  }
  return compat_type != nullptr && PyModule_AddFunctions(module, compat_functions) == 0 &&
         PyModule_AddObjectRef(module, "CompatCalculator",
                               reinterpret_cast<PyObject*>(compat_type)) == 0;
}

}  // namespace headway::python
