// The table: columns, rows in pages, and what a reader does with them. Texts of providers become text nodes, never markup.
"use strict";
(function () {
  const ledger = window.gpufareLedger;
  const query = window.gpufareQuery;
  const words = JSON.parse(document.getElementById("words").textContent);
  const language = document.documentElement.lang;
  const sample = document.body.dataset.sample === "yes";
  const form = document.getElementById("filters");
  const table = document.getElementById("offers");
  const ROWS = 50;
  const LONGEST = 120;
  const UNKNOWN = "?";
  const PHONE = ["gpu", "gpu_count", "price", "provider", "availability"];
  const USUAL = ["gpu", "gpu_count", "vram_gib", "price", "purchase", "provider", "region", "availability", "age", "trend"];
  const GROUPED = ["gpu", "vram_gib", "purchase", "price", "median", "offers", "providers", "in_stock"];
  const FORMULA = /^[=+\-@\t\r]/;
  let state = query.read(location.search);
  let shown = { rows: [], columns: [] };

  function say(key, values) {
    let text = words.js[key];
    for (const [name, value] of Object.entries(values || {})) text = text.replace("[" + name + "]", value);
    return text;
  }

  // Made once: a format takes longer to make than fifty numbers take to write.
  const plain = new Intl.NumberFormat(language, { maximumFractionDigits: 4 });
  const moves = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1, signDisplay: "exceptZero" });
  const rates = new Intl.NumberFormat(language, { maximumSignificantDigits: 6 });
  const days = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" });
  const formats = new Map();

  function digits(amount) {
    if (state.currency === "VND") return amount < 100 ? 2 : 0;
    return amount === 0 ? 4 : Math.max(4, 3 - Math.floor(Math.log10(amount)));
  }

  // At least 2 decimals, at most 4, and never fewer than 4 digits that count, as on the command line; dong has none.
  function money(amount, locale) {
    if (Number.isNaN(amount)) return UNKNOWN;
    const most = Math.min(20, digits(amount));
    const key = locale + most;
    if (!formats.has(key)) {
      formats.set(key, new Intl.NumberFormat(locale, { minimumFractionDigits: Math.min(2, most), maximumFractionDigits: most, roundingMode: "halfEven", useGrouping: locale !== "csv" }));
    }
    return formats.get(key).format(amount);
  }

  function csvMoney(amount) {
    return Number.isNaN(amount) ? "" : money(amount, "en-u-nu-latn").replaceAll(",", "");
  }

  function unitText() {
    return words.unit[state.unit].replace("$", state.currency);
  }

  // A column: how a cell is filled, what it is in CSV, and what it is sorted by.
  function textColumn(name, told) {
    return {
      head: () => words.col[name],
      cell: (row) => text(told ? told(row) : ledger.value(name, row)),
      csv: (row) => (told ? told(row) : ledger.value(name, row)) ?? "",
      key: () => ranks(name),
    };
  }

  // Words of our own catalogue: short, so they stand on one line.
  function wordColumn(name) {
    const told = (row) => {
      const word = ledger.value(name, row);
      return word === null ? null : words[name] && words[name][word] ? words[name][word] : word;
    };
    return { ...textColumn(name, told), style: "word" };
  }

  function numberColumn(name, source) {
    const numbers = () => ledger.numeric(source || name);
    return {
      number: true,
      head: () => words.col[name],
      cell: (row) => text(Number.isNaN(numbers()[row]) ? null : plain.format(numbers()[row])),
      csv: (row) => (Number.isNaN(numbers()[row]) ? "" : String(Number(numbers()[row].toFixed(4)))),
      key: numbers,
    };
  }

  function ranks(name) {
    const { values, at } = ledger.columns[name];
    const collator = new Intl.Collator(language, { numeric: true });
    const order = values.map((_, index) => index).filter((index) => index > 0);
    order.sort((a, b) => collator.compare(String(values[a]), String(values[b])));
    const rank = new Float64Array(values.length).fill(NaN);
    order.forEach((index, place) => (rank[index] = place));
    return Float64Array.from(at, (index) => rank[index]);
  }

  function text(value) {
    const cell = document.createElement("bdi");
    const told = value === null || value === undefined || value === "" ? UNKNOWN : String(value);
    cell.textContent = told.length > LONGEST ? told.slice(0, LONGEST) + "…" : told;
    if (told.length > LONGEST) cell.title = told.slice(0, 1000);
    return cell;
  }

  function linked(node, address) {
    if (!address) return node;
    const link = document.createElement("a");
    link.href = address;
    link.append(node);
    return link;
  }

  function chip(kind, told) {
    const one = document.createElement("span");
    one.className = kind;
    one.textContent = told;
    return one;
  }

  function trend(row) {
    const move = ledger.numeric("trend")[row];
    if (Number.isNaN(move)) return null;
    const percent = moves.format(move);
    const isLow = ledger.numeric("usd_per_gpu_hour")[row] <= ledger.numeric("low_90d_usd")[row];
    return { percent, isLow, told: say(isLow ? "trend_low" : "trend", { percent }) };
  }

  const STOCK_ORDER = { available: 0, limited: 1, unknown: 2, sold_out: 3 };
  const COLUMNS = {
    gpu: {
      ...textColumn("gpu"),
      cell(row) {
        const model = ledger.value("model", row);
        return linked(text(ledger.value("gpu", row)), model !== null && ledger.told.gpus[model] ? "gpu/" + ledger.told.gpus[model] + ".html" : null);
      },
    },
    gpu_count: numberColumn("gpu_count"),
    vram_gib: numberColumn("vram_gib"),
    total_vram: numberColumn("total_vram"),
    price: {
      number: true,
      head: unitText,
      cell: (row) => text(money(prices()[row], language)),
      csv: (row) => csvMoney(prices()[row]),
      key: prices,
    },
    purchase: wordColumn("purchase"),
    term_months: numberColumn("term_months"),
    provider: {
      ...textColumn("provider", (row) => ledger.told.providers[ledger.value("provider", row)].title),
      cell(row) {
        const provider = ledger.told.providers[ledger.value("provider", row)];
        return linked(text(provider.title), "provider/" + provider.page + ".html");
      },
    },
    tier: textColumn("tier"),
    region: textColumn("region"),
    country: textColumn("country"),
    availability: {
      ...wordColumn("availability"),
      cell(row) {
        const word = ledger.value("availability", row);
        return chip("stock " + word, words.availability[word]);
      },
      key: () => Float64Array.from(ledger.columns.availability.at, (index) => STOCK_ORDER[ledger.columns.availability.values[index]]),
    },
    available_count: numberColumn("available_count"),
    age: {
      number: true,
      head: () => words.col.age,
      cell(row) {
        const stale = ledger.isStale(row);
        const age = chip(stale ? "age stale" : "age", window.gpufareAge(ledger.ageSeconds(row), stale));
        if (stale) age.title = say("stale");
        return age;
      },
      csv: (row) => window.gpufareAge(ledger.ageSeconds(row), ledger.isStale(row)),
      key: () => ledger.numeric("observed_at").map((at) => -at),
    },
    trend: {
      number: true,
      head: () => words.col.trend,
      cell(row) {
        const told = trend(row);
        return told ? chip(told.isLow ? "badge low" : "badge", told.told) : document.createTextNode("");
      },
      csv: (row) => (trend(row) ? trend(row).told : ""),
      key: () => ledger.numeric("trend"),
    },
    published: {
      number: true,
      head: () => words.col.published,
      cell: (row) => text(COLUMNS.published.csv(row)),
      csv(row) {
        const price = ledger.value("price", row);
        return price === null ? "" : price + " " + ledger.value("currency", row) + " / " + ledger.value("price_unit", row);
      },
      key: () => ledger.numeric("price"),
    },
    precision: textColumn("precision"),
    interconnect: textColumn("interconnect"),
    network_gbps: numberColumn("network_gbps"),
    billing_increment_s: numberColumn("billing_increment_s"),
    minimum_billing_s: numberColumn("minimum_billing_s"),
    vcpus: numberColumn("vcpus"),
    ram_gib: numberColumn("ram_gib"),
    disk_gib: numberColumn("disk_gib"),
    kind: wordColumn("kind"),
    instance_type: textColumn("instance_type"),
    segment: wordColumn("segment"),
    vendor: textColumn("vendor"),
    interruption_rate: textColumn("interruption_rate"),
    reseller_of: textColumn("reseller_of"),
    flags: textColumn("flags"),
    offer_key: textColumn("offer_key"),
  };

  function prices() {
    return ledger.price(state.unit, state.currency);
  }

  // Groups: rows of one card, memory and kind of purchase. Each is told by its cheapest row, the first of its list.
  function groups(rows) {
    const found = new Map();
    const numbers = prices();
    const isInStock = query.inStock();
    const [gpu, vram, bought] = ["gpu", "vram_gib", "purchase"].map((name) => ledger.columns[name]);
    for (const row of rows) {
      const key = (gpu.at[row] * vram.values.length + vram.at[row]) * bought.values.length + bought.at[row];
      const members = found.get(key);
      if (members) members.push(row);
      else found.set(key, [row]);
    }
    return Array.from(found.values(), function (members) {
      const priced = members.filter((row) => !Number.isNaN(numbers[row])).sort((a, b) => numbers[a] - numbers[b]);
      const middle = (priced.length - 1) / 2;
      return {
        row: priced.length ? priced[0] : members[0],
        price: priced.length ? numbers[priced[0]] : NaN,
        median: priced.length ? (numbers[priced[Math.floor(middle)]] + numbers[priced[Math.ceil(middle)]]) / 2 : NaN,
        offers: members.length,
        providers: new Set(members.map((row) => ledger.columns.provider.at[row])).size,
        in_stock: members.filter(isInStock).length,
      };
    });
  }

  function counted(name) {
    return {
      number: true,
      head: () => words.col[name],
      cell: (group) => text(plain.format(group[name])),
      csv: (group) => String(group[name]),
      sort: (group) => group[name],
    };
  }

  function ofRow(name) {
    const column = COLUMNS[name];
    let keys = null;
    return {
      ...column,
      cell: (group) => column.cell(group.row),
      csv: (group) => column.csv(group.row),
      sort: (group) => (keys ??= column.key())[group.row],
    };
  }

  function priced(name, head) {
    return {
      number: true,
      head,
      cell: (group) => text(money(group[name], language)),
      csv: (group) => csvMoney(group[name]),
      sort: (group) => group[name],
    };
  }

  const GROUP_COLUMNS = {
    gpu: ofRow("gpu"),
    vram_gib: ofRow("vram_gib"),
    purchase: ofRow("purchase"),
    price: priced("price", () => say("lowest", { unit: unitText() })),
    median: priced("median", () => say("median", { unit: unitText() })),
    offers: counted("offers"),
    providers: counted("providers"),
    in_stock: counted("in_stock"),
  };

  function usual() {
    return matchMedia("(max-width: 640px)").matches ? PHONE : USUAL;
  }

  function visible() {
    if (state.group) return GROUPED;
    const wanted = (state.columns || usual()).filter((name) => name in COLUMNS);
    return wanted.length ? wanted : usual();
  }

  function ordered(list) {
    const sign = state.dir === "desc" ? -1 : 1;
    let key;
    if (state.group) {
      const column = GROUP_COLUMNS[state.sort] || GROUP_COLUMNS.price;
      key = column.sort;
    } else {
      const name = state.sort in COLUMNS ? state.sort : "price";
      if (name === "price" && state.unit === "gpu" && sign === 1) return list; // so the rows come
      const keys = COLUMNS[name].key();
      key = (row) => keys[row];
    }
    return list.slice().sort(function (a, b) {
      const [x, y] = [key(a), key(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return sign * (x - y);
    });
  }

  function show() {
    const found = query.rows(state);
    const list = ordered(state.group ? groups(found.rows) : found.rows);
    const columns = visible();
    const made = state.group ? GROUP_COLUMNS : COLUMNS;
    const pages = Math.max(1, Math.ceil(list.length / ROWS));
    state.page = Math.min(state.page, pages);
    shown = { rows: list, columns, made };
    head(columns, made);
    body(list.slice((state.page - 1) * ROWS, state.page * ROWS), columns, made);
    document.getElementById("told").textContent = say(state.group ? "told_groups" : "told", { n: plain.format(list.length), rows: plain.format(found.rows.length), all: plain.format(ledger.count) });
    document.getElementById("page").textContent = say("page", { n: plain.format(state.page), of: plain.format(pages) });
    document.getElementById("previous").disabled = state.page <= 1;
    document.getElementById("next").disabled = state.page >= pages;
    document.getElementById("fault").textContent = found.faults.length ? say("fault", { fields: found.faults.map(label).join(", ") }) : "";
    for (const name of Object.keys(query.RANGES)) form.elements[name].setAttribute("aria-invalid", String(found.faults.includes(name)));
    const rate = ledger.told.rates[state.currency];
    const told = { rate: rates.format(Number(rate.per_usd)), currency: state.currency, day: days.format(new Date(rate.day)), source: rate.source };
    document.getElementById("rate").textContent = state.currency === "USD" ? "" : say("rate", told);
    try {
      const asked = query.write(state);
      history.replaceState(null, "", location.pathname + (asked ? "?" + asked : ""));
    } catch {
      // From a folder some browsers keep the address; the link to copy still tells all.
    }
  }

  function label(name) {
    return form.elements[name].closest("label").firstChild.textContent.trim();
  }

  function head(columns, made) {
    const row = document.createElement("tr");
    for (const name of columns) {
      const cell = document.createElement("th");
      const button = document.createElement("button");
      const isSorted = state.sort === name;
      cell.scope = "col";
      cell.className = made[name].number ? "num" : "";
      cell.dataset.column = name;
      cell.setAttribute("aria-sort", isSorted ? (state.dir === "desc" ? "descending" : "ascending") : "none");
      button.type = "button";
      button.textContent = made[name].head();
      button.addEventListener("click", function () {
        state.dir = isSorted && state.dir === "asc" ? "desc" : "asc";
        state.sort = name;
        state.page = 1;
        show();
        table.tHead.querySelector('[data-column="' + name + '"] button').focus();
      });
      cell.append(button);
      row.append(cell);
    }
    table.tHead.replaceChildren(row);
  }

  function body(list, columns, made) {
    const rows = list.map(function (one) {
      const row = document.createElement("tr");
      columns.forEach(function (name, index) {
        const cell = document.createElement(index ? "td" : "th");
        if (!index) cell.scope = "row";
        cell.className = made[name].number ? "num" : made[name].style || "";
        cell.append(made[name].cell(one));
        row.append(cell);
      });
      return row;
    });
    if (!rows.length) {
      const row = document.createElement("tr");
      const cell = document.createElement("td");
      cell.colSpan = columns.length;
      cell.textContent = say("nothing");
      row.append(cell);
      rows.push(row);
    }
    table.tBodies[0].replaceChildren(...rows);
  }

  function fromForm() {
    for (const name of [...Object.keys(query.RANGES), ...query.TEXTS, "stock", "precision", "segment", "group", "unit", "currency"]) {
      state[name] = form.elements[name].value.trim();
    }
    state.serverless = form.elements.serverless.checked ? "yes" : "";
    state.purchase = checked("purchase").join(",") || "any";
    state.page = 1;
    show();
  }

  function checked(name) {
    return Array.from(form.querySelectorAll('input[name="' + name + '"]:checked'), (box) => box.value);
  }

  function toForm() {
    for (const name of [...Object.keys(query.RANGES), ...query.TEXTS, "stock", "precision", "segment", "group", "unit", "currency"]) {
      form.elements[name].value = state[name];
    }
    form.elements.serverless.checked = state.serverless === "yes";
    const bought = state.purchase.split(",");
    for (const box of form.querySelectorAll('input[name="purchase"]')) box.checked = bought.includes(box.value);
    for (const box of form.querySelectorAll('input[name="column"]')) box.checked = visible().includes(box.value);
    if (["region", "total_vram", "ram", "billing", "interconnect", "precision", "segment", "serverless"].some((name) => state[name])) {
      document.getElementById("more").open = true;
    }
  }

  function offerLists() {
    const names = { gpu: "model", provider: "provider", country: "country", interconnect: "interconnect" };
    for (const [name, column] of Object.entries(names)) {
      const options = ledger.columns[column].values.slice(1).map(String).sort();
      document.getElementById("list-" + name).replaceChildren(
        ...options.map(function (value) {
          const option = document.createElement("option");
          option.value = value;
          return option;
        }),
      );
    }
    const choices = Object.keys(COLUMNS).map(function (name) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.name = "column";
      box.value = name;
      label.className = "check";
      label.append(box, " " + (words.col[name] || name));
      return label;
    });
    document.getElementById("columns").replaceChildren(...choices);
  }

  // The view as CSV: the columns, rows, order, unit and currency that are shown, of all pages; numbers with a point.
  function csv() {
    const { rows, columns, made } = shown;
    const lines = [columns.map((name) => made[name].head())];
    for (const row of rows) lines.push(columns.map((name) => guarded(String(made[name].csv(row)), made[name].number)));
    if (sample) lines.forEach((line, index) => line.push(index ? say("sample") : say("notice")));
    return lines.map((line) => line.map(field).join(",")).join("\r\n") + "\r\n";
  }

  function guarded(value, isNumber) {
    return !isNumber && FORMULA.test(value) ? "'" + value : value;
  }

  function field(value) {
    return /[",\r\n]/.test(value) ? '"' + value.replaceAll('"', '""') + '"' : value;
  }

  function address() {
    const root = new URL(document.body.dataset.root + "../../index.html", location.href);
    const told = query.write(state);
    return root.href.split(/[?#]/)[0] + "?p=" + document.body.dataset.page + (told ? "&" + told : "");
  }

  function copied(value, note) {
    const done = document.getElementById("done");
    const code = document.createElement("code");
    code.textContent = value;
    const tell = (key) => done.replaceChildren(say(key) + " ", code, note ? " " + note : "");
    if (!navigator.clipboard) return tell("copy_this");
    return navigator.clipboard.writeText(value).then(() => tell("copied"), () => tell("copy_this"));
  }

  form.addEventListener("input", function (event) {
    if (event.target.name === "column") {
      state.columns = checked("column");
      show();
    } else {
      fromForm();
    }
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", function (event) {
    event.preventDefault();
    state = query.read("");
    toForm();
    show();
  });
  document.getElementById("copy-link").addEventListener("click", () => copied(address()));
  document.getElementById("copy-command").addEventListener("click", function () {
    const told = query.command(state);
    copied(told.command, told.left.length ? say("command_lacks", { fields: told.left.map((name) => words.col[name] || name).join(", ") }) : "");
  });
  document.getElementById("save-csv").addEventListener("click", function () {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = "gpufare" + (sample ? "-sample" : "") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  for (const [name, step] of [["previous", -1], ["next", 1]]) {
    document.getElementById(name).addEventListener("click", function () {
      state.page += step;
      show();
      document.getElementById("scroll").focus();
    });
  }
  window.addEventListener("popstate", function () {
    state = query.read(location.search);
    toForm();
    show();
  });

  offerLists();
  toForm();
  show();
})();
