"""Reports in Chromium: no errors, charts that answer, accessible, and readable on a phone and on paper."""

import base64
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.base import AXE_FILE_PATH
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import tidegate
import tidegate_papers as papers
from conftest import CHAIN, call
from tidegate_papers import directory

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="needs Chromium: apt-get install chromium chromium-driver"
)

PHONE, DESKTOP = 360, 1280
BLUE = (0, 114, 178)
"""The colour of the first curve."""

KINDS = ("run", "compare", "sweep", "paper")

DRAWN = """
    const figures = document.querySelectorAll("[data-figure]").length;
    return figures === 0 || Bokeh.documents.length > 0 && Bokeh.documents.every((one) => one.is_idle);
"""
SAID = """
    const tips = (root) => [...root.querySelectorAll("*")].flatMap((one) =>
        one.classList.contains("bk-Tooltip") ? [one.shadowRoot.querySelector(".bk-tooltip-content").innerText]
            : one.shadowRoot ? tips(one.shadowRoot) : []);
    return tips(document).join();
"""
"""Reads the text that a pointer at a chart shows."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of each kind; the comparison has twenty runs."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "chain.toml").write_text("# Voice beside data.\n" + CHAIN)
    made = {kind: folder / f"{kind}.html" for kind in KINDS}
    words: dict[str, tuple[object, ...]] = {
        "run": ("--replications", 3),
        "compare": (
            "--policy",
            "fifo,virtual-clock,drr,fq-codel,red,codel,pie,wf2q-plus",
            "--replications",
            20,
        ),
        "sweep": ("--set", "port.policy=fifo,drr", "--set", "flow.data.count=1,2,4", "--replications", 2),
    }
    for kind, more in words.items():
        done = call(kind, folder / "chain.toml", *more, "--report", made[kind])
        assert done.exit_code == 0, done.stderr
    paper = papers.load("virtualclock")
    claims = papers.conduct(paper, replications=2, only=["random-walk", "datagrams-alone", "late-burst"])
    tidegate.report(directory.write(claims, folder / "paper"), made["paper"])
    return made


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    # Root has no sandbox, and a container little shared memory.
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    yield driver
    driver.quit()


Opened = Callable[..., webdriver.Chrome]


@pytest.fixture
def opened(chromium: webdriver.Chrome, reports: dict[str, Path]) -> Iterator[Opened]:
    """Opens the report of a kind at a width, and waits until its charts are drawn."""

    def open_it(kind: str, width: int = DESKTOP) -> webdriver.Chrome:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chromium.get(reports[kind].as_uri())
        WebDriverWait(chromium, 30).until(lambda driver: driver.execute_script(DRAWN))
        return chromium

    yield open_it
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert [one for one in chromium.get_log("browser") if one["level"] in ("SEVERE", "WARNING")] == []


def blue(chart: Any) -> int:
    """Count the pixels of a plot that have the colour of the first curve."""
    picture = Image.open(io.BytesIO(chart.find_element(By.CLASS_NAME, "plot").screenshot_as_png)).convert(
        "RGB"
    )
    return sum(pixel == BLUE for pixel in picture.get_flattened_data())


def chart_of(driver: webdriver.Chrome, title: str) -> Any:
    """The chart with this title, in sight."""
    [chart] = [
        one
        for one in driver.find_elements(By.CLASS_NAME, "chart")
        if one.find_element(By.TAG_NAME, "figcaption").text == title
    ]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    return chart


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_loads_nothing_and_fits_its_width(kind: str, width: int, opened: Opened) -> None:
    driver = opened(kind, width)
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert driver.execute_script("return document.documentElement.scrollWidth") == width
    plots = driver.find_elements(By.CLASS_NAME, "plot")
    assert len(plots) >= 2
    for plot in plots:
        assert width * 0.3 < plot.size["width"] < width
        assert plot.size["height"] >= 200
    # Something stands in each of them.
    chart = driver.find_elements(By.CLASS_NAME, "chart")[0]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    assert blue(chart) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_headings_are_in_order_below_one_title(kind: str, opened: Opened) -> None:
    driver = opened(kind)
    levels = [one.tag_name for one in driver.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4, h5, h6")]
    assert levels[0] == "h1"
    assert set(levels[1:]) == {"h2"}
    for landmark in ("header", "nav", "main"):
        assert len(driver.find_elements(By.TAG_NAME, landmark)) == 1
    # The first screen says what came out.
    findings = driver.find_element(By.CLASS_NAME, "findings")
    assert findings.location["y"] + findings.size["height"] < 900


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_accessible(kind: str, width: int, opened: Opened) -> None:
    driver = opened(kind, width)
    driver.execute_script(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
    found = driver.execute_async_script(
        "const done = arguments[0];"
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then(done);"
    )
    assert len(found["passes"]) > 15
    shown = [(one["id"], one["nodes"][0]["html"][:200], len(one["nodes"])) for one in found["violations"]]
    assert shown == []


def test_an_entry_of_the_legend_hides_its_curve_and_shows_it_again(opened: Opened) -> None:
    driver = opened("run")
    chart = chart_of(driver, "Delay of the packets that arrived")
    entry, other = chart.find_elements(By.CSS_SELECTOR, ".legend button")
    assert (entry.text, other.text) == ("voice", "data")
    before = blue(chart)
    assert before > 50
    # With the keyboard alone.
    for pressed, least, most in (("false", 0, 0), ("true", before // 2, 2 * before)):
        driver.execute_script("arguments[0].focus()", entry)
        ActionChains(driver).send_keys(Keys.ENTER).perform()
        assert entry.get_attribute("aria-pressed") == pressed
        assert other.get_attribute("aria-pressed") == "true"
        # The outline of the focus is another blue, outside of the plot.
        WebDriverWait(driver, 5).until(lambda _, ends=(least, most): ends[0] <= blue(chart) <= ends[1])


def test_the_first_stop_of_the_keyboard_skips_to_the_results(opened: Opened) -> None:
    driver = opened("run")
    ActionChains(driver).send_keys(Keys.TAB).perform()
    first = driver.switch_to.active_element
    assert first.text == "Skip to the results"
    assert first.location["x"] >= 0
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    assert driver.switch_to.active_element.get_attribute("id") == "main"


def test_a_chart_is_zoomed_and_reset(opened: Opened) -> None:
    driver = opened("run")
    for title in ("Delay of the packets that arrived", "Throughput of groups"):
        chart = chart_of(driver, title)
        name = chart.find_element(By.CLASS_NAME, "zoom").get_attribute("data-figure")

        def ends(name: str | None = name) -> list[float]:
            figure = f"Bokeh.documents[0].get_model_by_name('{name}')"
            found: list[float] = driver.execute_script(
                f"const figure = {figure}; return [figure.x_range.start, figure.x_range.end]"
            )
            return found

        first, last = ends()
        assert first < last
        for how, holds in (
            ("in", lambda a, b, first=first, last=last: first < a < b < last),
            ("reset", lambda a, b, first=first, last=last: [a, b] == pytest.approx([first, last], rel=1e-3)),
            ("right", lambda a, b, first=first, last=last: first < a and last < b),
            ("reset", lambda a, b, first=first, last=last: [a, b] == pytest.approx([first, last], rel=1e-3)),
            ("out", lambda a, b, first=first, last=last: a < first and last < b),
        ):
            chart.find_element(By.CSS_SELECTOR, f'[data-zoom="{how}"]').click()
            WebDriverWait(driver, 5).until(lambda _, holds=holds: holds(*ends()))


def test_a_pointer_at_a_curve_shows_its_figure(opened: Opened) -> None:
    driver = opened("compare")
    chart = chart_of(driver, "Throughput")
    name = chart.find_element(By.CLASS_NAME, "zoom").get_attribute("data-figure")
    # Where the first mark is on the screen.
    x, y = driver.execute_script(
        "const figure = Bokeh.documents[0].get_model_by_name(arguments[0]);"
        "const view = Bokeh.index.find_one(figure);"
        "const {x, y} = figure.renderers.find((one) => one.name.endsWith('marks')).data_source.data;"
        "const box = view.el.getBoundingClientRect();"
        "const frame = view.frame;"
        "return [box.x + frame.x_scale.compute(x[0]), box.y + frame.y_scale.compute(y[0])]",
        name,
    )
    row = tidegate.compare(CHAIN, ["fifo", "drr"], replications=20).row("voice", "throughput")
    shown = tidegate.show.with_interval(row.values["fifo"], "bit/s")
    assert driver.execute_script(SAID) == ""
    for step in (3, 0):
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x + step, "y": y})
    WebDriverWait(driver, 5).until(lambda _: driver.execute_script(SAID) == f"fifo\n{shown}")


def test_tables_scroll_in_their_boxes_on_a_phone(opened: Opened) -> None:
    driver = opened("compare", PHONE)
    boxes = driver.find_elements(By.CLASS_NAME, "scroll")
    assert boxes
    wide = [one for one in boxes if driver.execute_script("return arguments[0].scrollWidth", one) > PHONE]
    assert wide
    for box in wide:
        assert box.get_attribute("tabindex") == "0"
        assert box.size["width"] <= PHONE


def test_a_finger_that_moves_over_a_chart_scrolls_the_page(
    opened: Opened, chromium: webdriver.Chrome
) -> None:
    touched = """
        const figure = Bokeh.documents[0].get_model_by_name("chart-0");
        const events = Bokeh.index.find_one(figure).canvas_view.events_el;
        return getComputedStyle(events).touchAction;
    """
    driver = opened("run", PHONE)
    # A mouse that is dragged zooms.
    assert driver.execute_script(touched) == "pinch-zoom"
    chromium.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        opened("run", PHONE)
        WebDriverWait(driver, 5).until(lambda _: driver.execute_script(touched) == "auto")
    finally:
        chromium.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_a_print_has_all_tables_and_no_buttons(opened: Opened) -> None:
    driver = opened("compare")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    # A4 without its margins.
    size = {"width": 688, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert not any(one.is_displayed() for one in driver.find_elements(By.CSS_SELECTOR, "nav, .zoom, .skip"))
    for table in driver.find_elements(By.TAG_NAME, "table"):
        assert table.is_displayed()
        assert table.location["x"] + table.size["width"] <= 688
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(base64.b64decode(printed["data"])) > 20_000
