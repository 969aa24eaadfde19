// Compiled, not run: the declarations fit the SDKs.
import { OpenFeature as Server } from '@openfeature/server-sdk';
import { OpenFeature as Web } from '@openfeature/web-sdk';
import { Client, Local } from '../src/index.js';
import { Outbox } from '../src/outbox.js';
import { NoregretServerProvider } from '../src/server.js';
import { NoregretWebProvider } from '../src/web.js';

const client = new Client({ url: 'http://127.0.0.1:8430', token: 'a token' });
await Server.setProviderAndWait(new NoregretServerProvider(client, { metrics: { toy: ['x'] } }));
await Web.setProviderAndWait(new NoregretWebProvider(client));
const local = new Local(client, 'toy', { outbox: new Outbox('outbox', 'toy'), onPolicy: (p) => p.version });
await local.follow();
const d = local.decide('ann');
local.record(d, { x: 1 });
await local.close();
await client.feedback([{ decided: d.decided, metrics: { x: 1 } }]);
