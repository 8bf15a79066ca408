#!/bin/sh
# Builds and runs every fuzz target for FUZZ_SECONDS (60), from its corpus; any crash fails.
#
# Stable Rust and a C++ compiler are enough: the compiler's own coverage pass feeds libFuzzer. There is no
# address sanitizer, which takes a nightly compiler; what may fail here is an assertion, an overflow, a bound,
# the memory or the time.
#
#   fuzz/run.sh [TARGET...]          run these targets, or all
#   fuzz/run.sh --merge [TARGET...]  add what was found to the corpus, as little as covers it
set -eu
cd "$(dirname "$0")"
seconds=${FUZZ_SECONDS:-60}
merge=false
if [ "${1:-}" = --merge ]; then
    merge=true
    shift
fi
[ $# -gt 0 ] || set -- frames classifier control files

missing=
command -v cargo >/dev/null || missing=cargo
command -v "${CXX:-c++}" >/dev/null || missing="a C++ compiler (g++ or clang++)"
if [ -n "$missing" ]; then
    echo "fuzz: skipped, $missing is missing"
    exit 0
fi

host=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}
export CARGO_TARGET_DIR="$target"
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS="--cfg fuzzing $coverage" cargo build --release --quiet --target "$host"

failed=
for name in "$@"; do
    run="$target/$host/release/$name"
    found="$target/found/$name"
    mkdir -p "$found" "artifacts/$name" "corpus/$name"
    if $merge; then
        "$run" -set_cover_merge=1 -use_counters=0 -max_len=1200 "corpus/$name" "$found"
        continue
    fi
    echo "fuzz: $name for $seconds s"
    log="$target/$name.log"
    if "$run" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=4096 \
        -artifact_prefix="artifacts/$name/" "$found" "corpus/$name" >"$log" 2>&1; then
        tail -n 1 "$log"
    else
        cat "$log"
        echo "fuzz: $name FAILED; run it again with: $run fuzz/artifacts/$name/FILE"
        failed="$failed $name"
    fi
done
if [ -n "$failed" ]; then
    echo "fuzz: these targets found something:$failed"
    exit 1
fi
