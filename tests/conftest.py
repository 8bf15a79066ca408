import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from captures import OFFICE
from tidegate import TidegateError
from tidegate.cli import app
from tidegate.replay import Replay, replay

# A shell that starts the tests in the background has them ignore interrupts, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

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


FIRST = (
    "test_paper.py",
    "test_add_a_policy.py",
    "test_removal.py",
    "test_walkthroughs.py",
    "test_lab_linux.py",
    "test_lab_circuit.py",
    "test_lab_allocated_capacity.py",
    "test_score.py",
    "test_replay_known.py",
    "test_report_browser.py",
    "test_example_gates.py",
    "test_core_features.py",
    "test_attack.py",
)
"""Files that take longest: begun first, they leave no worker alone with them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.toml"
    path.write_text(CHAIN)
    return path


@pytest.fixture
def still(tmp_path: Path) -> Path:
    """A scenario in which nothing is drawn at random."""
    (tmp_path / "times.txt").write_text("".join(f"{0.01 * number:.3f} 500\n" for number in range(100)))
    flow = 'from = "s1"\nto = "s2"\nsource = { kind = "trace", file = "times.txt" }\n'
    path = tmp_path / "still.toml"
    path.write_text(
        'version = 1\nduration = "2s"\ntopology = { kind = "chain", switches = 2, rate = "500kbit" }\n'
        f'[[flow]]\nname = "a"\n{flow}[[flow]]\nname = "b"\nreserve = "400kbit"\n{flow}'
    )
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


def call(*arguments: object) -> Result:
    """Carry out the command within this process."""
    return CliRunner().invoke(app, [str(one) for one in arguments], prog_name="tidegate")


def start(*arguments: str | Path, coding: str = "utf-8", **settings: Any) -> subprocess.Popen[str]:
    """Start the command as a process of its own, whose streams are in this coding."""
    call = [sys.executable, "-c", "from tidegate.cli import main; main()", *map(str, arguments)]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": coding}
    return subprocess.Popen(call, encoding=coding, errors="replace", env=environment, **settings)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to write in: `tidegate replay` writes its files where it is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def office() -> Replay:
    """The office's capture across 3 Mbit/s."""
    return replay(OFFICE, rate="3mbit")


@pytest.fixture(scope="session")
def make_paper() -> ModuleType:
    """The script that fills the pages of papers."""
    path = Path(__file__).parents[1] / "docs" / "make_paper.py"
    spec = importlib.util.spec_from_file_location("make_paper", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kernel() -> Any:
    """Return the laboratory's kernel, where it is built."""
    from tidegate_lab.uml import build

    try:
        return build.find()
    except TidegateError as error:
        pytest.skip(f"{error}".splitlines()[0])


def nine_flows(
    port: str,
    *,
    seed: int = 1,
    pool: str = "",
    flows: str = "",
    reserve: bool = True,
    smooth: str = "120kbit",
) -> str:
    """Return a scenario of nine flows over two servers."""
    text = f"""
version = 1
duration = "6s"
seed = {seed}
topology = {{ kind = "chain", switches = 3, rate = "1mbit" }}
port = {port}
{f'switch = {{ buffer = "{pool}" }}' if pool else ""}
[[flow]]
name = "smooth"
count = 4
from = "s1"
to = "s3"
size = "250B"
source = {{ kind = "poisson", rate = "120kbit" }}
reserve = "{smooth}"
priority = 2
deadline = "5ms"
{flows}
[[flow]]
name = "large"
count = 3
from = "s1"
to = "s2"
size = "1000B"
source = {{ kind = "poisson", rate = "150kbit" }}
reserve = "100kbit"
priority = 1
deadline = "20ms"
[[flow]]
name = "datagrams"
count = 2
from = "s2"
to = "s3"
size = "500B"
source = {{ kind = "poisson", rate = "200kbit" }}
"""
    return text if reserve else re.sub("reserve = .*", "", text)
