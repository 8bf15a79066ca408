"""The dashboard for Grafana: its queries are about metrics that a gate has, and Prometheus answers them.

A gate that carries a flow within its reservation, a starved one and a flood is scraped by a real Prometheus,
which evaluates every query. Grafana itself is not here.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from test_example_gates import CASES, ROOT, Line, refused

DASHBOARD = ROOT / "examples" / "gates" / "grafana.json"
PAGE = ROOT / "docs" / "gate-operation.md"
GATE = """\
version = 1
gate = { inside = "inside", outside = "outside", up = "1mbit", down = "1mbit" }
metrics = { listen = "127.0.0.1:9273" }

[[flow]]
name = "call"
match = { outside_port = 7000 }
reserve = "200kbit"
workahead = "2000B"

[[flow]]
name = "starved"
match = { outside_port = 7001 }
reserve = "100kbit"

[[flow]]
name = "others"
"""
SENDER = """\
import socket, time
sockets = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in (7000, 7001, 7002)}
end, sent = time.monotonic() + 14, 0
while time.monotonic() < end:
    for port, every in ((7000, 10), (7001, 1), (7002, 1)):
        if sent % every == 0:
            sockets[port].sendto(bytes(500), ("10.9.0.1", port))
    sent += 1
    time.sleep(0.003)
"""
ASK = """\
import json, sys, urllib.parse, urllib.request
answers = []
for query in json.loads(sys.argv[1]):
    address = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            answers.append(json.load(answer))
    except urllib.error.HTTPError as error:
        answers.append(json.load(error))
print(json.dumps(answers))
"""


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return found


def queries() -> list[str]:
    """Return the queries of all panels, with the choices of the variables that stand for everything."""
    panels = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
    texts = [target["expr"] for panel in panels for target in panel["targets"]]
    for variable, value in (
        ("instance", ".*"),
        ("direction", ".*"),
        ("flow", ".*"),
        ("__rate_interval", "5s"),
    ):
        texts = [text.replace(f"${variable}", value) for text in texts]
    assert not [text for text in texts if "$" in text]
    return texts


def test_every_query_is_about_metrics_that_the_page_has() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## Metrics")[2].partition("## systemd")[0]
    known = {f"tidegate_{name}" for name in re.findall(r"`([a-z_]+)`", page)}
    asked = set(re.findall(r"tidegate_[a-z_]+", DASHBOARD.read_text(encoding="utf-8")))
    plain = {re.sub(r"_(total|bucket)$", "", name) for name in asked}
    assert plain <= known, plain - known
    assert len(plain) > 15


def test_panels_do_not_overlap_and_have_a_title_a_unit_and_a_sentence() -> None:
    taken: set[tuple[int, int]] = set()
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"].endswith("."), panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def test_prometheus_answers_every_query_with_a_value(tmp_path: Path) -> None:
    if reason := refused() or (None if shutil.which("prometheus") else "needs `prometheus`"):
        pytest.skip(reason)
    gate, config = tmp_path / "gate.toml", tmp_path / "prometheus.yml"
    gate.write_text(GATE, encoding="utf-8")
    config.write_text(
        "global: { scrape_interval: 1s }\n"
        'scrape_configs: [{ job_name: gate, static_configs: [{ targets: ["127.0.0.1:9273"] }] }]\n',
        encoding="utf-8",
    )
    with Line(CASES["office"]) as line:
        line.run("b", "ip", "link", "set", "lo", "up")
        with line.gate(str(gate)):
            words = [f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            server = line.start("b", "prometheus", "--web.listen-address=127.0.0.1:9090", *words, **quiet)
            sender = line.start("h", sys.executable, "-c", SENDER)
            try:
                time.sleep(12)
                answers = json.loads(line.run("b", sys.executable, "-c", ASK, json.dumps(queries())))
            finally:
                for process in (sender, server):
                    process.kill()
                    process.wait()
    for query, answer in zip(queries(), answers, strict=True):
        assert answer["status"] == "success", (query, answer)
        values = [float(one["value"][1]) for one in answer["data"]["result"]]
        assert values, f"no value: {query}"
