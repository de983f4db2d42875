// Draws each .chart from the JSON that its data-figure names, in the colours of the page's theme.
(function () {
  "use strict";
  const SERIES_COLOURS = 7;
  const drawn = new Map();

  function theme() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue("--" + name).trim();
  }

  function withAlpha(hex, alpha) {
    return hex + Math.round(alpha * 255).toString(16).padStart(2, "0");
  }

  function coloured(trace, colour) {
    const own = colour("series-" + (trace.meta.series % SERIES_COLOURS));
    return {
      ...trace,
      line: { ...trace.line, color: own },
      marker: { ...trace.marker, color: own },
      ...(trace.error_y && { error_y: { ...trace.error_y, color: own } }),
      ...(trace.fill && { fillcolor: withAlpha(own, 0.16) }),
    };
  }

  function axis(given, colour) {
    return {
      ...given, gridcolor: colour("rule"), linecolor: colour("muted"), zeroline: false, showline: true,
      ticks: "outside", tickcolor: colour("muted"), automargin: true, title: { ...given.title, standoff: 10 },
    };
  }

  function layout(given, colour, traces) {
    return {
      ...given,
      xaxis: axis(given.xaxis, colour),
      yaxis: axis(given.yaxis, colour),
      font: { family: colour("text"), size: 13, color: colour("ink") },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 56, r: 16, t: 12, b: 44 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      showlegend: traces.filter((trace) => trace.showlegend !== false).length > 1,
      hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("muted"), font: { color: colour("ink") } },
      hovermode: "closest",
      uirevision: "keep", // what the reader zoomed to or switched off stays so when new runs arrive
    };
  }

  function openRunOnClick(chart) {
    if (!chart.dataset.runPath) return;
    chart.on("plotly_click", (event) => {
      const run = event.points[0].customdata;
      if (run) location.assign(chart.dataset.runPath.replace("/0/", "/" + run + "/"));
    });
  }

  async function draw(chart, text) {
    const figure = JSON.parse(text);
    drawn.set(chart, text);
    chart.hidden = figure.data.length === 0;
    if (chart.hidden) return;
    const colour = theme();
    const traces = figure.data.map((trace) => coloured(trace, colour));
    const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
    await Plotly.react(chart, traces, layout(figure.layout, colour, traces), config);
    chart.classList.add("drawn");
    if (!chart.dataset.clickable) openRunOnClick(chart);
    chart.dataset.clickable = "yes";
  }

  function drawAll(force) {
    for (const chart of document.querySelectorAll(".chart[data-figure]")) {
      const text = document.getElementById(chart.dataset.figure).textContent;
      if (force || drawn.get(chart) !== text) draw(chart, text);
    }
  }

  document.addEventListener("benchhub:updated", () => drawAll(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
  drawAll(false);
})();
