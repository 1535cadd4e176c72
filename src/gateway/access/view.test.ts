import { expect, onTestFinished, test } from 'vitest';
import type { Audit, ForwardedClient } from '../../core/ports/gateway.ts';
import { type Json, UpstreamFault } from '../../wire/upstream/link.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { auditFolder } from '../testing/audit-folder.ts';
import { faultyDisk } from '../testing/faulty-disk.ts';
import {
  firstText,
  GatewayFixture,
  local,
  plainRequest,
  refusalOf,
  variable,
} from '../testing/gateway-fixture.ts';
import { type Asked, connectTo, MemoryServer, refusal } from '../testing/memory-server.ts';
import { settled } from '../testing/virtual-time.ts';

const CANARY = 'canary-5f2e91c07d';

async function setUp(more: Json = {}, variables: Record<string, string> = {}, audit?: Audit) {
  const files = new MemoryServer();
  const config = {
    servers: { files: local({ resources: ['*'], prompts: ['*'], ...more }) },
    shared: ['files'],
  };
  const fixture = new GatewayFixture({ connect: connectTo({ files }), config, variables, audit });
  const run = fixture.run();
  const view = fixture.view(run);
  return { files, fixture, run, view, config };
}

const WITH_SECRET = { env: { TOKEN: variable('TOKEN') } };

test('a secret comes out of results, errors, progress, faults and the audit in none of its forms', {
  tags: ['B2'],
}, async () => {
  const { files, fixture, view } = await setUp(WITH_SECRET, { TOKEN: CANARY });
  files.tools = [{ name: 'echo', description: `The key is ${CANARY}`, inputSchema: { type: 'object' } }];
  files.name = `${CANARY.slice(0, 4)}\u200b${CANARY.slice(4)}`;
  const seen: unknown[] = [await view.tools(), [...fixture.pins]];
  expect(await fixture.gateway.status(null)).toMatchObject([{ serverName: '[secret TOKEN]' }]);
  const forms = [CANARY, Buffer.from(`x${CANARY}`).toString('base64'), encodeURIComponent(CANARY)];
  const progress = (update: unknown) => seen.push(update);
  const call = (args: Json = {}) => view.call('files__echo', { arguments: args }, plainRequest({ progress }));

  files.answer = ({ options }) => {
    options.onProgress?.({ progress: 1, message: `using ${CANARY}` });
    return { content: forms.map(text => ({ type: 'text', text })), structuredContent: { [CANARY]: forms } };
  };
  seen.push(await call({ [CANARY]: CANARY }));
  files.answer = async () => {
    throw refusal(-32000, `bad ${CANARY}`, { forms });
  };
  seen.push(await call().catch(error => ({ ...error, message: error.message })));
  files.answer = async () => {
    throw new UpstreamFault('exit', `It ended. It wrote: ${CANARY}`);
  };
  seen.push(await call());
  seen.push(view.notice(), await fixture.gateway.status(null), fixture.audit, fixture.warnings);

  const all = JSON.stringify(seen);
  for (const form of [CANARY, Buffer.from(CANARY).toString('base64').slice(4, -4)])
    expect(all).not.toContain(form);
  expect(all).toContain('[secret TOKEN]');
  // The server itself has it.
  expect(JSON.stringify(files.requests[0]?.server)).toContain(CANARY);
});

test('text beyond the limit is cut at a character, and the cut says how much is missing', async () => {
  const { files, view } = await setUp();
  const text = 'ä'.repeat(150_000);
  files.answer = () => ({
    content: [
      { type: 'text', text: 'short' },
      { type: 'text', text },
    ],
  });
  const result = await view.call('files__echo', {}, plainRequest());
  const [short, cut] = (result?.content ?? []) as { text: string }[];
  expect(short?.text).toBe('short');
  expect(Buffer.byteLength(cut!.text)).toBeLessThan(200_200);
  expect(cut?.text).toMatch(/^ä+\n\[cut by Squad: 100006 of 300000 bytes are not shown/);
  files.answer = () => ({ content: [], structuredContent: { text } });
  const structured = await view.call('files__echo', {}, plainRequest());
  expect(structured).toMatchObject({ isError: true });
  expect(structured).not.toHaveProperty('structuredContent');
});

test('a cut does not leave half of a secret', { tags: ['secret-leakage'] }, async () => {
  const { files, view } = await setUp(WITH_SECRET, { TOKEN: CANARY });
  files.answer = () => ({
    content: [{ type: 'text', text: `${'x'.repeat(199_995)}${CANARY}${'y'.repeat(100)}` }],
  });
  expect(firstText(await view.call('files__echo', {}, plainRequest()))).not.toContain(CANARY.slice(0, 5));
});

test('resources have the name of their server before them, in lists, results and questions', async () => {
  const { files, view, fixture } = await setUp();
  files.resources = [{ uri: 'file:///a', name: 'a' }];
  files.templates = [{ uriTemplate: 'file:///{name}', name: 'any' }];
  const asked: Asked[] = [];
  files.answer = question => {
    asked.push(question);
    if (question.method === 'resources/read') return { contents: [{ uri: question.params.uri, text: 'A' }] };
    if (question.method === 'completion/complete') return { completion: { values: ['a'] } };
    return {
      content: [
        { type: 'resource_link', uri: 'file:///a', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///b', text: 'B' } },
      ],
    };
  };
  expect(await view.resources()).toEqual([{ uri: 'files+file:///a', name: 'a' }]);
  expect(await view.resourceTemplates()).toEqual([{ uriTemplate: 'files+file:///{name}', name: 'any' }]);
  expect(await view.readResource('files+file:///a', { uri: 'files+file:///a' }, plainRequest())).toEqual({
    contents: [{ uri: 'files+file:///a', text: 'A' }],
  });
  expect(await view.call('files__echo', {}, plainRequest())).toEqual({
    content: [
      { type: 'resource_link', uri: 'files+file:///a', name: 'a' },
      { type: 'resource', resource: { uri: 'files+file:///b', text: 'B' } },
    ],
  });
  const ref = { type: 'ref/resource', uri: 'files+file:///{name}' };
  const argument = { name: 'name', value: 'a' };
  expect(await view.complete({ ref, argument }, plainRequest())).toEqual({ completion: { values: ['a'] } });
  expect(asked.map(({ params }) => params.uri ?? (params.ref as Json)?.uri)).toEqual([
    'file:///a',
    undefined,
    'file:///{name}',
  ]);
  expect(await view.readResource('other+file:///a', {}, plainRequest())).toBeNull();
  expect(
    await view.complete({ ref: { type: 'ref/resource', uri: 'x' }, argument }, plainRequest()),
  ).toBeNull();
  expect(fixture.audit.map(({ kind, decision }) => `${kind} ${decision}`)).toEqual([
    'resource allowed',
    'tool allowed',
    'completion allowed',
    'resource denied',
    'completion denied',
  ]);
});

test('of resources and prompts a role has what is named, and what a named template makes', async () => {
  const { files, view } = await setUp({ resources: ['file:///a', 'db://t/{name}'], prompts: ['greet'] });
  files.resources = [
    { uri: 'file:///a', name: 'a' },
    { uri: 'file:///b', name: 'b' },
  ];
  files.templates = [{ uriTemplate: 'db://t/{name}', name: 'row' }];
  files.prompts = [{ name: 'greet' }, { name: 'other' }];
  files.answer = ({ method }) =>
    method === 'prompts/get'
      ? { messages: [{ role: 'user', content: { type: 'resource', resource: { uri: 'x:y', text: '' } } }] }
      : { contents: [] };
  expect((await view.resources()).map(({ name }) => name)).toEqual(['a']);
  expect((await view.prompts()).map(({ name }) => name)).toEqual(['files__greet']);
  const read = (uri: string) => view.readResource(`files+${uri}`, {}, plainRequest());
  for (const uri of ['file:///a', 'db://t/7']) expect(await read(uri)).toEqual({ contents: [] });
  for (const uri of ['file:///b', 'db://t/7/8', 'db://t/..', 'db://u/7', 'db://t/%2e%2e'])
    expect(await read(uri)).toBeNull();
  expect(await view.getPrompt('files__greet', {}, plainRequest())).toEqual({
    messages: [{ role: 'user', content: { type: 'resource', resource: { uri: 'files+x:y', text: '' } } }],
  });
  expect(await view.getPrompt('files__other', {}, plainRequest())).toBeNull();
});

test('messages between two neighbours of the protocol are not passed on', async () => {
  const { files, view } = await setUp();
  let got: Json = {};
  const meta = {
    progressToken: 7,
    'io.modelcontextprotocol/clientInfo': {},
    'modelcontextprotocol.io/x': 1,
    'mcp.dev/y': 1,
    'me.example/z': 1,
  };
  files.answer = ({ params }) => {
    got = params;
    return { content: [], _meta: meta };
  };
  const result = await view.call(
    'files__echo',
    { name: 'files__echo', arguments: {}, _meta: meta },
    plainRequest(),
  );
  expect(got).toEqual({ name: 'echo', arguments: {}, _meta: { 'me.example/z': 1 } });
  expect(result).toEqual({ content: [], _meta: { 'me.example/z': 1 } });
});

test('a changed configuration lets calls under way finish where they are, and counts from the next call on', async () => {
  const { files, fixture, view, config } = await setUp();
  const other = local({ resources: ['*'], prompts: ['*'] });
  await view.tools();
  const answered = Promise.withResolvers<Json>();
  files.answer = () => answered.promise;
  const call = view.call('files__echo', {}, plainRequest());
  await settled();
  fixture.reconfigure({ ...config, servers: { files: { ...other, timeout: 5_000 } } });
  expect(files.connects).toBe(1);
  fixture.reconfigure({ ...config, servers: { files: { ...other, args: ['--new'], tools: [] } } });
  expect(await view.call('files__echo', {}, plainRequest())).toBeNull();
  await settled();
  expect([files.connects, files.live.size]).toEqual([2, 2]);
  answered.resolve({ content: [{ type: 'text', text: 'late' }] });
  expect(firstText(await call)).toBe('late');
  await settled();
  expect(files.live.size).toBe(1);
});

test('a configuration that changes nothing of a server leaves it, its users and its list as they are', {
  tags: ['R24'],
}, async () => {
  const { files, fixture, view, config } = await setUp();
  const list = await view.tools();
  fixture.reconfigure({ ...config, argumentRules: [{ server: 'files', argument: 'path', maxLength: 10 }] });
  expect(await view.tools()).toBe(list);
  await fixture.time.pass(120_000);
  expect([files.connects, files.live.size]).toEqual([1, 1]);
  expect(await fixture.gateway.status(null)).toMatchObject([{ runs: 1, health: 'up' }]);
});

test('a server of its own for each run: separate, able to ask its client, and gone with its run', async () => {
  const { files, fixture, run, view } = await setUp({ instance: 'per-agent' });
  const second = fixture.view(fixture.run());
  expect(await view.tools()).toHaveLength(1);
  expect(await second.tools()).toHaveLength(1);
  expect([files.connects, files.live.size]).toEqual([2, 2]);
  expect(view.isPlain('files__echo')).toBe(false);
  const told: unknown[] = [];
  const client = (name: string): ForwardedClient => ({
    capabilities: { elicitation: {} },
    ask: async method => ({ name, method }),
    tell: (method, params) => told.push([name, method, params]),
  });
  files.answer = async () => {
    const [link] = files.live;
    link?.events.onNotification('notifications/message', { level: 'info', data: 'hello' });
    const signal = new AbortController().signal;
    const sampling = link?.events.onRequest?.('sampling/createMessage', {}, signal);
    await expect(sampling).rejects.toThrow();
    return { content: [], asked: await link?.events.onRequest?.('elicitation/create', {}, signal) };
  };
  expect(await view.call('files__echo', {}, plainRequest({ client: client('first') }))).toEqual({
    content: [],
    asked: { name: 'first', method: 'elicitation/create' },
  });
  expect(told).toEqual([['first', 'notifications/message', { level: 'info', data: 'hello' }]]);
  fixture.gateway.release(run.id);
  await settled();
  expect(files.live.size).toBe(1);
  expect(fixture.gateway.viewOf(run)).toBeNull();
});

test('another tool list of a server of one run takes nothing from other runs', async () => {
  const { files, fixture, view } = await setUp({ instance: 'per-agent' });
  expect(await view.tools()).toHaveLength(1);
  files.tools = [{ name: 'echo', description: 'Says something else', inputSchema: { type: 'object' } }];
  const second = fixture.view(fixture.run());
  await second.tools();
  await settled();
  expect(await second.tools()).toEqual([]);
  expect(await second.call('files__echo', {}, plainRequest())).toBeNull();
  expect(await fixture.gateway.pending(fixture.workspace)).toMatchObject([{ tool: 'echo', kind: 'changed' }]);
  expect(await view.tools()).toHaveLength(1);
  expect(firstText(await view.call('files__echo', { arguments: { a: 1 } }, plainRequest()))).toBe('{"a":1}');
});

test('a secret that comes back as a number is taken out', async () => {
  const { files, view } = await setUp(WITH_SECRET, { TOKEN: '8675309123' });
  await view.tools();
  files.answer = () => ({ content: [], structuredContent: { n: 8675309123, m: 7 } });
  expect(await view.call('files__echo', {}, plainRequest())).toEqual({
    content: [],
    structuredContent: { n: '[secret TOKEN]', m: 7 },
  });
});

test('a changed cool-down counts for a server that is known already', async () => {
  const { files, fixture, view } = await setUp({ cooldown: 60_000 });
  await view.tools();
  fixture.reconfigure({ servers: { files: local({ cooldown: 5_000 }) }, shared: ['files'] });
  files.fault = new UpstreamFault('start', 'no');
  files.die();
  await settled();
  for (const seconds of [1, 2, 4, 8, 16]) await fixture.time.pass(seconds * 1_000);
  const [status] = await fixture.gateway.status(null);
  expect([status?.health, status!.retryAt! - fixture.time.now()]).toEqual(['cooling', 5_000]);
});

test('a shared server can ask nobody, and what it says to nobody is counted', {
  tags: ['data-of-one-client-reaching-another'],
}, async () => {
  const { files, fixture, view } = await setUp();
  await view.tools();
  expect(files.requests[0]?.events.onRequest).toBeUndefined();
  files.say('notifications/message', { data: 'hello' });
  files.say('notifications/resources/updated', { uri: 'x' });
  expect(await fixture.gateway.status(null)).toMatchObject([{ stray: 2 }]);
  expect(view.isPlain('files__echo')).toBe(true);
  // Squad's own: nobody else's to answer.
  expect(view.isPlain('squad_status')).toBe(false);
});

test('a shared server nobody has ends after a minute, not before', async () => {
  const { files, fixture, run, view } = await setUp();
  await view.tools();
  fixture.gateway.release(run.id);
  await fixture.time.pass(59_000);
  expect(files.live.size).toBe(1);
  const next = fixture.run();
  await fixture.view(next).tools();
  await fixture.time.pass(60_000);
  expect(files.connects).toBe(1);
  fixture.gateway.release(next.id);
  await fixture.time.pass(60_000);
  expect(files.live.size).toBe(0);
});

test('while a server is down its tools are not listed, a call says so, and they come back with it', async () => {
  const { files, fixture, run, view } = await setUp();
  const list = await view.tools();
  files.die();
  await settled();
  expect(await view.tools()).toEqual([]);
  const text = firstText(await view.call('files__echo', {}, plainRequest()));
  expect(text).toMatch(/files is unavailable.*again in 1 s/);
  fixture.changes.length = 0;
  await fixture.time.pass(1_000);
  expect(fixture.changes).toContain(`${run.id} tools`);
  expect(await view.tools()).toEqual(list);
});

test('a server that dies at whatever point: every call has an end at once, and was carried out at most once', async () => {
  const { files, fixture } = await setUp();
  const carriedOut = new Map<string, number>();
  files.answer = async ({ params }) => {
    const nonce = String((params.arguments as Json).nonce);
    carriedOut.set(nonce, (carriedOut.get(nonce) ?? 0) + 1);
    await new Promise(resolve => setImmediate(resolve));
    return { content: [{ type: 'text', text: nonce }] };
  };
  let [answered, told] = [0, 0];
  for (let round = 0; round < 300; round++) {
    const run = fixture.run();
    const view = fixture.view(run);
    const calls = Array.from({ length: 5 }, (_, at) => {
      const nonce = `${round}/${at}`;
      return view.call('files__echo', { arguments: { nonce } }, plainRequest()).then(result => {
        if (firstText(result) === nonce) answered += 1;
        else if (result?.isError === true) told += 1;
      });
    });
    for (let turns = round % 4; turns > 0; turns--) await new Promise(resolve => setImmediate(resolve));
    files.die();
    // No time passes here: whatever waited for a time limit would wait for ever.
    await Promise.all(calls);
    fixture.gateway.release(run.id);
    await fixture.time.pass(60_000);
  }
  expect(answered + told).toBe(1_500);
  expect(Math.min(answered, told)).toBeGreaterThan(200);
  expect(Math.max(...carriedOut.values())).toBe(1);
});

test('a list waits five seconds for servers nobody has seen, then goes without them', async () => {
  const { files, fixture, run, view } = await setUp();
  const opened = Promise.withResolvers<void>();
  files.gate = opened.promise;
  const list = view.tools();
  await fixture.time.pass(5_000);
  expect(await list).toEqual([]);
  opened.resolve();
  await settled();
  expect(fixture.changes).toContain(`${run.id} tools`);
  expect(await view.tools()).toHaveLength(1);
});

test('when the audit cannot be written, nothing of any run reaches a server until it can', {
  tags: ['failing-open'],
}, async () => {
  let isFull = false;
  const audit = new AuditLog({
    folder: auditFolder(),
    clock: { now: () => 0, monotonic: () => 0 },
    warn() {},
    disk: faultyDisk(() => (isFull ? 'ENOSPC' : 'works')).disk,
  });
  onTestFinished(() => audit.close());
  const { files, fixture, view } = await setUp({}, {}, audit);
  files.prompts = [{ name: 'greet' }];
  files.templates = [{ uriTemplate: 'file:///{name}', name: 'any' }];
  let asked = 0;
  files.answer = () => ({ content: [], contents: [], messages: [], completion: {}, asked: ++asked });
  await Promise.all([view.tools(), view.prompts(), view.resources()]);
  const other = fixture.view(fixture.run());
  const questions = [
    () => other.call('files__echo', {}, plainRequest()),
    () => other.readResource('files+file:///a', {}, plainRequest()),
    () => other.getPrompt('files__greet', {}, plainRequest()),
    () => other.complete({ ref: { type: 'ref/prompt', name: 'files__greet' } }, plainRequest()),
  ];
  for (const question of questions) await question();
  expect(asked).toBe(4);

  isFull = true;
  await view.call('files__echo', {}, plainRequest());
  await expect(audit.flush()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  for (const question of questions)
    await expect(question()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  expect(asked).toBe(5);

  isFull = false;
  await audit.flush();
  for (const question of questions) await question();
  expect(asked).toBe(9);
  expect((await audit.entries({ limit: 100 })).entries).toHaveLength(9);
});

test('a call that waited for its turn does not go out when the audit cannot be written by then', async () => {
  let fault: Error | null = null;
  const check = () => {
    if (fault !== null) throw fault;
  };
  const { files, view } = await setUp({}, {}, { append: check, check, flush: async () => {} });
  await view.tools();
  const first = Promise.withResolvers<Json>();
  let asked = 0;
  files.answer = () => (++asked === 1 ? first.promise : new Promise(() => {}));
  const calls = Array.from({ length: 9 }, () => view.call('files__echo', {}, plainRequest()));
  await settled();
  expect(asked).toBe(8);
  fault = new Error('disk full');
  first.resolve({ content: [] });
  await Promise.all([0, 8].map(at => expect(calls[at]).rejects.toThrow('disk full')));
  expect(asked).toBe(8);
});

test('a call that gets no free slot in time is answered with that, and it is no fault of the server', async () => {
  const { files, fixture, view } = await setUp({ timeout: 10_000 });
  await view.tools();
  const answered = Promise.withResolvers<Json>();
  files.answer = () => answered.promise;
  const calls = Array.from({ length: 9 }, () => view.call('files__echo', {}, plainRequest()));
  await fixture.time.pass(10_000);
  const result = await calls[8]!;
  expect(result).toMatchObject({ isError: true });
  expect(refusalOf(result).message).toMatch(/^The server files is busy: .*waited 10 s.* was not sent/);
  expect(fixture.audit.filter(({ outcome }) => outcome !== 'asked')).toMatchObject([{ outcome: 'busy' }]);
  answered.resolve({ content: [] });
  await Promise.all(calls);
  expect(await fixture.gateway.status(null)).toMatchObject([
    { health: 'up', failures: 0, calls: 8, callsInFlight: 0 },
  ]);
});

test('a run has eight calls at a server at once, all runs together have thirty-two', async () => {
  const { files, fixture } = await setUp();
  let [now, most] = [0, 0];
  files.answer = async () => {
    most = Math.max(most, ++now);
    await settled();
    now -= 1;
    return { content: [] };
  };
  const views = Array.from({ length: 10 }, () => fixture.view(fixture.run()));
  const twenty = (view: (typeof views)[number]) =>
    Array.from({ length: 20 }, () => view.call('files__echo', {}, plainRequest()));
  await Promise.all(twenty(views[0]!));
  expect(most).toBe(8);
  await Promise.all(views.flatMap(twenty));
  expect(most).toBe(32);
});

test('fifty runs with calls of all lengths, a third of them taken back: nobody gets what is somebody else’s', async () => {
  const { files, fixture } = await setUp();
  files.answer = async ({ params }) => {
    for (let turns = Number((params.arguments as Json).turns); turns > 0; turns--)
      await new Promise(resolve => setImmediate(resolve));
    return { content: [{ type: 'text', text: (params.arguments as Json).nonce }] };
  };
  const views = Array.from({ length: 50 }, () => fixture.view(fixture.run()));
  await Promise.all(views.map(view => view.tools()));
  let [right, takenBack] = [0, 0];
  const one = async (view: (typeof views)[number], nonce: string, at: number) => {
    const gone = new AbortController();
    const params = { arguments: { nonce, turns: (at * 7) % 5 } };
    const call = view.call('files__echo', params, plainRequest({ signal: gone.signal }));
    if (at % 3 === 0) setImmediate(() => gone.abort());
    try {
      if (firstText(await call) === nonce) right += 1;
    } catch {
      takenBack += gone.signal.aborted ? 1 : 0;
    }
  };
  await Promise.all(
    views.flatMap((view, run) => Array.from({ length: 60 }, (_, at) => one(view, `${run}/${at}`, at))),
  );
  expect(right + takenBack).toBe(3_000);
  expect(takenBack).toBeGreaterThan(100);
  expect(right).toBeGreaterThanOrEqual(2_000);
  expect(await fixture.gateway.status(null)).toMatchObject([{ callsInFlight: 0, failures: 0 }]);
});

test('a call under way has a line after a quarter of a second, and another at its end; a short one has one', async () => {
  const { files, fixture, view } = await setUp();
  await view.tools();
  await view.call('files__echo', { arguments: { a: 1 } }, plainRequest());
  await fixture.time.pass(1_000);
  expect(fixture.audit.map(({ outcome }) => outcome)).toEqual(['ok']);

  const answered = Promise.withResolvers<Json>();
  files.answer = () => answered.promise;
  const slow = view.call('files__echo', { arguments: { a: 1 } }, plainRequest());
  await fixture.time.pass(100);
  expect(fixture.audit).toHaveLength(1);
  await fixture.time.pass(150);
  const [line] = fixture.audit.slice(1);
  expect(line).toMatchObject({ name: 'echo', decision: 'allowed', outcome: 'asked' });
  expect(line!.argumentHash).toBe(fixture.audit[0]!.argumentHash);
  await fixture.time.pass(10_000);
  answered.resolve({ content: [] });
  await slow;
  expect(fixture.audit.map(({ outcome }) => outcome)).toEqual(['ok', 'asked', 'ok']);
});

test('a repeated denial is logged at once and then once a second, and the counts add up', async () => {
  const { fixture, view } = await setUp();
  await view.tools();
  const ask = async (times: number, name: string) => {
    for (let time = 0; time < times; time++) expect(await view.call(name, {}, plainRequest())).toBeNull();
  };
  await ask(1, 'files__none');
  expect(fixture.audit).toMatchObject([{ name: 'none', decision: 'denied' }]);
  expect(fixture.audit[0]).not.toHaveProperty('count');
  await ask(499, 'files__none');
  await ask(1, 'files__other');
  expect(fixture.audit).toHaveLength(2);
  await fixture.time.pass(1_000);
  expect(fixture.audit.map(({ name, count }) => [name, count])).toEqual([
    ['none', undefined],
    ['other', undefined],
    ['none', 499],
  ]);
  await ask(3, 'files__none');
  await fixture.gateway.close();
  expect(fixture.audit.at(-1)).toMatchObject({ name: 'none', decision: 'denied', count: 3 });
  expect(fixture.denied.filter(name => name === 'files__none')).toHaveLength(503);
});

test('very many names that are denied at once are logged together, and each is counted', async () => {
  const { fixture, view } = await setUp();
  await view.tools();
  for (let at = 0; at < 1_000; at++) await view.call(`files__none-${at}`, {}, plainRequest());
  await fixture.time.pass(5_000);
  expect(fixture.audit.length).toBeLessThan(250);
  expect(fixture.audit.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(1_000);
  expect(fixture.denied).toHaveLength(1_000);
});

test('a call whose caller has left before it has a place is not sent, also when all leave at once', async () => {
  const { files, fixture, view } = await setUp();
  await view.tools();
  let asked = 0;
  files.answer = () => {
    asked += 1;
    return new Promise(() => {});
  };
  const left = Array.from({ length: 40 }, () => new AbortController());
  const calls = left.map(({ signal }) =>
    view.call('files__echo', {}, plainRequest({ signal })).catch((error: Error) => error.message),
  );
  await settled();
  expect(asked).toBe(8);
  // One by one, each with all that follows from it at once: as connections end.
  for (const one of left) {
    one.abort();
    for (let turns = 0; turns < 20; turns++) await null;
  }
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['The request was cancelled.']));
  expect(asked).toBe(8);
  expect(fixture.audit.every(({ outcome }) => outcome === 'cancelled')).toBe(true);
});
