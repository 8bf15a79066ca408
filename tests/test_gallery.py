"""The gallery: small networks, and a page of what they do."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GALLERY: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "make_gallery.py"))
NAMES = GALLERY["ORDER"]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


def test_every_network_is_on_the_page() -> None:
    assert len(NAMES) == 25
    assert sorted(NAMES) == sorted(path.stem for path in (ROOT / "examples" / "gallery").glob("*.toml"))
    assert PAGE.startswith(GALLERY["HEAD"])
    assert PAGE.count("\n## ") == 25


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_what_the_network_does(name: str) -> None:
    network = GALLERY["read"](name)
    entry = GALLERY["entry"](network, GALLERY["carry_out"](network))
    assert entry in PAGE, "run docs/make_gallery.py"


@pytest.mark.parametrize("name", NAMES)
def test_a_network_is_small(name: str) -> None:
    network = GALLERY["read"](name)
    lines = network.path.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if not line.startswith("#")]) <= 15
    assert 2 <= len(re.findall(r"[.;](?:\s|$)", network.text)) <= 5
    assert (ROOT / "docs" / "images" / "gallery" / f"{name}.png").stat().st_size < 30_000
