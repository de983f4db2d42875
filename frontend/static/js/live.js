// While a page says that more is to come, fetch it again and replace the parts marked data-live that changed.
// Scroll, open details and the chart's zoom stay as they are.
(function () {
  "use strict";
  const PAUSE_MS = 5000;

  function again() {
    return document.querySelector("[data-live-again]") !== null;
  }

  function keepOpen(part, next) {
    for (const open of part.querySelectorAll("details[open][id]")) {
      const same = next.querySelector("#" + CSS.escape(open.id));
      if (same) same.open = true;
    }
  }

  // The reader's place on the keyboard: the same link, button or summary, counted from the start of the part.
  function keepFocus(part, next) {
    const stops = "a, button, summary, [tabindex]";
    const at = [...part.querySelectorAll(stops)].indexOf(document.activeElement);
    return () => at >= 0 && next.querySelectorAll(stops)[at]?.focus({ preventScroll: true });
  }

  function scrollOffsets(part) {
    return [...part.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  }

  function replace(part, next) {
    const offsets = scrollOffsets(part);
    const focus = keepFocus(part, next);
    keepOpen(part, next);
    part.replaceWith(next);
    focus();
    next.querySelectorAll(".scroll").forEach((box, i) => {
      if (offsets[i]) [box.scrollLeft, box.scrollTop] = offsets[i];
    });
  }

  const shown = new Map();

  function update(fresh) {
    for (const next of fresh.querySelectorAll("[data-live][id]")) {
      const part = document.getElementById(next.id);
      const text = next.outerHTML;
      if (!part || shown.get(next.id) === text) continue;
      replace(part, next);
      shown.set(next.id, text);
    }
    document.dispatchEvent(new Event("benchhub:updated"));
  }

  async function look() {
    if (!document.hidden) {
      try {
        const response = await fetch(location.href, { headers: { Accept: "text/html" } });
        if (response.redirected) return location.reload();
        if (response.ok) update(new DOMParser().parseFromString(await response.text(), "text/html"));
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // the server is away for a moment: look again later
      }
    }
    if (again()) setTimeout(look, PAUSE_MS);
    else if (document.querySelector("[data-reload-at-end]")) location.reload();
  }

  if (again()) setTimeout(look, PAUSE_MS);
})();
