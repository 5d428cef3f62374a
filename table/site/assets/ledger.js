// The offers as columns. A column is a list of its distinct values, null first, and for each row the number of its value.
"use strict";
(function () {
  const told = window.LEDGER;
  const count = told.rows;
  const columns = {};
  for (const [name, column] of Object.entries(told.columns)) {
    columns[name] = { values: [null, ...column.d], at: new Uint32Array(column.i) };
  }
  const HOURS_PER_MONTH = 730;
  const numbers = new Map();

  function value(name, row) {
    const column = columns[name];
    return column.values[column.at[row]];
  }

  // A column of numbers, NaN where unknown.
  function numeric(name) {
    if (!numbers.has(name)) numbers.set(name, made(name));
    return numbers.get(name);
  }

  function made(name) {
    const found = new Float64Array(count);
    if (name === "total_vram") {
      const each = numeric("vram_gib");
      const many = numeric("gpu_count");
      for (let row = 0; row < count; row++) found[row] = each[row] * many[row];
    } else if (name === "observed_at") {
      const { values, at } = columns.provider;
      const times = values.map((slug) => (slug === null ? NaN : Date.parse(told.providers[slug].observed_at)));
      for (let row = 0; row < count; row++) found[row] = times[at[row]];
    } else if (name === "trend") {
      const now = numeric("usd_per_gpu_hour");
      const median = numeric("median_30d_usd");
      for (let row = 0; row < count; row++) found[row] = now[row] / median[row] - 1;
    } else {
      const { values, at } = columns[name];
      const known = Float64Array.from(values, (one) => (one === null ? NaN : Number(one)));
      for (let row = 0; row < count; row++) found[row] = known[at[row]];
    }
    return found;
  }

  // Price of each row in a unit (gpu, instance, gib, month) and currency, at the rate that the page names.
  function price(unit, currency) {
    const name = "price " + unit + " " + currency;
    if (numbers.has(name)) return numbers.get(name);
    const base = numeric(unit === "gpu" || unit === "gib" ? "usd_per_gpu_hour" : "usd_per_hour");
    const vram = numeric("vram_gib");
    const rate = Number(told.rates[currency].per_usd);
    const found = new Float64Array(count);
    for (let row = 0; row < count; row++) {
      const by = unit === "gib" ? 1 / vram[row] : unit === "month" ? HOURS_PER_MONTH : 1;
      found[row] = base[row] * by * rate;
    }
    numbers.set(name, found);
    return found;
  }

  function ageSeconds(row) {
    return (window.gpufareNow() - numeric("observed_at")[row]) / 1000;
  }

  // For each number of the column of providers: is its reading past its window?
  function staleProviders() {
    const now = window.gpufareNow();
    return columns.provider.values.map(function (slug) {
      const provider = told.providers[slug];
      return slug !== null && (now - Date.parse(provider.observed_at)) / 1000 > provider.fresh_for_h * 3600;
    });
  }

  function isStale(row) {
    return ageSeconds(row) > told.providers[value("provider", row)].fresh_for_h * 3600;
  }

  window.gpufareLedger = { told, count, columns, value, numeric, price, ageSeconds, isStale, staleProviders };
})();
