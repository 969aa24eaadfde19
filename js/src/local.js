import { ServiceError } from './client.js';
import { LocalPolicy } from './policy.js';
import { Sums } from './sums.js';

/** Whether a failure may be temporary: of the network, or of a service that is away. */
const passes = (e) => !(e instanceof ServiceError) || [401, 429, 502, 503, 504].includes(e.status);

/** Waits, until the signal aborts at most. */
const sleep = (ms, signal) => new Promise((resolve) => {
  const done = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', done);
    resolve();
  };
  const timer = setTimeout(done, signal.aborted ? 0 : ms);
  signal.addEventListener('abort', done);
});

const limited = (signal, ms) => AbortSignal.any([signal, AbortSignal.timeout(ms)]);

/** Doubling pauses of up to 30 s, the second half of each random, longer if the service asks for it. */
class Pauses {
  constructor(first) { this.first = this.at = first; }
  next(e) {
    const pause = this.at * (1 + Math.random()) / 2;
    this.at = Math.min(2 * this.at, 30_000);
    return Math.max(pause, 1000 * (e.after ?? 0));
  }
}

/** Decides in the process by a copy of an experiment's policy, and reports sums of what is recorded. */
export class Local {
  #client;
  #experiment;
  #options;
  #etag;
  #policy;
  #sums;
  #source;
  #sequence = 0;
  #pending;
  #keeping = Promise.resolve();
  #sending = Promise.resolve();
  #stop = new AbortController();
  #loops = [];
  #confirmed = 0;
  #closed = false;

  /** The error of the last poll of follow if it failed: the policy may be out of date. */
  error;

  constructor(client, experiment, options = {}) {
    this.#client = client;
    this.#experiment = experiment;
    this.#options = {
      source: 'local', every: 5000, wait: 30_000, pause: 100, remember: 100_000, onPolicy() {}, onError() {}, ...options,
    };
    const { source, every, wait, remember } = this.#options;
    if (!(wait > 0 && wait <= 60_000 && every > 0 && remember >= 1) || source.length < 1 || source.length > 100) {
      throw new RangeError('wait: want above 0, at most 60000; every: above 0; remember: at least 1; source: 1 to 100 characters');
    }
    this.#sums = new Sums(remember);
    const random = crypto.getRandomValues(new Uint8Array(13));
    this.#source = `${source}-${Array.from(random, (b) => b.toString(16).padStart(2, '0')).join('')}`;
  }

  /** When the service last said which policy is in force, in milliseconds since 1970; 0 for never. */
  get confirmed() { return this.#confirmed; }

  /** Fetches the policy; call it now and then, or follow once. It reports whether there is a new one. */
  async refresh(wait = 0, signal = undefined) {
    const next = await this.#client.policy(this.#experiment, this.#etag, wait, signal);
    if (next) {
      this.#policy = new LocalPolicy(next.policy);
      this.#etag = next.etag;
    }
    this.#confirmed = Date.now();
    return next !== null;
  }

  /** Fetches the policy and follows it by long polls, and sends sums, until close. */
  async follow() {
    const { outbox, every, wait, pause, first, onPolicy, onError } = this.#options;
    const kept = await outbox?.load();
    if (kept) {
      ({ source: this.#source, sequence: this.#sequence, pending: this.#pending } = kept);
      this.#sums.restore(kept.sums ?? []);
    }
    if (first) [this.#policy, this.#etag] = [new LocalPolicy(first), `"${first.digest}"`];
    else await this.refresh();
    const { signal } = this.#stop;
    const poll = async () => {
      const pauses = new Pauses(pause);
      while (!signal.aborted) {
        try {
          const long = this.#confirmed && !this.error ? wait : 0;
          const renewed = await this.refresh(long, limited(signal, long + 30_000));
          this.error = undefined;
          pauses.at = pauses.first;
          if (renewed) onPolicy(this.#policy);
        } catch (e) {
          if (signal.aborted) return;
          this.error = e;
          onError(e);
          await sleep(pauses.next(e), signal);
        }
      }
    };
    const regularly = async (action) => {
      for (;;) {
        await sleep(every, signal);
        if (signal.aborted) return;
        await action().catch((e) => { if (!signal.aborted) onError(e); });
      }
    };
    this.#loops = [poll(), regularly(() => this.flush())];
    if (outbox) this.#loops.push(regularly(() => this.keep()));
  }

  /** The arm of a unit, with `decided`, which takes a token's place in exposures and feedback. */
  decide(unit, now = Date.now()) {
    if (!this.#policy) throw new Error('no policy yet: call refresh first');
    const d = this.#policy.decide(unit);
    return { ...d, decided: { experiment: this.#experiment, version: d.version, unit, time: now } };
  }

  /** Counts a unit as exposed and adds all of its metrics to the sums; false if it was recorded before. */
  record(decision, metrics = {}) {
    if (this.#closed) throw new Error('this Local is closed');
    if (decision.decided?.experiment !== this.#experiment) throw new TypeError(`decision: want one of ${this.#experiment}`);
    return this.#sums.add(this.#policy, decision, metrics);
  }

  /** Writes what is recorded and not sent to the outbox. Then it survives the process. */
  keep() {
    const { outbox } = this.#options;
    if (!outbox) return Promise.resolve();
    const store = () => outbox.store({
      source: this.#source, sequence: this.#sequence, pending: this.#pending, sums: this.#sums.items(),
    });
    return (this.#keeping = this.#keeping.then(store, store));
  }

  /** Sends what is recorded, again and again for some milliseconds; without them, until it is sent. */
  flush(timeout = Infinity) {
    const end = performance.now() + timeout;
    const send = async () => {
      const refused = [];
      while (this.#pending || this.#collect()) {
        await this.keep(); // a report that is sent and not kept would be followed by another of its number
        refused.push(...await this.#send(end, this.#stop.signal));
      }
      if (refused.length > 0) throw new Error(refused.join('; '));
    };
    return (this.#sending = this.#sending.then(send, send));
  }

  /** Moves the sums to the pending report, if there are any. */
  #collect() {
    const items = this.#sums.items();
    if (items.length === 0) return false;
    this.#pending = { experiment: this.#experiment, source: this.#source, sequence: ++this.#sequence, items };
    this.#sums.clear();
    return true;
  }

  /** Sends the pending report until it is answered. The result is what the service does not count. */
  async #send(end, signal) {
    const report = this.#pending;
    const pauses = new Pauses(this.#options.pause);
    for (;;) {
      try {
        const most = Math.ceil(Math.max(1, Math.min(30_000, end - performance.now())));
        const r = await this.#client.call('POST', '/v1/aggregates', report, {}, limited(signal, most));
        const { items } = await r.json();
        this.#pending = undefined;
        return report.items.flatMap((i, k) => (['rejected', 'late'].includes(items[k]?.status)
          ? [`version ${i.version}, arm ${i.arm}: the sums of ${i.units} units are ${items[k].status}: ${items[k].error}`] : []));
      } catch (e) {
        if (e instanceof ServiceError && [400, 409].includes(e.status)) { // bad, whoever sends it and whenever
          this.#pending = undefined;
          throw e;
        }
        const pause = pauses.next(e);
        if (!passes(e) || signal.aborted || performance.now() + pause > end) throw e;
        this.#options.onError(e);
        await sleep(pause, signal);
      }
    }
  }

  /** Ends what follow began, and sends what is recorded. What is not sent stays in the outbox. */
  async close(timeout = 10_000) {
    if (this.#closed) return;
    this.#closed = true;
    this.#stop.abort();
    await Promise.allSettled(this.#loops);
    this.#stop = new AbortController();
    try {
      await this.flush(timeout);
    } finally {
      try { await this.keep(); } finally { this.#options.outbox?.close(); }
    }
  }
}
