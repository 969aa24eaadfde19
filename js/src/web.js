import { ErrorCode } from '@openfeature/web-sdk';
import { Reporter, details } from './reporter.js';

/** An OpenFeature provider for pages: it evaluates all flags when the context changes. */
export class NoregretWebProvider {
  metadata = { name: 'noregret' };
  runsOn = 'client';
  #client;
  #reporter;
  #unit;
  #flags = new Map();

  constructor(client, options) {
    this.#client = client;
    this.#reporter = new Reporter(client, options);
  }

  async initialize(context) { if (context?.targetingKey) await this.#load(context); }
  onContextChange(_, context) { return this.#load(context); }

  async #load(context) {
    const flags = await this.#client.evaluateAll(context);
    this.#flags = new Map(flags.map((f) => [f.key, f]));
    this.#unit = context.targetingKey;
  }

  resolveBooleanEvaluation(key, fallback) { return this.#resolve(key, fallback); }
  resolveStringEvaluation(key, fallback) { return this.#resolve(key, fallback); }
  resolveNumberEvaluation(key, fallback) { return this.#resolve(key, fallback); }
  resolveObjectEvaluation(key, fallback) { return this.#resolve(key, fallback); }

  #resolve(key, fallback) {
    const flag = this.#flags.get(key) ?? { errorCode: 'FLAG_NOT_FOUND', errorDetails: `no flag ${key}` };
    const d = details(flag, fallback, ErrorCode);
    if (!d.errorCode) this.#reporter.saw(this.#unit, flag);
    return d;
  }

  track(name, context, event) { this.#reporter.track(name, context?.targetingKey ?? this.#unit, event?.value); }

  flush() { return this.#reporter.flush(); }
  onClose() { return this.flush(); }
}
