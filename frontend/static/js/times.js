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

  // A choice of a time zone that nobody has made begins with the reader's.
  function suggestZone() {
    const zone = format.resolvedOptions().timeZone;
    for (const select of document.querySelectorAll("select[data-suggest-zone]")) {
      if ([...select.options].some((option) => option.value === zone)) select.value = zone;
    }
  }

  document.addEventListener("htmx:afterSwap", localise);
  localise();
  suggestZone();
})();
