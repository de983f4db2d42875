// Read the logs of a run under way on from the byte where the page stands. What comes is text and stays text.
(function () {
  "use strict";
  const PAUSE_MS = 5000;
  const MOST_CHARACTERS = 65536;

  function append(box, part) {
    const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
    const text = part.skipped_bytes ? part.text : box.textContent + part.text;
    box.textContent = text.slice(-MOST_CHARACTERS);
    box.dataset.after = part.end;
    if (isAtEnd) box.scrollTop = box.scrollHeight;
  }

  async function readOn(box) {
    const after = box.dataset.after;
    const response = await fetch(`${box.dataset.log}?after=${after}`, { headers: { Accept: "application/json" } });
    if (!response.ok) return;
    const { part, is_over: isOver } = await response.json();
    if (part && part.text && box.dataset.after === after) append(box, part);
    if (isOver) box.removeAttribute("data-log");
  }

  async function look() {
    const boxes = [...document.querySelectorAll("[data-log]")];
    if (!document.hidden) await Promise.allSettled(boxes.map(readOn)); // the server may be away for a moment
    if (boxes.length) setTimeout(look, PAUSE_MS);
  }

  for (const box of document.querySelectorAll("[data-log]")) box.scrollTop = box.scrollHeight;
  setTimeout(look, PAUSE_MS);
})();
