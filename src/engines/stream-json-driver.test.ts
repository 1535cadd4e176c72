import { describe, expect, test } from 'vitest';
import { formOf } from '../core/inbox/elicitation.ts';
import type { Driver } from '../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../core/testing/plain-options.ts';
import { streamJsonDriver } from './stream-json-driver.ts';

const json = (value: object) => JSON.stringify(value);
const use = (id: string, input: object = { command: 'date' }, tool_name = 'Bash') =>
  json({ type: 'control_request', request_id: id, request: { subtype: 'can_use_tool', tool_name, input } });
const taken = (line: string) => json({ type: 'user', uuid: JSON.parse(line).uuid, isReplay: true });
const RESULT = json({ is_error: false, result: 'Done.', type: 'result' });
const INIT = json({ type: 'system', subtype: 'init', session_id: 's' });

const options = { ...PLAIN_OPTIONS, approvals: 'ask' } as const;

function begun(prompt = 'Work.', some: { approvals?: 'deny' } = {}) {
  const driver = streamJsonDriver({ prompt, options: { ...options, ...some } });
  const [first] = driver.open() as [string];
  driver.sent(first);
  return { driver, first };
}

const ask = (driver: Driver, line: string) => {
  const [event] = driver.read(line);
  if (event?.type !== 'asked') throw new Error(`not asked: ${line}`);
  return event.ask;
};

test('a question of the model is a form, and its values are the answers', () => {
  const questions = [
    {
      ...{ question: 'Which colour?', header: 'Colour', multiSelect: false },
      options: [
        { label: 'Red', description: 'Warm' },
        { label: 'Blue', description: 'Cold' },
      ],
    },
    {
      question: 'Which sizes?',
      header: 'Sizes',
      multiSelect: true,
      options: [{ label: 'S' }, { label: 'M' }],
    },
  ];
  const { driver } = begun();
  const asked = ask(driver, use('q', { questions }, 'AskUserQuestion'));
  expect(formOf({ ...asked.form })).toMatchObject({
    question: 'Which colour?\nWhich sizes?',
    fields: [
      { name: '1', title: 'Colour', type: 'choice', choices: ['Red', 'Blue'], isRequired: true },
      { name: '2', title: 'Sizes', type: 'choices', choices: ['S', 'M'] },
    ],
  });
  const [given] = driver.answer(asked, { isGiven: true, values: { 1: 'Blue', 2: ['S', 'M'] } });
  expect(JSON.parse(given!).response.response.updatedInput).toEqual({
    questions,
    answers: { 'Which colour?': 'Blue', 'Which sizes?': 'S, M' },
  });
  const strange = ask(driver, use('r', { questions: 7 }, 'AskUserQuestion'));
  expect(formOf({ ...strange.form })).toBeNull();
});

test('the prompt is one line, whatever is in it', () => {
  const prompt = 'two\nlines "quoted" \u2028 😀 {"type":"user"}';
  const { first } = begun(prompt);
  expect(first).not.toContain('\n');
  expect(JSON.parse(first)).toMatchObject({ type: 'user', message: { role: 'user', content: prompt } });
});

test('the agent is idle once it has taken its prompt and reported a result, and running again after the next prompt', () => {
  const { driver, first } = begun();
  const states = [INIT, taken(first), RESULT, INIT, RESULT].map(line => {
    driver.read(line);
    return driver.isIdle;
  });
  expect(states).toEqual([false, false, true, false, true]);
});

test('a result that comes before a message was taken is not the end', () => {
  const { driver, first } = begun();
  const [second] = streamJsonDriver({ prompt: 'And this.', options }).open() as [string];
  driver.sent(second);
  for (const line of [taken(first), RESULT]) driver.read(line);
  expect(driver.isIdle).toBe(false);
  for (const line of [taken(second), RESULT]) driver.read(line);
  expect(driver.isIdle).toBe(true);
});

test('a message waits until it is taken; an interrupt is a line of its own', () => {
  const { driver, first } = begun();
  const [said] = driver.say('0b3e6c2e-0000-4000-8000-000000000001', 'And this.') as [string];
  driver.sent(said);
  expect([...driver.waiting]).toContain(JSON.parse(said).uuid);
  for (const line of [taken(first), taken(said)]) driver.read(line);
  expect([...driver.waiting]).toEqual([]);
  expect(driver.interrupt('i').map(line => JSON.parse(line))).toEqual([
    { type: 'control_request', request_id: 'i', request: { subtype: 'interrupt' } },
  ]);
});

describe('a use of a tool', () => {
  test('is asked about once, and its answer names the request and the arguments that were shown', () => {
    const { driver } = begun();
    const asked = ask(driver, use('a'));
    expect(asked).toEqual({ id: 'a', tool: 'Bash', input: { command: 'date' } });
    expect(driver.read(use('a'))).toEqual([]);
    expect(JSON.parse(driver.answer(asked, { isGiven: true }).join())).toEqual({
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: 'a',
        response: { behavior: 'allow', updatedInput: { command: 'date' } },
      },
    });
    expect(JSON.parse(driver.answer(asked, { isGiven: false, why: 'No.' }).join()).response.response).toEqual(
      {
        behavior: 'deny',
        message: 'No.',
      },
    );
  });

  test('that was answered is not asked about again, although the lines are read again', () => {
    const before = begun();
    const answer = before.driver.answer(ask(before.driver, use('a')), { isGiven: true });
    const driver = streamJsonDriver({ prompt: 'Work.', options });
    for (const line of [before.first, ...answer]) driver.sent(line);
    expect([INIT, use('a'), use('b')].flatMap(line => driver.read(line))).toEqual([
      { type: 'asked', ask: expect.objectContaining({ id: 'b' }) },
    ]);
  });

  test('that changes while the user is asked is refused', () => {
    const { driver } = begun();
    ask(driver, use('a', { command: 'ls' }));
    const [withdrawn, refused] = driver.read(use('a', { command: 'rm -r .' }));
    expect(withdrawn).toEqual({ type: 'withdrawn', id: 'a' });
    expect(refused).toMatchObject({
      ...{ type: 'send', lines: [expect.stringContaining('"behavior":"deny"')] },
    });
  });

  test('is refused at once, and only once, if nobody can be asked', () => {
    const { driver } = begun('Work.', { approvals: 'deny' });
    const [refused] = driver.read(use('a'));
    expect(refused).toMatchObject({
      ...{ type: 'send', lines: [expect.stringMatching(/"request_id":"a".*"deny".*nobody can be asked/)] },
    });
    if (refused?.type === 'send') for (const line of refused.lines) driver.sent(line);
    expect(driver.read(use('a'))).toEqual([]);
  });

  test('can be withdrawn', () => {
    const { driver } = begun();
    ask(driver, use('a'));
    expect(driver.read(json({ type: 'control_cancel_request', request_id: 'a' }))).toEqual([
      { type: 'withdrawn', id: 'a' },
    ]);
  });

  test('with arguments that are too long to read is refused', () => {
    const { driver } = begun();
    const line = use('a', { command: 'x'.repeat(9 * 1024 * 1024) });
    expect(driver.tooLong(line.slice(0, 1_000))).toEqual([
      { type: 'send', lines: [expect.stringMatching(/"request_id":"a".*"deny"/)] },
    ]);
  });
});

test('a request that Squad does not know is answered with an error, or the agent would wait', () => {
  const { driver } = begun();
  for (const request of [{ subtype: 'hook_callback' }, { subtype: 'can_use_tool' }, {}, null, 7])
    expect(driver.read(json({ type: 'control_request', request_id: 'h', request }))).toEqual([
      { type: 'send', lines: [expect.stringMatching(/"subtype":"error","request_id":"h"/)] },
    ]);
});

test('an answer that is too long to read ends the turn too', () => {
  const { driver, first } = begun();
  driver.read(taken(first));
  expect(driver.tooLong('{"is_error":false,"result":"xxxx')).toEqual([]);
  expect(driver.isIdle).toBe(true);
});

test('lines of any shape change nothing', () => {
  const { driver } = begun();
  const strange = [
    '',
    'null',
    '[]',
    '{',
    '{"type":7}',
    '{"type":"control_request"}',
    '{"type":"user"}',
    '\u0000',
  ];
  for (const line of [...strange, use(7 as unknown as string)]) {
    expect(driver.read(line)).toEqual([]);
    expect(driver.tooLong(line.slice(0, 3))).toEqual([]);
    driver.sent(line);
  }
});

describe('Qwen Code, which does not repeat messages', () => {
  const qwen = () => {
    const driver = streamJsonDriver({ prompt: 'Work.', options }, { repeatsMessages: false });
    const first = driver.open();
    for (const line of first) driver.sent(line);
    return { driver, first };
  };

  test('hears first that somebody can be asked', () => {
    const { first } = qwen();
    expect(first.map(line => JSON.parse(line))).toMatchObject([
      { type: 'control_request', request: { subtype: 'initialize' } },
      { type: 'user', message: { content: 'Work.' } },
    ]);
  });

  test('answers one message with each result, and takes the next one then', () => {
    const { driver } = qwen();
    const id = '0b3e6c2e-0000-4000-8000-000000000001';
    for (const line of driver.say(id, 'And this.')!) driver.sent(line);
    driver.read(INIT);
    expect([...driver.waiting]).toEqual([id]);
    driver.read(RESULT);
    expect([...driver.waiting]).toEqual([]);
    expect(driver.isIdle).toBe(false);
    driver.read(RESULT);
    expect(driver.isIdle).toBe(true);
  });

  test('withdraws with the result what it still asked', () => {
    const { driver } = qwen();
    ask(driver, use('a'));
    for (const line of driver.answer(ask(driver, use('b')), { isGiven: true })) driver.sent(line);
    expect(driver.read(RESULT)).toEqual([{ type: 'withdrawn', id: 'a' }]);
    expect(driver.isIdle).toBe(true);
  });

  test('is over after a result that is too long to read', () => {
    const { driver } = qwen();
    expect(driver.tooLong('{"type":"result","result":"xxxx')).toEqual([]);
    expect(driver.isIdle).toBe(true);
  });
});
