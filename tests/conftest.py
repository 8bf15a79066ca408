import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from captures import OFFICE
from tidegate.cli import app
from tidegate.replay import Replay, replay

CHAIN = """\
version = 1
name = "chain"
duration = "2s"
warmup = "200ms"
topology = { kind = "chain", switches = 3, rate = "1mbit", delay = "5ms" }
port = { scheduler = "virtual-clock" }
switch = { buffer = "50p" }

[[flow]]
name = "voice"
from = "s1"
to = "s3"
reserve = "64kbit"
size = "160B"
source = { kind = "cbr", rate = "64kbit" }

[[flow]]
name = "data"
count = 4
from = "s1"
to = "s3"
reserve = "200kbit"
size = "500B"
source = { kind = "poisson", rate = "250kbit" }
"""

ENDLESS = CHAIN.replace('"2s"', '"2000h"')


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.toml"
    path.write_text(CHAIN)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


def call(*arguments: object) -> Result:
    """Carry out the command within this process."""
    return CliRunner().invoke(app, [str(one) for one in arguments], prog_name="tidegate")


def start(*arguments: str | Path, **settings: Any) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    call = [sys.executable, "-c", "from tidegate.cli import main; main()", *map(str, arguments)]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings
    return subprocess.Popen(call, text=True, env={**os.environ, "COLUMNS": "100"}, **settings)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to write in: `tidegate replay` writes its files where it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def office() -> Replay:
    """The office's capture across 3 Mbit/s."""
    return replay(OFFICE, rate="3mbit")
