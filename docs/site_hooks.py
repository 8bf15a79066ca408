"""Pages of the site that stand elsewhere in the repository, and links to files that are not in the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]

OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "README.md",
    "examples/captures/README.md": "captures.md",
}
"""Files outside this folder that the site has as pages; the README leads to the first page."""

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages that stand elsewhere."""
    for source, page in OUTSIDE.items():
        if source != "README.md":
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=_moved(text, source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name the files that a page links to and that are not in the site."""
    return LINK.sub(lambda link: _link(link, page.file.src_uri), markdown)


def _link(link: re.Match[str], page: str) -> str:
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[2]))
    inside = OUTSIDE.get(target)
    if inside is not None:
        to = posixpath.relpath(inside, posixpath.dirname(page) or ".")
        return f"[{link[1]}]({to}{'' if inside == 'README.md' else link[3] or ''})"
    if target.startswith("docs/") and (ROOT / target).suffix in (".md", ".png", ".svg"):
        return link[0]
    if target.startswith("docs/"):
        return link[1]
    if target in link[1]:
        return link[1]
    # A name alone stands for its path.
    name = link[1].strip("`")
    return f"`{target}`" if name == posixpath.basename(target) else f"{link[1]} (`{target}`)"


def _moved(text: str, source: str) -> str:
    """Return a page with the links that it has when it stands in `docs`."""
    folder = posixpath.dirname(source)

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        return f"[{link[1]}]({posixpath.relpath(target, 'docs')}{link[3] or ''})"

    return LINK.sub(moved, text)
