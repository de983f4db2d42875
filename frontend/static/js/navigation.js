// The menu and the search box by mouse and keyboard. Without it the groups open and close, and the search is a page.
(function () {
  "use strict";
  const menu = document.querySelector(".menu");
  const groups = [...document.querySelectorAll(".top nav details")];
  const box = document.getElementById("search");
  if (!box) return;
  // The calendar's days are those of the reader's clock: only pages of people who have signed in tell their zone.
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  document.cookie = `zone=${timeZone}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  const input = box.querySelector("input");
  const hits = document.getElementById("search-hits");
  const isPhone = () => menu.offsetParent !== null;
  const close = (but) => groups.filter((group) => group !== but).forEach((group) => { group.open = false; });

  // On a phone one button opens all groups; elsewhere one group is open at a time.
  menu.addEventListener("click", () => {
    const isOpen = menu.getAttribute("aria-expanded") !== "true";
    menu.setAttribute("aria-expanded", String(isOpen));
    groups.forEach((group) => { group.open = isOpen; });
  });
  groups.forEach((group) => group.addEventListener("toggle", () => {
    if (group.open && !isPhone()) close(group);
  }));
  groups.forEach((group) => group.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !isPhone() && !group.contains(relatedTarget)) group.open = false;
  }));
  document.addEventListener("click", ({ target }) => {
    if (!isPhone() && !target.closest(".top nav")) close();
  });

  const open = () => {
    if (!box.open) box.showModal();
    input.select();
  };
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault();
      open();
    } else if (event.key === "Escape" && !isPhone()) {
      const group = groups.find((one) => one.open);
      if (group) { group.open = false; group.querySelector("summary").focus(); }
    }
  });
  document.querySelector(".to-search").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  box.addEventListener("click", ({ target }) => {
    if (target === box || target.closest("[data-close]")) box.close();
  });

  // Arrows walk through the hits, and what is typed on one goes on with the search; Enter opens the first of what is
  // typed, or asks for the page where none is there yet.
  const links = () => [...hits.querySelectorAll("a")];
  box.addEventListener("keydown", (event) => {
    const stops = [input, ...links()], place = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      event.preventDefault();
      box.close();
    } else if (step && place >= 0) {
      event.preventDefault();
      stops[Math.min(stops.length - 1, Math.max(0, place + step))].focus();
    } else if (place > 0 && !event.ctrlKey && !event.metaKey && !event.altKey && /^(\S|Backspace)$/u.test(event.key)) {
      input.focus();
    }
  });
  box.querySelector("form").addEventListener("submit", (event) => {
    const isCurrent = hits.querySelector("[data-text]")?.dataset.text === input.value.trim();
    const [first] = isCurrent ? links() : [];
    if (first) { event.preventDefault(); location.assign(first.href); }
  });
  hits.addEventListener("htmx:afterSwap", () => {
    document.getElementById("search-status").textContent = hits.querySelector("[data-count]")?.dataset.count ?? "";
  });
})();
