import type { Provider } from '@openfeature/server-sdk';
import type { Client } from './index.js';
import type { ProviderOptions } from './options.js';

export interface NoregretServerProvider extends Provider {}
export class NoregretServerProvider {
  constructor(client: Client, options?: ProviderOptions);
  /** Waits for the answers to what has been reported. */
  flush(): Promise<void>;
}
