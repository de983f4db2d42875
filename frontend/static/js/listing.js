// A choice beside the search takes effect at once; without script the button does it.
(function () {
  "use strict";
  for (const choice of document.querySelectorAll("form.find select")) {
    choice.addEventListener("change", () => choice.form.requestSubmit());
  }
})();
