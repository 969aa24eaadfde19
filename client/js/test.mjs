// The public OFREP provider of OpenFeature's server SDK for JavaScript, unchanged, against a running service
// (first argument: its URL) that has the experiments of test.sh.
import assert from 'node:assert/strict';
import { OpenFeature } from '@openfeature/server-sdk';
import { OFREPProvider } from '@openfeature/ofrep-provider';

const url = process.argv[2];
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: url }));
const flags = OpenFeature.getClient();

const decide = async (name, unit) => {
  const r = await fetch(`${url}/v1/experiments/${name}/decide`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ units: [unit] }),
  });
  return (await r.json()).decisions[0];
};

let checked = 0;
for (const unit of ['ann', 'bob', 'cyd', 'dan', 'eve', 'fay']) {
  const user = { targetingKey: unit };
  for (const [name, ask, other] of [
    ['number', (k) => flags.getNumberDetails(k, -1, user)],
    ['text', (k) => flags.getStringDetails(k, 'none', user)],
    ['switch', (k) => flags.getBooleanDetails(k, false, user)],
    ['object', (k) => flags.getObjectDetails(k, {}, user)],
  ]) {
    const d = await decide(name, unit);
    const got = await ask(name);
    assert.deepEqual(got.value, d.value, `${name} of ${unit}`);
    assert.equal(got.variant, d.arm);
    assert.equal(got.reason, 'SPLIT');
    assert.equal(got.flagMetadata.policyVersion, d.version);
    assert.equal(got.flagMetadata.propensity, d.propensity);
    const r = await fetch(`${url}/v1/feedback`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ items: [{ token: got.flagMetadata.decisionId, metrics: { x: 1 } }] }),
    });
    assert.equal((await r.json()).accepted, 1, 'decisionId is the token for feedback');
    checked++;
  }
}
const missing = await flags.getNumberDetails('none', 7, { targetingKey: 'ann' });
assert.equal(missing.value, 7);
assert.equal(missing.errorCode, 'FLAG_NOT_FOUND');
const nobody = await flags.getNumberDetails('number', 7, {});
assert.equal(nobody.value, 7);
assert.equal(nobody.errorCode, 'TARGETING_KEY_MISSING');
await OpenFeature.close();
console.log(`${checked} evaluations by the public JS provider agree with the service`);
