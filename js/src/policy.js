// Decisions by a copy of the policy, as docs/formats/policy.md defines them: the same arm for the
// same unit as the service. It needs no other code, in browsers and in Node.

const TWO64 = 1n << 64n;
const MASK = TWO64 - 1n;
const encoder = new TextEncoder();

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the
// square roots of the first 8 (FIPS 180-4), by integer roots.
const [K, H0] = (() => {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);
  const root = (n, power) => {
    let low = 0n;
    for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) if ((low + bit) ** power <= n) low += bit;
    return Number(low & 0xffffffffn) | 0;
  };
  return [
    primes.map((p) => root(BigInt(p) << 96n, 3n)),
    primes.slice(0, 8).map((p) => root(BigInt(p) << 64n, 2n)),
  ];
})();

/** The first 8 bytes, big-endian, of the SHA-256 of bytes. */
function sha64(bytes) {
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const h = H0.slice();
  const w = new Int32Array(64);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15];
      const b = w[i - 2];
      w[i] = (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10)) + w[i - 16] + w[i - 7];
    }
    let [a, b, c, d, e, f, g, k] = h;
    for (let i = 0; i < 64; i++) {
      const one = (k + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [k, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, k].forEach((x, i) => { h[i] = (h[i] + x) | 0; });
  }
  return (BigInt(h[0] >>> 0) << 32n) | BigInt(h[1] >>> 0);
}

/** Hash(purpose, salt, unit) of policy.md, a BigInt below 2^64. */
export function hash(purpose, salt, unit) {
  const parts = [purpose, salt, unit].map((text) => encoder.encode(text));
  const bytes = new Uint8Array(parts.reduce((n, p) => n + 4 + p.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const p of parts) {
    view.setUint32(at, p.length);
    bytes.set(p, at + 4);
    at += 4 + p.length;
  }
  return sha64(bytes);
}

/** Mix(z) of policy.md. */
export function mix(z) {
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

/** The index on which x falls when the parts divide a range in their order. */
function fall(parts, x) {
  let end = 0n;
  for (let i = 0; i < parts.length; i++) if (x < (end += parts[i])) return i;
  throw new RangeError('the parts do not fill the range');
}

/** A policy that decides for units. It refuses contextual policies: ask the service for those. */
export class LocalPolicy {
  #policy;
  #links;
  #holdBack;
  #holdKey;
  #armKey;

  /** @param policy the answer of GET /v1/experiments/{name}/policy */
  constructor(policy) {
    if (policy.linear) throw new TypeError(`the policy of ${policy.experiment} is contextual: ask the service`);
    const key = (purpose) => hash(purpose, policy.salt, '');
    this.#policy = policy;
    this.#holdBack = BigInt(policy.hold_back);
    this.#holdKey = key('hold-back');
    this.#armKey = key(policy.stream);
    this.#links = policy.links.map(({ version, split }, i) => {
      const shares = split.map(BigInt);
      if (shares.length !== policy.arms.length || shares.some((s) => s < 0n) ||
        shares.reduce((a, b) => a + b, 0n) !== TWO64) {
        throw new RangeError(`link ${i} does not split 2^64 among ${policy.arms.length} arms`);
      }
      return { shares, coin: key(`coin/${version}`), move: key(`move/${version}`) };
    });
    if (this.#links.length === 0 || (this.#holdBack > 0n && !policy.arms[policy.control])) {
      throw new RangeError('no links, or units are held back without a control arm: no decision is possible');
    }
    for (let i = 1; i < this.#links.length; i++) {
      const before = this.#links[i - 1].shares;
      const link = this.#links[i];
      link.before = before.map((h) => (h === TWO64 ? MASK : h));
      link.growth = link.shares.map((w, k) => (w > before[k] ? w - before[k] : 0n));
      link.grown = link.growth.reduce((a, b) => a + b, 0n);
    }
  }

  get version() { return this.#policy.version; }
  get experiment() { return this.#policy.experiment; }
  get metrics() { return this.#policy.metrics ?? []; }
  /** The answer of the service, which another Local can have as its first. */
  get form() { return this.#policy; }

  /** The arm of a unit: { unit, arm, index, value, propensity, version, heldBack, hash }. */
  decide(unit) {
    if (typeof unit !== 'string' || !unit.isWellFormed()) throw new TypeError('unit: want a string of valid Unicode');
    const bytes = encoder.encode(unit).length;
    if (bytes < 1 || bytes > 512) throw new RangeError(`unit: ${bytes} bytes: want 1 to 512`);
    const p = this.#policy;
    const u = hash('unit', p.salt, unit);
    const draw = (key) => mix(u ^ key);
    const heldBack = draw(this.#holdKey) < this.#holdBack;
    let k = p.control;
    let propensity = 1;
    if (!heldBack) {
      k = fall(this.#links[0].shares, draw(this.#armKey));
      for (const l of this.#links.slice(1)) {
        if (l.shares[k] < l.before[k] && ((draw(l.coin) * l.before[k]) >> 64n) >= l.shares[k]) {
          k = fall(l.growth, (draw(l.move) * l.grown) >> 64n);
        }
      }
      propensity = Number(this.#links.at(-1).shares[k]) / 2 ** 64;
    }
    const { name, value } = p.arms[k];
    return {
      unit, arm: name, index: k, value, propensity, version: p.version, heldBack,
      hash: u.toString(16).padStart(16, '0'),
    };
  }
}
