"""The files of a plan: its scenario, its certificate and, for one link, a gate file."""

from __future__ import annotations

import json
from pathlib import Path

from tidegate.plan import Plan
from tidegate.plan.gate import gate_toml


def write(plan: Plan, folder: Path) -> list[Path]:
    """Write the files of a plan, in place of older ones.

    Args:
        plan: The plan.
        folder: Where they are written; it is made if it is not there.

    Returns:
        The files.

    Raises:
        OSError: One cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "plan.toml": plan.toml(folder),
        "certificate.json": json.dumps(plan.certificate, indent=1, ensure_ascii=False) + "\n",
    }
    gate = gate_toml(plan)
    if gate is not None:
        texts["gate.toml"] = gate
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
