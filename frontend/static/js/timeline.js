// One time cursor for the panels of a run: where the pointer or the slider is, all values of that moment are written
// beside it. Figures of the same timeline are zoomed together.
(function () {
  "use strict";
  const box = document.querySelector("[data-timeline]");
  if (!box) return;
  const line = box.querySelector(".cursor");
  const slider = line.querySelector("input");
  const output = line.querySelector("output");
  const charts = [];
  let isFollowing = false;

  function amount(value) {
    const digits = Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
    return value.toLocaleString("en", digits);
  }

  // The title of a trace's panel is "<b>CPU</b>, %": its unit stands behind each value.
  function unit(chart, trace) {
    const panel = Number((trace.yaxis || "y").slice(1) || 1) - 1;
    const text = chart.layout.annotations[panel].text.split("</b>, ")[1] || chart.layout.annotations[panel].text;
    return text.replace(/<[^>]*>/g, "");
  }

  function valueAt(trace, second) {
    return trace.y[Math.ceil(second / trace.dx) - 1] ?? null;
  }

  function words(chart, trace, second) {
    const value = valueAt(trace, second);
    const own = unit(chart, trace);
    const known = value === null ? "–" : amount(value) + " " + (value === 1 ? own.replace(/(?<=[a-z]{4})s$/, "") : own);
    return (trace.name === own ? "" : trace.name + " ") + known;
  }

  function part(text, colour) {
    const span = document.createElement("span");
    span.textContent = text;
    if (colour) span.style.borderColor = colour;
    return span;
  }

  function tell(second) {
    const chart = charts[0];
    slider.value = second;
    // Of what stands on each other, only what is there at this moment.
    const traces = chart.data.filter((trace) => trace.visible !== false && (!trace.stackgroup || valueAt(trace, second)));
    output.replaceChildren(
      part(second + " s"), ...traces.map((trace) => part(words(chart, trace, second), trace.line.color)));
  }

  function point(second) {
    for (const chart of charts.filter((chart) => chart.data && chart.clientWidth)) {
      const panels = chart.layout.meta.panels;
      const names = Array.from({ length: panels }, (_, i) => "xy" + (i ? i + 1 : ""));
      Plotly.Fx.hover(chart, { xval: second }, names);
    }
    tell(second);
  }

  function follow(source, change) {
    if (isFollowing) return;
    const isReset = change["xaxis.autorange"];
    const range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (!isReset && range[0] === undefined) return;
    isFollowing = true;
    const others = charts.filter((chart) => chart !== source && chart.data);
    Promise.all(others.map((chart) =>
      Plotly.relayout(chart, isReset ? { "xaxis.autorange": true } : { "xaxis.range": range }))
    ).finally(() => { isFollowing = false; });
  }

  function listen(chart) {
    if (chart.dataset.listens || !chart.on) return;
    chart.dataset.listens = "yes";
    chart.on("plotly_hover", (event) => tell(event.points[0].x));
    chart.on("plotly_relayout", (change) => follow(chart, change));
  }

  function begin() {
    charts.forEach(listen);
    if (!line.hidden || !charts[0].dataset.listens) return;
    line.hidden = false;
    tell(Number(slider.value));
  }

  // The lines of earlier repeats are drawn or not; what is read beside the cursor follows.
  function showGhosts(button) {
    const isOn = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isOn));
    const places = charts[0].data.flatMap((trace, i) => (trace.meta.is_ghost ? [i] : []));
    Plotly.restyle(charts[0], { visible: isOn }, places).then(() => tell(Number(slider.value)));
  }

  const ghosts = box.querySelector("[data-ghosts]");
  if (ghosts) {
    ghosts.closest("[hidden]").hidden = false;
    ghosts.addEventListener("click", () => showGhosts(ghosts));
  }
  // A doubt that knows its place puts the cursor there.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-second]");
    if (!link) return;
    const step = Number(slider.step);
    point(Math.min(Number(slider.max), (Math.floor(Number(link.dataset.second) / step) + 1) * step));
  });
  slider.addEventListener("input", () => point(Number(slider.value)));
  // Some figures are fetched when they are opened.
  function meet() {
    for (const chart of box.querySelectorAll(".chart")) {
      if (charts.includes(chart)) continue;
      charts.push(chart);
      new MutationObserver(begin).observe(chart, { attributes: true, attributeFilter: ["class"] });
    }
    begin();
  }

  document.addEventListener("htmx:afterSwap", meet);
  meet();
})();
