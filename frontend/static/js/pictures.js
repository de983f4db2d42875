// Saves a chart as a picture, made here by plotly.js: as on the screen, on the page's own ground instead of none.
(function () {
  "use strict";

  function surface() {
    return getComputedStyle(document.documentElement).getPropertyValue("--surface").trim();
  }

  function save(button) {
    const chart = document.getElementById(button.dataset.of);
    const figure = { data: chart.data, layout: { ...chart.layout, paper_bgcolor: surface() } };
    Plotly.downloadImage(figure, {
      format: button.dataset.picture, filename: button.dataset.of.replace("chart-", ""),
      width: chart.clientWidth, height: chart.clientHeight, scale: button.dataset.picture === "png" ? 2 : 1,
    });
  }

  function show() {
    for (const box of document.querySelectorAll(".pictures")) box.hidden = false;
  }

  show();
  document.addEventListener("htmx:afterSwap", show);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-picture]");
    if (button) save(button);
  });
})();
