"""`tidegate credit` and its API, beside exact fractions and beside the page that explains it."""

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate.credit import size

PAGE = Path(__file__).parents[1] / "docs" / "credit.md"
EXAMPLE = ["credit", "size", "--link", "100gbit", "--length", "2km", "--vcs", "8"]


def refused(**arguments):
    with pytest.raises(tidegate.TidegateError) as caught:
        size(**{"link": "100gbit", "length": "2km"} | arguments)
    return str(caught.value)


def test_the_example_of_the_page_is_what_the_command_prints():
    shown = call(*EXAMPLE)
    assert shown.exit_code == 0, shown.stderr
    text = "\n".join(line.rstrip() for line in shown.stdout.rstrip().splitlines())
    assert f"$ tidegate {' '.join(EXAMPLE)}\n{text}\n```" in PAGE.read_text(encoding="utf-8")


def test_every_command_of_the_page_works():
    commands = re.findall(r"^\$ tidegate (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        done = call(*command.split())
        assert done.exit_code == 0, done.stderr


def test_rates_and_buffers_are_those_of_equation_2():
    draw = random.Random(3)
    for _ in range(300):
        link = draw.choice([10**9, 25 * 10**9, 400 * 10**9])
        nanoseconds, cell = draw.randrange(20_000), draw.choice([53, 64, 256, 1500])
        vcs = draw.randrange(1, 20)
        active, n2 = draw.randrange(1, vcs + 1), draw.randrange(1, 50)
        rate = draw.randrange(1, link // active + 1)
        found = size(
            link,
            delay=f"{nanoseconds}ns",
            processing="100ns",
            vcs=vcs,
            active=active,
            n2=n2,
            cell=cell,
            rate=rate,
        )
        rtt = Fraction((2 * nanoseconds + 100) * link, cell * 8 * 10**9)
        assert found.rtt_cells == pytest.approx(float(rtt))
        assert found.rtt == pytest.approx((2 * nanoseconds + 100) * 1e-9)

        def share(cells, turns, n2=n2, rtt=rtt):
            whole, rest = cells // n2 * n2, cells % n2
            return whole / (rtt + (n2 - rest) * turns)

        cells = found.chosen.buf_alloc
        assert share(cells, active) >= Fraction(rate, link)
        assert cells == n2 or share(cells - 1, active) < Fraction(rate, link)
        assert found.chosen.memory == vcs * cells * cell
        given = size(
            link, delay=f"{nanoseconds}ns", processing="100ns", vcs=vcs, active=active, n2=n2, cell=cell,
            buffer=cells,
        )  # fmt: skip
        assert given.rates == found.rates
        for one in given.rates:
            fair = Fraction(1, one.active)
            assert one.least == pytest.approx(float(min(fair, share(cells, one.active)) * link))
            assert one.most == pytest.approx(float(min(fair, share(cells, 1)) * link))
        assert found.pool.cells == -((-4 * rtt) // 1) + 2 * vcs
        assert found.pool.queued_below == pytest.approx(float(rtt * 2 / 3))
        assert found.chosen.overhead == pytest.approx(1 / n2)
        assert found.chosen.overhead_packed == pytest.approx(1 / (6 * n2))


def test_other_batches_have_the_same_rate():
    found = size("100gbit", length="2km", vcs=8, rate="30gbit", active=3)
    assert found.chosen in found.batches
    assert len(found.batches) > 3
    for batch in found.batches:
        again = size("100gbit", length="2km", vcs=8, buffer=batch.buf_alloc, n2=batch.n2, active=3)
        [at] = [one for one in again.rates if one.active == 3]
        assert at.least >= 30e9
    buffers = [batch.buf_alloc for batch in found.batches]
    assert buffers == sorted(buffers)
    overheads = [batch.overhead for batch in found.batches]
    assert overheads == sorted(overheads, reverse=True)
    assert found.chosen.overhead <= 0.01


def test_a_slower_output_puts_n2_times_the_ratio_in_place_of_n2():
    rtt = size("100gbit", length="2km").rtt_cells
    for output, ratio in (("50gbit", 2), ("12.5gbit", 8), ("200gbit", 1)):
        held = size("100gbit", length="2km", n2=40, buffer=400, vcs=3, active=3, output=output)
        for one in held.rates:
            fair = 100e9 / ratio / one.active
            assert one.least == pytest.approx(min(fair, 400 / (rtt + 40 * one.active * ratio) * 100e9))
            assert one.most == pytest.approx(min(fair, 400 / (rtt + 40 * ratio) * 100e9))
    wanted = size("100gbit", length="2km", n2=40, output="25gbit")
    assert (wanted.output, wanted.rate) == (25 * 10**9, 25 * 10**9)
    assert wanted.chosen.buf_alloc == -(-(rtt + 40 * 4) // 4)
    assert "at most 25000000000 bit/s each" in refused(rate="26gbit", output="25gbit")


def test_a_pool_for_several_nodes_has_the_largest_rtt_and_six_of_it():
    alone, far = size("100gbit", length="100m", vcs=8), size("100gbit", length="2km", vcs=8)
    shared = size("100gbit", length="100m", vcs=8, upstream=["2km", "1us"])
    assert shared.pool == size("100gbit", length="2km", vcs=8, upstream=["100m", 1e-6]).pool
    assert shared.pool.nodes == 3
    assert shared.pool.rtt == pytest.approx(far.rtt)
    assert shared.pool.cells == -(-6 * far.rtt_cells // 1) + 2 * 8
    assert shared.pool.queued_below == pytest.approx(far.rtt_cells * 5 / 3)
    assert (alone.pool.nodes, alone.pool.alpha, alone.pool.rtt) == (1, 2, alone.rtt)
    # The sender's own VCs are sized by its own link.
    assert shared.chosen == alone.chosen
    assert size("100gbit", length="2km", vcs=8, upstream=["100m"], alpha=2).pool.cells == far.pool.cells
    assert "`upstream` (-1.0) is not from 0" in refused(upstream=[-1.0])
    assert "needs a unit" in refused(upstream=["2"])


def test_packets_need_places_for_the_largest():
    cells = size("10gbit", delay="1us", vcs=4)
    packets = size("10gbit", delay="1us", vcs=4, largest="1500B")
    assert packets.chosen.buf_alloc == cells.chosen.buf_alloc
    assert packets.chosen.memory == 4 * cells.chosen.buf_alloc * 1500
    # A buffer in bytes holds as many packets as have a place.
    held = size("10gbit", delay="1us", n2=1, buffer="64kB", largest="1500B")
    assert held.chosen.buf_alloc == 42
    assert "packets of 64 to 1500 B" in call(
        "credit", "size", "--link", "10gbit", "--delay", "1us", "--largest", "1500B"
    ).stdout.replace("\n", " ")


def test_what_cannot_work_is_refused_with_the_reason():
    deadlock = refused(buffer="10p", n2=11)
    assert "deadlocks" in deadlock
    assert "Buf_Alloc must be at least N2" in deadlock
    assert size("100gbit", length="2km", buffer="11p", n2=11).rates[0].least > 0
    assert "give either the length of the link" in refused(delay="10us")
    assert "give either the length of the link" in refused(length=None)
    assert "give either a rate" in refused(rate="1gbit", buffer="10p")
    assert "at most 25000000000 bit/s each" in refused(rate="26gbit", vcs=8, active=4)
    assert "there are 2 (vcs)" in refused(vcs=2, active=3)
    assert "holds no packet of 1500 B" in refused(buffer="1kB", largest="1500B")
    assert "smaller than the smallest" in refused(largest="63B")
    assert "needs a unit" in refused(link="100")
    assert "needs a unit" in refused(length="2")
    assert "is not a unit of length" in refused(length="2miles")
    for name in ("vcs", "active", "n2", "buffer", "cell", "rate"):
        assert name in refused(**{name: 0})
    for name in ("delay", "processing"):
        assert name in refused(**{"length": None, "delay": 0.0} | {name: -1.0})
    assert "`alpha` (1) is not from 2" in refused(alpha=1)


def test_the_command_answers_bad_input_in_one_message():
    for arguments, words in (
        (["--buffer", "10p", "--n2", "11"], "deadlocks"),
        (["--length", "2"], "a length needs a unit"),
        (["--delay", "1us"], "give either the length of the link"),
        (["--vcs", "0"], "`vcs` (0) is not from 1"),
    ):
        done = call(*EXAMPLE, *arguments)
        assert (done.exit_code, done.stdout) == (1, "")
        assert len(done.stderr.strip().splitlines()) == 1
        assert words in done.stderr
    assert call("credit", "sise").exit_code == 2
    assert "--vcs" in call("credit", "size", "--help").stdout


def test_json_has_all_of_it():
    document = json.loads(call(*EXAMPLE, "--json").stdout)
    assert document == json.loads(json.dumps(size("100gbit", length="2km", vcs=8).to_dict()))
    assert document["rates"][0] == {"active": 1, "least": 1e11, "most": 1e11}
    assert document["rtt"] == pytest.approx(20e-6 + 2 * 64 * 8 / 100e9)
