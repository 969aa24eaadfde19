// Sums and their outbox against a service that is killed. NOREGRET is the command (test.sh).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, Local, LocalPolicy, ServiceError } from '../src/index.js';
import { Outbox } from '../src/outbox.js';
import { Sums } from '../src/sums.js';

const command = process.env.NOREGRET;
const skip = command ? false : 'NOT RUN: NOREGRET is not set: make js builds the command';
const toy = {
  name: 'toy', arms: [{ name: 'one', value: 1 }, { name: 'two', value: 2 }], metrics: [{ name: 'x', cap: 5 }],
  policy: { kind: 'fixed', split: { one: 0.5, two: 0.5 } },
};

test('sums are those of the Go client', () => {
  const policy = new LocalPolicy({
    experiment: 'toy', version: 3, arms: [{ name: 'a', value: 1 }], control: 0, salt: 's', hold_back: '0', stream: 'arm',
    links: [{ version: 1, split: ['18446744073709551616'] }],
    metrics: [{ name: 'x', kind: 'mean', cap: 2 }, { name: 'n', kind: 'count', default: 4 },
      { name: 'z', kind: 'mean', range: [0, 1] }, { name: 'r', kind: 'ratio', numerator: 'x', denominator: 'n' }],
  });
  const sums = new Sums(2);
  const count = (unit, metrics) => sums.add(policy, policy.decide(unit), metrics);
  assert.ok(count('u', { x: -3 }) && count('v', { x: 1, n: 2 }));
  assert.equal(count('u', { x: 1 }), false, 'a unit counts once');
  for (const bad of [{ w: 1 }, { r: 1 }, { z: 1.5 }, { x: NaN }, { n: 0.5 }, { n: -1 }, { x: '1' }]) {
    assert.throws(() => count('w', bad), /metrics\..: /);
  }
  assert.deepEqual(sums.items(), [{
    version: 3, arm: 'a', units: 2,
    metrics: { x: { n: 2, sum: -1, squares: 5, low: -2, high: 1 }, n: { n: 2, sum: 6, squares: 20, low: 2, high: 4 } },
    pairs: { r: { n: 2, x: -1, y: 6, xx: 5, yy: 20, xy: -6 } },
  }]);
  assert.ok(count('w', {}) && count('x', {}) && count('u', {}), 'u is forgotten by now');
});

test('the service dies between the write and the answer, and the program after it', { skip, timeout: 120_000 }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'noregret-'));
  let service;
  let address = '127.0.0.1:0';
  const serve = async () => {
    service = spawn(command, ['serve', '--data', join(dir, 'data'), '--listen', address, '--log-level', 'error']);
    const [line] = await once(service.stdout, 'data');
    address = String(line).trim().replace(/.*\//, '');
  };
  const kill = async () => {
    service.kill('SIGKILL');
    await once(service, 'exit');
  };
  await serve();
  const direct = new Client({ url: `http://${address}` });
  await direct.call('PUT', '/v1/experiments/toy', toy);
  let deadly = true;
  let forbidden = false;
  const reports = [];
  const line = createServer(async (req, res) => {
    let body = '';
    for await (const part of req) body += part;
    if (req.url !== '/v1/aggregates') return res.writeHead(503, { 'Retry-After': '59' }).end(); // polls
    reports.push(body);
    if (forbidden) return res.writeHead(403).end('{}');
    let r, text;
    try {
      r = await fetch(`http://${address}${req.url}`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
      text = await r.text();
    } catch {
      return req.socket.destroy(); // the last try of close may reach the line when the service is dead
    }
    if (deadly) {
      await kill();
      return req.socket.destroy(); // the answer never arrives
    }
    return res.writeHead(r.status).end(text);
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  t.after(async () => {
    line.closeAllConnections();
    line.close();
    await kill();
    rmSync(dir, { recursive: true });
  });
  const { policy: first } = await direct.policy('toy');
  const client = new Client({ url: `http://127.0.0.1:${line.address().port}` });
  const start = async (outbox) => {
    const local = new Local(client, 'toy', { outbox, first, every: 3_600_000, pause: 60_000 });
    await local.follow();
    return local;
  };
  const own = new Outbox(join(dir, 'outbox'), 'toy');
  assert.throws(() => new Outbox(join(dir, 'outbox'), 'toy'), /uses this outbox/);
  let dead = false; // a process that is killed keeps nothing more
  const local = await start({ load: () => own.load(), store: async (s) => { if (!dead) await own.store(s); }, close: () => own.close() });
  const want = { one: 0, two: 0 };
  for (let i = 0; i < 50; i++) {
    const d = local.decide(`u${i}`);
    want[d.arm]++;
    assert.equal(local.record(d, { x: i }), true);
    assert.equal(local.record(d, { x: i }), false);
  }
  await assert.rejects(local.flush(20_000), /fetch failed/);
  dead = true;
  local.record(local.decide('lost'), { x: 1 });
  await assert.rejects(local.close(0));
  await serve();
  deadly = false;
  const counted = async () => {
    const { arms } = await direct.report('toy');
    return { one: arms.one.n, two: arms.two.n };
  };
  assert.deepEqual(await counted(), want, 'the report was on the disk');
  const again = await start(new Outbox(join(dir, 'outbox'), 'toy'));
  await again.flush();
  assert.deepEqual(await counted(), want);
  assert.ok(reports.length >= 2 && reports.every((r) => r === reports[0]), 'the same bytes');
  again.record(again.decide('more'), { x: 1 });
  forbidden = true; // a wrong token is mended some time
  await assert.rejects(again.flush(), (e) => e instanceof ServiceError && e.status === 403);
  forbidden = false;
  await again.close();
  assert.equal(JSON.parse(reports.at(-1)).sequence, 2);
  const { one, two } = await counted();
  assert.equal(one + two, 51);
});

test('follow hears of a new policy', { skip: process.env.NOREGRET_URL ? false : 'NOT RUN: NOREGRET_URL is not set', timeout: 120_000 }, async () => {
  const client = new Client({ url: process.env.NOREGRET_URL });
  const definition = (one) => ({ ...toy, name: 'followed', policy: { kind: 'fixed', split: { one, two: 1 - one } } });
  await client.call('PUT', '/v1/experiments/followed', definition(0.5));
  let heard;
  const renewed = new Promise((resolve) => { heard = resolve; });
  const local = new Local(client, 'followed', { onPolicy: heard, wait: 60_000 });
  await local.follow();
  const { version } = local.decide('ann');
  await client.call('PUT', '/v1/experiments/followed', definition(0.25));
  assert.ok((await renewed).version > version);
  assert.equal(local.decide('ann').version, (await renewed).version);
  await local.close();
  assert.equal(local.error, undefined);
});
