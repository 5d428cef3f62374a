// What a job needs, which offers hold it, and what its hours cost. Memory and billed hours were worked out by the planner
// and lie in data/fit.js as points; here they are interpolated, compared and multiplied.
"use strict";
(function () {
  const told = window.FIT;
  const ledger = window.gpufareLedger;
  const IN_STOCK = ["available", "limited"];
  const HOURS = told.hours[0].map((_, column) => told.hours.map((point) => point[column]));

  // The value at x of straight lines through points of ascending xs.
  function along(xs, ys, x) {
    let right = 1;
    while (right < xs.length - 1 && xs[right] < x) right++;
    const share = (x - xs[right - 1]) / (xs[right] - xs[right - 1]);
    return ys[right - 1] + share * (ys[right] - ys[right - 1]);
  }

  // A line in hundredths of GiB: one number, or place on the grid, value, place, value ...
  function gib(line, tokens) {
    if (typeof line === "number") return line / 100;
    const places = line.filter((_, index) => index % 2 === 0);
    const values = line.filter((_, index) => index % 2 === 1);
    return along(places.map((place) => told.tokens[place]), values, tokens) / 100;
  }

  // GiB of each GPU of a node: low, expected, high and the expected terms. Null for a number of GPUs that is not worked out.
  function memory(model, method, gpus, tokens) {
    const lines = told.series[model][method].l[told.sizes.indexOf(gpus)];
    if (!lines) return null;
    const terms = lines.slice(2).map((line) => gib(line, tokens));
    const expected = terms.reduce((sum, term) => sum + term, 0);
    return { low: gib(lines[0], tokens), expected, high: gib(lines[1], tokens), terms };
  }

  // A fact that is known, three times; else the least that can be, and the lower median and most of what providers tell.
  function known(name, row, least) {
    const own = ledger.numeric(name)[row];
    const facts = told.billing[ledger.value("provider", row)];
    const fact = facts ? facts[name === "billing_increment_s" ? 0 : 1] : null;
    if (!Number.isNaN(own)) return [own, own, own];
    if (fact !== null) return [fact, fact, fact];
    const others = told.told_by_providers[name];
    return [least, others[1], others[2]];
  }

  // Of one interruptible run: seconds billed beyond the useful ones, and interruptions, each low, expected and high.
  function takenBack(hours) {
    const run = Math.round(3600 * hours);
    const at = (column) => along(HOURS[0], HOURS[column], run / 3600);
    return { more: [1, 2, 3].map((column) => 3600 * at(column) - run), times: [4, 5, 6].map(at) };
  }

  const NEVER = { more: [0, 0, 0], times: [0, 0, 0] };

  // USD of one run of some useful hours, each low, expected and high; `unknown` are the facts that widen it.
  function cost(row, hours, interruptible = takenBack(hours)) {
    const run = Math.round(3600 * hours);
    const usd = ledger.numeric("usd_per_hour")[row] / 3600;
    const isTakenBack = told.interruptible.includes(ledger.value("purchase", row));
    const { more, times } = isTakenBack ? interruptible : NEVER;
    const steps = known("billing_increment_s", row, 1);
    const minima = known("minimum_billing_s", row, 0);
    const added = (step, minimum) => Math.max(minimum, Math.ceil(run / step) * step) - run;
    const every = steps.flatMap((step) => minima.map((minimum) => added(step, minimum)));
    const rounding = [Math.min(...every), added(steps[1], minima[1]) + (times[1] / 2) * steps[1], Math.max(...every) + times[2] * steps[2]];
    const unknown = [];
    if (new Set(steps.map((step) => added(step, minima[0]))).size > 1 || (steps[0] !== steps[2] && times[2] > 0)) unknown.push("billing_increment_s");
    if (new Set(minima.map((minimum) => added(steps[0], minimum))).size > 1) unknown.push("minimum_billing_s");
    const money = (seconds) => seconds.map((one) => one * usd);
    return {
      compute: run * usd,
      rounding: money(rounding),
      interruptions: isTakenBack ? money(more) : null,
      total: money(more.map((one, end) => run + one + rounding[end])),
      unknown,
    };
  }

  // What speaks against an offer: places of the planner's texts, or names of texts of this page with their values.
  function reasons(row, state, technique, need) {
    const found = [];
    const shape = told.shapes[told.rows[row]];
    const stock = ledger.value("availability", row);
    if (!state.purchase.includes(ledger.value("purchase", row))) return null;
    if (state.stock && !IN_STOCK.includes(stock)) return null;
    if (ledger.isStale(row)) found.push(["stale"]);
    if (stock === "sold_out") found.push(["sold_out"]);
    if (Number.isNaN(ledger.numeric("usd_per_hour")[row])) found.push(["no_price"]);
    if (ledger.value("kind", row) === "serverless") found.push(["serverless"]);
    if ((ledger.numeric("gpu_count")[row] || 0) < (told.sold_from[row] || 0)) found.push(["sold_from", { count: told.sold_from[row] }]);
    for (const text of shape[2][technique]) found.push([text]);
    if (shape[2][technique].length === 0) {
      if (need === null) found.push(["not_worked_out"]);
      else if (need.expected > shape[0]) found.push(["too_little", { need: need.expected, usable: shape[0] }]);
    }
    return found;
  }

  function order(a, b) {
    return (
      a.unsure - b.unsure || a.slow - b.slow || a.cost.total[1] - b.cost.total[1] || a.price - b.price || compare(a.provider, b.provider) || compare(a.key, b.key)
    );
  }

  function compare(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
  }

  // Nodes larger than another of the same card, provider and purchase that holds the job for no more are left out.
  function smallest(choices) {
    const least = new Map();
    const kept = [];
    const larger = [];
    for (const one of choices.slice().sort((a, b) => a.gpus - b.gpus)) {
      const kind = [one.unsure, ...["provider", "gpu", "vram_gib", "purchase"].map((name) => ledger.columns[name].at[one.row])].join(" ");
      if (!least.has(kind)) least.set(kind, one);
      const first = least.get(kind);
      if (one.gpus > first.gpus && one.cost.total[1] >= first.cost.total[1]) larger.push({ row: one.row, reasons: [["fewer_would_do", { count: first.gpus }]] });
      else kept.push(one);
    }
    return { kept: kept.sort(order), larger };
  }

  // The offers that hold the job, best first, and those that do not, with every reason.
  function plan(state) {
    const series = told.series[state.model][state.method];
    const needs = new Map(told.sizes.map((size) => [size, memory(state.model, state.method, size, state.seq * state.batch)]));
    const interruptible = takenBack(state.hours);
    const choices = [];
    const left = [];
    for (let row = 0; row < ledger.count; row++) {
      const gpus = ledger.numeric("gpu_count")[row];
      const need = needs.get(gpus) || null;
      const against = reasons(row, state, series.t, need);
      if (against === null) continue;
      if (against.length) {
        left.push({ row, reasons: against });
        continue;
      }
      const [usable, slow, , notes] = told.shapes[told.rows[row]];
      choices.push({
        row, gpus, need, usable, slow,
        headroom: (usable - need.expected) / usable,
        unsure: Number(!IN_STOCK.includes(ledger.value("availability", row))),
        cost: cost(row, state.hours, interruptible),
        price: ledger.numeric("usd_per_hour")[row],
        provider: ledger.value("provider", row),
        key: ledger.value("offer_key", row),
        notes: notes[series.t],
      });
    }
    const { kept, larger } = smallest(choices);
    return { needs, choices: kept, left: [...left, ...larger], series };
  }

  window.gpufareFit = { told, memory, cost, plan };
})();
