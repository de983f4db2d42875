// Draws each .chart from the JSON that its data-figure names, in the colours of the page's theme.
// Where a page has switches, the address keeps what they say: ?show=latency, ?axis=linear.
(function () {
  "use strict";
  const GREY = 12;
  const LABEL_PX = 30;
  const MARGINS_PX = 90;
  const PHONE_PX = 450;
  const RESIZED_MS = 250;
  const LEGEND_LETTERS = 32;
  const FEW_NAMES = 4;
  const NAMES_PX = { above: 20, below: 62, line: 15, letter: 6.2, lead: 14, most: 540 };
  const NAME_LETTERS = 40;
  const drawn = new Map();
  const asked = new URLSearchParams(location.search);
  const chosen = {};
  let growing = [];

  function switches() {
    return document.querySelectorAll("button[data-switch]");
  }

  function theme() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue("--" + name).trim();
  }

  function colourOf(series, colour) {
    return colour("series-" + Math.min(series, GREY));
  }

  function withAlpha(hex, alpha) {
    return hex + Math.round(alpha * 255).toString(16).padStart(2, "0");
  }

  // Where nothing is known plotly would take null for 0, and draw the caps of an interval without width.
  function reach(given, colour) {
    const lengths = (values) => values.map((value) => (value === null ? NaN : value));
    return { ...given, array: lengths(given.array), arrayminus: lengths(given.arrayminus), color: colour };
  }

  function coloured(trace, colour) {
    const series = colourOf(trace.meta.series, colour);
    // On a bar of its own colour a range would not be seen.
    const isOnBar = trace.meta.is_on_bar || trace.type === "bar";
    const beside = isOnBar ? colour("ink") : series;
    const own = trace.meta.is_ghost ? withAlpha(colour("muted"), 0.6) : trace.meta.is_on_bar ? beside : series;
    return {
      ...trace,
      line: { ...trace.line, color: own },
      marker: { ...trace.marker, color: own },
      ...(trace.error_y && { error_y: reach(trace.error_y, beside) }),
      ...(trace.error_x && { error_x: reach(trace.error_x, beside) }),
      ...(trace.fill && { fillcolor: withAlpha(own, trace.meta.alpha || 0.16) }),
    };
  }

  function axis(given, colour) {
    return {
      ...given, gridcolor: colour("rule"), linecolor: colour("muted"), zeroline: false, showline: true,
      ticks: "outside", tickcolor: colour("muted"), automargin: true, title: { ...given.title, standoff: 10 },
    };
  }

  // Where named values lie close together, only as many are named as have room, from the left.
  function named(given, traces, width) {
    if (given.type !== "log" || !given.tickvals?.length) return given;
    const place = (value) => Math.log2(value / given.tickvals[0]);
    const places = traces.flatMap((trace) => trace.x || []).map(place).filter(Number.isFinite);
    const needed = (LABEL_PX * (Math.max(...places) - Math.min(...places))) / (width - MARGINS_PX);
    let last = -Infinity;
    const kept = given.tickvals.map((value) => place(value) - last >= needed && ((last = place(value)), true));
    const only = (values) => values.filter((_, i) => kept[i]);
    return { ...given, tickvals: only(given.tickvals), ticktext: only(given.ticktext), tickangle: 0 };
  }

  // Panels above each other have an axis and a legend each; what is shaded lies behind them.
  function panels(given, colour, width) {
    // On a phone the names stand in the first figure's reading instead, each with its colour.
    const showlegend = width >= PHONE_PX || !given.meta?.reading;
    const marks = { checkpoint: { fill: "soft", ink: "muted" }, doubt: { fill: "doubt-soft", ink: "doubt" } };
    const parts = {
      shapes: (given.shapes || []).map((shape) => ({
        ...shape, fillcolor: colour(marks[shape.meta].fill), line: { ...shape.line, color: colour(marks[shape.meta].ink) },
      })),
      annotations: (given.annotations || []).map((note) => marks[note.name] ? {
        ...note, font: { ...note.font, color: colour(marks[note.name].ink) },
        ...(note.name === "doubt" && { bgcolor: colour("doubt-soft"), bordercolor: colour("doubt"), borderpad: 2 }),
      } : note),
    };
    for (const name of Object.keys(given)) {
      if (/^yaxis\d+$/.test(name)) parts[name] = axis(given[name], colour);
      if (/^legend\d*$/.test(name)) parts[name] = { ...given[name], visible: showlegend, traceorder: "normal", font: { size: 11 } };
    }
    const size = { margin: { l: 64, r: 16, t: 8, b: 44 }, showlegend };
    const spike = { ...axis(given.xaxis, colour), spikecolor: colour("ink") };
    return given.meta?.panels ? { ...parts, ...size, hovermode: given.hovermode, xaxis: spike, plot_bgcolor: colour("surface") } : parts;
  }

  function layout(given, colour, traces, width) {
    const levels = { ...given.xaxis, ...given.meta?.axes?.[chosen.axis] };
    return {
      ...given,
      xaxis: axis(named(levels, traces, width), colour),
      yaxis: axis(given.yaxis, colour),
      font: { family: colour("text"), size: 13, color: colour("ink") },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("muted"), activecolor: colour("ink") },
      margin: { l: 56, r: 16, t: 12, b: 44 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal", maxheight: 1 },
      showlegend: traces.filter((trace) => trace.showlegend !== false).length > 1,
      hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("muted"), font: { color: colour("ink") } },
      hovermode: "closest",
      // What the reader zoomed to or switched off stays so when new runs arrive, and not when the axes change.
      uirevision: "keep " + (chosen.show || "") + (chosen.axis || ""),
      ...panels(given, colour, width),
    };
  }

  function linesOf(names) {
    return names.reduce((sum, name) => sum + name.text.split("<br>").length, 0);
  }

  // Of many names each has one line, so that the figure does not become longer than a screen.
  function isCrowded(given) {
    return linesOf(given.meta.names) * NAMES_PX.line > NAMES_PX.most;
  }

  function oneLine(text) {
    const line = text.replaceAll("<br>", " ");
    return line.length > NAME_LETTERS ? line.slice(0, NAME_LETTERS - 1) + "…" : line;
  }

  function roomForNames(given, width) {
    const names = given.meta?.names;
    if (!names?.length || (width < PHONE_PX && given.meta.has_legend)) return "";
    const lines = width < PHONE_PX || isCrowded(given) ? names.length : linesOf(names);
    return lines * NAMES_PX.line + NAMES_PX.above + NAMES_PX.below + "px";
  }

  // As near to the ends of their lines as their heights let them be: names that touch move together, up and down alike.
  function moveApart(names, height) {
    let offset = 0;
    const groups = [];
    names.forEach((name, i) => {
      if (i) offset += names[i - 1].half + name.half;
      groups.push({ sum: name.px - offset, names: [{ name, offset }] });
      while (groups.length > 1 && mean(groups.at(-1)) < mean(groups.at(-2))) {
        const last = groups.pop();
        groups.at(-1).sum += last.sum;
        groups.at(-1).names.push(...last.names);
      }
    });
    for (const group of groups) {
      const start = Math.max(0, Math.min(mean(group), height - offset));
      for (const member of group.names) member.name.at = start + member.offset;
    }
  }

  function mean(group) {
    return group.sum / group.names.length;
  }

  // Where plotly wants an annotation: it takes the name of a category for a number where it looks like one.
  function placeOn(axis, x) {
    if (axis.type === "log") return Math.log10(x);
    return axis.type === "category" ? axis.categoryarray.indexOf(x) : x;
  }

  // Names at the ends of lines, moved apart where lines end close together; each leads to its line. A phone has room
  // for their numbers only, or for a legend above the lines.
  function endNames(given, colour, chart) {
    if (!given.meta?.names?.length) return {};
    const isPhone = chart.clientWidth < PHONE_PX;
    if (isPhone && given.meta.has_legend) return {};
    const axis = { ...given.xaxis, ...given.meta.axes?.[chosen.axis] };
    const [low, high] = given.yaxis.range;
    const height = chart.clientHeight - NAMES_PX.above - NAMES_PX.below;
    const lineOf = isCrowded(given) ? (name) => oneLine(name.text) : (name) => name.text;
    const names = given.meta.names.map((name) => {
      const lines = (isPhone ? name.number : lineOf(name)).split("<br>");
      return { ...name, lines, half: (lines.length * NAMES_PX.line) / 2, px: ((high - name.y) / (high - low)) * height };
    });
    names.sort((a, b) => a.px - b.px);
    moveApart(names, height);
    const lead = given.meta.lead_px || NAMES_PX.lead;
    const longest = Math.max(...names.flatMap((name) => name.lines.map((line) => line.length)));
    return {
      ...(given.meta.has_legend && { showlegend: false }),
      margin: { l: 56, r: lead + 6 + NAMES_PX.letter * longest, t: NAMES_PX.above, b: NAMES_PX.below },
      annotations: names.map((name) => ({
        x: placeOn(axis, name.x), y: name.y, text: name.lines.join("<br>"), align: "left", xanchor: "left", ax: lead,
        ay: name.at - name.px, arrowhead: 0, arrowwidth: 1,
        arrowcolor: colourOf(name.series, colour), font: { size: 11, color: colour("ink") },
      })),
    };
  }

  function openRunOnClick(chart) {
    if (!chart.dataset.runPath) return;
    chart.on("plotly_click", (event) => {
      const run = event.points[0].customdata;
      if (run) location.assign(chart.dataset.runPath.replace("/0/", "/" + run + "/"));
    });
  }

  function mostLines(traces) {
    return Math.max(...traces.flatMap((trace) => trace.y || []).map((name) => String(name).split("<br>").length));
  }

  // Bars that lie are as many as there are choices, each with a name of some lines: the figure grows with them. So it
  // does on a phone with its legend, which has a line for each name there; others are as high as the style says.
  function heightOf(figure, width) {
    if (figure.layout.meta?.panels) return 4 + 8.5 * figure.layout.meta.panels + "rem";
    const bars = figure.layout.meta?.bars;
    if (bars) return 7 + Math.max(3.7, 1.1 * mostLines(figure.data)) * bars + "rem";
    const names = figure.data.filter((trace) => trace.showlegend !== false)
      .reduce((lines, trace) => lines + String(trace.name).split("<br>").length, 0);
    return width < PHONE_PX && names > FEW_NAMES ? 17 + 1.25 * names + "rem" : "";
  }

  // A legend cuts what is wider than a phone.
  function wrapped(name) {
    const lines = [""];
    for (const word of name.split(" ")) {
      const longer = (lines[lines.length - 1] + " " + word).trim();
      if (longer.length > LEGEND_LETTERS && lines[lines.length - 1]) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines.join("<br>");
  }

  async function draw(chart, text) {
    const figure = JSON.parse(text);
    drawn.set(chart, stateOf(chart, text));
    figure.data.push(...growingOn(chart));
    chart.hidden = figure.data.length === 0;
    if (chart.hidden) return;
    const colour = theme();
    if (chart.clientWidth < PHONE_PX) for (const trace of figure.data) if (trace.name) trace.name = wrapped(trace.name);
    const traces = figure.data.map((trace) => coloured(trace, colour));
    chart.style.height = heightOf(figure, chart.clientWidth);
    chart.style.minHeight = roomForNames(figure.layout, chart.clientWidth);
    // Nothing leaves for another host: plotly's own button would upload the chart.
    const config = {
      displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"],
      showSendToCloud: false, plotlyServerURL: "",
    };
    const drawing = { ...layout(figure.layout, colour, traces, chart.clientWidth), ...endNames(figure.layout, colour, chart) };
    await Plotly.react(chart, traces, drawing, config);
    chart.classList.add("drawn");
    if (!chart.dataset.clickable) openRunOnClick(chart);
    chart.dataset.clickable = "yes";
  }

  // Runs under way as points of their level, larger than those that count; of latencies nothing is known yet.
  function growingOn(chart) {
    if (chosen.show === "latency" && chart.dataset.latency) return [];
    return growing.filter((point) => "chart-" + point.figure === chart.id).map((point) => ({
      type: "scatter", mode: "markers", x: [point.clients], y: [point.value], name: "under way", showlegend: false,
      customdata: [point.run], marker: { symbol: "circle-open-dot", size: 15, line: { width: 2.5 } },
      hovertemplate: `run ${point.run} under way, ${point.clients} clients: %{y:,.4~r} ${point.unit}, the mean of ` +
        `${point.seconds} s so far<extra></extra>`,
      meta: { series: point.series },
    }));
  }

  function textOf(chart) {
    const name = chosen.show === "latency" && chart.dataset.latency ? chart.dataset.latency : chart.dataset.figure;
    return document.getElementById(name).textContent;
  }

  // A phone has other names, legends and heights, and a screen may be turned.
  function stateOf(chart, text) {
    return (chart.clientWidth < PHONE_PX) + text;
  }

  function drawAll(force) {
    for (const chart of document.querySelectorAll(".chart[data-figure]")) {
      const text = textOf(chart);
      if (force || drawn.get(chart) !== stateOf(chart, text)) draw(chart, text);
    }
  }

  // An axis that nobody chose is the one that the figure begins with.
  function press() {
    const chart = document.querySelector(".chart[data-latency]");
    const first = { show: "throughput", axis: chart && JSON.parse(textOf(chart)).layout.meta?.axis };
    for (const button of switches()) {
      const name = button.dataset.switch;
      button.setAttribute("aria-pressed", String((chosen[name] || first[name]) === button.value));
    }
  }

  function keepInAddress() {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(chosen)) address.searchParams.set(name, value);
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  }

  // Also of those that come with the first result, on a page that was opened before it.
  function showSwitches() {
    for (const button of switches()) {
      const name = button.dataset.switch;
      if (!chosen[name] && asked.get(name) === button.value) chosen[name] = button.value;
    }
    for (const box of document.querySelectorAll("[data-switches]")) box.hidden = false;
    if (switches().length) press();
  }

  showSwitches();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-switch]");
    if (!button) return;
    chosen[button.dataset.switch] = button.value;
    keepInAddress();
    press();
    drawAll(true);
  });
  document.addEventListener("benchhub:points", (event) => {
    if (JSON.stringify(event.detail) === JSON.stringify(growing)) return;
    growing = event.detail;
    drawAll(true);
  });
  document.addEventListener("htmx:afterSwap", () => {
    keepInAddress();
    showSwitches();
    drawAll(false);
  });
  // What was drawn while it was folded away has no width of its own yet.
  document.addEventListener("toggle", (event) => {
    if (!event.target.open) return;
    for (const chart of event.target.querySelectorAll(".chart[data-figure]")) draw(chart, textOf(chart));
  }, true);
  let resized = 0;
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => drawAll(false), RESIZED_MS);
  });
  // Paper is light, whatever the screen was.
  matchMedia("screen and (prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
  drawAll(false);
})();
