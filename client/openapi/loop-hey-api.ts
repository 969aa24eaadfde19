// The loop decide, expose, feedback, report with the client of hey-api. The first argument is the
// service's URL, the second the unit.
import assert from 'node:assert/strict';
import { client } from './hey/client.gen.js';
import { decide, getExperiment, getReport, postExposures, postFeedback } from './hey/sdk.gen.js';

const [url = '', unit = ''] = process.argv.slice(2);
client.setConfig({ baseUrl: url });
const path = { name: 'toy' };

const d = (await decide({ path, body: { units: [{ id: unit }] }, throwOnError: true })).data.decisions[0];
assert.ok(d);
const exposed = await postExposures({ body: { items: [{ token: d.token }] }, throwOnError: true });
assert.equal(exposed.data.accepted, 1);
const told = await postFeedback({ body: { items: [{ token: d.token, metrics: { x: 2 } }] }, throwOnError: true });
assert.equal(told.data.accepted, 1);
const definition = (await getExperiment({ path, throwOnError: true })).data;
assert.equal(definition.metrics[0]?.name, 'x');
const n: number | undefined = (await getReport({ path, throwOnError: true })).data.arms[d.arm]?.n;
assert.ok(n !== undefined && n >= 1);
const missing = await getReport({ path: { name: 'none' } });
assert.equal(missing.error?.code, 'not_found');
console.log(`hey-api: ${unit} got ${d.arm}, which has ${n} units`);
