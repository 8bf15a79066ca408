"""Two hosts and a box between them: network namespaces joined by pairs of virtual Ethernet interfaces."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tidegate import TidegateError

INSIDE, OUTSIDE = "10.7.0.1", "10.7.0.2"
"""Addresses of the two hosts."""
SECOND = "10.7.0.3"
"""Address of a second host inside, where an experiment has one: it is in the first one's
namespace."""
GATE_INSIDE, GATE_OUTSIDE = "inside", "outside"
"""The box's interfaces."""
HOST = "eth0"
"""The interface of each host."""
TOOLS = ("ip", "tc", "ethtool", "ping", "sysctl")

NICENESS = -15
"""Scheduling of every process of an experiment. The gate asks for real-time scheduling by
itself."""

_COUNT = itertools.count()


def check_permitted() -> None:
    """Check whether network namespaces can be created here.

    Raises:
        TidegateError: This is not Linux, not root, or a tool is missing.
    """
    if sys.platform != "linux":
        raise TidegateError("the laboratory needs Linux, because it uses network namespaces")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        names = ", ".join(f"`{tool}`" for tool in missing)
        raise TidegateError(
            f"the laboratory needs {names}\n  help: install iproute2, iputils, procps and ethtool"
        )
    if os.geteuid() != 0:
        raise TidegateError("the laboratory needs root, because it creates network namespaces")


def run(*words: str) -> str:
    """Carry out a command and return what it printed.

    Raises:
        TidegateError: It failed.
    """
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise TidegateError(f"{' '.join(words)}: {said}")
    return done.stdout


def processors() -> tuple[int, int]:
    """Return where traffic runs and where the gate runs: two processors, if there are two."""
    own = sorted(os.sched_getaffinity(0))
    return own[0], own[-1]


class Net:
    """`inside`, `box` and `outside` in a row; a context that removes them.

    Segmentation is left to TCP on both hosts (no TSO, GSO, GRO), so that every row of a table is
    given the same packets: otherwise a queueing discipline would have to schedule 64 KB at once.

    Args:
        offloads: Leave offloads on, for rates that the hosts cannot reach without.
    """

    def __init__(self, offloads: bool = False) -> None:
        self._id = f"tglab{os.getpid()}x{next(_COUNT)}"
        self._offloads = offloads
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def name(self, place: str) -> str:
        """Return the name of the namespace of `inside`, `box` or `outside`."""
        return f"{self._id}{place[0]}"

    def _build(self) -> None:
        for place in ("inside", "box", "outside"):
            run("ip", "netns", "add", self.name(place))
        box = self.name("box")
        for own, place, address in ((GATE_INSIDE, "inside", INSIDE), (GATE_OUTSIDE, "outside", OUTSIDE)):
            there = self.name(place)
            run(*f"ip -n {box} link add {own} type veth peer name {HOST} netns {there}".split())
            # Nothing but the experiment's packets.
            for namespace, interface in ((box, own), (there, HOST)):
                self.command(namespace, "sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1")
            run(*f"ip -n {there} addr add {address}/24 dev {HOST}".split())
            run(*f"ip -n {there} link set {HOST} up".split())
            run(*f"ip -n {there} link set lo up".split())
            run(*f"ip -n {box} link set {own} up".split())
            if not self._offloads:
                self.command(there, *f"ethtool -K {HOST} tso off gso off gro off".split())
                # Captures see frames, not the super-packets into which a gate joins them.
                self.command(box, *f"ethtool -K {own} tso off gso off tx-udp-segmentation off".split())
        # Address resolution is no part of an experiment.
        for here, there, address in (("inside", "outside", OUTSIDE), ("outside", "inside", INSIDE)):
            described = run("ip", "-n", self.name(there), "-br", "link", "show", HOST)
            mac = described.split()[2]
            run(*f"ip -n {self.name(here)} neigh add {address} lladdr {mac} dev {HOST}".split())

    def add_second_host(self) -> None:
        """Give the inside a second address, as another host."""
        inside, outside = self.name("inside"), self.name("outside")
        run(*f"ip -n {inside} addr add {SECOND}/24 dev {HOST}".split())
        mac = run("ip", "-n", inside, "-br", "link", "show", HOST).split()[2]
        run(*f"ip -n {outside} neigh add {SECOND} lladdr {mac} dev {HOST}".split())

    def receive_on(self, processor: int) -> None:
        """Let both hosts join frames (GRO) and take them in on one processor (receive packet steering).

        Otherwise, on a pair of veth, the call that sends does the receiving host's work.
        """
        for place in ("inside", "outside"):
            host = self.name(place)
            self.command(host, *f"ethtool -K {HOST} gro on".split())
            steer = f"echo {1 << processor:x} > /sys/class/net/{HOST}/queues/rx-0/rps_cpus"
            self.command(host, "sh", "-c", steer)

    def command(self, namespace: str, *words: str) -> str:
        """Carry out a command in a namespace and return what it printed."""
        return run("ip", "netns", "exec", namespace, *words)

    def bridge(self) -> None:
        """Let the kernel forward between the box's interfaces."""
        box = self.name("box")
        run(*f"ip -n {box} link add bridge type bridge".split())
        for port in (GATE_INSIDE, GATE_OUTSIDE):
            run(*f"ip -n {box} link set {port} master bridge".split())
        run(*f"ip -n {box} link set bridge up".split())
        # A new port carries nothing before the kernel has looked at its link, about once a second.
        self.command(self.name("inside"), *f"ping -q -c 1 -i 0.1 -w 5 {OUTSIDE}".split())

    def start(
        self, place: str, words: Sequence[str], processor: int | None = None, errors: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process in a namespace, on one processor; it ends with the network at the latest."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.name(place), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        self._processes.append(process)
        # Whatever else runs here shall not be what is measured. Where the kernel shares the
        # processor among sessions first (autogroups), niceness is a session's.
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        with contextlib.suppress(OSError):
            Path(f"/proc/{process.pid}/autogroup").write_text(str(NICENESS))
        if processor is not None:
            os.sched_setaffinity(process.pid, {processor})
        return process

    def _remove(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        for place in ("inside", "box", "outside"):
            if Path("/run/netns", self.name(place)).exists():
                run("ip", "netns", "del", self.name(place))
