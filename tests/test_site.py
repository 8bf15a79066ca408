"""The documentation as a site: it builds, loads nothing from the network, and its search answers."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("material", reason="needs mkdocs-material")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
DRIVER = shutil.which("chromedriver")
PHONE = 360

QUESTIONS = {
    "install": "index",
    "compare policies": "tutorial",
    "capture pcap": "replay",
    "wireshark": "packets",
    "sweep parameters": "sweeps",
    "scheduler in python": "policies-in-python",
    "reload gate": "gate-operation",
    "libreqos htb cake": "gate-from-tc",
    "fq-codel target": "fq-codel",
    "web search sizes transfers": "transfers",
}
"""Words of a new user, and the page that answers."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    sources = r'<(?:script|img|iframe)[^>]*\bsrc="(https?:|//)'
    styles = r'<link[^>]*stylesheet[^>]*href="(https?:|//)'
    loaded = re.compile(f"{sources}|{styles}")
    for page in pages:
        assert not loaded.search(page.read_text(encoding="utf-8")), page


def test_lists_are_lists_and_links_lead_into_the_site(site: Path) -> None:
    """Markdown of the repository that the site reads in another way shows as text."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<p>[^<]*\n- ", text), page
        for link in re.findall(r'href="([^"#:]+\.html)', text):
            assert (page.parent / link).exists() or page.name == "404.html", (page, link)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("needs Chromium: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def test_the_search_answers_a_new_user(address: str, chromium) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    links = "li.md-search-result__item > a.md-search-result__link"
    missed = {}
    for words, page in QUESTIONS.items():
        chromium.get(f"{address}/glossary.html")
        field = chromium.find_element(By.CSS_SELECTOR, "input.md-search__input")
        chromium.execute_script("document.getElementById('__search').checked = true")
        chromium.execute_script(
            "arguments[0].focus(); arguments[0].value = arguments[1];"
            "arguments[0].dispatchEvent(new Event('keyup')); arguments[0].dispatchEvent(new Event('input'))",
            field,
            words,
        )
        WebDriverWait(chromium, 30).until(lambda one: one.find_elements(By.CSS_SELECTOR, links))
        found = [one.get_attribute("href") for one in chromium.find_elements(By.CSS_SELECTOR, links)[:3]]
        if not any(f"/{page}.html" in str(one) for one in found):
            missed[words] = found
    assert missed == {}


def test_a_phone_shows_a_page_within_its_width(address: str, chromium) -> None:
    chromium.set_window_size(PHONE, 800)
    for page in ("index", "scenario", "schedulers/virtual-clock", "benchmarks"):
        chromium.get(f"{address}/{page}.html")
        width = chromium.execute_script("return document.documentElement.scrollWidth")
        assert width <= max(PHONE, chromium.execute_script("return window.innerWidth")), page
    severe = [one for one in chromium.get_log("browser") if one["level"] == "SEVERE"]
    assert severe == []
