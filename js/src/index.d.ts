export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Context = { [field: string]: string | number | boolean };
export type Decided = { experiment: string; version: number; unit: string; time: number };
export type Decision = { unit: string; arm: string; value: Json; propensity: number; version: number; token: string };
export type LocalDecision = {
  unit: string; arm: string; index: number; value: Json; propensity: number; version: number; heldBack: boolean; hash: string;
};
export type Exposure = { token: string; context?: Context } | { decided: Decided };
export type Feedback = ({ token: string } | { decided: Decided }) & { metrics: { [metric: string]: number } };
export type ItemResult = { status: 'accepted' | 'duplicate' | 'late' | 'rejected'; error?: string };
export type Fates = { accepted: number; duplicate: number; late: number; rejected: number; items: ItemResult[] };

export class ServiceError extends Error {
  readonly status: number;
  /** Seconds of Retry-After, 0 for none. */
  readonly after: number;
  readonly problem: { detail?: string; place?: string; code?: string; errorCode?: string; errorDetails?: string };
}

export class Client {
  constructor(options: { url: string; token?: string; fetch?: typeof fetch });
  decide(experiment: string, units: (string | { id: string; context?: Context })[]): Promise<Decision[]>;
  expose(items: (string | Exposure)[]): Promise<Fates>;
  feedback(items: Feedback[]): Promise<Fates>;
  report(experiment: string): Promise<any>;
  policy(experiment: string, etag?: string, wait?: number, signal?: AbortSignal): Promise<{ policy: any; etag: string } | null>;
  evaluate(key: string, context: object): Promise<any>;
  evaluateAll(context: object): Promise<any[]>;
}

export class LocalPolicy {
  constructor(policy: any);
  readonly version: number;
  readonly experiment: string;
  readonly metrics: any[];
  /** The answer of the service, which another Local can have as its first. */
  readonly form: any;
  decide(unit: string): LocalDecision;
}

/** Keeps what is not sent through restarts: the Outbox of @noregret/client/outbox. */
export interface Keeper {
  load(): Promise<any>;
  store(state: { source: string; sequence: number; pending?: any; sums: any[] }): Promise<void>;
  close(): void;
}

/** The options of a Local. Lengths of time are in milliseconds. */
export type LocalOptions = {
  /** Names this process in its reports; a random part follows. "local" by default. */
  source?: string;
  /** Between reports, 5000 by default. */
  every?: number;
  /** How long a poll waits for a new policy, 30000 by default, at most 60000. */
  wait?: number;
  /** Before the first repetition of what failed, 100 by default. It doubles up to 30000. */
  pause?: number;
  /** How many of the latest units are known, so that one recorded twice counts once; 100000 by default. */
  remember?: number;
  outbox?: Keeper;
  /** A policy of before, which decides until the service has sent one. */
  first?: any;
  /** Gets each new policy after the first. */
  onPolicy?: (policy: LocalPolicy) => void;
  /** Gets each failure, and what the service does not count. */
  onError?: (error: unknown) => void;
};

export class Local {
  constructor(client: Client, experiment: string, options?: LocalOptions);
  error: unknown;
  readonly confirmed: number;
  refresh(): Promise<boolean>;
  follow(): Promise<void>;
  record(decision: LocalDecision & { decided: Decided }, metrics?: { [metric: string]: number }): boolean;
  keep(): Promise<void>;
  flush(timeout?: number): Promise<void>;
  close(timeout?: number): Promise<void>;
  decide(unit: string, now?: number): LocalDecision & { decided: Decided };
}

export function hash(purpose: string, salt: string, unit: string): bigint;
export function mix(z: bigint): bigint;
