// What every page does: the theme button, ages that grow while a page lies open, the span of a chart, the language link.
"use strict";
(function () {
  const body = document.body;
  const sample = body.dataset.sample === "yes";
  const asOf = Date.parse(body.dataset.asOf);

  // Recordings never grow older; prices of the market do, also on a page that nobody publishes anew.
  window.gpufareNow = function () {
    return sample ? asOf : Math.max(asOf, Date.now());
  };

  window.gpufareAge = function (seconds, stale) {
    const minutes = Math.max(0, Math.floor(seconds / 60));
    const text = minutes < 60 ? minutes + "m" : minutes < 2880 ? Math.floor(minutes / 60) + "h" : Math.floor(minutes / 1440) + "d";
    return stale ? text + "!" : text;
  };

  for (const time of document.querySelectorAll("time.age")) {
    const seconds = (window.gpufareNow() - Date.parse(time.dateTime)) / 1000;
    const stale = time.dataset.freshH !== undefined && seconds > Number(time.dataset.freshH) * 3600;
    time.title = time.textContent;
    time.textContent = window.gpufareAge(seconds, stale);
    time.classList.toggle("stale", stale);
  }

  const button = document.getElementById("theme");
  const root = document.documentElement;
  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function named() {
    button.textContent = isDark() ? button.dataset.light : button.dataset.dark;
  }
  button.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("gpufare-theme", root.dataset.theme);
    } catch {
      // Kept for this page only.
    }
    named();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", named);
  named();

  // Another language shows the same rows.
  for (const link of document.querySelectorAll("a.language")) {
    link.addEventListener("click", function () {
      link.search = location.search;
    });
  }

  // Of the charts of a card one is shown; without this script all are.
  for (const charts of document.querySelectorAll(".charts")) {
    const figures = Array.from(charts.querySelectorAll("figure"));
    const group = document.createElement("div");
    group.className = "row inline";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", charts.dataset.label);
    const buttons = figures.map(function (figure) {
      const one = document.createElement("button");
      one.type = "button";
      one.textContent = figure.dataset.name;
      one.addEventListener("click", function () {
        show(figure.dataset.days);
      });
      group.append(one);
      return one;
    });
    function show(days) {
      figures.forEach(function (figure, index) {
        figure.hidden = figure.dataset.days !== days;
        buttons[index].setAttribute("aria-pressed", String(!figure.hidden));
      });
    }
    charts.prepend(group);
    show("90");
  }
})();
