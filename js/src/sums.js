// Sums of metrics by policy version and arm, which reports are made of.

/** The value of a metric; an error for one that the service would reject. */
function check(policy, name, v) {
  const m = policy.metrics.find((x) => x.name === name && x.kind !== 'ratio');
  if (!m) throw new RangeError(`metrics.${name}: not a metric of ${policy.experiment}`);
  const [low, high] = m.range ?? [m.kind === 'count' ? 0 : -1e15, 1e15];
  if (typeof v !== 'number' || !(v >= low && v <= high)) {
    throw new RangeError(`metrics.${name}: ${v}: want a number in [${low}, ${high}]`);
  }
  if (m.kind === 'count' && !Number.isInteger(v)) throw new RangeError(`metrics.${name}: ${v}: a count is a whole number`);
  return v;
}

function add(sums, values) {
  sums.n = (sums.n ?? 0) + 1;
  for (const [k, v] of Object.entries(values)) sums[k] = (sums[k] ?? 0) + v;
}

/** Sums that grow by units. It remembers the latest units, which count once. */
export class Sums {
  #remember;
  #seen = new Set();
  #items = new Map();

  constructor(remember) { this.#remember = remember; }

  /** Begins with sums of an earlier process. */
  restore(items) { for (const i of items) this.#items.set(JSON.stringify([i.version, i.held_back ?? false, i.arm]), i); }

  /** Counts a unit; false if it was counted before. After an error nothing has changed. */
  add(policy, d, metrics) {
    const values = new Map(Object.entries(metrics).map(([name, v]) => [name, check(policy, name, v)]));
    const id = `${d.version} ${d.hash}`;
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    if (this.#seen.size > this.#remember) this.#seen.delete(this.#seen.values().next().value);
    const key = JSON.stringify([d.version, d.heldBack, d.arm]);
    const item = this.#items.get(key) ?? { version: d.version, arm: d.arm, units: 0 };
    this.#items.set(key, item);
    if (d.heldBack) item.held_back = true;
    item.units++;
    for (const { name, default: v } of policy.metrics) if (v !== undefined && !values.has(name)) values.set(name, v);
    for (const { name, cap = Infinity } of policy.metrics) {
      if (!values.has(name)) continue;
      const v = Math.min(Math.max(values.get(name), -cap), cap);
      values.set(name, v);
      item.metrics ??= {};
      const sums = (item.metrics[name] ??= {});
      if (sums.n === undefined || 'low' in sums) {
        sums.low = Math.min(sums.low ?? v, v);
        sums.high = Math.max(sums.high ?? v, v);
      }
      add(sums, { sum: v, squares: v * v });
    }
    for (const { name, kind, numerator, denominator } of policy.metrics) {
      if (kind !== 'ratio' || !values.has(numerator) || !values.has(denominator)) continue;
      const [x, y] = [values.get(numerator), values.get(denominator)];
      item.pairs ??= {};
      add((item.pairs[name] ??= {}), { x, y, xx: x * x, yy: y * y, xy: x * y });
    }
    return true;
  }

  /** The sums. */
  items() { return [...this.#items.values()]; }

  /** Forgets the sums, but not the units. */
  clear() { this.#items.clear(); }
}
