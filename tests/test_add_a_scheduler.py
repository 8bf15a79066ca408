"""The steps of docs/add-a-scheduler.md, followed to the letter in a copy of the sources."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STEP = re.compile(r"<!-- (create|insert) (\S+?)(?: after \"(.+?)\")? -->\n```rust\n(.*?)```", re.DOTALL)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_page_leads_to_a_working_scheduler(tmp_path: Path) -> None:
    copy = tmp_path / "tidegate"
    for crate in ("core", "spec"):
        shutil.copytree(ROOT / "crates" / crate, copy / "crates" / crate)
    manifest = (ROOT / "Cargo.toml").read_text()
    members = re.compile(r"^members = .*$", re.MULTILINE)
    (copy / "Cargo.toml").write_text(members.sub('members = ["crates/core", "crates/spec"]', manifest))
    shutil.copy(ROOT / "Cargo.lock", copy)

    steps = STEP.findall((ROOT / "docs" / "add-a-scheduler.md").read_text())
    assert [step[0] for step in steps] == ["create", "insert", "insert", "create"]
    for what, file, anchor, text in steps:
        path = copy / file
        if what == "create":
            assert not path.exists()
            path.write_text(text)
        else:
            before = path.read_text()
            assert before.count(anchor + "\n") == 1
            path.write_text(before.replace(anchor + "\n", anchor + "\n" + text))

    def cargo(*arguments: str) -> str:
        # A target folder of its own, kept between runs, so that only the first one is slow.
        environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target" / "add-a-scheduler")}
        done = subprocess.run(
            ["cargo", *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "1 passed" in cargo("test", "-p", "tidegate-core", "--test", "largest_first")
    for outlet in ("schema", "reference", "python"):
        text = cargo("run", "-p", "tidegate-spec", "--example", "spec_docs", outlet)
        assert "largest-first" in text, outlet
