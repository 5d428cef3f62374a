// The reader's choice of light or dark, before anything is drawn. Without one the system decides.
"use strict";
try {
  const chosen = localStorage.getItem("gpufare-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing for a page still shows it.
}
