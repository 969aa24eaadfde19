import { LocalPolicy } from './policy.js';

/** Decides in the process by a copy of an experiment's policy, and makes the items that report it. */
export class Local {
  #client;
  #experiment;
  #etag;
  #policy;

  constructor(client, experiment) {
    this.#client = client;
    this.#experiment = experiment;
  }

  /** Fetches the policy; call it now and then. It reports whether there is a new one. */
  async refresh() {
    const next = await this.#client.policy(this.#experiment, this.#etag);
    if (!next) return false;
    this.#policy = new LocalPolicy(next.policy);
    this.#etag = next.etag;
    return true;
  }

  /** The arm of a unit, with `decided`, which takes a token's place in exposures and feedback. */
  decide(unit, now = Date.now()) {
    if (!this.#policy) throw new Error('no policy yet: call refresh first');
    const d = this.#policy.decide(unit);
    return { ...d, decided: { experiment: this.#experiment, version: d.version, unit, time: now } };
  }
}
