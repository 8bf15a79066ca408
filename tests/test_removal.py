"""Credit and ABR: without their folders and their lines in lists, the rest builds and passes its tests."""

import os
import re
import shutil
import subprocess

import pytest

from files import ROOT
from removal import FEATURES, FOLDERS, MANIFEST, REGISTRIES, TEST_REGISTRIES, Feature, read, removed, strays

TARGET = ROOT / "target"
VERIFY = os.environ.get("TIDEGATE_VERIFY") == "1"
VERSION = re.compile(r'^version = "(.*)"$', re.MULTILINE)

each_feature = pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)


@pytest.fixture(scope="module")
def sources() -> dict[str, bytes]:
    return read()


@each_feature
def test_a_feature_is_named_by_its_own_files_and_by_lists_alone(
    feature: Feature, sources: dict[str, bytes]
) -> None:
    assert sum(feature.owns(path) for path in sources) > 20
    assert list(strays(feature, sources)) == []


@pytest.mark.parametrize(
    ("file", "line", "feature"),
    [
        ("crates/sim/src/world/lanes.rs", "let link = world.credit_links();", "credit"),
        ("crates/sim/src/network.rs", "    pub credit: Option<Vec<u32>>,", "credit"),
        ("crates/core/src/queues.rs", "use crate::credit::Sender;", "credit"),
        ("crates/sim/src/results/run.rs", "    StallReport,", "credit"),
        ("benches/chain.rs", "use tidegate_core::credit::Sender;", "credit"),
        ("crates/sim/src/world/stages/mod.rs", "if self.stage::<Credit>().is_some() {", "credit"),
        ("crates/sim/src/host/aal5.rs", "matches!(payload, Payload::Rm(_))", "abr"),
        ("crates/core/src/endpoint/transport.rs", "use crate::abr::SourceTerms;", "abr"),
        ("crates/formats/src/scenario/credit/way.rs", "link.port.vsvd.is_some()", "abr"),
        ("crates/formats/src/scenario/stages.rs", "match abr::check(parts, report) {", "abr"),
    ],
)
def test_a_name_elsewhere_is_found(file: str, line: str, feature: str, sources: dict[str, bytes]) -> None:
    (found,) = [one for one in FEATURES if one.name == feature]
    planted = sources | {file: sources[file] + f"\n{line}\n".encode()}
    assert [place.partition(": ")[2] for place in strays(found, planted)] == [line.strip()]
    ordinary = sources | {file: sources[file] + f'\n// {line}\nlet it = r#"{line}"#;\n'.encode()}
    assert list(strays(found, ordinary)) == []


@each_feature
def test_the_lists_name_a_feature_in_some_of_their_lines(feature: Feature, sources: dict[str, bytes]) -> None:
    rest = removed(feature, sources)
    shorter = [path for path in rest if rest[path] != sources[path]]
    assert set(shorter) <= {*REGISTRIES, *TEST_REGISTRIES, MANIFEST}
    lines = sum(sources[path].count(b"\n") - rest[path].count(b"\n") for path in shorter)
    assert len(shorter) > 15
    assert lines < 90


def test_every_list_names_a_feature(sources: dict[str, bytes]) -> None:
    named = {
        path
        for feature in FEATURES
        for path, content in removed(feature, sources).items()
        if content != sources[path]
    }
    assert named == {*REGISTRIES, *TEST_REGISTRIES, MANIFEST}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
@pytest.mark.skipif(not VERIFY, reason="long: set TIDEGATE_VERIFY=1")
@each_feature
def test_the_rest_builds_and_passes_its_tests(feature: Feature, sources: dict[str, bytes]) -> None:
    """The copy is kept between runs."""
    copy = TARGET / "removal" / feature.name
    wanted = removed(feature, sources)
    # Cargo names what it builds after a package's version and its place in the workspace.
    manifest = wanted["Cargo.toml"].decode()
    (version,) = VERSION.findall(manifest)
    manifest = manifest.replace(f'version = "{version}"', f'version = "0.0.{1 + FEATURES.index(feature)}"')
    wanted["Cargo.toml"] = manifest.encode()
    for path, content in wanted.items():
        target = copy / path
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for folder in FOLDERS:
        for path in [path for path in (copy / folder).rglob("*") if path.is_file()]:
            if path.relative_to(copy).as_posix() not in wanted:
                path.unlink()
    # Its long runs are those of the sources themselves: `make verify` carries them out there.
    environment = {name: value for name, value in os.environ.items() if name != "TIDEGATE_VERIFY"}
    environment |= {"CARGO_TARGET_DIR": str(TARGET / "removal" / "target"), "INSTA_UPDATE": "no"}
    environment |= {"CARGO_INCREMENTAL": "0"}
    crates = [part for crate in ("core", "formats", "sim") for part in ("-p", f"tidegate-{crate}")]
    for command in (["check", "--workspace", "--all-targets"], ["test", *crates]):
        done = subprocess.run(
            ["cargo", *command], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-20_000:]
    assert done.stdout.count("test result: ok. ") > 100
