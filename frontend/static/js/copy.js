// Buttons that copy a line; without script the line can be marked by hand, and the buttons stay hidden.
(function () {
  "use strict";

  function show() {
    for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  }

  function mark(line) {
    if (line.select) return line.select();
    const range = document.createRange();
    range.selectNodeContents(line);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }

  // The clipboard is there on https and localhost only; elsewhere the line is marked, ready for Ctrl-C.
  async function copy(button) {
    const line = document.getElementById(button.dataset.copy);
    mark(line);
    const isCopied = navigator.clipboard ? await navigator.clipboard.writeText(line.value ?? line.textContent).then(() => true, () => false) : false;
    button.textContent = isCopied ? "Copied" : "Press Ctrl-C";
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });
  document.addEventListener("htmx:afterSwap", show);
  show();
})();
