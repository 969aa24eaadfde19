// Calls of the service over HTTP, with fetch.

/** An answer of the service that is no success: its status and the problem's detail and place. */
export class ServiceError extends Error {
  constructor(status, problem, after = 0) {
    super(`${problem.place ? `${problem.place}: ` : ''}${problem.detail ?? problem.errorDetails ?? `status ${status}`}`);
    this.name = 'ServiceError';
    this.status = status;
    this.problem = problem;
    this.after = after; // seconds, of Retry-After
  }
}

/** Calls of the service. It does not repeat a call that fails: exposures and feedback may be sent again. */
export class Client {
  #url;
  #headers;
  #fetch;

  /** @param options { url, token, fetch }; token is an access token, fetch replaces that of the platform */
  constructor({ url, token, fetch = globalThis.fetch }) {
    this.#url = String(url).replace(/\/+$/, '');
    this.#headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.#fetch = (...args) => fetch(...args);
  }

  async call(method, path, body, headers = {}, signal = undefined) {
    const init = { method, signal, headers: { ...this.#headers, ...headers } };
    if (body !== undefined) {
      init.headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(body);
    }
    const r = await this.#fetch(this.#url + path, init);
    if (r.ok || r.status === 304) return r;
    const after = Number(r.headers.get('Retry-After'));
    throw new ServiceError(r.status, await r.json().catch(() => ({})), after > 0 && after < 60 ? after : 0);
  }

  /** The decisions of an experiment for units: names, or { id, context }. */
  async decide(experiment, units) {
    const r = await this.call('POST', `/v1/experiments/${encodeURIComponent(experiment)}/decide`, { units });
    return (await r.json()).decisions;
  }

  /** Reports units that saw what was decided: tokens, or items of /v1/exposures. */
  expose(items) { return this.#post('/v1/exposures', items.map((i) => (typeof i === 'string' ? { token: i } : i))); }

  /** Reports metrics: items { token, metrics } or { decided, metrics }. */
  feedback(items) { return this.#post('/v1/feedback', items); }

  async #post(path, items) { return (await this.call('POST', path, { items })).json(); }

  /** How the experiment stands. */
  async report(experiment) {
    return (await this.call('GET', `/v1/experiments/${encodeURIComponent(experiment)}/report`)).json();
  }

  /** The policy to decide by, null if it is still the one of the ETag after `wait` ms: { policy, etag }. */
  async policy(experiment, etag, wait = 0, signal = undefined) {
    const path = `/v1/experiments/${encodeURIComponent(experiment)}/policy${etag && wait ? `?wait=${Math.ceil(wait)}ms` : ''}`;
    const r = await this.call('GET', path, undefined, etag ? { 'If-None-Match': etag } : {}, signal);
    return r.status === 304 ? null : { policy: await r.json(), etag: r.headers.get('ETag') };
  }

  /** Evaluates one flag by OFREP. */
  async evaluate(key, context) {
    return (await this.call('POST', `/ofrep/v1/evaluate/flags/${encodeURIComponent(key)}`, { context })).json();
  }

  /** Evaluates all flags by OFREP. */
  async evaluateAll(context) {
    return (await (await this.call('POST', '/ofrep/v1/evaluate/flags', { context })).json()).flags;
  }
}
