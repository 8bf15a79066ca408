"""Source files and what they import of each other, for Python packages and Rust crates.

`python tests/files.py` prints the circles of files in the crates.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("python/tidegate", "papers/tidegate_papers", "lab/tidegate_lab")
CRATES = sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml"))
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(#\[.*\]\n)*(pub(\(crate\))? )?mod \w+ \{", re.MULTILINE)
COMMENT = re.compile(r"//.*")
VISIBILITY = re.compile(r"\bpub\(in [\w:]+\)")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
USE = re.compile(r"^\s*(pub(?:\([\w ]+\))? )?use ([^;]+);", re.MULTILINE)
PATH = re.compile(r"(?<![:\w])[a-z_]\w*(?:::\w+)+")
ITEM = r"\b(?:fn|struct|enum|union|trait|const|static|type|macro_rules!) {}\b"

Graph = dict[str, set[str]]


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        open_nodes.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_nodes:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            at = open_nodes.index(node)
            component = open_nodes[at:]
            del open_nodes[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found)


def python_imports(packages: tuple[Path, ...]) -> Graph:
    """Return which files import which, by module; also within functions and for type checkers."""
    modules: dict[str, Path] = {}
    for package in packages:
        for path in sorted((*package.rglob("*.py"), *package.rglob("*.pyi"))):
            parts = [package.name, *path.relative_to(package).with_suffix("").parts]
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: set(_imported(name, path, modules)) - {name} for name, path in modules.items()}


def _imported(module: str, path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in modules)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
            start = above[: len(above) + 1 - node.level] if node.level else []
            origin = ".".join([*start, *([node.module] if node.module else [])])
            for one in node.names:
                whole = f"{origin}.{one.name}"
                if whole in modules or origin in modules:
                    yield whole if whole in modules else origin


def rust_code(path: Path) -> str:
    """Return the lines of a Rust file before its unit tests."""
    text = path.read_text(encoding="utf-8")
    tests = TESTS.search(text)
    return text[: tests.start() if tests else None]


def rust_files(crate: Path) -> dict[tuple[str, ...], Path]:
    """Return the files of a crate without tests, by the path of their module."""
    found = {}
    for path in sorted((crate / "src").rglob("*.rs")):
        parts = path.relative_to(crate / "src").with_suffix("").parts
        if "tests" not in parts and not path.stem.endswith("tests"):
            found[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = path
    return found


def _without_text(code: str) -> str:
    """Return code without comments, strings, and the paths in which items are visible."""
    return VISIBILITY.sub("pub(crate)", TEXT.sub('""', COMMENT.sub("", code)))


def rust_imports(crate: Path) -> Graph:
    """Return which files of a crate import which, by `crate::`, `super::` and `self::`.

    A name that a module re-exports counts as the file that it comes from.
    """
    files = rust_files(crate)
    code = {module: _without_text(rust_code(path)) for module, path in files.items()}
    exported: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    everything: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    used: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module, text in code.items():
        exported[module], everything[module], used[module] = {}, [], set()
        for public, tree in USE.findall(text):
            for path, name in _leaves(tree):
                absolute = _absolute(module, path, files)
                if absolute is None:
                    continue
                if public and path[-1] == "*":
                    everything[module].append(absolute[:-1])
                elif public:
                    exported[module][name] = absolute
                else:
                    used[module].add(absolute)
        for path in PATH.findall(USE.sub("", text)):
            absolute = _absolute(module, tuple(path.split("::")), files)
            if absolute is not None:
                used[module].add(absolute)

    def origin(path: tuple[str, ...], seen: frozenset[tuple[str, ...]] = frozenset()) -> tuple[str, ...]:
        """Return the module of the file in which a name is defined."""
        length = max(size for size in range(len(path) + 1) if path[:size] in files)
        module, rest = path[:length], path[length:]
        if not rest or path in seen:
            return module
        if rest[0] in exported[module]:
            return origin((*exported[module][rest[0]], *rest[1:]), seen | {path})
        if not re.search(ITEM.format(re.escape(rest[0])), code[module]):
            for other in everything[module]:
                found = origin((*other, *rest), seen | {path})
                if re.search(ITEM.format(re.escape(rest[0])), code[found]):
                    return found
        return module

    def name(module: tuple[str, ...]) -> str:
        return str(files[module].relative_to(crate / "src"))

    return {name(module): {name(origin(path)) for path in used[module]} - {name(module)} for module in files}


def _leaves(tree: str, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the paths of a `use` tree, each with the name that it gets."""
    tree = tree.strip()
    head, brace, inside = tree.partition("{")
    if not brace:
        path, _, alias = tree.partition(" as ")
        parts = (*before, *path.strip().split("::"))
        parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
        yield parts, alias.strip() or parts[-1]
        return
    start = (*before, *filter(None, head.strip().split("::")))
    depth, part = 0, ""
    for letter in inside.rstrip()[:-1] + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and not depth:
            if part.strip():
                yield from _leaves(part, start)
            part = ""
        else:
            part += letter


def _absolute(
    module: tuple[str, ...], path: tuple[str, ...], files: Mapping[tuple[str, ...], Path]
) -> tuple[str, ...] | None:
    """Return a path from the crate's root; None for a path into another crate."""
    if path[0] == "crate":
        return path[1:]
    start, relative = module, path[0] in ("super", "self")
    while path and path[0] in ("super", "self"):
        start, path = start[:-1] if path[0] == "super" else start, path[1:]
    return (*start, *path) if relative or (*start, path[0]) in files else None


if __name__ == "__main__":
    for crate in CRATES:
        for circle in circles(rust_imports(ROOT / "crates" / crate)):
            print(f"{crate}: {' '.join(circle)}")
