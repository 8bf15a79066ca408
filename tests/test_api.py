"""Public names of `import tidegate`."""

import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import tidegate
from conftest import CHAIN
from tidegate import Cbr, Chain, Flow, Poisson, Port, Scenario, Switch, VirtualClock

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "python_scenario.py"


def in_python(**changes):
    settings = {
        "name": "chain",
        "duration": "2s",
        "warmup": "200ms",
        "topology": Chain(switches=3, rate="1mbit", delay="5ms"),
        "port": Port(scheduler=VirtualClock()),
        "switch": Switch(buffer="50p"),
        "flow": [
            Flow(name="voice", from_="s1", to="s3", reserve="64kbit", size="160B", source=Cbr(rate="64kbit")),
            Flow(
                name="data",
                count=4,
                from_="s1",
                to="s3",
                reserve="200kbit",
                size="500B",
                source=Poisson(rate="250kbit"),
            ),
        ],
    }
    return Scenario(**settings | changes)


def test_a_scenario_is_the_same_in_python_and_in_toml(chain):
    from_file = tidegate.simulate(chain)
    from_text = tidegate.simulate(CHAIN)
    from_loaded = tidegate.simulate(tidegate.load(chain))
    built = tidegate.simulate(in_python())
    prints = {one.fingerprints for one in (from_file, from_text, from_loaded, built)}
    assert len(prints) == 1
    assert built.flows.equals(from_file.flows)


def test_a_mistake_in_python_is_answered_like_one_in_a_file():
    with pytest.raises(tidegate.TidegateError, match=r"duration.*needs a unit"):
        tidegate.simulate(in_python(duration="10"))


def test_overrides_reach_a_loaded_scenario(chain):
    fifo = tidegate.load(chain, [("port.scheduler", "fifo")])
    assert 'port = { scheduler = "fifo" }' in fifo.toml
    assert tidegate.simulate(fifo).fingerprints != tidegate.simulate(chain).fingerprints


def test_every_public_name_is_there():
    assert {"simulate", "compare", "load", "Results", "TidegateError", "__version__"} <= set(dir(tidegate))
    for name in dir(tidegate):
        assert getattr(tidegate, name) is not None
    with pytest.raises(AttributeError, match="Scenaro"):
        _ = tidegate.Scenaro


def test_everything_can_be_imported_with_a_star():
    names: dict[str, object] = {}
    exec("from tidegate import *", names)
    assert {"simulate", "Scenario", "Flow", "VirtualClock", "TidegateError"} <= set(names)


def test_a_loaded_scenario_can_be_pickled(chain):
    loaded = tidegate.load(chain, [("port.scheduler", "fifo")])
    again = pickle.loads(pickle.dumps(loaded))
    assert (again.name, again.toml, again.base_dir) == (loaded.name, loaded.toml, loaded.base_dir)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        [prints] = pool.map(fingerprints, [loaded])
    assert prints == tidegate.simulate(loaded).fingerprints


def fingerprints(scenario):
    return tidegate.simulate(scenario).fingerprints


def test_overrides_are_given_to_simulate(chain):
    fifo = tidegate.simulate(chain, sets=[("port.scheduler", "fifo")])
    assert (
        fifo.fingerprints
        == tidegate.simulate(tidegate.load(chain, [("port.scheduler", "fifo")])).fingerprints
    )
    assert fifo.overrides == (("port.scheduler", "fifo"),)


def test_the_example_and_the_names_of_policies_pass_strict_type_checks(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('from tidegate import Port\n\nPort(scheduler="virtual-clok")\n')
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}"]
    done = subprocess.run(
        [*command, EXAMPLE, wrong], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    error, found = done.stdout.splitlines()
    assert error.startswith("wrong.py:3: error: ")
    assert "Literal['fifo', " in error
    assert found.startswith("Found 1 error in 1 file (checked 2 source files)")


def test_a_text_that_cannot_be_written_is_told():
    with pytest.raises(tidegate.TidegateError, match=r"cannot hold '\\udcff'"):
        tidegate.simulate("\udcff\n")


def test_a_scenario_without_flows_is_refused():
    empty = 'version = 1\nduration = "1s"\ntopology = { kind = "chain", switches = 2, rate = "1mbit" }\n'
    with pytest.raises(tidegate.TidegateError, match=r"has no flow.*\n.*\[\[flow\]\]"):
        tidegate.simulate(empty)


def test_what_is_not_used_is_not_imported():
    heavy = ("pyarrow", "matplotlib", "rich", "numpy", "pandas")
    code = (
        "import sys, tidegate.cli\n"
        "try: tidegate.cli.app(['schema'])\n"
        "except SystemExit: pass\n"
        f"sys.exit(' '.join(name for name in {heavy} if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_something_else_is_no_scenario():
    with pytest.raises(TypeError, match="not int"):
        tidegate.simulate(7)
