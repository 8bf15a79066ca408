"""The drawn topology."""

import itertools
import json

import pytest

import tidegate
from conftest import call
from files import ROOT
from tidegate import plots

BUFFERBLOAT = ROOT / "examples" / "bufferbloat.toml"
FAT_TREE = """
version = 1
name = "fat tree"
duration = "10ms"
topology = { kind = "fat-tree", k = 4, rate = "10gbit", access = { rate = "10gbit" } }
flow = [{ name = "f", from = "h3", to = "h9", size = "1500B", source = { kind = "cbr", rate = "4gbit" } }]
"""


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts if text.get_text()]


def places(figure):
    """Return the places of the nodes, by their names."""
    return {text.get_text(): text.xy for text in figure.axes[0].texts if text.get_text().isalnum()}


def test_a_scenario_has_what_its_sources_offer():
    figure = plots.topology(tidegate.load(BUFFERBLOAT))
    assert "20 Mbit/s\n10 ms\n100 %" in texts(figure)
    assert texts(figure).count("1 Gbit/s\n1 ms") == 6
    assert figure.axes[0].get_title(loc="left") == "bufferbloat: 8 nodes, 7 links"
    assert figure.axes[1].get_ylabel() == "load that the sources offer"


def test_results_have_what_was_measured():
    results = tidegate.simulate(BUFFERBLOAT, duration="8s")
    (used,) = [row.utilisation.mean for row in results.link_rows() if row.link == "left->right"]
    figure = plots.topology(results)
    assert f"20 Mbit/s\n10 ms\n{100 * used:.0f} %" in texts(figure)
    assert figure.axes[1].get_ylabel() == "utilisation"


@pytest.mark.parametrize("name", ["bufferbloat", "receiver-pay", "transfers"])
def test_labels_do_not_overlap(name):
    figure = plots.topology(tidegate.load(ROOT / "examples" / f"{name}.toml"))
    figure.canvas.draw()
    labels = [text for text in figure.axes[0].texts if "bit/s" in text.get_text()]
    boxes = [text.get_window_extent() for text in labels]
    assert len(boxes) >= 3
    assert not [one for one, other in itertools.combinations(boxes, 2) if one.overlaps(other)]


def test_a_fat_tree_is_drawn_in_its_levels(tmp_path):
    (tmp_path / "a.toml").write_text(FAT_TREE)
    at = places(plots.topology(tidegate.load(tmp_path / "a.toml")))
    heights = {name.rstrip("0123456789"): {y for other, (_, y) in at.items() if other.startswith(name[:2])}
               for name in ("h1", "edge1", "agg1", "core1")}  # fmt: skip
    assert heights == {"h": {0.0}, "edge": {1.0}, "agg": {2.0}, "core": {3.0}}
    # Hosts are below their switches, in their order.
    assert [name for name, _ in sorted(at.items(), key=lambda one: one[1])[:1]] == ["h1"]


def test_a_ring_has_no_levels(tmp_path):
    ring = "".join(f'[[link]]\nfrom = "s{n}"\nto = "s{(n + 1) % 6}"\nrate = "1mbit"\n' for n in range(6))
    cbr = 'size = "100B", source = { kind = "cbr", rate = "10kbit" }'
    flow = f'flow = [{{ name = "f", from = "s0", to = "s1", {cbr} }}]\n'
    nodes = "node = [" + ", ".join(f'{{ name = "s{n}", kind = "switch" }}' for n in range(6)) + "]\n"
    (tmp_path / "a.toml").write_text(f'version = 1\nduration = "1s"\n{flow}{nodes}{ring}')
    scenario = tidegate.load(tmp_path / "a.toml")
    first, second = (places(plots.topology(scenario)) for _ in range(2))
    assert {name: tuple(xy) for name, xy in first.items()} == {name: tuple(xy) for name, xy in second.items()}
    assert len({round(xy[1], 6) for xy in first.values()}) > 2


def test_the_command_draws_files_and_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("draw", BUFFERBLOAT)
    assert (done.exit_code, done.stdout) == (0, "figure in bufferbloat.png\n")
    assert (tmp_path / "bufferbloat.png").stat().st_size > 10_000
    assert call("run", BUFFERBLOAT, "--set", "duration=6s", "--out", "results").exit_code == 0
    done = call("draw", "results", "--out", "a.svg", "--json")
    assert json.loads(done.stdout) == {"figure": "a.svg"}
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.toml"], "No such file"),
        (["."], ".: holds no results of tidegate"),
        ([str(BUFFERBLOAT), "--out", "a.docx"], "a.docx: figures are written as"),
    ],
)
def test_a_mistake_is_named(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("draw", *words)
    assert done.exit_code == 1
    assert said in done.stderr
