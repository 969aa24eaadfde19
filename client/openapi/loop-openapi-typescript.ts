// The loop decide, expose, feedback, report with the types of openapi-typescript. The first argument
// is the service's URL, the second the unit.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const [url = '', unit = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url });
const path = { name: 'toy' };

const decided = await client.POST('/v1/experiments/{name}/decide', { params: { path }, body: { units: [unit] } });
const d: components['schemas']['Decisions']['decisions'][number] | undefined = decided.data?.decisions[0];
assert.ok(d);
const exposed = await client.POST('/v1/exposures', { body: { items: [{ token: d.token }] } });
assert.equal(exposed.data?.accepted, 1);
const told = await client.POST('/v1/feedback', { body: { items: [{ token: d.token, metrics: { x: 2 } }] } });
assert.equal(told.data?.items[0]?.status, 'accepted');
const report = await client.GET('/v1/experiments/{name}/report', { params: { path } });
const n: number | undefined = report.data?.arms[d.arm]?.n;
assert.ok(n !== undefined && n >= 1);
const missing = await client.GET('/v1/experiments/{name}/report', { params: { path: { name: 'none' } } });
assert.equal(missing.error?.code, 'not_found');
console.log(`openapi-typescript: ${unit} got ${d.arm}, which has ${n} units`);
