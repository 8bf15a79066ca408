"""What `import tidegate` offers."""

import subprocess
import sys

import pytest

import tidegate
from conftest import CHAIN
from tidegate import Cbr, Chain, Flow, Poisson, Port, Scenario, Switch, VirtualClock


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
