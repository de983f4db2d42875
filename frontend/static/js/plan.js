// While the form of a new experiment is filled in, show what it would queue as it stands.
(function () {
  "use strict";
  const PAUSE_MS = 350;
  const form = document.querySelector("form[data-preview]");
  const plan = document.getElementById("plan");
  let waiting = 0;
  let asked = 0;

  async function show() {
    const number = ++asked;
    try {
      const response = await fetch(form.dataset.preview, { method: "POST", body: new FormData(form) });
      if (response.redirected || response.status === 403) return location.reload();
      const text = await response.text();
      if (response.ok && number === asked) plan.innerHTML = text;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the server is away for a moment: the next change asks again
    }
  }

  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, PAUSE_MS);
  });
  show();
})();
