// The root page leads to the live version: to the page that `p` names, else to the table in the reader's language.
"use strict";
(function () {
  const version = document.currentScript.dataset.version;
  const asked = new URLSearchParams(location.search);
  const page = asked.get("p") || "";
  asked.delete("p");
  const language = (navigator.language || "en").toLowerCase().startsWith("vi") ? "vi" : "en";
  const known = /^[a-z]{2}(\/[a-z0-9-]+){1,2}\.html$/.test(page);
  const rest = asked.toString();
  location.replace(version + (known ? page : language + "/index.html") + (rest ? "?" + rest : ""));
})();
