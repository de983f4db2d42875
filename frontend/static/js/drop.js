// Puts the text of files that are dropped on a field into it, after what stands there, and says which it leaves out.
(function () {
  "use strict";
  const MOST_BYTES = 1000000;

  function tell(field, files) {
    if (field.nextElementSibling?.matches(".why.dropped")) field.nextElementSibling.remove();
    if (!files.length) return;
    const line = document.createElement("p");
    line.className = "why dropped";
    line.setAttribute("role", "alert");
    line.textContent = `Left out, as larger than 1 MB: ${files.map(({ name }) => name).join(", ")}.`;
    field.after(line);
  }

  async function take(field, files) {
    tell(field, files.filter((file) => file.size > MOST_BYTES));
    for (const file of files.filter(({ size }) => size <= MOST_BYTES)) {
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
    take(event.target, [...event.dataTransfer.files]);
  });
})();
