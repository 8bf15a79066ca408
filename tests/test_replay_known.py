"""Captures of which their generator knows what a replay must say."""

import os

import pytest

import captures_known
from captures_known import RATE, Known
from tidegate.replay import replay
from tidegate.replay.names import FiveTuple
from tidegate.replay.phrases import sentences

pytestmark = pytest.mark.usefixtures("elsewhere")

VERIFY = os.environ.get("TIDEGATE_VERIFY")
COUNT = 60 if VERIFY else 24
SEEDS = range(1, 5) if VERIFY else range(1, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_replays_say_what_the_generator_of_the_captures_knows(seed, tmp_path):
    wrong, kinds = [], set()
    for known in captures_known.captures(seed, COUNT):
        wrong += [f"{known.name}: {complaint}" for complaint in complaints(known, tmp_path)]
        kinds.add(known.kind)
    assert kinds == {"nothing-to-protect", "reservations-help", "no-scheduler-needed"}
    assert not wrong, "\n".join(wrong)


def complaints(known: Known, folder) -> list[str]:
    """Return what a replay says wrongly of a capture."""
    path = folder / f"known.{known.suffix}"
    path.write_bytes(known.file)
    played = replay(path, rate=RATE)
    found = []
    ports = {FiveTuple.read(flow.flow).source_port for flow in played.plan.protected}
    if ports != known.protected:
        found.append(f"protects {ports} and not {set(known.protected)}")
    if played.plan.direction != known.way:
        found.append(f"plays {played.plan.direction} and not {known.way}")
    if played.verdict.kind != known.kind:
        found.append(f"says {played.verdict.kind} and not {known.kind}: {played.verdict.sentences}")
    if known.packets is not None and played.plan.packets != known.packets:
        found.append(f"plays {played.plan.packets} packets and not {known.packets}")
    output = " ".join(sentences(played))
    found += [f"does not say `{words}`: {output}" for words in known.said if words not in output]
    if played.broken():
        found.append("breaks a promise")
    if known.kind == "reservations-help" and played.verdict.hurt not in {
        flow.name for flow in played.plan.protected
    }:
        found.append(f"names {played.verdict.hurt} as hurt most")
    return found
