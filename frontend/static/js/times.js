// Times come in UTC; show them in the reader's zone, with UTC left in the title.
(function () {
  "use strict";
  const format = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });

  function localise() {
    for (const time of document.querySelectorAll("time[datetime]:not([data-local])")) {
      time.textContent = format.format(new Date(time.dateTime));
      time.dataset.local = "";
    }
  }

  document.addEventListener("htmx:afterSwap", localise);
  localise();
})();
