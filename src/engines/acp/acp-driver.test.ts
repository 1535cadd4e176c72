import { expect, test } from 'vitest';
import type { Driver, DriverStart } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { ENDPOINT } from '../testing/contract.ts';
import { type AcpTraits, acpDriver } from './acp-driver.ts';

const START: DriverStart = {
  ...{ prompt: 'Work.', cwd: '/here', model: null, chatId: null, continues: false, endpoint: null },
  options: { ...PLAIN_OPTIONS, permission: 'read', approvals: 'ask' },
};
const json = JSON.stringify;
const OPENED = json({ id: 'session', result: { sessionId: 's' } });
const OPTIONS = [
  { optionId: 'always', kind: 'allow_always' },
  { optionId: 'once', kind: 'allow_once' },
  { optionId: 'no', kind: 'reject_once' },
];
const wants = (id: unknown, toolCall: object = { title: 'sh job.sh', kind: 'execute' }) =>
  json({ id, method: 'session/request_permission', params: { options: OPTIONS, toolCall } });
const ended = (id: string) => json({ id, result: { stopReason: 'end_turn' } });
const chosen = (id: unknown, optionId: string, _meta?: object) =>
  json({ jsonrpc: '2.0', id, result: { outcome: { outcome: 'selected', optionId }, _meta } });

function read(driver: Driver, line: string) {
  const sent = driver.read(line).flatMap(event => (event.type === 'send' ? event.lines : []));
  for (const each of sent) driver.sent(each);
  return sent.map(each => JSON.parse(each));
}

function started(start: Partial<DriverStart> = {}, traits: AcpTraits = {}) {
  const driver = acpDriver({ ...START, ...start }, traits);
  const first = driver.open();
  for (const line of first) driver.sent(line);
  return { driver, first };
}

function working(start: Partial<DriverStart> = {}, traits: AcpTraits = {}) {
  const { driver, first } = started(start, traits);
  const [prompt] = read(driver, OPENED);
  return { driver, lines: [...first, json(prompt)] };
}

const ask = (driver: Driver, line: string) => {
  const [event] = driver.read(line);
  if (event?.type !== 'asked') throw new Error(`not asked: ${line}`);
  return event.ask;
};

test('the prompt is sent once, when the session is open', () => {
  const { driver, first } = started({ endpoint: ENDPOINT });
  expect(first.map(line => JSON.parse(line).method)).toEqual(['initialize', 'session/new']);
  expect(JSON.parse(first[1]!).params).toEqual({
    cwd: '/here',
    mcpServers: [{ name: 'squad', ...ENDPOINT.relay, env: [] }],
  });
  expect(driver.isReady).toBe(false);
  const sent = read(driver, OPENED);
  expect(sent).toMatchObject([
    { id: 'prompt', params: { sessionId: 's', prompt: [{ type: 'text', text: 'Work.' }] } },
  ]);
  expect(driver.isReady).toBe(true);

  const next = acpDriver(START);
  for (const line of [...first, json(sent[0])]) next.sent(line);
  expect(next.read(OPENED)).toEqual([]);
});

test('a session is loaded, or resumed by agents that cannot load one, with the same servers', () => {
  const { driver, first } = started({ chatId: 's', continues: true, endpoint: ENDPOINT });
  const load = JSON.parse(first[1]!);
  expect(load).toMatchObject({ method: 'session/load', params: { sessionId: 's', cwd: '/here' } });
  const [resume] = read(driver, json({ id: 'session', error: { code: -32601 } }));
  expect(resume).toMatchObject({ method: 'session/resume', params: load.params });
  expect(read(driver, json({ id: 'session', result: {} }))).toMatchObject([{ id: 'prompt' }]);
});

test('the turn is over when the agent refuses the session', () => {
  const { driver } = started({ chatId: 's', continues: true });
  read(driver, json({ id: 'session', error: { code: -32601 } }));
  expect(driver.isIdle).toBe(false);
  expect(read(driver, json({ id: 'session', error: { code: -32602 } }))).toEqual([]);
  expect(driver.isIdle).toBe(true);
});

test('a use of a tool is asked about once, and only ever allowed for this use', () => {
  const { driver } = working();
  const asked = ask(driver, wants(0));
  expect(asked).toEqual({ id: '0', tool: 'execute', input: { title: 'sh job.sh' } });
  expect(driver.read(wants(0))).toEqual([]);
  expect(driver.answer(asked, { isGiven: true })).toEqual([chosen(0, 'once')]);
  expect(driver.answer(asked, { isGiven: false, why: 'No.' })).toEqual([chosen(0, 'no', { why: 'No.' })]);
});

test.each([
  ['read', 'ask', { kind: 'search' }, 'once'],
  ['read', 'deny', { kind: 'execute' }, 'no'],
  ['edit', 'deny', { kind: 'edit', locations: [{ path: '/here/a' }] }, 'once'],
  ['edit', 'deny', { kind: 'edit', locations: [{ path: '/here/../b' }] }, 'no'],
  ['full', 'ask', { kind: 'edit', locations: [{ path: '/b' }] }, 'once'],
] as const)('permission %s and approvals %s answer %j with %s', (permission, approvals, call, option) => {
  const { driver } = working({ options: { ...PLAIN_OPTIONS, permission, approvals } });
  expect(driver.read(wants(0, call))).toEqual([{ type: 'send', lines: [chosen(0, option)] }]);
});

test('an answered request is not asked again, although the lines are read again', () => {
  const { driver, lines } = working();
  const answer = driver.answer(ask(driver, wants(0)), { isGiven: true });
  const next = acpDriver(START);
  for (const line of [...lines, ...answer]) next.sent(line);
  expect([OPENED, wants(0), wants(1)].flatMap(line => next.read(line))).toEqual([
    { type: 'asked', ask: expect.objectContaining({ id: '1' }) },
  ]);
});

test('a request that changes while the user is asked is refused', () => {
  const { driver } = working();
  ask(driver, wants(0));
  expect(driver.read(wants(0, { title: 'rm -r .', kind: 'execute' }))).toEqual([
    { type: 'withdrawn', id: '0' },
    { type: 'send', lines: [chosen(0, 'no')] },
  ]);
});

test('a message would end what the agent does, so it needs an interrupt, which cancels open questions', () => {
  const { driver } = working();
  ask(driver, wants(7));
  expect(driver.say('m', 'And this.')).toBeNull();
  const lines = driver.interrupt('i');
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { method: 'session/cancel', params: { sessionId: 's' } },
    { id: 7, result: { outcome: { outcome: 'cancelled' } } },
  ]);
  for (const line of lines) driver.sent(line);
  for (const line of driver.say('m', 'And this.')!) driver.sent(line);
  expect([...driver.waiting]).toContain('m');
  read(driver, json({ id: 'prompt', result: { stopReason: 'cancelled' } }));
  expect(driver.isIdle).toBe(false);
  read(driver, ended('m'));
  expect(driver.isIdle).toBe(true);
  expect([...driver.waiting]).toEqual([]);
});

test('an agent that ends its turn after a refusal gets the reason, one that goes on does not', () => {
  for (const goesOn of [false, true]) {
    const { driver } = working();
    for (const line of driver.answer(ask(driver, wants(0)), { isGiven: false, why: 'Use b.' }))
      driver.sent(line);
    if (goesOn)
      driver.read(
        json({ method: 'session/update', params: { update: { sessionUpdate: 'agent_message_chunk' } } }),
      );
    const sent = read(driver, ended('prompt'));
    expect(sent.map(line => line.params.prompt[0].text)).toEqual(goesOn ? [] : ['Use b.']);
    expect(driver.isIdle).toBe(goesOn);
  }
});

test('a refusal that ends the turn, or interrupts it, is followed by its reason, also by the next hub', () => {
  for (const refusal of ['ends_turn', 'interrupts'] as const) {
    const { driver, lines } = working({}, { refusal });
    const answer = driver.answer(ask(driver, wants(0)), { isGiven: false, why: 'Use b.' });
    expect(answer.map(line => JSON.parse(line).method ?? 'answer')).toEqual(
      refusal === 'interrupts' ? ['session/cancel', 'answer'] : ['answer'],
    );
    const next = acpDriver(START, { refusal });
    for (const line of [...lines, ...answer]) next.sent(line);
    for (const line of [OPENED, wants(0)]) next.read(line);
    const chunk = { sessionUpdate: 'agent_message_chunk', content: { text: 'Operation cancelled by user' } };
    next.read(json({ method: 'session/update', params: { update: chunk } }));
    const sent = read(next, ended('prompt'));
    expect(sent.map(line => line.params.prompt[0].text)).toEqual(['Use b.']);
    // An interrupt of the user ends it all.
    for (const line of next.interrupt('i')) next.sent(line);
    expect(read(next, ended('why-prompt'))).toEqual([]);
    expect(next.isIdle).toBe(true);
  }
});

test('an agent that reads a message while it works gets it at once', () => {
  const { driver } = working({}, { joins: true });
  for (const line of driver.say('m', 'And this.')!) driver.sent(line);
  read(driver, ended('prompt'));
  expect(driver.isIdle).toBe(false);
  read(driver, ended('m'));
  expect(driver.isIdle).toBe(true);
});

test('the user decides on everything that an agent with its own settings asks for', () => {
  const { driver } = working(
    { options: { ...PLAIN_OPTIONS, permission: 'edit', approvals: 'ask' } },
    { asksForRest: true },
  );
  expect(ask(driver, wants(0, { kind: 'edit', locations: [{ path: '/here/a' }] })).tool).toBe('edit');
});

test('requests that Squad does not know and lines that are too long are answered', () => {
  const { driver } = working();
  expect(read(driver, json({ id: 1, method: 'fs/read_text_file', params: {} }))).toMatchObject([
    { id: 1, error: { code: -32601 } },
  ]);
  const [event] = driver.tooLong(wants(2, { title: 'x'.repeat(1_000) }).slice(0, 80));
  expect(event).toEqual({ type: 'send', lines: [expect.stringContaining('"cancelled"')] });
  expect(driver.tooLong(ended('prompt'))).toEqual([]);
  expect(driver.isIdle).toBe(true);
});

test('lines of any shape change nothing', () => {
  const { driver } = working();
  for (const line of [
    '',
    'null',
    '[]',
    '{',
    '{}',
    '{"id":0}',
    '{"method":7}',
    '{"method":"session/update"}',
  ]) {
    expect(driver.read(line)).toEqual([]);
    expect(driver.tooLong(line.slice(0, 3))).toEqual([]);
    driver.sent(line);
  }
});
