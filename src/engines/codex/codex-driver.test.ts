import { describe, expect, test } from 'vitest';
import { formOf } from '../../core/inbox/elicitation.ts';
import type { Driver, DriverStart } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { codexDriver } from './codex-driver.ts';

const OPTIONS = { ...PLAIN_OPTIONS, permission: 'edit', approvals: 'ask' } as const;
const START = {
  ...{ prompt: 'Work.', cwd: '/here', model: 'm', chatId: null, continues: false },
  ...{ options: OPTIONS, endpoint: null },
};
const json = JSON.stringify;
const OPENED = json({ id: 'thread', result: { thread: { id: 't' } } });
const notice = (method: string, params: object) => json({ method, params: { threadId: 't', ...params } });
const begun = (id: string) => notice('turn/started', { turn: { id } });
const completed = (id: string) => notice('turn/completed', { turn: { id, status: 'completed' } });
const accepted = (id: string, turn: string) => json({ id, result: { turn: { id: turn } } });
const taken = (clientId: string) => notice('item/started', { item: { type: 'userMessage', clientId } });
const command = (id: unknown, text = 'date') =>
  json({ method: 'item/commandExecution/requestApproval', id, params: { threadId: 't', command: text } });

/** Gives the driver a line of Codex, and all lines that it sends at once. */
function read(driver: Driver, line: string) {
  const events = driver.read(line);
  const sent = events.flatMap(event => (event.type === 'send' ? event.lines : []));
  for (const line of sent) driver.sent(line);
  return { events, sent: sent.map(line => JSON.parse(line)) };
}

function started(start: Partial<DriverStart> = {}) {
  const driver = codexDriver({ ...START, ...start });
  const first = driver.open();
  for (const line of first) driver.sent(line);
  return { driver, first };
}

/** A turn whose prompt the model has got. */
function working() {
  const { driver, first } = started();
  const { sent } = read(driver, OPENED);
  for (const line of [accepted('prompt', 'a'), begun('a'), taken('prompt')]) read(driver, line);
  return { driver, lines: [...first, ...sent.map(line => json(line))] };
}

const ask = (driver: Driver, line: string) => {
  const [event] = driver.read(line);
  if (event?.type !== 'asked') throw new Error(`not asked: ${line}`);
  return event.ask;
};

test('without a user to ask, Codex asks for nothing, and what it asks for is refused', () => {
  const deny = { ...OPTIONS, approvals: 'deny' } as const;
  const modes = [deny, { ...deny, permission: 'full' } as const].map(options => {
    const [, , open] = started({ options }).first;
    const { approvalPolicy, sandbox } = JSON.parse(open!).params;
    return [approvalPolicy, sandbox];
  });
  expect(modes).toEqual([
    ['never', 'workspace-write'],
    ['never', 'danger-full-access'],
  ]);
  const { driver } = started({ options: deny });
  read(driver, OPENED);
  expect(read(driver, command(0)).sent).toEqual([{ id: 0, result: { decision: 'decline' } }]);
  expect(read(driver, command(0)).sent).toEqual([]);
  const form = json({ id: 1, method: 'mcpServer/elicitation/request', params: { serverName: 'x' } });
  expect(read(driver, form).sent).toEqual([
    { id: 1, result: { action: 'cancel', content: null, _meta: null } },
  ]);
});

test('the prompt is sent once, when the chat is open', () => {
  const { driver, first } = started();
  expect(first.map(line => JSON.parse(line).method)).toEqual(['initialize', 'initialized', 'thread/start']);
  expect(JSON.parse(first[2]!).params).toEqual({
    ...{ cwd: '/here', model: 'm', approvalPolicy: 'on-request', sandbox: 'workspace-write' },
  });
  expect(driver.isReady).toBe(false);
  expect(read(driver, json({ id: 'init', result: {} })).sent).toEqual([]);
  const { sent } = read(driver, OPENED);
  expect(sent).toEqual([
    expect.objectContaining({
      id: 'prompt',
      method: 'turn/start',
      params: {
        ...{ threadId: 't', clientUserMessageId: 'prompt' },
        input: [{ type: 'text', text: 'Work.', text_elements: [] }],
      },
    }),
  ]);
  expect(driver.isReady).toBe(true);

  const next = codexDriver(START);
  for (const line of [...first, json(sent[0])]) next.sent(line);
  expect(next.read(OPENED)).toEqual([]);
});

test('a hub that takes over before the prompt was sent sends it', () => {
  const { driver, first } = started();
  driver.read(OPENED);
  const next = codexDriver(START);
  for (const line of first) next.sent(line);
  expect(read(next, OPENED).sent).toMatchObject([{ id: 'prompt' }]);
});

test('a chat is continued by its id', () => {
  const { first } = started({ chatId: 'c', continues: true } as never);
  expect(JSON.parse(first[2]!)).toMatchObject({ method: 'thread/resume', params: { threadId: 'c' } });
});

test.each(['init', 'thread', 'prompt'])('the turn is over when Codex refuses %s', id => {
  const { driver } = started();
  if (id === 'prompt') read(driver, OPENED);
  expect(driver.isIdle).toBe(false);
  expect(read(driver, json({ id, error: { code: -32600, message: 'no' } })).sent).toEqual([]);
  expect(driver.isIdle).toBe(true);
});

test('the turn lasts until its own turn and those of all messages are complete', () => {
  const { driver } = working();
  const [said] = driver.say('m', 'And this.') as [string];
  driver.sent(said);
  read(driver, completed('a'));
  expect(driver.isIdle).toBe(false);
  for (const line of [accepted('m', 'b'), begun('b')]) read(driver, line);
  expect([...driver.waiting]).toEqual(['m']);
  read(driver, taken('m'));
  expect([...driver.waiting]).toEqual([]);
  expect(driver.isIdle).toBe(false);
  read(driver, completed('b'));
  expect(driver.isIdle).toBe(true);
});

test('a message that the model did not get before its turn ended is still waiting', () => {
  const { driver } = working();
  for (const line of driver.say('m', 'And this.')!) driver.sent(line);
  for (const line of [accepted('m', 'a'), completed('a')]) read(driver, line);
  expect(driver.isIdle).toBe(true);
  expect([...driver.waiting]).toEqual(['m']);
});

test('an interrupt names the running turn; without one there is nothing to interrupt', () => {
  const { driver } = working();
  expect(driver.interrupt('i').map(line => JSON.parse(line))).toEqual([
    { id: 'i', method: 'turn/interrupt', params: { threadId: 't', turnId: 'a' } },
  ]);
  read(driver, completed('a'));
  expect(driver.interrupt('i')).toEqual([]);
});

test('chats of sub-agents are not the run', () => {
  const { driver } = working();
  read(driver, json({ method: 'turn/completed', params: { threadId: 'other', turn: { id: 'a' } } }));
  expect(driver.isIdle).toBe(false);
});

test('a command is asked about once; its answer has the same id, and a refusal its reason before it', () => {
  const { driver } = working();
  const asked = ask(driver, command(0));
  expect(asked).toEqual({ id: '0', tool: 'shell', input: { command: 'date' } });
  expect(driver.read(command(0))).toEqual([]);
  expect(ask(driver, command('0')).id).toBe('"0"');
  expect(driver.answer(asked, { isGiven: true })).toEqual([json({ id: 0, result: { decision: 'accept' } })]);
  const [reason, refusal] = driver.answer(asked, { isGiven: false, why: 'Use the other.' });
  expect(reason).toContain('Use the other.');
  expect(refusal).toBe(json({ id: 0, result: { decision: 'decline' } }));
});

test('an answered request is not asked again, although the lines are read again', () => {
  const { driver, lines } = working();
  const answer = driver.answer(ask(driver, command(0)), { isGiven: true });
  const next = codexDriver(START);
  for (const line of [...lines, ...answer]) next.sent(line);
  expect([OPENED, command(0), command(1)].flatMap(line => next.read(line))).toEqual([
    { type: 'asked', ask: expect.objectContaining({ id: '1' }) },
  ]);
});

test('a request that changes while the user is asked is refused', () => {
  const { driver } = working();
  ask(driver, command(0, 'ls'));
  expect(driver.read(command(0, 'rm -r .'))).toEqual([
    { type: 'withdrawn', id: '0' },
    { type: 'send', lines: [json({ id: 0, result: { decision: 'decline' } })] },
  ]);
});

test('a request can be withdrawn', () => {
  const { driver } = working();
  ask(driver, command(0));
  expect(driver.read(notice('serverRequest/resolved', { requestId: 0 }))).toEqual([
    { type: 'withdrawn', id: '0' },
  ]);
});

test('a change of files shows the files', () => {
  const { driver } = working();
  const changes = [{ path: '/a', diff: '+x' }];
  read(driver, notice('item/started', { item: { type: 'fileChange', id: 'f', changes } }));
  const asked = ask(
    driver,
    json({ method: 'item/fileChange/requestApproval', id: 1, params: { itemId: 'f', reason: null } }),
  );
  expect(asked).toEqual({ id: '1', tool: 'file_change', input: { path: '/a', changes } });
});

test('permissions are given as they were asked for, and only for this turn', () => {
  const { driver } = working();
  const permissions = { network: { enabled: true }, fileSystem: null };
  const asked = ask(
    driver,
    json({ method: 'item/permissions/requestApproval', id: 1, params: { permissions } }),
  );
  const result = (isGiven: boolean) =>
    JSON.parse(driver.answer(asked, { isGiven, why: 'No.' } as never).at(-1)!).result;
  expect(result(true)).toEqual({ permissions: { network: { enabled: true } }, scope: 'turn' });
  expect(result(false)).toEqual({ permissions: {}, scope: 'turn' });
});

test('a server asks for a yes or for values; requests that Squad does not know are refused', () => {
  const { driver } = working();
  const form = (properties: object) =>
    json({
      method: 'mcpServer/elicitation/request',
      id: 1,
      params: { serverName: 'files', message: 'Delete it?', requestedSchema: { properties } },
    });
  const asked = ask(driver, form({}));
  expect(asked).toEqual({ id: '1', tool: 'MCP server files', input: { message: 'Delete it?' } });
  expect(JSON.parse(driver.answer(asked, { isGiven: true })[0]!).result.action).toBe('accept');
  const line = json({ method: 'item/tool/call', id: 2, params: 7 });
  expect(driver.read(line)).toEqual([{ type: 'send', lines: [expect.stringContaining('-32601')] }]);

  const other = working().driver;
  const wanted = ask(other, form({ name: { type: 'string' } }));
  expect(wanted.form).toEqual({
    message: 'Delete it?',
    requestedSchema: { properties: { name: { type: 'string' } } },
  });
  const values = { name: 'a' };
  expect(JSON.parse(other.answer(wanted, { isGiven: true, values })[0]!).result).toMatchObject({
    ...{ action: 'accept', content: values },
  });
  const refusal = other.answer(wanted, { isGiven: false, why: 'No.' }).at(-1)!;
  expect(JSON.parse(refusal).result.action).toBe('decline');
});

describe('a question of the model', () => {
  const options = ['Red', 'Blue'].map(label => ({ label, description: `A ${label} one` }));
  const questions = [
    { id: 'colour', header: 'Colour', question: 'Which colour?', isOther: true, isSecret: false, options },
    { id: 'name', header: 'Name', question: 'Which name?', isOther: false, isSecret: false, options: null },
  ];
  const wants = (id: number, asked: unknown = questions) =>
    json({ method: 'item/tool/requestUserInput', id, params: { threadId: 't', questions: asked } });

  test('is a form, and its values are the answers', () => {
    const { driver } = working();
    const asked = ask(driver, wants(3));
    expect(asked).toMatchObject({ id: '3', tool: 'request_user_input', input: { questions } });
    expect(formOf({ ...asked.form })).toMatchObject({
      question: 'Which colour?\nWhich name?',
      fields: [
        { name: '1', title: 'Colour', type: 'choice', choices: ['Red', 'Blue', 'None of the above'] },
        { name: '2', title: 'Name', type: 'text' },
      ],
    });
    expect(driver.answer(asked, { isGiven: true, values: { 1: 'Blue', 2: 'Ada' } })).toEqual([
      json({ id: 3, result: { answers: { colour: { answers: ['Blue'] }, name: { answers: ['Ada'] } } } }),
    ]);
  });

  test('that nobody answers has no answers, and the model reads why', () => {
    const { driver } = working();
    const lines = driver.answer(ask(driver, wants(3)), { isGiven: false, why: 'Nobody was there.' });
    expect(lines).toEqual([
      expect.stringContaining('Nobody was there.'),
      json({ id: 3, result: { answers: {} } }),
    ]);
    expect(driver.tooLong(wants(4).slice(0, 60))).toEqual([
      { type: 'send', lines: [json({ id: 4, result: { answers: {} } })] },
    ]);
  });

  test.each([[[{ ...questions[1], isSecret: true }]], [[]], [7]])('%j is no form for a person', asked => {
    expect(formOf({ ...ask(working().driver, wants(3, asked)).form })).toBeNull();
  });
});

test('lines that are too long to read neither block Codex nor the end', () => {
  const { driver } = working();
  expect(driver.tooLong(command(3, 'x'.repeat(1_000)).slice(0, 300))).toEqual([
    { type: 'send', lines: [json({ id: 3, result: { decision: 'decline' } })] },
  ]);
  for (const line of driver.say('m', 'x')!) driver.sent(line);
  for (const line of [taken('m'), completed('a')]) expect(driver.tooLong(line)).toEqual([]);
  expect(driver.isIdle).toBe(true);
});

test('lines of any shape change nothing', () => {
  const { driver } = working();
  for (const line of ['', 'null', '[]', '{', '{}', '{"id":0}', '{"method":7}', '{"method":"turn/started"}']) {
    expect(driver.read(line)).toEqual([]);
    expect(driver.tooLong(line.slice(0, 3))).toEqual([]);
    driver.sent(line);
  }
});
