// Makes ../static/vendor/plotly-small.min.js out of entry.js: see the README there.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { build } = require("esbuild");
const { version } = require("plotly.js/package.json");

// What plotly.js says of each attribute is for its reference. Browsers never read it.
const text = "(?:'(?:[^'\\\\\\n]|\\\\.)*'|\"(?:[^\"\\\\\\n]|\\\\.)*\"|`[^`]*`)";
const joined = `\\[(?:\\s*${text}\\s*\\+?\\s*,?)*\\s*\\]\\.join\\(${text}\\)`;
const DESCRIPTION = new RegExp(`(?<=[,{]\\s*)description:\\s*(?:${text}(?:\\s*\\+\\s*${text})*|${joined})\\s*(?:,|(?=\\}))`, "g");

const plain = {
  name: "plain",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^culori$/ }, () => ({ path: join(__dirname, "colours.js") }));
    onLoad({ filter: /plotly\.js[/\\]src[/\\].*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(DESCRIPTION, ""), loader: "js",
    }));
  },
};

build({
  entryPoints: [join(__dirname, "entry.js")],
  outfile: join(__dirname, "../static/vendor/plotly-small.min.js"),
  bundle: true, minify: true, format: "iife", globalName: "Plotly", target: "es2020", charset: "utf8",
  nodePaths: [join(process.cwd(), "node_modules")],
  alias: { stream: "stream-browserify" },
  loader: { ".css": "empty" }, // of maps
  define: { global: "window", "define.amd": "false", "process.env.NODE_DEBUG": "false" },
  banner: { js: `/* plotly.js ${version}, the parts that BenchHub needs. Copyright Plotly, Inc.; MIT licence */` },
  legalComments: "eof",
  plugins: [plain],
}).catch(() => process.exit(1));
