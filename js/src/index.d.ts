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
  readonly problem: { detail?: string; place?: string; code?: string; errorCode?: string; errorDetails?: string };
}

export class Client {
  constructor(options: { url: string; token?: string; fetch?: typeof fetch });
  decide(experiment: string, units: (string | { id: string; context?: Context })[]): Promise<Decision[]>;
  expose(items: (string | Exposure)[]): Promise<Fates>;
  feedback(items: Feedback[]): Promise<Fates>;
  report(experiment: string): Promise<any>;
  policy(experiment: string, etag?: string): Promise<{ policy: any; etag: string } | null>;
  evaluate(key: string, context: object): Promise<any>;
  evaluateAll(context: object): Promise<any[]>;
}

export class LocalPolicy {
  constructor(policy: any);
  readonly version: number;
  decide(unit: string): LocalDecision;
}

export class Local {
  constructor(client: Client, experiment: string);
  refresh(): Promise<boolean>;
  decide(unit: string, now?: number): LocalDecision & { decided: Decided };
}

export function hash(purpose: string, salt: string, unit: string): bigint;
export function mix(z: bigint): bigint;
