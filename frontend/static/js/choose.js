// A long list to choose from is typed into, and what is typed narrows it. Without this script it is a plain select.
(function () {
  "use strict";
  const MANY = 20;
  const nameOf = (option) => option.textContent.trim().replace(/\s+/g, " ");

  function field(select, options) {
    const input = document.createElement("input");
    input.type = "text";
    input.autocomplete = "off";
    input.id = `${select.id}-typed`;
    input.placeholder = options.filter(({ value }) => !value).map(nameOf)[0] ?? "";
    input.required = select.required;
    // What nobody sees must not be what a browser asks to be filled.
    select.required = false;
    for (const name of ["aria-describedby", "aria-invalid", "aria-label"]) {
      if (select.hasAttribute(name)) input.setAttribute(name, select.getAttribute(name));
    }
    for (const label of select.labels) if (label.htmlFor) label.htmlFor = input.id;
    return input;
  }

  function offer(input, options) {
    const list = document.createElement("datalist");
    list.id = `${input.id}-list`;
    list.append(...options.filter(({ value }) => value).map((option) => new Option(nameOf(option))));
    input.setAttribute("list", list.id);
    return list;
  }

  function find(options, text) {
    if (!text) return options.find(({ value }) => !value);
    const named = options.filter(({ value }) => value).map((option) => [nameOf(option).toLowerCase(), option]);
    const near = named.filter(([name]) => name.includes(text.toLowerCase()));
    return (near.find(([name]) => name === text.toLowerCase()) ?? (near.length === 1 ? near[0] : []))[1];
  }

  function choose(select, option) {
    if (!option || option.selected) return;
    select.value = option.value;
    for (const type of ["input", "change"]) select.dispatchEvent(new Event(type, { bubbles: true }));
  }

  function enhance(select) {
    const options = [...select.options];
    if (!select.id || options.length <= MANY || new Set(options.map(nameOf)).size < options.length) return;
    const input = field(select, options);
    const show = () => { input.value = select.value ? nameOf(select.selectedOptions[0]) : ""; };
    input.addEventListener("focus", () => input.select());
    input.addEventListener("input", () => {
      const option = find(options, input.value.trim());
      if (option && nameOf(option) === input.value.trim()) choose(select, option);
    });
    input.addEventListener("change", (event) => {
      event.stopPropagation();
      choose(select, find(options, input.value.trim()));
      show();
    });
    select.addEventListener("change", show);
    select.before(input, offer(input, options));
    select.hidden = true;
    show();
  }

  const all = () => document.querySelectorAll("main .field select:not([multiple], [hidden])").forEach(enhance);
  document.addEventListener("htmx:afterSettle", all);
  all();
})();
