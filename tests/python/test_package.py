"""What is shipped: the module's needs, its documentation, its types."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from headway import _native

PACKAGE = Path(headway.__file__).parent
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_documentation(name: str) -> None:
    module = importlib.import_module("headway" if name == "__init__" else f"headway.{name}")
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
    if name in ("_run", "_instrument", "_query"):
        assert outcome.attempted > 0


def test_the_module_needs_the_c_and_cpp_libraries_only() -> None:
    assert _native.__file__ is not None
    output = subprocess.run(["ldd", _native.__file__], capture_output=True, text=True, check=True)
    needed = {line.split()[0].rpartition("/")[2].partition(".so")[0] for line in
              output.stdout.splitlines()}
    needed = {name for name in needed if not name.startswith("ld-linux")}
    assert needed <= {"libc", "libm", "libstdc++", "libgcc_s", "linux-vdso"}, needed


def test_the_module_is_for_every_python() -> None:
    assert _native.__file__ is not None and _native.__file__.endswith("_native.abi3.so")


def test_no_import_pulls_in_much() -> None:
    code = (
        "import sys, json, logging, dataclasses; before = set(sys.modules); import headway; "
        "print(*sorted(name.partition('.')[0] for name in set(sys.modules) - before))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    third_party = set(out.stdout.split()) - set(sys.stdlib_module_names) - {"headway"}
    assert not third_party


def test_public_names_are_documented() -> None:
    for name in headway.__all__:
        thing = getattr(headway, name)
        if callable(thing):
            assert inspect.getdoc(thing), name
    for name, thing in inspect.getmembers(headway.Run):
        if not name.startswith("_"):
            assert inspect.getdoc(thing), name


def test_signatures_agree_with_the_stubs() -> None:
    stubs = (PACKAGE / "_native.pyi").read_text()
    for name, thing in vars(_native.Recorder).items():
        if name.startswith("_"):
            continue
        assert f"def {name}(" in stubs, name
        if callable(thing):
            for parameter in list(inspect.signature(thing).parameters)[1:]:
                assert parameter in stubs.partition(f"def {name}(")[2].partition(")")[0], name


def test_types() -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental"]
    stubtest = [sys.executable, "-m", "mypy.stubtest", "headway._native"]
    for command in ([*mypy, str(ROOT / "python/headway")], stubtest):
        result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert result.returncode == 0, result.stdout
