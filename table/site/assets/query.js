// What is asked of the table: typed filters, the state in the address, and the same question as a command.
"use strict";
(function () {
  const ledger = window.gpufareLedger;
  const RANGES = { vram: "vram_gib", count: "gpu_count", total_vram: "total_vram", ram: "ram_gib", billing: "billing_increment_s", price: "price" };
  const TEXTS = ["gpu", "provider", "country", "region", "interconnect"];
  const WORDS = ["stock", "precision", "segment", "serverless", "group"];
  const DEFAULTS = { purchase: "on_demand", unit: "gpu", currency: "USD", sort: "price", dir: "asc" };
  const NETWORKS = ["infiniband", "roce", "efa", "ethernet"];

  function squash(text) {
    return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  }

  function amount(text) {
    const share = /^(\d+)\s*\/\s*(\d+)$/.exec(text);
    if (share) return Number(share[1]) / Number(share[2]);
    const plain = text.replace(/^(\d+),(\d+)$/, "$1.$2");
    return /^\d*\.?\d+$|^\d+\.$/.test(plain) ? Number(plain) : NaN;
  }

  // `>=24`, `20..40`, `<3 && >1`, `8`: low and high, and whether each end is left out. Null for what is none of these.
  function range(text) {
    if (text.includes("...")) return null;
    const found = { low: -Infinity, high: Infinity, lowOpen: false, highOpen: false };
    for (const part of text.split("&&").map((one) => one.trim())) {
      const span = /^([^.]*(?:\.\d+)?)\s*\.\.\s*(.*)$/.exec(part);
      const compared = /^(>=|<=|>|<|=)?\s*(.+)$/.exec(part);
      if (span && (span[1].trim() || span[2].trim())) {
        const low = span[1].trim() ? amount(span[1].trim()) : -Infinity;
        const high = span[2].trim() ? amount(span[2].trim()) : Infinity;
        if (Number.isNaN(low) || Number.isNaN(high)) return null;
        narrow(found, low, high, false, false);
      } else if (compared) {
        const number = amount(compared[2].trim());
        if (Number.isNaN(number)) return null;
        const sign = compared[1] || "=";
        narrow(found, sign[0] === "<" ? -Infinity : number, sign[0] === ">" ? Infinity : number, sign === ">", sign === "<");
      } else {
        return null;
      }
    }
    return found;
  }

  function narrow(found, low, high, lowOpen, highOpen) {
    if (low > found.low || (low === found.low && lowOpen)) [found.low, found.lowOpen] = [low, lowOpen];
    if (high < found.high || (high === found.high && highOpen)) [found.high, found.highOpen] = [high, highOpen];
  }

  function list(text) {
    return text.split(",").map((word) => word.trim()).filter(Boolean);
  }

  // Which values of a column a list of words means: the same name, else every name that holds the word.
  function meant(values, words, names) {
    const found = new Uint8Array(values.length);
    for (const word of words.map(squash)) {
      const same = values.map((one) => one !== null && names(one).some((name) => squash(name) === word));
      const any = same.includes(true);
      values.forEach(function (one, index) {
        if (any ? same[index] : one !== null && names(one).some((name) => squash(name).includes(word))) found[index] = 1;
      });
    }
    return found;
  }

  const namesOfRegions = [document.documentElement.lang, "en"].map((language) => new Intl.DisplayNames([language], { type: "region" }));

  function countryNames(code) {
    const names = [code];
    for (const told of namesOfRegions) {
      try {
        names.push(told.of(code));
      } catch {
        // A code that the browser does not know is found by itself.
      }
    }
    return names;
  }

  const NAMES = {
    provider: (slug) => [slug, ledger.told.providers[slug].title],
    country: countryNames,
    region: (name) => [name],
    interconnect: (name) => [name],
  };

  // Each name of the column of GPUs as it is compared, and that of its model; made once.
  let cards = null;
  function gpuNames() {
    if (cards !== null) return cards;
    const { values, at } = ledger.columns.gpu;
    const model = ledger.columns.model;
    const models = new Array(values.length).fill(null);
    for (let row = 0; row < ledger.count; row++) models[at[row]] = model.values[model.at[row]];
    cards = values.map((one, index) => ({
      name: one === null ? null : squash(one),
      model: models[index] === null ? null : squash(models[index]),
    }));
    return cards;
  }

  function gpuTest(text) {
    const names = gpuNames();
    const { at } = ledger.columns.gpu;
    const counts = ledger.numeric("gpu_count");
    const asked = list(text).map(function (word) {
      const counted = /^(.*):\s*(\d+(?:\.\d+)?)$/.exec(word);
      const name = squash(counted ? counted[1] : word);
      const same = names.map((one) => one.name !== null && (one.name === name || one.model === name));
      const any = same.includes(true);
      return {
        count: counted ? Number(counted[2]) : null,
        ids: names.map((one, index) => (any ? same[index] : one.name !== null && one.name.includes(name))),
      };
    });
    return (row) => asked.some((one) => one.ids[at[row]] && (one.count === null || counts[row] === one.count));
  }

  // The tests of a state, and the names of the fields that could not be read.
  function tests(state) {
    const found = [];
    const faults = [];
    for (const [field, column] of Object.entries(RANGES)) {
      if (!state[field]) continue;
      const asked = range(state[field]);
      if (asked === null) {
        faults.push(field);
        continue;
      }
      const numbers = column === "price" ? ledger.price(state.unit, state.currency) : ledger.numeric(column);
      const { low, high, lowOpen, highOpen } = asked;
      found.push(function (row) {
        const number = numbers[row];
        return (lowOpen ? number > low : number >= low) && (highOpen ? number < high : number <= high);
      });
    }
    if (state.gpu) found.push(gpuTest(state.gpu));
    for (const field of TEXTS.slice(1)) {
      if (!state[field]) continue;
      const { values, at } = ledger.columns[field];
      const ids = meant(values, list(state[field]), NAMES[field]);
      found.push((row) => ids[at[row]] === 1);
    }
    const bought = list(state.purchase);
    if (!bought.includes("any")) found.push(oneOf("purchase", bought));
    if (state.segment) found.push(oneOf("segment", [state.segment]));
    if (!state.serverless) {
      const { values, at } = ledger.columns.kind;
      const serverless = values.indexOf("serverless");
      found.push((row) => serverless < 0 || at[row] !== serverless);
    }
    if (state.stock === "in_stock") {
      found.push(inStock());
    } else if (state.stock) {
      found.push(oneOf("availability", [state.stock]));
    }
    if (state.precision) {
      const { values, at } = ledger.columns.precision;
      const has = values.map((one) => one !== null && one.split(" ").includes(state.precision));
      found.push((row) => has[at[row]]);
    }
    return { tests: found, faults };
  }

  // To be had now: available or limited, and read within the provider's window.
  function inStock() {
    const test = oneOf("availability", ["available", "limited"]);
    const stale = ledger.staleProviders();
    const { at } = ledger.columns.provider;
    return (row) => test(row) && !stale[at[row]];
  }

  function oneOf(name, words) {
    const { values, at } = ledger.columns[name];
    const ids = values.map((one) => words.includes(one));
    return (row) => ids[at[row]];
  }

  function rows(state) {
    const asked = tests(state);
    const found = [];
    for (let row = 0; row < ledger.count; row++) {
      if (asked.tests.every((test) => test(row))) found.push(row);
    }
    return { rows: found, faults: asked.faults };
  }

  function read(search) {
    const asked = new URLSearchParams(search);
    const state = { ...DEFAULTS, columns: null, page: 1 };
    for (const name of [...Object.keys(RANGES), ...TEXTS, ...WORDS]) state[name] = asked.get(name) || "";
    for (const name of Object.keys(DEFAULTS)) if (asked.get(name)) state[name] = asked.get(name);
    if (asked.get("columns")) state.columns = list(asked.get("columns"));
    if (!(state.currency in ledger.told.rates)) state.currency = "USD";
    if (!["gpu", "instance", "gib", "month"].includes(state.unit)) state.unit = "gpu";
    if (state.dir !== "desc") state.dir = "asc";
    state.page = Math.max(1, Number.parseInt(asked.get("page"), 10) || 1);
    return state;
  }

  function write(state) {
    const told = new URLSearchParams();
    for (const name of [...Object.keys(RANGES), ...TEXTS, ...WORDS]) if (state[name]) told.set(name, state[name]);
    for (const [name, usual] of Object.entries(DEFAULTS)) if (state[name] !== usual) told.set(name, state[name]);
    if (state.columns) told.set("columns", state.columns.join(","));
    if (state.page > 1) told.set("page", String(state.page));
    return told.toString();
  }

  function quoted(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
  }

  // The question as a command, and the fields that the command has no way to ask for as they stand here.
  function command(state) {
    const words = ["gpufare", "offers"];
    const left = [];
    const OPTIONS = { vram: "--vram", count: "--count", total_vram: "--total-vram", ram: "--ram" };
    for (const gpu of list(state.gpu)) words.push(quoted(gpu));
    for (const field of Object.keys(RANGES)) {
      const asked = state[field] ? range(state[field]) : null;
      if (asked === null) continue;
      if (field === "price") {
        if (state.unit === "gpu" && state.currency === "USD" && asked.high < Infinity) words.push("--max-price", String(asked.high));
        else left.push(field);
        if (asked.low > -Infinity || asked.highOpen) left.push(field);
      } else if (field in OPTIONS) {
        const low = asked.low === -Infinity ? "" : String(asked.low);
        const high = asked.high === Infinity ? "" : String(asked.high);
        words.push(OPTIONS[field], low === high ? low : low + ".." + high);
        if (asked.lowOpen || asked.highOpen) left.push(field);
      } else {
        left.push(field);
      }
    }
    for (const field of ["provider", "country", "region"]) {
      if (!state[field]) continue;
      const { values } = ledger.columns[field];
      const ids = meant(values, list(state[field]), NAMES[field]);
      const names = values.filter((one, index) => ids[index]);
      if (names.length && field !== "region") words.push("--" + field, quoted(names.join(",")));
      else left.push(field);
    }
    if (state.interconnect) {
      if (NETWORKS.includes(squash(state.interconnect))) words.push("--network", squash(state.interconnect));
      else left.push("interconnect");
    }
    if (state.purchase !== "on_demand") words.push("--purchase", state.purchase.replaceAll("_", "-"));
    if (state.stock === "in_stock") words.push("--in-stock");
    else if (state.stock) left.push("stock");
    if (state.segment) words.push("--segment", state.segment);
    if (state.serverless) words.push("--serverless");
    if (state.precision) left.push("precision");
    const prices = { gpu: null, instance: "price", month: "price", gib: "usd_per_gib_hour" };
    const sorts = { price: prices[state.unit], vram_gib: "vram", gpu_count: "count", total_vram: "total_vram", provider: "provider", gpu: "gpu", region: "region", age: "age", availability: "availability" };
    if (!(state.sort in sorts) || (state.dir === "desc") !== ["vram_gib", "gpu_count", "total_vram"].includes(state.sort)) left.push("sort");
    else if (sorts[state.sort]) words.push("--sort", sorts[state.sort]);
    if (state.currency !== "USD") left.push("currency");
    if (state.group) left.push("group");
    return { command: words.join(" "), left: [...new Set(left)] };
  }

  window.gpufareQuery = { RANGES, TEXTS, WORDS, range, rows, read, write, command, inStock };
})();
