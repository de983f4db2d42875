// Puts the text of files that are dropped on a field into it, after what stands there.
(function () {
  "use strict";
  const MOST_BYTES = 1000000;

  async function take(field, files) {
    for (const file of files) {
      if (file.size > MOST_BYTES) continue;
      const text = await file.text();
      field.value += (field.value && !field.value.endsWith("\n") ? "\n" : "") + text;
    }
  }

  document.addEventListener("dragover", (event) => {
    if (event.target.matches("[data-drop]")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!event.target.matches("[data-drop]") || !event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.target, event.dataTransfer.files);
  });
})();
