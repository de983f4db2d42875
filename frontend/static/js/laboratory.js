// The handles of the price laboratory. A slider writes its number, moves the line in the chart, and after a pause asks
// the page for the prices there. In the chart itself the handle follows the pointer.
(function () {
  "use strict";
  const PAUSE_MS = 200;
  const THUMB_PX = 16;
  let timer;
  let frame;
  let pending = null;
  let isAsking = false;
  let isDragged = false;

  const chart = () => document.getElementById("chart-laboratory");
  const ofAxis = () => document.querySelector("input[data-number][data-axis]");
  const numberOf = (slider) => document.getElementById(slider.dataset.number);

  function drawLine(value) {
    const traces = chart()?.data || [];
    const place = traces.findIndex((trace) => trace.meta?.is_handle);
    cancelAnimationFrame(frame);
    if (place >= 0) frame = requestAnimationFrame(() => Plotly.restyle(chart(), { x: [[value, value]] }, [place]));
  }

  function tell(slider) {
    slider.setAttribute("aria-valuetext", (slider.value + " " + slider.dataset.unit).trim());
  }

  function move(slider) {
    const number = numberOf(slider);
    number.value = slider.value;
    tell(slider);
    if ("axis" in slider.dataset) drawLine(Number(slider.value));
    pending = { id: slider.id, value: slider.value };
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE_MS);
  }

  // One question at a time: an answer that comes while the handle moves on must not take it back.
  function ask() {
    if (isAsking || !pending) return;
    const number = numberOf(document.getElementById(pending.id));
    pending = null;
    number.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function moveOn() {
    const slider = pending && document.getElementById(pending.id);
    if (!slider) return;
    slider.value = pending.value;
    move(slider);
  }

  // The slider of the axis lies under the axis of the chart, as wide as that is.
  function place() {
    const size = chart()?._fullLayout?._size;
    const slider = ofAxis();
    for (const other of document.querySelectorAll("input[data-number]")) tell(other);
    if (!size || !slider) return;
    slider.style.width = size.w + THUMB_PX + "px";
    slider.style.marginLeft = size.l - THUMB_PX / 2 + chart().offsetLeft - slider.parentElement.offsetLeft + "px";
  }

  function follow(event) {
    const slider = ofAxis();
    const size = chart()._fullLayout?._size;
    if (!size || !slider) return;
    const share = (event.clientX - chart().getBoundingClientRect().left - size.l) / size.w;
    slider.value = Number(slider.min) + Math.min(1, Math.max(0, share)) * (Number(slider.max) - Number(slider.min));
    move(slider);
  }

  document.addEventListener("input", ({ target }) => { if (target.matches("input[data-number]")) move(target); });
  // The slider has no name: what it says is sent by its number, after the pause.
  document.addEventListener("change", (event) => {
    if (event.target.matches("input[data-number]")) event.stopPropagation();
    // What was set for one licence, machine, system or axis means nothing for another.
    for (const id of (event.target.dataset?.clears || "").split(" ")) {
      const number = id && document.getElementById(id);
      if (number) number.value = "";
    }
  }, true);
  // While a button is down plotly lays a cover over the page, so that moves are of no element of the chart.
  document.addEventListener("pointerdown", (event) => {
    isDragged = event.button === 0 && Boolean(event.target.closest("#chart-laboratory .nsewdrag"));
    if (isDragged) follow(event);
  }, true);
  document.addEventListener("pointermove", (event) => { if (isDragged) follow(event); }, true);
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { isDragged = false; }, true);
  document.addEventListener("htmx:beforeRequest", ({ target }) => { if (target.id === "laboratory") isAsking = true; });
  document.addEventListener("htmx:afterRequest", ({ target }) => {
    if (target.id !== "laboratory" && target.id !== "live") return;
    isAsking = false;
    moveOn();
  });
  document.addEventListener("htmx:afterSwap", () => requestAnimationFrame(place));
  addEventListener("resize", () => requestAnimationFrame(place));
  new MutationObserver((changes) => {
    if (changes.some(({ target }) => target.matches(".chart.drawn"))) {
      const drawn = chart();
      drawn.removeListener?.("plotly_afterplot", place);
      drawn.on?.("plotly_afterplot", place);
      place();
    }
  }).observe(document.getElementById("live"), { attributes: true, attributeFilter: ["class"], subtree: true });
})();
