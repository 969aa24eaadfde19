// The client and the providers against a running service, whose URL is NOREGRET_URL (test.sh).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenFeature as Server } from '@openfeature/server-sdk';
import { OpenFeature as Web } from '@openfeature/web-sdk';
import { Client, Local, ServiceError } from '../src/index.js';
import { NoregretServerProvider } from '../src/server.js';
import { NoregretWebProvider } from '../src/web.js';

const url = process.env.NOREGRET_URL;
const options = { skip: url ? false : 'NOT RUN: NOREGRET_URL is not set: make js starts a service' };
const client = new Client({ url });
const counted = async () => (await client.report('toy')).feedback.accepted;

test('decide, expose, feedback, report', options, async () => {
  const before = await counted();
  const [d] = await client.decide('toy', ['loop']);
  assert.equal((await client.expose([d.token])).accepted, 1);
  assert.equal((await client.feedback([{ token: d.token, metrics: { x: 2 } }])).accepted, 1);
  assert.equal((await client.feedback([{ token: d.token, metrics: { x: 2 } }])).duplicate, 1);
  assert.equal(await counted(), before + 1);
  await assert.rejects(client.decide('none', ['loop']), (e) => e instanceof ServiceError && e.status === 404);
});

test('local decisions are those of the service, and it accepts them', options, async () => {
  const local = new Local(client, 'toy');
  assert.throws(() => local.decide('ann'), /refresh/);
  assert.equal(await local.refresh(), true);
  assert.equal(await local.refresh(), false);
  const units = Array.from({ length: 100 }, (_, i) => `local-${i}`);
  const asked = await client.decide('toy', units);
  for (const [i, unit] of units.entries()) {
    const { arm, value, propensity, version, decided } = local.decide(unit);
    const want = asked[i];
    assert.deepEqual([arm, value, propensity, version], [want.arm, want.value, want.propensity, want.version], unit);
    if (i === 0) {
      assert.equal((await client.expose([{ decided }])).accepted, 1);
      assert.equal((await client.feedback([{ decided, metrics: { x: 1 } }])).accepted, 1);
      assert.equal((await client.expose([want.token])).duplicate, 1);
    }
  }
});

test('the OpenFeature provider for servers reports exposures and tracks', options, async () => {
  const before = await counted();
  const errors = [];
  const provider = new NoregretServerProvider(client, { metrics: { toy: ['x'] }, onError: (e) => errors.push(e) });
  await Server.setProviderAndWait(provider);
  const flags = Server.getClient();
  const user = { targetingKey: 'server-user' };
  const [want] = await client.decide('toy', [user.targetingKey]);
  const got = await flags.getNumberDetails('toy', -1, user);
  assert.deepEqual([got.value, got.variant, got.flagMetadata.policyVersion], [want.value, want.arm, want.version]);
  assert.equal((await flags.getStringDetails('toy', 'no', user)).errorCode, 'TYPE_MISMATCH');
  assert.equal((await flags.getNumberDetails('none', -1, user)).errorCode, 'FLAG_NOT_FOUND');
  flags.track('unknown', user, { value: 3 });
  flags.track('x', user, { value: 3 });
  await provider.flush();
  assert.deepEqual(errors, []);
  assert.equal(await counted(), before + 1);
  assert.equal((await client.expose([want.token])).duplicate, 1, 'the exposure was reported');
});

test('the OpenFeature provider for pages reports exposures and tracks', options, async () => {
  const before = await counted();
  const errors = [];
  const provider = new NoregretWebProvider(client, { metrics: { toy: ['x'] }, onError: (e) => errors.push(e) });
  await Web.setContext({ targetingKey: 'web-user' });
  await Web.setProviderAndWait(provider);
  const flags = Web.getClient();
  const [want] = await client.decide('toy', ['web-user']);
  assert.equal(flags.getNumberDetails('toy', -1).variant, want.arm);
  assert.equal(flags.getNumberDetails('none', -1).errorCode, 'FLAG_NOT_FOUND');
  flags.track('x', { value: 3 });
  await provider.flush();
  assert.deepEqual(errors, []);
  assert.equal(await counted(), before + 1);
  assert.equal((await client.expose([want.token])).duplicate, 1, 'the exposure was reported');
  await Web.setContext({ targetingKey: 'web-other' });
  const [other] = await client.decide('toy', ['web-other']);
  assert.equal(flags.getNumberDetails('toy', -1).variant, other.arm);
});
