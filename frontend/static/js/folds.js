// Opens what is folded away where the address, or a link on the page, leads into it.
(function () {
  "use strict";

  function open(hash) {
    const target = hash ? document.getElementById(decodeURIComponent(hash.slice(1))) : null;
    for (let node = target; node; node = node.parentElement) {
      const fold = node.matches(".first-rows") ? node.querySelector(":scope > .all-rows") : node;
      if (fold.tagName === "DETAILS") fold.open = true;
    }
    return target;
  }

  document.addEventListener("click", (event) => open(event.target.closest('a[href^="#"]')?.hash));
  open(location.hash)?.scrollIntoView();
})();
