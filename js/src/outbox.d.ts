import type { Keeper } from './index.js';

export interface Outbox extends Keeper {}
/** Keeps sums in a directory through restarts. For Node only. */
export class Outbox {
  constructor(directory: string, experiment: string);
}
