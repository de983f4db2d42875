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

  // A tab that nobody sees asks for nothing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.matches(POLL)) event.preventDefault();
  });

  // What the server refuses is shown as without script: on a page of its own. A poll just tries again.
  document.addEventListener("htmx:responseError", (event) => {
    const { requestConfig, pathInfo } = event.detail;
    if (requestConfig.verb === "get" && !event.target.matches(POLL)) location.assign(pathInfo.finalRequestPath);
  });

  // What is left empty is as usual: it need not stand in the address.
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") return;
    for (const [name, value] of [...event.detail.formData]) if (value === "") event.detail.formData.delete(name);
  });

  // Enter in a form that follows each change: the change was sent already, and the page need not come anew.
  document.addEventListener("submit", (event) => {
    if (event.target.matches('form[hx-trigger="change"]')) event.preventDefault();
  });

  // Back and forward change the page as any other request does, instead of replacing it with the chart in it.
  document.addEventListener("htmx:historyCacheMiss", (event) => {
    event.preventDefault();
    htmx.ajax("GET", location.pathname + location.search, { source: "#live" });
  });
})();
