import { ErrorCode } from '@openfeature/server-sdk';
import { ServiceError } from './client.js';
import { Reporter, details } from './reporter.js';

/** An OpenFeature provider for servers: an experiment is a flag, an arm a variant. */
export class NoregretServerProvider {
  metadata = { name: 'noregret' };
  runsOn = 'server';
  #client;
  #reporter;

  constructor(client, options) {
    this.#client = client;
    this.#reporter = new Reporter(client, options);
  }

  resolveBooleanEvaluation(key, fallback, context) { return this.#resolve(key, fallback, context); }
  resolveStringEvaluation(key, fallback, context) { return this.#resolve(key, fallback, context); }
  resolveNumberEvaluation(key, fallback, context) { return this.#resolve(key, fallback, context); }
  resolveObjectEvaluation(key, fallback, context) { return this.#resolve(key, fallback, context); }

  async #resolve(key, fallback, context) {
    let flag;
    try {
      flag = await this.#client.evaluate(key, context);
    } catch (e) {
      if (!(e instanceof ServiceError)) throw e;
      flag = { errorCode: e.problem.errorCode ?? 'GENERAL', errorDetails: e.message };
    }
    const d = details(flag, fallback, ErrorCode);
    if (!d.errorCode) this.#reporter.saw(context.targetingKey, flag);
    return d;
  }

  track(name, context, event) { this.#reporter.track(name, context.targetingKey, event?.value); }

  flush() { return this.#reporter.flush(); }
  onClose() { return this.flush(); }
}
