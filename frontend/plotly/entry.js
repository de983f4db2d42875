// plotly.js with the parts that figures of BenchHub have: lines, points, bars, their error bars, notes and shaded spans.
// What is left out is asked for by name (`getComponentMethod`), so that plotly.js passes over it.
"use strict";
require("native-promise-only");
require("plotly.js/build/plotcss");
const { register } = require("plotly.js/src/registry");
const methods = require("plotly.js/src/plot_api");
const Fx = require("plotly.js/src/components/fx");

exports.version = require("plotly.js/src/version").version;
for (const [name, fn] of Object.entries(methods)) {
  if (!name.startsWith("_")) exports[name] = fn;
  register({ moduleType: "apiMethod", name, fn });
}
register([
  require("plotly.js/src/traces/scatter"),
  require("plotly.js/src/traces/bar"),
  require("plotly.js/src/components/annotations"),
  require("plotly.js/src/components/shapes"),
  require("plotly.js/src/components/errorbars"),
  require("plotly.js/src/components/colorscale"),
  require("plotly.js/src/components/legend"), // after shapes: its defaults ask for them
  Fx, // after the legend: what it shows of all lines at a place asks for it
  require("plotly.js/src/components/modebar"),
  require("plotly.js/src/locale-en"),
  require("plotly.js/src/locale-en-us"),
]);
exports.Icons = require("plotly.js/src/fonts/ploticon");
exports.Plots = { resize: require("plotly.js/src/plots/plots").resize };
exports.Fx = { hover: Fx.hover, unhover: Fx.unhover };
exports.Snapshot = require("plotly.js/src/snapshot");
