import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LocalPolicy, hash } from '../src/index.js';

const vectors = JSON.parse(readFileSync(new URL('../../docs/formats/policy-vectors.json', import.meta.url), 'utf8'));

test('the vectors of the Go package are decided in the same way', () => {
  let checked = 0;
  for (const { name, policy, decisions } of vectors) {
    const local = new LocalPolicy(policy);
    for (const want of decisions) {
      const got = local.decide(want.unit);
      assert.deepEqual(
        { unit: got.unit, hash: got.hash, arm: got.index, propensity: got.propensity, held_back: got.heldBack },
        want, name);
      assert.equal(got.arm, policy.arms[want.arm].name);
      checked++;
    }
  }
  assert.ok(checked >= 200);
});

test('the hash is SHA-256 at every length of the padding', () => {
  for (let n = 0; n < 200; n++) {
    const unit = 'x'.repeat(n);
    const bytes = Buffer.alloc(12 + n);
    bytes.writeUInt32BE(n, 8);
    bytes.write(unit, 12);
    assert.equal(hash('', '', unit), createHash('sha256').update(bytes).digest().readBigUInt64BE(), `${n}`);
  }
});

test('policies that cannot be decided by are refused', () => {
  const { policy } = vectors[1];
  assert.throws(() => new LocalPolicy({ ...policy, linear: {} }), /contextual/);
  assert.throws(() => new LocalPolicy({ ...policy, links: [] }), /no decision/);
  assert.throws(() => new LocalPolicy({ ...policy, links: [{ version: 1, split: ['1', '2'] }] }), /2\^64/);
  assert.throws(() => new LocalPolicy({ ...policy, hold_back: '5', control: -1 }), /control/);
  const local = new LocalPolicy(policy);
  assert.throws(() => local.decide(''), /want 1 to 512/);
  assert.throws(() => local.decide('ż'.repeat(257)), /514 bytes/);
  assert.throws(() => local.decide('\ud800'), /valid Unicode/);
});
