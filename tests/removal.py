"""Features that can be removed: their folders, their tests, and the files with a line for each.

`removed` returns the sources without a feature; `strays` returns places that name one and would stay.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from files import ROOT

SOURCES = ("crates", "benches")
"""Folders in which a feature is looked for."""

FOLDERS = (*SOURCES, "python", "papers", "examples", "docs")
FILES = ("Cargo.toml", "Cargo.lock", "README.md", "clippy.toml", "rustfmt.toml")

REGISTRIES = (
    "crates/bindings/src/lib.rs",
    "crates/core/src/endpoint/mod.rs",
    "crates/core/src/endpoint/payload.rs",
    "crates/core/src/endpoint/registry.rs",
    "crates/core/src/lib.rs",
    "crates/core/src/params/role.rs",
    "crates/core/src/policies.rs",
    "crates/formats/src/columns.rs",
    "crates/formats/src/keys/connection.rs",
    "crates/formats/src/keys/mod.rs",
    "crates/formats/src/keys/network.rs",
    "crates/formats/src/keys/port.rs",
    "crates/formats/src/lib.rs",
    "crates/formats/src/policy_names.rs",
    "crates/formats/src/port/mod.rs",
    "crates/formats/src/port/stages.rs",
    "crates/formats/src/scenario/flows/mod.rs",
    "crates/formats/src/scenario/flows/stages.rs",
    "crates/formats/src/scenario/mod.rs",
    "crates/formats/src/scenario/own_cells.rs",
    "crates/formats/src/scenario/stages.rs",
    "crates/formats/src/scenario/warnings.rs",
    "crates/sim/src/bounds/stages/mod.rs",
    "crates/sim/src/results/mod.rs",
    "crates/sim/src/stage_plans/mod.rs",
    "crates/sim/src/world/mod.rs",
    "crates/sim/src/world/stages/mod.rs",
    "crates/sim/src/world/stages/registry.rs",
)
"""Files that list features: a line that names one goes with it."""

TEST_REGISTRIES = (
    "crates/core/tests/params/main.rs",
    "crates/formats/tests/mistakes/main.rs",
    "crates/formats/tests/warnings/main.rs",
    "crates/sim/tests/accounts/ledger.rs",
    "crates/sim/tests/accounts/main.rs",
    "crates/sim/tests/accounts/multicast.rs",
    "crates/sim/tests/accounts/random.rs",
    "crates/sim/tests/bounds.rs",
    "crates/sim/tests/common/generate/flows.rs",
    "crates/sim/tests/common/generate/mod.rs",
    "crates/sim/tests/common/pairs/mod.rs",
    "crates/sim/tests/delay_causes/main.rs",
    "crates/sim/tests/papers.rs",
    "crates/sim/tests/trace_data.rs",
)
"""Tests that cover several features, with lines for each."""

MANIFEST = "crates/sim/Cargo.toml"
"""The file with a table for each benchmark."""


@dataclass(frozen=True)
class Feature:
    """A feature in folders of its own."""

    name: str
    sources: tuple[str, ...]
    """Its folders and files."""
    tests: tuple[str, ...]
    """Those of its tests, and its benchmark."""
    names: re.Pattern[str]
    """The identifiers that it declares, but not words that others use in another meaning."""

    @property
    def own(self) -> tuple[str, ...]:
        return (*self.sources, *self.tests)

    def owns(self, path: str) -> bool:
        return any(path == own or path.startswith(f"{own}/") for own in self.own)


CREDIT = Feature(
    "credit",
    (
        "crates/bindings/src/credit.rs",
        "crates/core/src/credit",
        "crates/formats/src/columns/credit.rs",
        "crates/formats/src/keys/credit.rs",
        "crates/formats/src/port/credit.rs",
        "crates/formats/src/scenario/credit",
        "crates/sim/src/bounds/stages/credit.rs",
        "crates/sim/src/results/credit.rs",
        "crates/sim/src/stage_plans/credit.rs",
        "crates/sim/src/world/stages/credit",
    ),
    (
        "benches/credit.rs",
        "crates/core/tests/credit",
        "crates/core/tests/credit_allocation",
        "crates/core/tests/credit_model.rs",
        "crates/core/tests/credit_sizing.rs",
        "crates/formats/tests/mistakes/credit.rs",
        "crates/sim/tests/accounts/credit.rs",
        "crates/sim/tests/bounds",
        "crates/sim/tests/common/generate/credit.rs",
        "crates/sim/tests/common/pairs/credit.rs",
        "crates/sim/tests/credit",
        "crates/sim/tests/delay_causes/credit.rs",
    ),
    # A method `credit(…)` pays something back.
    re.compile(
        r"\bcredit\b(?!\()|\bcredit_\w+|\b\w*Credit\w*|\bStalls?(Report|Row)\b|\bVcReport\b|\bPayload::Check\b"
    ),
)

ABR = Feature(
    "abr",
    (
        "crates/core/src/abr",
        "crates/core/src/endpoint/abr",
        "crates/core/src/endpoint/abr.rs",
        "crates/formats/src/keys/abr.rs",
        "crates/formats/src/port/abr.rs",
        "crates/formats/src/scenario/abr.rs",
        "crates/formats/src/scenario/flows/abr.rs",
        "crates/formats/src/scenario/warnings/abr.rs",
        "crates/sim/src/stage_plans/abr.rs",
        "crates/sim/src/world/stages/abr",
    ),
    (
        "benches/abr.rs",
        "crates/core/tests/abr",
        "crates/formats/tests/mistakes/abr.rs",
        # It compares the records with a page, which keeps its rows.
        "crates/formats/tests/names_of_others.rs",
        "crates/formats/tests/warnings/abr.rs",
        "crates/sim/tests/abr.rs",
        "crates/sim/tests/abr_carried.rs",
        "crates/sim/tests/abr_fairness.rs",
        "crates/sim/tests/accounts/abr.rs",
        "crates/sim/tests/common/generate/abr.rs",
        "crates/sim/tests/common/pairs/abr.rs",
        "crates/sim/tests/delay_causes/abr.rs",
    ),
    re.compile(
        r"\babr\b|\babr_\w+|\b\w*Abr\w*|\brate_control\b|\b\w*RateControl\w*|\bvsvd\b|\bVsVd\w*|\bcoupling\b|\b\w*Coupling\b"
        r"|\bCoupled\b|\bRm\b|\bRmCell\b|\bSourceTerms\b|\bEfci\w*|\bEprca\w*|\bAprc\w*|\bUcsc\w*|\bPhantom(Params)?\b|\bErica\w*"
    ),
)

FEATURES = (CREDIT, ABR)

COMMENT = re.compile(r"//[^\n]*")
TEXT = re.compile(r'//[^\n]*|r#".*?"#|"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)'", re.DOTALL)
"""A comment, a text or a character, whichever comes first."""
BENCHMARK = re.compile(r"\[\[bench\]\]\n(?:[^\[\n].*\n)+\n?")
ITEM = re.compile(r"^\s*(pub(\(.*?\))? )?(mod|use) .*;$|^\s*[^{}]*[,;]$")
"""A line that stands for itself: a module, an import, an entry of a list or a struct, a statement."""


def read() -> dict[str, bytes]:
    """Return the sources, by their paths from the root."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    paths += [ROOT / name for name in FILES]
    kept = [path for path in paths if path.suffix not in (".pyc", ".so")]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in kept}


def _is_looked_at(path: str) -> bool:
    return path.startswith(SOURCES) and path.endswith(".rs") and "/tests/" not in path


def _code(path: str, text: str) -> list[str]:
    """Return the lines of a file without comments and texts; of a list of tests, without comments."""
    pattern = COMMENT if path in TEST_REGISTRIES else TEXT
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n")


def strays(feature: Feature, sources: Mapping[str, bytes]) -> Iterator[str]:
    """Return the lines of code that name a feature and do not go with it, with their places."""
    for path, content in sources.items():
        if feature.owns(path) or not _is_looked_at(path):
            continue
        for number, line in enumerate(_code(path, content.decode()), start=1):
            if feature.names.search(line) and not (path in REGISTRIES and ITEM.match(line.rstrip())):
                yield f"{path}:{number}: {line.strip()}"


def without_lines(feature: Feature, path: str, text: str) -> str:
    """Return a file that lists features without the lines of one, their comments and conditions."""
    kept: list[str] = []
    for line, code in zip(text.splitlines(keepends=True), _code(path, text), strict=False):
        if feature.names.search(code):
            while kept and kept[-1].lstrip().startswith(("///", "#[cfg(")):
                kept.pop()
        else:
            kept.append(line)
    return "".join(kept)


def removed(feature: Feature, sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the sources without a feature."""
    rest = {path: content for path, content in sources.items() if not feature.owns(path)}
    for path in (*REGISTRIES, *TEST_REGISTRIES):
        rest[path] = without_lines(feature, path, rest[path].decode()).encode()
    benchmarks = [path for path in feature.tests if path.startswith("benches/")]
    rest[MANIFEST] = BENCHMARK.sub(
        lambda table: "" if any(path in table[0] for path in benchmarks) else table[0],
        rest[MANIFEST].decode(),
    ).encode()
    return rest
