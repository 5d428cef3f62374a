// The page of the planner: the form, its state in the address, the tables of memory, offers and what is left out.
"use strict";
(function () {
  const { told, plan } = window.gpufareFit;
  const ledger = window.gpufareLedger;
  const words = JSON.parse(document.getElementById("words").textContent);
  const language = document.documentElement.lang;
  const form = document.getElementById("job");
  const SHOWN = 50;
  const LONGEST = 120;
  const USUAL = ["rank", "gpu", "n", "total", "range", "provider", "purchase", "region", "stock", "age", "usd_per_hour", "need", "usable", "headroom", "compute", "rounding", "interruptions", "notes"];
  const PHONE = ["gpu", "n", "total", "purchase", "provider", "stock"];
  const NUMBERS = ["rank", "n", "need", "usable", "headroom", "age", "usd_per_hour", "compute", "rounding", "interruptions", "total"];
  const STYLES = { gpu: "word", range: "word", purchase: "word", notes: "long" };
  const WHOLE = { seq: told.most_tokens, batch: told.most_tokens };
  let state = read(location.search);

  function say(key, values) {
    let text = words.js[key];
    for (const [name, value] of Object.entries(values || {})) text = text.replace("[" + name + "]", typeof value === "number" ? one.format(value) : value);
    return text;
  }

  const one = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const cents = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const price = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 4 });
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });

  function read(search) {
    const asked = new URLSearchParams(search);
    const found = { ...told.usual, purchase: told.purchases, stock: asked.get("stock") === "in_stock" };
    for (const name of Object.keys(told.usual)) if (asked.get(name)) found[name] = asked.get(name);
    if (asked.get("purchase")) found.purchase = told.purchases.filter((word) => asked.get("purchase").split(",").includes(word));
    if (!(found.model in told.series)) found.model = told.usual.model;
    if (!told.methods.includes(found.method)) found.method = told.usual.method;
    return found;
  }

  function write() {
    const query = new URLSearchParams();
    for (const [name, usual] of Object.entries(told.usual)) if (String(state[name]) !== String(usual)) query.set(name, state[name]);
    if (state.purchase.length < told.purchases.length) query.set("purchase", state.purchase.join(","));
    if (state.stock) query.set("stock", "in_stock");
    return query.toString();
  }

  // The numbers of the state; null and the faulty fields named where they cannot be read.
  function numbers() {
    const found = { ...state };
    const faults = [];
    for (const name of ["seq", "batch", "hours"]) {
      const text = String(state[name]).replace(/^(\d+),(\d+)$/, "$1.$2");
      const value = /^\d*\.?\d+$/.test(text) ? Number(text) : NaN;
      const isGood = name in WHOLE ? Number.isInteger(value) && value >= 1 && value <= WHOLE[name] : value >= 1 / 60 && value <= told.most_hours;
      if (!isGood) faults.push(name);
      found[name] = value;
    }
    if (!faults.length && found.seq * found.batch > told.most_tokens) faults.push("seq", "batch");
    for (const name of ["seq", "batch", "hours"]) form.elements[name].setAttribute("aria-invalid", String(faults.includes(name)));
    const fields = faults.map((name) => form.elements[name].closest("label").firstChild.textContent.trim()).join(", ");
    document.getElementById("fault").textContent = faults.length ? say("fault", { fields, tokens: told.most_tokens, hours: told.most_hours }) : "";
    return faults.length ? null : found;
  }

  function show() {
    try {
      const query = write();
      history.replaceState(null, "", location.pathname + (query ? "?" + query : ""));
    } catch {
      // From a folder some browsers keep the address; the link to copy still tells all.
    }
    const asked = numbers();
    document.getElementById("answer").hidden = asked === null;
    if (asked === null) return;
    const found = plan(asked);
    memoryTable(found.needs);
    const alone = found.needs.get(1);
    const { low, expected, high } = alone;
    const summary = say("summary", { model: asked.model, method: asked.method, expected: tenths.format(expected), low: tenths.format(low), high: tenths.format(high), confidence: words.confidence[found.series.c] });
    document.getElementById("told").textContent = summary + " " + say("found", { n: found.choices.length, all: ledger.count });
    const context = told.series[asked.model].context;
    const widths = found.series.w.map((place) => words.texts[place]);
    if (context && asked.seq > context) widths.push(say("context", { seq: asked.seq, context }));
    document.getElementById("widths").replaceChildren(...widths.map((text) => element("li", text)));
    offers(found.choices, asked);
    leftOut(found.left);
  }

  function element(name, content, style) {
    const made = document.createElement(name);
    if (style) made.className = style;
    made.append(content);
    return made;
  }

  function line(cells, isHead) {
    const row = document.createElement("tr");
    cells.forEach(function ([content, style], index) {
      const cell = element(isHead || index === 0 ? "th" : "td", content, style);
      if (isHead || index === 0) cell.scope = isHead ? "col" : "row";
      row.append(cell);
    });
    return row;
  }

  function fill(id, heads, rows, nothing) {
    const table = document.getElementById(id);
    table.tHead.replaceChildren(line(heads, true));
    if (!rows.length) {
      const row = document.createElement("tr");
      const cell = element("td", nothing);
      cell.colSpan = heads.length;
      row.append(cell);
      rows = [row];
    }
    table.tBodies[0].replaceChildren(...rows);
  }

  function memoryTable(needs) {
    const sizes = told.sizes.filter((size) => needs.get(size));
    const heads = [[words.js.of_each, ""], ...sizes.map((size) => [size === 1 ? words.js.one_gpu : say("gpus", { n: size }), "num"])];
    const row = (name, value, style) => line([[element(style || "span", name), ""], ...sizes.map((size) => [element(style || "span", tenths.format(value(needs.get(size)))), "num"])]);
    const terms = told.terms.map((name, index) => row(words.term[name], (need) => need.terms[index]));
    const ends = ["low", "expected", "high"].map((end) => row(words.js[end], (need) => need[end], end === "expected" ? "strong" : null));
    fill("memory", heads, [...terms, ...ends]);
  }

  // A text of a provider, cut where it is too long for a cell.
  function own(text) {
    const told = text === null ? "?" : text.length > LONGEST ? text.slice(0, LONGEST) + "…" : text;
    return element("bdi", told);
  }

  function gpu(row) {
    const name = own(ledger.value("gpu", row));
    const page = ledger.told.gpus[ledger.value("model", row)];
    return page ? linked(name, "gpu/" + page + ".html") : name;
  }

  function linked(node, address) {
    const link = element("a", node);
    link.href = address;
    return link;
  }

  function provider(row) {
    const { title, page } = ledger.told.providers[ledger.value("provider", row)];
    return linked(own(title), "provider/" + page + ".html");
  }

  function range(three) {
    return cents.format(three[0]) === cents.format(three[2]) ? "" : say("range", { low: cents.format(three[0]), high: cents.format(three[2]) });
  }

  function style(name) {
    return NUMBERS.includes(name) ? "num" : STYLES[name] || "";
  }

  function offers(choices, asked) {
    const names = matchMedia("(max-width: 640px)").matches ? PHONE : USUAL;
    const rows = choices.slice(0, SHOWN).map(function (choice, index) {
      const { row, need, cost } = choice;
      const stock = ledger.value("availability", row);
      const stale = ledger.isStale(row);
      const notes = choice.notes.map((place) => words.texts[place]);
      if (need.high > choice.usable) notes.unshift(say("may_not_hold", { need: need.high, usable: choice.usable }));
      for (const fact of cost.unknown) notes.push(say("not_told", { fact: words.col[fact] || fact }));
      const cells = {
        rank: String(index + 1),
        gpu: gpu(row),
        n: one.format(choice.gpus),
        need: tenths.format(need.expected),
        usable: tenths.format(choice.usable),
        headroom: percent.format(choice.headroom),
        purchase: words.purchase[ledger.value("purchase", row)],
        provider: provider(row),
        region: own(ledger.value("region", row)),
        stock: element("span", words.availability[stock], "stock " + stock),
        age: element("span", window.gpufareAge(ledger.ageSeconds(row), stale), "age"),
        usd_per_hour: price.format(choice.price),
        compute: cents.format(cost.compute),
        rounding: cents.format(cost.rounding[1]),
        interruptions: cost.interruptions ? cents.format(cost.interruptions[1]) : "-",
        total: element("strong", cents.format(cost.total[1])),
        range: range(cost.total),
        notes: notes.join("; "),
      };
      const made = line(names.map((name) => [cells[name], style(name)]));
      made.dataset.key = choice.key;
      return made;
    });
    fill("offers", names.map((name) => [words.column[name], style(name)]), rows, say("nothing"));
    const hours = say("hours", { hours: asked.hours });
    document.getElementById("work").textContent = choices.length > SHOWN ? hours + " " + say("first", { shown: SHOWN, all: choices.length }) : hours;
  }

  function leftOut(left) {
    const groups = new Map();
    for (const { row, reasons } of left) {
      const texts = reasons.map(([key, values]) => (typeof key === "number" ? words.texts[key] : say(key, values))).join("; ");
      const key = [ledger.columns.gpu.at[row], ledger.columns.gpu_count.at[row], texts].join(" ");
      if (!groups.has(key)) groups.set(key, { row, texts, count: 0 });
      groups.get(key).count++;
    }
    const rows = Array.from(groups.values()).sort((a, b) => b.count - a.count);
    const told = (group) => line([[gpu(group.row), ""], [ledger.value("gpu_count", group.row) === null ? "?" : one.format(ledger.numeric("gpu_count")[group.row]), "num"], [group.texts, "long"], [one.format(group.count), "num"]]);
    fill("left", [[words.column.gpu, ""], [words.column.n, "num"], [words.js.why, ""], [words.js.offers, "num"]], rows.map(told), say("none_left"));
    document.getElementById("left-told").textContent = say("left", { n: left.length });
  }

  function fromForm() {
    for (const name of Object.keys(told.usual)) state[name] = form.elements[name].value.trim();
    const bought = Array.from(form.querySelectorAll('input[name="purchase"]:checked'), (box) => box.value);
    state.purchase = bought.length ? bought : told.purchases;
    state.stock = form.elements.stock.checked;
    show();
  }

  function toForm() {
    for (const name of Object.keys(told.usual)) form.elements[name].value = state[name];
    for (const box of form.querySelectorAll('input[name="purchase"]')) box.checked = state.purchase.includes(box.value);
    form.elements.stock.checked = state.stock;
  }

  // `asked` holds numbers: a command takes no decimal comma.
  function command(asked) {
    const found = ["gpufare", "fit", "--model", asked.model, "--method", asked.method, "--seq", asked.seq, "--batch", asked.batch, "--hours", asked.hours];
    if (state.purchase.length < told.purchases.length) found.push("--purchase", state.purchase.join(",").replaceAll("_", "-"));
    if (state.stock) found.push("--in-stock");
    return found.join(" ");
  }

  function address() {
    const root = new URL(document.body.dataset.root + "../../index.html", location.href);
    const query = write();
    return root.href.split(/[?#]/)[0] + "?p=" + document.body.dataset.page + (query ? "&" + query : "");
  }

  function copied(value) {
    const done = document.getElementById("done");
    const tell = (key) => done.replaceChildren(words.copy[key] + " ", element("code", value));
    if (!navigator.clipboard) return tell("copy_this");
    return navigator.clipboard.writeText(value).then(() => tell("copied"), () => tell("copy_this"));
  }

  form.addEventListener("input", fromForm);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", function (event) {
    event.preventDefault();
    state = read("");
    toForm();
    show();
  });
  document.getElementById("copy-link").addEventListener("click", () => copied(address()));
  document.getElementById("copy-command").addEventListener("click", function () {
    const asked = numbers();
    if (asked) copied(command(asked));
  });
  window.addEventListener("popstate", function () {
    state = read(location.search);
    toForm();
    show();
  });

  toForm();
  show();
})();
