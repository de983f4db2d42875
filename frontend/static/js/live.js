// How htmx brings a page up to date. What is the reader's own stays as it is: open details, the text being typed, and
// the chart, which charts.js draws.
(function () {
  "use strict";
  const POLL = "[hx-trigger^=every]";
  const DRAWN = ".chart, [data-switches]";

  Object.assign(Idiomorph.defaults.callbacks, {
    beforeNodeMorphed: (node) => !(node instanceof Element && node.matches(DRAWN)),
    beforeAttributeUpdated: (name, node) =>
      !(name === "open" && node.matches("details")) && !(name === "value" && node === document.activeElement),
  });

  // On a phone the navigation is one row that scrolls: it begins where the reader is.
  document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // A tab that nobody sees asks for nothing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.matches(POLL)) event.preventDefault();
  });

  // What the server refuses is shown as without script: on a page of its own. A poll just tries again.
  document.addEventListener("htmx:responseError", (event) => {
    const { requestConfig, pathInfo } = event.detail;
    if (requestConfig.verb === "get" && !event.target.matches(POLL)) location.assign(pathInfo.finalRequestPath);
  });

  // Back and forward change the page as any other request does, instead of replacing it with the chart in it.
  document.addEventListener("htmx:historyCacheMiss", (event) => {
    event.preventDefault();
    htmx.ajax("GET", location.pathname + location.search, { source: "#live" });
  });
})();
