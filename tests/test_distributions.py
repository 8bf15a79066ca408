"""The distributions beside tidegate: what they use of it, and how the command finds them."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, requires
from pathlib import Path

import pytest

import tidegate

ROOT = Path(__file__).parents[1]
PACKAGES = {"papers": "tidegate_papers", "lab": "tidegate_lab"}
COMMANDS = {"paper": "tidegate-papers", "lab": "tidegate-lab"}


def page() -> list[str]:
    """Return the modules that docs/python.md calls public."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    table = text.partition("## Public modules")[2].partition("\n## ")[0]
    return re.findall(
        r"`(tidegate[.\w]*)`", "".join(row.split("|")[1] for row in table.splitlines() if "|" in row)
    )


def exported(module: str) -> set[str]:
    """Return the names of a public module; none of a module that is private or does not exist."""
    if any(part.startswith("_") for part in module.split(".")):
        return set()
    try:
        return set(getattr(importlib.import_module(module), "__all__", ()))
    except ModuleNotFoundError:
        return set()


def private_uses(text: str) -> list[str]:
    """Return what a file uses of tidegate that is not public, also in the code of other processes."""
    tree = ast.parse(text)
    found = []
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "tidegate":
                    modules[one.asname or "tidegate"] = one.name if one.asname else "tidegate"
                    if not exported(one.name):
                        found.append(one.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tidegate":
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                if one.name in exported(str(node.module)):
                    continue
                if exported(whole):
                    modules[one.asname or one.name] = whole
                else:
                    found.append(whole)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += re.findall(r"(?:from|import) tidegate\b[^`\n]*", node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module = modules[node.value.id]
            if node.attr not in exported(module) and not exported(f"{module}.{node.attr}"):
                found.append(f"{module}.{node.attr}")
    return found


def test_the_page_lists_the_public_modules() -> None:
    package = ROOT / "python" / "tidegate"
    with_names = {"tidegate"}
    for path in package.rglob("*.py"):
        if re.search(r"^__all__ = ", path.read_text(encoding="utf-8"), re.MULTILINE):
            inside = path.relative_to(package.parent).with_suffix("")
            with_names.add(".".join(part for part in inside.parts if part != "__init__"))
    assert sorted(page()) == sorted(with_names)
    for module in page():
        assert all(hasattr(importlib.import_module(module), name) for name in exported(module)), module


@pytest.mark.parametrize("folder", PACKAGES)
def test_they_use_only_what_is_public(folder: str) -> None:
    files = sorted((ROOT / folder / PACKAGES[folder]).rglob("*.py"))
    assert len(files) > 10
    used = {str(path.relative_to(ROOT)): private_uses(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in used.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("from tidegate import simulate, plots\nplots.save", []),
        ("import tidegate\ntidegate.load\ntidegate.plots.overview", []),
        ("from tidegate.source import resolve", ["tidegate.source.resolve"]),
        ("from tidegate.cli import screen", ["tidegate.cli.screen"]),
        ("from tidegate._tidegate import TidegateError", ["tidegate._tidegate.TidegateError"]),
        ("from tidegate import _tidegate", ["tidegate._tidegate"]),
        ("def f():\n    import tidegate.outdir", ["tidegate.outdir"]),
        ("from tidegate import plots\nplots.numbers", ["tidegate.plots.numbers"]),
        ("import tidegate\ntidegate.inputs", ["tidegate.inputs"]),
        ("run('from tidegate._tidegate import gate')", ["from tidegate._tidegate import gate"]),
    ],
)
def test_a_private_use_is_found(text: str, private: list[str]) -> None:
    assert private_uses(text) == private


def test_tidegate_knows_only_their_names() -> None:
    own = ROOT / "python" / "tidegate" / "cli" / "extensions.py"
    for path in (ROOT / "python" / "tidegate").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "tidegate_papers" not in text
        assert "tidegate_lab" not in text
        assert path == own or not re.search(r"tidegate-(papers|lab)|tidegate (paper|lab)\b", text), path


@pytest.mark.parametrize("folder", PACKAGES)
def test_a_distribution_needs_tidegate_of_its_own_version(folder: str) -> None:
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    assert project["version"] == version == tidegate.__version__
    assert f"tidegate=={version}" in project["dependencies"]
    # And so does the one that is installed.
    assert f"tidegate=={version}" in (requires(project["name"]) or [])
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert (ROOT / folder / name).read_bytes() == (ROOT / name).read_bytes()


def test_what_is_installed_is_this_version_of_the_sources() -> None:
    for folder, package in PACKAGES.items():
        here = Path(importlib.import_module(package).__path__[0])
        for path in (ROOT / folder / package).rglob("*"):
            if path.suffix in (".py", ".toml", ".txt"):
                inside = here / path.relative_to(ROOT / folder / package)
                assert inside.read_bytes() == path.read_bytes(), f"{inside} is not {path}: run make test"


# A process in which nothing is found of the distributions, and, in the folder `site`, only what it
# has.
ALONE = """
import importlib.metadata, sys
found = importlib.metadata.entry_points
def entry_points(*, group):
    return [one for one in found(group=group) if one.dist.name == "tidegate-broken"]
importlib.metadata.entry_points = entry_points
from tidegate.cli import main
main()
"""


def alone(*words: object, site: Path) -> subprocess.CompletedProcess[str]:
    """Carry out `tidegate` without the distributions, in an empty folder."""
    site.mkdir(exist_ok=True)
    empty = site.parent / "empty"
    empty.mkdir(exist_ok=True)
    paths = os.pathsep.join((*(path for path in sys.path if path), str(site)))
    return subprocess.run(
        [sys.executable, "-c", ALONE, *map(str, words)],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
    )


def broken(site: Path, source: str, name: str = "paper") -> None:
    """Install a distribution whose command is a module with this source."""
    info = site / "tidegate_broken-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tidegate-broken\nVersion: 9\n")
    (info / "entry_points.txt").write_text(f"[tidegate.commands]\n{name} = broken_command\n")
    (site / "broken_command.py").write_text(source)


@pytest.mark.parametrize(("command", "distribution"), COMMANDS.items())
@pytest.mark.parametrize("more", [(), ("--help",), ("virtualclock", "--jobs", 2, "--json")])
def test_a_command_that_is_not_installed_says_what_to_install(
    command: str, distribution: str, more: tuple[object, ...], tmp_path: Path
) -> None:
    folder = {"paper": "papers", "lab": "lab"}[command]
    assert (ROOT / folder / "pyproject.toml").is_file()
    done = alone(command, *more, site=tmp_path / "site")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"tidegate: {command}: this command is in {distribution}, which is not installed\n"
        f"  help: pip install {distribution}=={tidegate.__version__}, or ./{folder} in a clone\n"
    )


def test_help_lists_only_what_is_installed(tmp_path: Path) -> None:
    done = alone("--help", site=tmp_path / "site")
    assert done.returncode == 0
    listed = done.stdout.partition("Commands:")[2].split()
    assert "run" in listed
    assert not {*COMMANDS} & {*listed}
    points = {point.name: point.dist.name for point in entry_points(group="tidegate.commands") if point.dist}
    assert points == COMMANDS


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("from tidegate import gone", "ImportError: cannot import name 'gone'"),
        ("def nothing(): ...", "AttributeError: module 'broken_command' has no attribute 'command'"),
        ("def command(x: complex = 1j): ...", "RuntimeError: Type not yet supported"),
    ],
)
def test_a_broken_command_affects_no_other(source: str, words: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    broken(site, source)
    done = alone("paper", "--all", site=site)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "tidegate: paper: this command is in tidegate-broken 9, which cannot be loaded: "
    )
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    listed = alone("--help", site=site)
    assert listed.returncode == 0
    assert re.search(r"paper +this command is in tidegate-broken 9", listed.stdout)
    scenario = ROOT / "examples" / "ten-lines.toml"
    ran = alone("run", scenario, "--set", "duration=1s", "--json", site=site)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["scenario"] == "ten lines"


def test_a_built_in_command_comes_before_another_of_its_name(tmp_path: Path) -> None:
    site = tmp_path / "site"
    broken(site, "def command(): raise SystemExit(77)", name="check")
    assert alone("check", ROOT / "examples" / "ten-lines.toml", site=site).returncode == 0


def test_a_command_that_is_not_used_is_not_imported() -> None:
    code = (
        "import sys, tidegate.cli\n"
        "try: tidegate.cli.app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyarrow', 'numpy', 'matplotlib', 'tidegate_papers.paper', 'tidegate_lab.experiments'}\n"
        "sys.exit(' '.join(heavy & {*sys.modules}) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "paper" in done.stdout
    assert "lab" in done.stdout
    code = "import sys\nfrom tidegate.cli import app\ntry: app(['schema'])\nexcept SystemExit: pass\n"
    code += "sys.exit(any(name.startswith(('tidegate_papers', 'tidegate_lab')) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
