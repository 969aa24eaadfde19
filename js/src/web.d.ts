import type { Provider } from '@openfeature/web-sdk';
import type { Client } from './index.js';
import type { ProviderOptions } from './options.js';

export interface NoregretWebProvider extends Provider {}
export class NoregretWebProvider {
  constructor(client: Client, options?: ProviderOptions);
  /** Waits for the answers to what has been reported. */
  flush(): Promise<void>;
}
