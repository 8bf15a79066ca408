"use strict";
(() => {
  const STEP = 1.5;
  const model = (name) => {
    for (const one of Bokeh.documents) {
      const found = one.get_model_by_name(name);
      if (found !== null) return found;
    }
    return null;
  };
  const toggle = (button) => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    for (const name of button.dataset.parts.split(" ")) model(name).visible = shown;
  };
  // Ranges of logarithmic axes are moved in their logarithms.
  const change = (range, scale, grow, move) => {
    const is_log = scale.type === "LogScale";
    const [from, to] = is_log ? [Math.log(range.start), Math.log(range.end)] : [range.start, range.end];
    const middle = (from + to) / 2 + move * (to - from);
    const ends = [middle - grow * (to - from) / 2, middle + grow * (to - from) / 2];
    const [start, end] = is_log ? ends.map(Math.exp) : ends;
    range.setv({start, end});
  };
  const zoom = (figure, how) => {
    if (how === "reset") figure.reset.emit();
    else if (how === "left" || how === "right") {
      change(figure.x_range, figure.x_scale, 1, how === "left" ? -0.2 : 0.2);
    } else {
      const grow = how === "in" ? 1 / STEP : STEP;
      change(figure.x_range, figure.x_scale, grow, 0);
      change(figure.y_range, figure.y_scale, grow, 0);
    }
  };
  for (const button of document.querySelectorAll("[data-parts]")) {
    button.addEventListener("click", () => toggle(button));
  }
  for (const group of document.querySelectorAll("[data-figure]")) {
    for (const button of group.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => zoom(model(group.dataset.figure), button.dataset.zoom));
    }
  }
  // Charts keep their width on paper, where nothing draws them again.
  const fix = (width) => {
    for (const chart of document.querySelectorAll(".chart")) chart.style.width = width(chart);
  };
  addEventListener("beforeprint", () => fix((chart) => `${chart.clientWidth}px`));
  addEventListener("afterprint", () => fix(() => ""));
  // A finger that moves over a chart scrolls the page.
  if (matchMedia("(pointer: coarse)").matches) {
    const free = () => {
      for (const group of document.querySelectorAll("[data-figure]")) {
        for (const tool of model(group.dataset.figure).toolbar.tools) {
          if (tool.type === "BoxZoomTool") tool.active = false;
        }
      }
    };
    const wait = () => (Bokeh.documents.length ? free() : setTimeout(wait, 100));
    wait();
  }
})();
