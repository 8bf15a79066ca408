"""Files of version 1 run for ever: every example that there has been, each with the fingerprint that it had.

`tests/shipped` has the earlier forms of examples, in folders by number; a form is laid over today's
examples, which have the recordings that it reads. `python tests/test_shipped.py` writes the fingerprints of
files that have none; those that are there change only with a reason that the changelog names.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import tidegate
from tidegate.plan import Plan, plan

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SHIPPED = Path(__file__).with_name("shipped")
FINGERPRINTS = SHIPPED / "fingerprints.json"
FORMS = sorted(path.name for path in SHIPPED.iterdir() if path.is_dir())
FILES = sorted(
    [(".", path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.toml")]
    + [
        (form, path.relative_to(SHIPPED / form))
        for form in FORMS
        for path in (SHIPPED / form).rglob("*.toml")
    ]
)
GATES = [(form, file) for form, file in FILES if file.parts[0] == "gates" and "office-" not in file.name]
"""Files of gates; those of the office with a capture or a prediction are scenarios."""
SWEEPS = [(form, file) for form, file in FILES if file.name == "sweep.toml"]
PLANS = [(form, file) for form, file in FILES if file.parts[0] == "plans"]
SCENARIOS = [one for one in FILES if one not in GATES + SWEEPS + PLANS]


def laid_over(form: str, folder: Path) -> Path:
    """Return a copy of the examples with an earlier form of some."""
    copy = folder / form.replace(".", "today")
    if not copy.exists():
        shutil.copytree(EXAMPLES, copy)
        if form != ".":
            shutil.copytree(SHIPPED / form, copy, dirs_exist_ok=True)
    return copy


def fingerprint(form: str, file: Path, folder: Path) -> str:
    """Return the fingerprint of a file's first run."""
    [one] = tidegate.simulate(laid_over(form, folder) / file, replications=1).fingerprints
    return str(one)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shipped")


@pytest.mark.parametrize(("form", "file"), SCENARIOS, ids=str)
def test_a_scenario_runs_as_it_did(form: str, file: Path, folder: Path) -> None:
    known = json.loads(FINGERPRINTS.read_text(encoding="utf-8"))
    assert fingerprint(form, file, folder) == known[f"{form}/{file}"]


@pytest.mark.parametrize(("form", "file"), GATES, ids=str)
def test_a_file_of_a_gate_is_read(form: str, file: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "tidegate", "gate", "check", laid_over(form, folder) / file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("form", "file"), PLANS, ids=str)
def test_requirements_have_a_plan(form: str, file: Path, folder: Path) -> None:
    assert isinstance(plan(laid_over(form, folder) / file), Plan)


def test_there_is_an_earlier_form_of_many_examples() -> None:
    earlier = {file for form, file in FILES if form != "."}
    assert len(earlier) > 15
    assert any(file.parts[0] == "gates" for file in earlier)
    texts = [path.read_bytes() for path in (*EXAMPLES.rglob("*.toml"), *SHIPPED.rglob("*.toml"))]
    assert len(texts) == len(set(texts)) == len(FILES)


def blob(path: Path) -> str:
    """Return git's name for the contents of a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_every_example_of_the_latest_release_is_here() -> None:
    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.splitlines()

    tags = git("tag", "--merged", "HEAD", "--list", "v*", "--sort=-version:refname")
    if not tags:
        pytest.skip("no release has a tag")
    here = {blob(path) for folder in (EXAMPLES, SHIPPED) for path in folder.rglob("*.toml")}
    listed = git("ls-tree", "-r", tags[0], "examples")
    there = {line.split("\t")[1]: line.split()[2] for line in listed if line.endswith(".toml")}
    assert there
    assert [name for name, content in there.items() if content not in here] == []


if __name__ == "__main__":
    recorded = json.loads(FINGERPRINTS.read_text(encoding="utf-8")) if FINGERPRINTS.exists() else {}
    with tempfile.TemporaryDirectory() as work:
        for one, name in SCENARIOS:
            if f"{one}/{name}" not in recorded:
                recorded[f"{one}/{name}"] = fingerprint(one, name, Path(work))
    FINGERPRINTS.write_text(json.dumps(recorded, indent=1, sort_keys=True) + os.linesep)
