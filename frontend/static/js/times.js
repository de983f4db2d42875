// Times come in UTC; show them in the reader's zone, with UTC left in the title.
(function () {
  "use strict";
  const ages = new WeakMap();
  const format = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });

  function localise() {
    for (const time of document.querySelectorAll("time[datetime]:not([data-local], [data-age-s])")) {
      time.textContent = format.format(new Date(time.dateTime));
      time.dataset.local = "";
    }
  }

  function duration(seconds) {
    const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
    if (minutes) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
    return `${rest} s`;
  }

  // From the age that the server wrote, as the reader's clock may be wrong. A page that is loaded anew has a new age.
  function grow() {
    for (const time of document.querySelectorAll("time[data-age-s]")) {
      const seen = ages.get(time);
      const isNew = seen?.written !== time.dataset.ageS || seen.datetime !== time.dateTime;
      if (isNew) ages.set(time, { written: time.dataset.ageS, datetime: time.dateTime, at: performance.now() });
      const { written, at } = ages.get(time);
      time.textContent = `${duration(Number(written) + Math.floor((performance.now() - at) / 1000))} ago`;
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
  document.addEventListener("htmx:afterSwap", grow);
  localise();
  grow();
  setInterval(grow, 1000);
  suggestZone();
})();
