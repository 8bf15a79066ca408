"""A report in a directory: `manifest.json`, claims, curves, and a figure of each experiment."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tidegate.atomic_dir import DirectoryFormat
from tidegate_papers.report import Report

CLAIMS = "claims.json"
CURVES = "curves.json"
KIND = DirectoryFormat("tidegate report", 2, lambda name: name in (CLAIMS, CURVES) or name.endswith(".png"))


def write(report: Report, directory: str | os.PathLike[str], command: str | None = None) -> Path:
    """Write a report to `directory`, whole or not at all; return its absolute path.

    Missing folders above it are made, an earlier report in it replaced; `command` is noted in the
    manifest.

    Raises:
        TidegateError: Something else is there, or it cannot be written, as on a full disk.
    """
    manifest = {
        "paper": report.paper.name,
        "replications": report.replications,
        "experiments": {
            outcome.experiment.name: {
                "seeds": list(outcome.seeds),
                "duration": outcome.duration,
                "warmup": outcome.warmup,
                "scenario_sha256": dict(outcome.scenario_hashes),
                "fingerprints": {name: list(each) for name, each in outcome.fingerprints.items()},
            }
            for outcome in report.outcomes
        },
        "wall_seconds": report.wall_seconds,
        "tidegate_version": report.version,
        "command": command,
    }
    return KIND.write(directory, manifest, lambda place: _fill(place, report))


def _fill(directory: Path, report: Report) -> None:
    from tidegate.plots import save
    from tidegate_papers import plots

    for name, document in ((CLAIMS, report.document()), (CURVES, report.curves())):
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        (directory / name).write_text(text + "\n", encoding="utf-8")
    for outcome in report.outcomes:
        draw = plots.curves if outcome.panels else plots.claims
        save(draw(outcome, report), directory / f"{outcome.experiment.name}.png")
