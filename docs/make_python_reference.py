"""Write docs/python-reference.md: every public name of the Python package, from its docstring.

.venv/bin/python docs/make_python_reference.py [--check]
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import typing
from pathlib import Path

import tidegate
from tidegate import policies

PAGE = Path(__file__).parent / "python-reference.md"

HEAD = """# Python reference

<!-- Written by docs/make_python_reference.py: do not edit. -->

Every public name of the package, module by module. [The Python interface](python.md) is the introduction. The
classes that build scenarios (`tidegate.Scenario`, `Flow`, `Link`, ...) have the keys of
[scenario files](scenario.md) as attributes; those of policies are on the policies' pages.
"""

SECTIONS = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises", "Returns": "Returns"}


def modules() -> list[str]:
    """Return the names of the public modules: those that have `__all__`."""
    found = []
    for info in pkgutil.walk_packages(tidegate.__path__, "tidegate."):
        if ".cli" in info.name or info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        if hasattr(module, "__all__"):
            found.append(info.name)
    return sorted(found)


def written(doc: str | None) -> str:
    """Return a docstring as Markdown."""
    lines, section = [], False
    for line in inspect.cleandoc(doc or "").splitlines():
        heading = line.removesuffix(":")
        if heading in SECTIONS and line.endswith(":"):
            lines.append(f"**{SECTIONS[heading]}**\n")
            section = True
        elif section and (entry := re.match(r"    (\w[\w., ]*): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif section and line.startswith("        "):
            lines[-1] += f" {line.strip()}"
        elif section and line.startswith("    "):
            lines.append(f"- {line.strip()}")
        else:
            section = section and not line
            lines.append(line)
    return "\n".join(lines).strip()


def signature(value: object, name: str) -> str:
    """Return how a name is called."""
    try:
        text = str(inspect.signature(typing.cast("typing.Callable[..., object]", value)))
    except (TypeError, ValueError):
        return name
    text = re.sub(r"<[^>]*>(?: at 0x\w+>)?", "...", text).replace("'", "")
    return name + re.sub(r"^\((?:self|cls)(?:, )?", "(", text)


def entry(module: str, name: str) -> str:
    """Return the part of the page about a name."""
    value = getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    if not callable(value) or not getattr(value, "__doc__", None) or typing.get_origin(value) is not None:
        return f"### `{full}`\n\n{constant(module, name)}\n"
    body = f"### `{full}`\n\n```text\n{signature(value, name)}\n```\n\n{written(value.__doc__)}\n"
    if inspect.isclass(value):
        for method, function in vars(value).items():
            if not method.startswith("_") and inspect.isroutine(getattr(value, method)) and function.__doc__:
                shown = getattr(value, method)
                body += f"\n#### `{signature(shown, method)}`\n\n{written(function.__doc__)}\n"
    return body


def constant(module: str, name: str) -> str:
    """Return the text below a constant in its module."""
    source = inspect.getsource(importlib.import_module(module))
    found = re.search(rf'^{name}\b[^\n]*(?:\n[^"\n][^\n]*)*\n"""(.*?)"""', source, re.MULTILINE | re.DOTALL)
    if found:
        return " ".join(found[1].split())
    value = getattr(importlib.import_module(module), name)
    if typing.get_origin(value) is typing.Literal:
        return "One of " + ", ".join(f"`{one}`" for one in typing.get_args(value)) + "."
    stated = re.search(rf"^{name} = (.*)$", source, re.MULTILINE)
    return f"`{stated[1]}`" if stated else f"From `{origin(source, name)}`."


def origin(source: str, name: str) -> str:
    """Return the module from which a module has a name."""
    found = re.search(rf"^from (\S+) import .*\b{name}\b", source, re.MULTILINE)
    return found[1] if found else "another module"


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    homes: dict[int, str] = {}
    for module in ["tidegate", *modules()]:
        names = sorted(importlib.import_module(module).__all__)
        if module in ("tidegate", "tidegate.policies"):
            names = [name for name in names if name not in vars(policies) and not name.startswith("__")]
        first = (importlib.import_module(module).__doc__ or "").strip().splitlines()[0]
        about = f"\n## `{module}`\n\n{first}\n"
        if module == "tidegate":
            listed = ", ".join(f"`{name}`" for name in names)
            parts.append(
                f"{about}\nBesides the classes that build scenarios: {listed}. Their modules follow.\n"
            )
            continue
        if not names:
            continue
        parts.append(about)
        for name in names:
            value = getattr(importlib.import_module(module), name)
            if callable(value) and homes.setdefault(id(value), module) != module:
                continue
            parts.append("\n" + entry(module, name))
    return "".join(parts)


def main() -> None:
    """Write the page, or compare it with `--check`."""
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != text:
            sys.exit(f"{PAGE}: run docs/make_python_reference.py")
        return
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
