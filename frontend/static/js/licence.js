// Only the fields that say something under the chosen metric and payment are in view and sent; without script all are.
(function () {
  "use strict";

  function fits(part, metric, payment) {
    return part.dataset.metrics.split(" ").includes(metric) && part.dataset.payments.split(" ").includes(payment);
  }

  function show() {
    const metric = document.getElementById("id_metric"), payment = document.getElementById("id_payment");
    if (!metric || !payment) return;
    for (const part of document.querySelectorAll("[data-metrics]")) {
      part.hidden = !fits(part, metric.value, payment.value);
      for (const field of part.querySelectorAll("input, select, button")) field.disabled = part.hidden;
    }
    for (const group of document.querySelectorAll("section.group")) {
      group.hidden = !group.querySelector("[data-metrics]:not([hidden])");
    }
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("#id_metric, #id_payment")) show();
  }, true);
  document.addEventListener("htmx:afterSettle", show);
  show();
})();
