"""Every public module of `tidegate-core` begins with an example, which `cargo test` runs."""

import re

from files import ROOT

SOURCES = ROOT / "crates" / "core" / "src"


def test_every_public_module_begins_with_an_example() -> None:
    modules = re.findall(r"^pub mod (\w+);", (SOURCES / "lib.rs").read_text(), re.MULTILINE)
    assert len(modules) > 20
    without = []
    for module in modules:
        path = SOURCES / f"{module}.rs"
        text = (path if path.exists() else SOURCES / module / "mod.rs").read_text()
        head = re.match(r"(?://!.*\n)*", text).group()
        if not re.search(r"^//! ```$", head, re.MULTILINE):
            without.append(module)
    assert not without, without
