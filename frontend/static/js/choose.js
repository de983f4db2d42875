// A long list to choose from is typed into, and what is typed narrows it. Without this script it is a plain select.
(function () {
  "use strict";
  const MANY = 20;
  const SUFFIX = "-typed";
  const canList = "list" in document.createElement("input");
  const nameOf = (option) => option.textContent.trim().replace(/\s+/g, " ");
  const optionsOf = (select) => [...select.options].filter((option) => !option.disabled);

  function isLong(select) {
    const names = optionsOf(select).map(nameOf);
    const areTold = names.every(Boolean) && new Set(names).size === names.length;
    return canList && select.id && !select.disabled && names.length > MANY && areTold;
  }

  function field(select) {
    const input = document.createElement("input");
    input.type = "text";
    input.autocomplete = "off";
    input.id = select.id + SUFFIX;
    for (const name of ["aria-describedby", "aria-invalid", "aria-label"]) {
      if (select.hasAttribute(name)) input.setAttribute(name, select.getAttribute(name));
    }
    // The labels that a select has are counted anew whenever one is given away.
    for (const label of [...select.labels]) if (label.htmlFor) label.htmlFor = input.id;
    return input;
  }

  function offer(input, options) {
    const list = document.createElement("datalist");
    list.id = `${input.id}-list`;
    list.append(...options.map((option) => new Option(nameOf(option))));
    input.setAttribute("list", list.id);
    return list;
  }

  function find(select, text) {
    if (!text) return [];
    const options = optionsOf(select), exact = options.filter((option) => nameOf(option) === text);
    if (exact.length) return exact;
    const near = options.filter((option) => option.value && nameOf(option).toLowerCase().includes(text.toLowerCase()));
    const alike = near.filter((option) => nameOf(option).toLowerCase() === text.toLowerCase());
    return alike.length === 1 ? alike : near;
  }

  function problem(text, options) {
    if (options.length === 1 || !text) return "";
    if (!options.length) return `No choice has “${text}” in its name: choose from the list.`;
    return `${options.length} choices have “${text}” in their name: type more, or choose from the list.`;
  }

  // In sight as well, as not every form lets the browser check it.
  function tell(input, text) {
    input.setCustomValidity(text);
    input.removeAttribute("aria-invalid");
    document.getElementById(`${input.id}-why`)?.remove();
    if (!text) return;
    const line = document.createElement("p");
    Object.assign(line, { className: "why", id: `${input.id}-why`, textContent: text });
    line.setAttribute("role", "alert");
    input.setAttribute("aria-invalid", "true");
    input.after(line);
  }

  function choose(select, option) {
    if (!option || option.selected) return;
    select.value = option.value;
    for (const type of ["input", "change"]) select.dispatchEvent(new Event(type, { bubbles: true }));
  }

  function enhance(select) {
    if (!isLong(select)) return;
    for (const part of ["", "-list", "-why"]) document.getElementById(select.id + SUFFIX + part)?.remove();
    const input = field(select), list = offer(input, optionsOf(select)), isRequired = select.required;
    let isTyped = false;
    // What nobody sees must not be what a browser asks to be filled.
    select.required = false;

    function show() {
      isTyped = false;
      const name = select.selectedOptions.length ? nameOf(select.selectedOptions[0]) : "";
      input.required = isRequired && !select.value;
      input.placeholder = name;
      // A browser lists what fits the text: all of it only while there is none.
      input.value = select.value && document.activeElement !== input ? name : "";
      if (input.validity.customError) tell(input, "");
    }

    function settle() {
      const text = input.value.trim(), options = find(select, text);
      const why = isTyped ? problem(text, options) : "";
      if (why) return tell(input, why);
      if (isTyped) choose(select, options[0]);
      if (input.isConnected) show();
    }

    input.addEventListener("focus", () => { if (!input.validity.customError) input.value = ""; });
    input.addEventListener("blur", settle);
    input.addEventListener("input", (event) => {
      event.stopPropagation();
      isTyped = true;
      if (input.validity.customError) tell(input, "");
      const option = find(select, input.value.trim())[0];
      if (option && nameOf(option) === input.value.trim()) choose(select, option);
    });
    input.addEventListener("change", (event) => {
      event.stopPropagation();
      settle();
    });
    select.addEventListener("change", () => { if (!isTyped) show(); });
    select.before(input, list);
    select.hidden = true;
    show();
  }

  let focused = "";
  function all() {
    document.querySelectorAll("main .field select:not([multiple], [hidden])").forEach(enhance);
    if (focused.endsWith(SUFFIX) && document.activeElement === document.body) document.getElementById(focused)?.focus();
    focused = "";
  }

  document.addEventListener("htmx:beforeSwap", () => { focused = document.activeElement?.id ?? ""; });
  document.addEventListener("htmx:afterSettle", all);
  document.addEventListener("submit", (event) => {
    const inputs = [...event.target.elements].filter(({ id }) => id.endsWith(SUFFIX));
    for (const input of inputs) input.dispatchEvent(new Event("change"));
    const input = inputs.find(({ validity }) => validity.customError);
    if (!input) return;
    event.preventDefault();
    event.stopPropagation();
    input.reportValidity();
  }, true);
  all();
})();
