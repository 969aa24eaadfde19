// What both OpenFeature providers share: they remember the decisions of units, report exposures, and
// turn tracked events into feedback.

/** The number of units whose decisions are remembered; the oldest are forgotten. */
const maxUnits = 10_000;

export class Reporter {
  #client;
  #metrics;
  #exposures;
  #onError;
  #units = new Map();
  #pending = new Set();

  constructor(client, { metrics = {}, exposures = true, onError = () => {} } = {}) {
    this.#client = client;
    this.#metrics = metrics;
    this.#exposures = exposures;
    this.#onError = onError;
  }

  /** Remembers the decision of an evaluated flag, and reports its exposure once for each version. */
  saw(unit, flag) {
    const { decisionId: token, policyVersion: version, context } = flag.metadata;
    const seen = this.#units.get(unit) ?? new Map();
    this.#units.delete(unit);
    this.#units.set(unit, seen);
    if (this.#units.size > maxUnits) this.#units.delete(this.#units.keys().next().value);
    const last = seen.get(flag.key);
    seen.set(flag.key, { token, version });
    if (!this.#exposures || (last && last.version === version)) return;
    this.#send(this.#client.expose([context ? { token, context: JSON.parse(context) } : { token }]));
  }

  /** Reports an event as the metric of its name, for each flag that the unit saw and that has it. */
  track(name, unit, value = 1) {
    const items = [];
    for (const [key, { token }] of this.#units.get(unit) ?? []) {
      if ((this.#metrics[key] ?? []).includes(name)) items.push({ token, metrics: { [name]: value } });
    }
    if (items.length > 0) this.#send(this.#client.feedback(items));
  }

  #send(promise) {
    const done = promise.then((f) => {
      for (const i of f.items) if (i.status === 'rejected') this.#onError(new Error(i.error));
    }, this.#onError).finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }

  /** Waits for the answers to what has been reported. */
  async flush() { while (this.#pending.size > 0) await Promise.all(this.#pending); }
}

/** The details of OpenFeature for an evaluated flag; other types than the default's are a mismatch. */
export function details(flag, fallback, ErrorCode) {
  if (flag.errorCode) {
    return { value: fallback, reason: 'ERROR', errorCode: ErrorCode[flag.errorCode] ?? ErrorCode.GENERAL, errorMessage: flag.errorDetails };
  }
  if (flag.value === null || typeof flag.value !== typeof fallback) {
    return { value: fallback, reason: 'ERROR', errorCode: ErrorCode.TYPE_MISMATCH };
  }
  return { value: flag.value, variant: flag.variant, reason: flag.reason, flagMetadata: flag.metadata };
}
