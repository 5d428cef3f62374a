// Filters of the changes: a row stays where all that is asked for is in it.
"use strict";
(function () {
  const form = document.getElementById("change-filters");
  const rows = Array.from(document.querySelectorAll("#changes tbody tr[data-kind]"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const told = document.getElementById("told");
  const asked = new URLSearchParams(location.search);
  for (const name of ["text", "kind", "cause"]) form.elements[name].value = asked.get(name) || "";

  function show() {
    const words = form.elements.text.value.toLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
    const kind = form.elements.kind.value;
    const cause = form.elements.cause.value;
    let count = 0;
    rows.forEach(function (row, index) {
      const fits =
        (!kind || row.dataset.kind === kind) &&
        (!cause || row.dataset.cause === cause) &&
        words.every((word) => texts[index].includes(word));
      row.hidden = !fits;
      count += fits;
    });
    told.textContent = told.dataset.told.replace("[n]", count).replace("[all]", rows.length);
    const state = new URLSearchParams();
    for (const name of ["text", "kind", "cause"]) {
      if (form.elements[name].value) state.set(name, form.elements[name].value);
    }
    history.replaceState(null, "", location.pathname + (state.size ? "?" + state : ""));
  }

  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
