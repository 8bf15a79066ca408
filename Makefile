# The front door. Everything is set up in .venv and target; nothing needs root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PACKAGE := $(shell find python -name '*.py' -o -name '*.pyi' -o -name '*.toml' -o -name '*.txt' -o -name py.typed) pyproject.toml README.md

RECORDS := $(shell find crates/core/src crates/spec/src -name '*.rs') crates/spec/examples/spec_docs.rs

.PHONY: demo test lint verify fuzz bench wheel generated clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py

# Tests that need root and network namespaces are run where both are there, and reported as ignored elsewhere.
test: $(VENV)/installed
	cargo test --workspace --exclude tidegate-bindings --quiet -- $$(crates/gate/tests/permitted.sh)
	$(BIN)/python -m pytest
	$(BIN)/stubtest tidegate._tidegate

lint: $(VENV)/tools
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo run --quiet --package tidegate-spec --example spec_docs check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Long property runs, optimized and with debug assertions: up to an hour.
verify: $(VENV)/installed
	TIDEGATE_VERIFY=1 PROPTEST_CASES=5000 cargo test --profile verify --workspace --exclude tidegate-bindings --quiet \
	  -- $$(crates/gate/tests/permitted.sh)
	TIDEGATE_VERIFY=1 $(BIN)/python -m pytest
	fuzz/run.sh

# Every fuzz target for FUZZ_SECONDS (60), from its corpus.
fuzz:
	fuzz/run.sh

bench: $(VENV)/installed
	cargo build --release --benches --package tidegate-sim
	$(BIN)/python benches/report.py

wheel: $(VENV)/wheel

# The reference pages and the Python types, from the records of policies, scenarios and gate files. They are committed,
# so that reading them needs no build.
generated: target/generated

target/generated: $(RECORDS)
	mkdir -p target
	cargo run --quiet --package tidegate-spec --example spec_docs write
	touch $@

$(VENV)/tools: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt \
	  maturin typer rich pyarrow matplotlib pytest hypothesis jsonschema pandas polars mypy ruff
	touch $@

$(VENV)/wheel: $(VENV)/tools target/generated $(RUST) $(PACKAGE)
	$(BIN)/maturin build --release --quiet --out target/wheels -i $(BIN)/python
	touch $@

$(VENV)/installed: $(VENV)/wheel
	$(BIN)/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
	  $$(ls -t target/wheels/tidegate-*.whl | head -n 1)
	touch $@

clean:
	rm -rf $(VENV) target
