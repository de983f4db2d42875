// A search through the raw facts of a run: what does not have all the words is hidden, and what was folded is opened.
(function () {
  "use strict";
  const box = document.querySelector("[data-find-facts]");
  if (!box) return;
  const drawer = box.closest("details");
  const input = box.querySelector("input");
  const rows = [...drawer.querySelectorAll("tbody tr, .facts > div")];
  const parts = [...drawer.querySelectorAll("section, .columns > div, table, details")];
  const folds = new Map();

  function headOf(row) {
    return row.closest(".columns > div")?.querySelector("h3")?.textContent || "";
  }

  function find() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fieldOf = (row) => row.querySelector("[data-field]")?.dataset.field || "";
    const texts = (row) => [headOf(row), row.textContent, fieldOf(row)].join(" ").toLowerCase();
    for (const row of rows) row.hidden = !words.every((word) => texts(row).includes(word));
    for (const part of parts) {
      part.hidden = words.length > 0 && !rows.some((row) => !row.hidden && part.contains(row));
      if (part.tagName !== "DETAILS") continue;
      if (!folds.has(part)) folds.set(part, part.open);
      part.open = words.length ? !part.hidden : folds.get(part);
    }
    const count = rows.filter((row) => !row.hidden).length;
    box.querySelector("output").textContent = words.length ? `${count} of ${rows.length}` : "";
  }

  box.hidden = false;
  input.addEventListener("input", find);
})();
