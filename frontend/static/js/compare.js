// A choice of term, rounding, licence or baseline changes its part of the page and the address, without a reload.
(function () {
  "use strict";
  const CHOICES = "form[data-terms]";
  let latest = 0;
  let shown = location.search;

  function addressOf(form) {
    const address = new URL(form.action);
    address.search = new URLSearchParams(new FormData(form)).toString();
    return address;
  }

  function keepOpen(part, next) {
    for (const open of part.querySelectorAll("details[open][id]")) {
      const same = next.querySelector("#" + CSS.escape(open.id));
      if (same) same.open = true;
    }
  }

  // The control that was used stays the one in use: found again by its name and value.
  function sameControl(part, used) {
    if (!used || !used.name || !part.contains(used)) return null;
    return (next) => [...next.querySelectorAll("input, select")]
      .find((one) => one.name === used.name && (one.tagName === "SELECT" || one.value === used.value));
  }

  function replace(part, next) {
    const find = sameControl(part, document.activeElement);
    keepOpen(part, next);
    part.replaceWith(next);
    find?.(next)?.focus({ preventScroll: true });
  }

  async function show(address, keep) {
    const asked = ++latest;
    const response = await fetch(address, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return location.assign(address);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    if (asked !== latest) return; // a later choice is under way
    for (const part of document.querySelectorAll(".terms-part[id]")) {
      const next = fresh.getElementById(part.id);
      if (next) replace(part, next);
    }
    if (keep) history.pushState(null, "", address.pathname + address.search);
    document.dispatchEvent(new Event("benchhub:updated"));
    shown = location.search; // the chart may have added what it shows
  }

  document.addEventListener("change", (event) => {
    const form = event.target.closest(CHOICES);
    if (form) show(addressOf(form), true);
  });
  addEventListener("popstate", () => {
    if (location.search !== shown) show(new URL(location.href), false);
  });
})();
