"""What `cmake --install` puts down, as another project uses it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from conftest import ROOT

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_EXTENSIONS OFF)
find_package(headway 0.1 REQUIRED)
foreach(name IN ITEMS recorder ledger)
  add_executable(${name} ${EXAMPLES}/${name}.cc)
  target_link_libraries(${name} PRIVATE headway::${name})
endforeach()
"""


def call(*command: str | Path) -> str:
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert result.returncode == 0, (command, result.stdout, result.stderr)
    return result.stdout


def test_find_package(tmp_path: Path) -> None:
    build = Path(os.environ["HEADWAY_BIN"]).parent
    prefix, source, out = tmp_path / "prefix", tmp_path / "source", tmp_path / "out"
    call("cmake", "--install", build, "--prefix", prefix, "--component", "development")
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT)
    call("cmake", "-S", source, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DEXAMPLES={ROOT / 'examples'}")  # fmt: skip
    call("cmake", "--build", out)
    assert (out / "recorder").exists()
    # Steps 2 and 3 were done twice, step 4 was not completed the first time.
    assert call(out / "ledger").splitlines() == [
        "productive                70 s",
        "infrastructure_recovery   20 s",
        "wasted_progress           20 s",
        "goodput 0.636, of the second attempt 1.000",
    ]
    # Headers include each other by the names under which they were installed.
    for header in (prefix / "include").rglob("*.h"):
        includes = [line for line in header.read_text().splitlines() if '#include "' in line]
        assert all('#include "headway/' in line for line in includes), (header, includes)
