# The front door: every task of the project is a target here, and CI calls only these.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:

JOBS ?= $(shell nproc)
PYTHON ?= python3
FUZZ_SECONDS ?= 20
VENV := $(CURDIR)/.venv

# Sanitizer findings end the program, so that the test fails.
export ASAN_OPTIONS ?= detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS ?= print_stacktrace=1
export TSAN_OPTIONS ?= halt_on_error=1:second_deadlock_stack=1

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

.PHONY: setup
setup: ## Install the system packages that are missing (Debian 12; as root or with sudo)
	@tools/setup

.PHONY: build
build: build/build.ninja ## Build everything: programs in build/bin/, libraries in build/lib/, Python in .venv/
	@cmake --build build -j $(JOBS)

.PHONY: ui
ui: build/build.ninja ## Build the page of the server alone
	@cmake --build build --target ui

.PHONY: test
test: setup build ## Run the test suite; ONLY=REGEX picks tests by name
	@tools/run_tests --exclude-label full $(if $(ONLY),--only '$(ONLY)')

.PHONY: check
check: check-format check-layers check-prose docs ## Check layout, dependencies, wording and documents
.PHONY: check-format check-layers check-prose
check-format: setup
	@tools/check_format
check-layers:
	@tools/check_layers
check-prose:
	@tools/check_prose

.PHONY: docs
docs: build ## Run every snippet in the documents, follow every link, compare the variables
	@tools/check_links
	@tools/check_variables
	@tools/check_snippets

.PHONY: format
format: setup ## Lay out the C++ files
	@tools/check_format --fix

.PHONY: tidy
tidy: setup build ## Static analysis with clang-tidy; FILES=... picks files
	@tools/tidy $(FILES)

.PHONY: sanitize sanitize-asan-ubsan sanitize-tsan
sanitize: sanitize-asan-ubsan sanitize-tsan ## Run the unit and scenario tests under the sanitizers
sanitize-asan-ubsan sanitize-tsan: sanitize-%: setup
	@cmake --preset $* --log-level=WARNING
	@cmake --build build/$* -j $(JOBS) --target unit_tests scenario_tests
	@tools/run_tests --build-dir build/$* --label 'unit|scenario'

.PHONY: check-full
check-full: check tidy sanitize fuzz ## Everything, with the heavy tests ten times over (an hour or more)
	@HEADWAY_FULL=1 tools/run_tests

.PHONY: bench
bench: build ## Run the benchmarks
	@bench/run

.PHONY: fuzz
fuzz: setup ## Run each fuzzer for FUZZ_SECONDS (20)
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build build/fuzz -j $(JOBS)
	@tools/run_fuzzers $(FUZZ_SECONDS)

.PHONY: demo
demo: build ## Train a small model with restarts and show its report
	@PATH="$(CURDIR)/build/bin:$(VENV)/bin:$$PATH" examples/demo/run

.PHONY: wheel
wheel: .venv/ready ## Build the Python wheels, headway and headway-compat, into dist/
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(VENV)/bin/pip wheel --no-deps --wheel-dir dist .
	@$(VENV)/bin/pip wheel --no-deps --wheel-dir dist ./python/compat
	@ls dist/*.whl

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf build dist .venv ui/node_modules ui/gen

build/build.ninja: CMakePresets.json .venv/ready
	@cmake --preset release --log-level=WARNING --no-warn-unused-cli -DPython3_EXECUTABLE=$(VENV)/bin/python -DHEADWAY_UI=ON

.venv/ready: tools/requirements-test.txt tools/requirements-node.txt
	@tools/setup build
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r tools/requirements-test.txt -r tools/requirements-node.txt
	@echo $(CURDIR)/build/python > "$$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/headway_build.pth"
	@touch $@
