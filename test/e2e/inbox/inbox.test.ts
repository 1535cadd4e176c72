import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { askHub } from '../../support/ask-hub.ts';
import { hubUrl, RunningAgent } from '../../support/running-agent.ts';
import { Screen } from '../../support/screen.ts';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';
import { strictCall } from '../../support/tools.ts';

/** Agents that ask, and everybody who can answer. */
const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
let client: Client;

beforeAll(async () => {
  mkdirSync(squad.env.SQUAD_AGENTS_DIR!);
  const roles = { coder: 'You code.', lead: '---\nspawn: true\n---\nYou lead.' };
  for (const [id, text] of Object.entries(roles))
    writeFileSync(join(squad.env.SQUAD_AGENTS_DIR!, `${id}.md`), text);
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
  client = await squad.client({ name: 'a-client' });
});
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `Work.\n\`\`\`script\n${lines.join('\n')}\n\`\`\``;

interface Told {
  status: string;
  id: string;
  answer: string | null;
  by: string | null;
  note?: string;
  code?: string;
  message?: string;
  suggestions?: string[];
  isError?: boolean;
}

async function start(...lines: string[]): Promise<string> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', script(...lines)]);
  return runIds[0]!;
}

const inbox = async (...more: string[]) =>
  (await squad.json<{ items: ShownItem[] }>(['inbox', ...more])).items;
/** As the command would list them, without a process for each look where a hub is there to be asked. */
const listed = async (state: 'open' | 'all') =>
  askHub<{ items: ShownItem[] }>(squad, 'list_inbox', { state, limit: 50 }).then(
    ({ items }) => items,
    () => inbox(...(state === 'all' ? ['--all'] : [])),
  );
const asked = (runId: string, question?: string) =>
  until(`${runId} asks`, async () =>
    (await listed('open')).find(
      item => item.runId === runId && (question === undefined || item.question === question),
    ),
  );
const settled = async (id: string) => (await listed('all')).find(item => item.id === id)!;
const resultOf = (runId: string) =>
  callTool<{ status: string; result: string }>(client, 'get_result', { spawn_id: runId, wait_seconds: 90 });

/** Whoever asks meanwhile waits no longer than so. */
async function soon<T>(minutes: number, act: () => Promise<T>): Promise<T> {
  await squad.json(['config', 'set', 'inbox.timeout_minutes', String(minutes)]);
  try {
    return await act();
  } finally {
    await squad.json(['config', 'unset', 'inbox.timeout_minutes']);
  }
}

describe('an agent’s question', () => {
  test('is put again to whoever is at the terminal when the answer is none of the choices', async () => {
    const runId = await start('ask "Which colour?" red green', 'say done');
    const item = await asked(runId);
    // Completion says nothing rather than keep a shell waiting.
    await until('it is offered', async () => {
      const { stdout } = await squad.run(['complete', '--', 'answer', '']);
      return stdout.includes(`${item.id}\tcoder: Which colour?`);
    });
    const screen = Screen.open(squad, ['answer', item.id]);
    try {
      await screen.shows('Answer:');
      screen.press('blue', 'Enter');
      await screen.shows('"blue" is none of the choices');
      await screen.shows('1 red, 2 green');
      await until(
        'it asks again',
        () => screen.lines().filter(line => line.startsWith('Answer:')).length > 1,
      );
      screen.press('2', 'Enter');
      expect(await screen.ended()).toMatchObject({ code: 0, bytes: expect.stringContaining('answered') });
    } finally {
      screen.close();
    }
    expect((await resultOf(runId)).result).toContain('The answer is: green');
  });

  test('is answered in the terminal, by number and the beginning of its id, and the agent continues with the answer', {
    tags: ['F4'],
  }, async () => {
    const runId = await start('ask "Which database?" sqlite "a real one"', 'say done');
    const item = await asked(runId);
    expect(item).toMatchObject({
      kind: 'question',
      choices: ['sqlite', 'a real one'],
      owner: 'user',
      state: 'open',
      run: { roleId: 'coder', status: 'running' },
    });
    const listed = await squad.run(['inbox']);
    expect(listed.stdout).toContain('Which database?');
    expect(listed.stdout).toContain(`squad answer ${item.id}`);
    expect((await squad.run(['show', runId])).stdout).toContain(`squad answer ${item.id}`);

    const wrong = await squad.run(['answer', item.id, '3']);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('ANSWER_INVALID');
    expect(wrong.stderr).toContain('1 sqlite, 2 a real one');
    const answered = await squad.run(['answer', item.id.slice(4, 10), '2']);
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining('a real one') });

    expect(await resultOf(runId)).toMatchObject({ status: 'completed' });
    expect((await resultOf(runId)).result).toContain('The answer is: a real one');
    const after = await settled(item.id);
    expect(after).toMatchObject({
      state: 'answered',
      answer: 'a real one',
      answeredBy: { who: 'user', via: 'terminal' },
    });
    await until('it is known to have heard', async () => (await settled(item.id)).heardAt !== null);

    const late = await squad.run(['answer', item.id, '1']);
    expect(late).toMatchObject({ code: 2 });
    expect(late.stderr).toContain('ALREADY_ANSWERED');
    expect(late.stderr).toContain('"a real one" by the user (terminal)');
  });

  test.each([
    ['in the terminal', async (id: string) => (await squad.run(['answer', id, '--decline'])).stdout],
    [
      'by tool',
      async (item: string) => (await callTool(client, 'answer_question', { item, decline: true })).state,
    ],
  ])('can be declined %s, with choices or without, and the agent reads that', async (_, decline) => {
    const runId = await start('ask "Which one?" red green', 'ask "What name?"', 'say done');
    for (const question of ['Which one?', 'What name?']) {
      const { id } = await asked(runId, question);
      expect(await decline(id)).toContain('declined');
      expect(await settled(id)).toMatchObject({ state: 'declined', answer: null });
    }
    expect((await resultOf(runId)).result).toBe('The answer is: (declined)\nThe answer is: (declined)\ndone');
  });

  test('is not answered and declined at once', async () => {
    const runId = await start('ask "Which one?"', 'say done');
    const { id } = await asked(runId);
    const refused = expect.stringContaining('either an answer or decline');
    for (const args of [{ item: id }, { item: id, answer: 'red', decline: true }])
      expect(await callTool(client, 'answer_question', args)).toMatchObject({
        error: { code: 'INVALID_INPUT', message: refused },
      });
    expect(await squad.run(['answer', id, 'red', '--decline'])).toMatchObject({ code: 2, stderr: refused });
    expect((await squad.run(['answer', id, 'red'])).stdout).toContain('answered');
  });

  test('ends the wait of the client that started it, which answers and waits on', {
    tags: ['F4'],
  }, async () => {
    const started = await strictCall<{
      status: string;
      spawn_id: string;
      note: string;
      asks: { item: string }[];
    }>(client, 'spawn_agent', {
      roleId: 'coder',
      prompt: script('ask May I?', 'say done'),
      include_context: false,
    });
    expect(started).toMatchObject({ status: 'running', asks: [{ question: 'May I?', kind: 'question' }] });
    expect(started.note).toContain('answer_question');
    const { item } = started.asks[0]!;
    expect(await strictCall(client, 'list_running')).toMatchObject({ asks: [{ item }] });
    expect(await strictCall(client, 'answer_question', { item, answer: 'Yes, you may' })).toEqual({
      id: item,
      state: 'answered',
      answer: 'Yes, you may',
      question: 'May I?',
    });
    expect(await resultOf(started.spawn_id)).toMatchObject({ status: 'completed' });
    expect((await settled(item)).answeredBy).toEqual({ who: 'user', via: 'a-client 1' });
  });

  test('is not answered by a command that nobody is there to be asked by', async () => {
    await using agent = await RunningAgent.start(squad, 'coder', 'ask "Left or right?" left right');
    const { id } = await asked(agent.id);
    const { code, stderr } = await squad.run(['answer', id]);
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining('ANSWER_NEEDED') });
    expect(stderr).toContain(`squad answer ${id} 'left|right'`);
    expect(await squad.run(['answer', id, '-'], { input: 'LEFT\n' })).toMatchObject({ code: 0 });
  });

  test('with an id that is not there, says which is near', async () => {
    await using agent = await RunningAgent.start(squad, 'coder', 'ask Well?');
    const { id } = await asked(agent.id);
    const near = `${id.slice(0, -1)}${id.endsWith('x') ? 'y' : 'x'}`;
    const { code, stderr } = await squad.run(['answer', near, 'yes']);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('INBOX_UNKNOWN') });
    expect(stderr).toContain(id);
    await squad.run(['answer', id, 'yes']);
  });

  test('has its default when its time is up; an approval that nobody gave is a no', {
    tags: ['F4'],
  }, async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const own = await agent.overHttp(true);
    const [colour, leave, words] = await soon(0.005, () =>
      Promise.all([
        callTool<Told>(own, 'ask_user', { question: 'Colour?', default: 'blue' }),
        callTool<Told>(own, 'ask_user', { question: 'May I push?', kind: 'approval' }),
        callTool<Told>(own, 'ask_user', { question: 'Any words?' }),
      ]),
    );
    expect(colour).toMatchObject({ status: 'expired', answer: 'blue', by: 'nobody' });
    expect(leave).toMatchObject({ status: 'expired', answer: 'no' });
    expect(words).toMatchObject({ status: 'expired', answer: null });
    expect(words.note).toContain('Nobody answered in time');
    expect(await settled(colour.id)).toMatchObject({
      state: 'expired',
      answeredBy: { who: 'default', via: null },
    });
  });

  test('is withdrawn when its run ends', async () => {
    const runId = await start('ask Still there?');
    const { id } = await asked(runId);
    await squad.run(['cancel', runId]);
    await until('it is withdrawn', async () => (await settled(id)).state === 'withdrawn');
    expect(await inbox()).toEqual([]);
    const { stderr } = await squad.run(['answer', id, 'yes']);
    expect(stderr).toContain('the run that asked has ended');
  });

  test('asked by two calls at once is one question, and both hear the answer; asked anew it is another', async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const [one, other] = [await agent.overHttp(true), await agent.overHttp(false)];
    const ask = (by: Client) => callTool<Told>(by, 'ask_user', { question: 'Again?', choices: ['a', 'b'] });
    const both = Promise.all([ask(one), ask(other)]);
    const { id } = await asked(agent.id);
    // An answer between the calls would make the second call a new question. The status request counts itself.
    const inFlight = async () =>
      (await askHub<{ callsInFlight: number }>(squad, 'hub_status')).callsInFlight - 1;
    await until('both calls wait', async () => (await inFlight()) >= 2);
    await squad.run(['answer', id, 'b']);
    expect(await both).toEqual([
      { status: 'answered', id, answer: 'b', by: 'the user (terminal)' },
      { status: 'answered', id, answer: 'b', by: 'the user (terminal)' },
    ]);
    const anew = ask(one);
    const next = await asked(agent.id);
    expect(next.id).not.toBe(id);
    await squad.run(['answer', next.id, 'a']);
    expect(await anew).toMatchObject({ answer: 'a' });
  });

  test('of two who answer at once the first is heard and the second told so', async () => {
    const runId = await start('ask "Heads or tails?" heads tails');
    const { id } = await asked(runId);
    const answers = await Promise.all(
      ['heads', 'tails', 'heads', 'tails'].map(answer =>
        callTool<{ answer?: string; error?: { code: string } }>(client, 'answer_question', {
          item: id,
          answer,
        }),
      ),
    );
    const taken = answers.filter(({ isError }) => !isError);
    expect(taken).toHaveLength(1);
    expect(answers.filter(({ error }) => error?.code === 'ALREADY_ANSWERED')).toHaveLength(3);
    expect((await resultOf(runId)).result).toContain(`The answer is: ${taken[0]!.answer}`);
  });
});

describe('a call that cannot wait for long', () => {
  test('gets the id, and waits again with it', async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const impatient = await squad.client({
      args: ['--identity', agent.file],
      env: { MCP_TOOL_TIMEOUT: '300' },
    });
    const first = await callTool<Told>(impatient, 'ask_user', { question: 'Later?' });
    expect(first).toMatchObject({ status: 'waiting', answer: null, by: null });
    expect(first.note).toContain(first.id);
    expect(await callTool<Told>(impatient, 'ask_user', { question: 'Later?' })).toMatchObject({
      status: 'waiting',
      id: first.id,
    });
    await squad.run(['answer', first.id, 'now']);
    // Answered while nobody waited: the question asked again, or its id, has it.
    expect(await callTool<Told>(impatient, 'ask_user', { question: 'Later?' })).toMatchObject({
      status: 'answered',
      answer: 'now',
      id: first.id,
    });
    expect(await callTool<Told>(impatient, 'ask_user', { id: first.id })).toMatchObject({ answer: 'now' });
  });
});

describe('a hub that is killed', () => {
  test('leaves its questions open: the agent asks again, is joined to the same one, and hears the answer', {
    tags: ['F4'],
  }, async () => {
    const runId = await start('ask "Which way?" left right', 'say done');
    const { id, deadlineAt } = await asked(runId);
    const pid = await squad.hubPid();
    process.kill(pid, 'SIGKILL');
    await until('it is gone', () => !isAlive(pid));
    const again = await asked(runId);
    expect(again).toMatchObject({ id, deadlineAt, state: 'open' });
    expect(await squad.run(['answer', id, 'right'])).toMatchObject({ code: 0 });
    client = await squad.client({ name: 'a-client' });
    expect(await resultOf(runId)).toMatchObject({ status: 'completed' });
    expect((await resultOf(runId)).result).toContain('The answer is: right');
    expect((await inbox('--all')).filter(item => item.runId === runId)).toHaveLength(1);
  });

  test('and comes back after the deadline finds its default due', async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const own = await agent.overHttp(true);
    const pid = await squad.hubPid();
    // Whoever looks, or changes a setting, starts the next hub: nobody may before its time is up.
    const id = await soon(0.1, async () => {
      const broken = callTool<Told>(own, 'ask_user', { question: 'In time?', default: 'no matter' });
      const told = broken.catch(() => null);
      const item = await asked(agent.id);
      process.kill(pid, 'SIGKILL');
      expect(await told).toBeNull();
      await until('its time is up', () => Date.now() > item.deadlineAt);
      return item.id;
    });
    await until('it has expired', async () => (await settled(id)).state === 'expired');
    const next = await agent.overHttp(true);
    expect(
      await callTool<Told>(next, 'ask_user', { question: 'In time?', default: 'no matter' }),
    ).toMatchObject({
      status: 'expired',
      id,
      answer: 'no matter',
    });
    client = await squad.client({ name: 'a-client' });
  });
});

describe('agents and answers', () => {
  test('a lead answers what the run it started asked it, and nothing else', async () => {
    await using lead = await RunningAgent.start(squad, 'lead');
    await using stranger = await RunningAgent.start(squad, 'lead');
    const own = await lead.overHttp(true);
    const prompt = script(
      'call ask_user {"question": "Shall I refactor?", "kind": "approval", "to": "lead"}',
      'say done',
    );
    const waited = await callTool<{ spawn_id: string; status: string; asks: { item: string }[] }>(
      own,
      'spawn_agent',
      { roleId: 'coder', prompt, include_context: false },
    );
    expect(waited).toMatchObject({ status: 'running', asks: [{ question: 'Shall I refactor?' }] });
    const { item } = waited.asks[0]!;
    expect(await settled(item)).toMatchObject({ owner: lead.id });

    const other = await stranger.overHttp(true);
    expect(await callTool(other, 'answer_question', { item, answer: 'yes' })).toMatchObject({
      isError: true,
      error: { code: 'INBOX_UNKNOWN' },
    });
    expect(await callTool(own, 'answer_question', { item, answer: 'y' })).toMatchObject({ answer: 'yes' });
    expect(await settled(item)).toMatchObject({ answeredBy: { who: 'run', via: lead.id } });
    expect(await resultOf(waited.spawn_id)).toMatchObject({ status: 'completed' });
  });

  test('an agent cannot answer its own question', async () => {
    await using lead = await RunningAgent.start(squad, 'lead');
    const own = await lead.overHttp(true);
    const waiting = callTool<Told>(own, 'ask_user', { question: 'May I delete it?', kind: 'approval' });
    const { id } = await asked(lead.id);
    expect(await callTool(own, 'answer_question', { item: id, answer: 'yes' })).toMatchObject({
      isError: true,
      error: { code: 'INBOX_UNKNOWN' },
    });
    const inside = await squad.run(['answer', id, 'yes'], {
      env: { SQUAD_RUN_ID: lead.id, SQUAD_TURN: '1' },
    });
    expect(inside).toMatchObject({ code: 4 });
    expect((await asked(lead.id)).state).toBe('open');
    await squad.run(['answer', id, 'no']);
    expect(await waiting).toMatchObject({ status: 'answered', answer: 'no' });
  });

  test('a run without agents of its own has no tool to answer with, and hears nothing of other runs’ questions', async () => {
    await using asking = await RunningAgent.start(squad, 'coder', 'ask Who?');
    await using agent = await RunningAgent.start(squad, 'coder');
    const { id } = await asked(asking.id);
    const own = await agent.overHttp(true);
    const names = (await own.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('ask_user');
    expect(names).not.toContain('answer_question');
    expect(await callTool<Told>(own, 'ask_user', { id })).toMatchObject({
      isError: true,
      code: 'INBOX_UNKNOWN',
    });
    await squad.run(['answer', id, 'me']);
  });

  test('a question to a lead is for the user once the lead is gone', async () => {
    const lead = await RunningAgent.start(squad, 'lead');
    const own = await lead.overHttp(true);
    const prompt = script('call ask_user {"question": "Left alone?", "to": "lead"}');
    const { spawn_id } = await callTool<{ spawn_id: string }>(own, 'spawn_agent', {
      ...{ roleId: 'coder', prompt, include_context: false },
      async: true,
    });
    const { id } = await asked(spawn_id);
    await lead.end();
    await until('it is the user’s', async () => (await settled(id)).owner === 'user');
    await squad.run(['answer', id, 'not any more']);
    expect((await resultOf(spawn_id)).result).toContain('not any more');
  });

  test('the user has no tool to ask with', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('answer_question');
    expect(names).not.toContain('ask_user');
  });
});

describe('questions that are refused, so that nobody is asked', () => {
  let agent: RunningAgent;
  beforeAll(async () => {
    agent = await RunningAgent.start(squad, 'coder');
  });
  afterAll(() => agent.end());

  test.each([
    ['nothing', {}, 'INVALID_INPUT'],
    ['an empty question', { question: ' \n' }, 'INVALID_INPUT'],
    ['a question of a megabyte', { question: 'x'.repeat(1_000_000) }, 'INVALID_INPUT'],
    ['details of a megabyte', { question: 'x', details: 'x'.repeat(1_000_000) }, 'INVALID_INPUT'],
    ['a NUL', { question: 'a\0b' }, 'INVALID_TEXT'],
    ['one choice', { question: 'x', choices: ['only'] }, 'INVALID_INPUT'],
    ['choices alike', { question: 'x', choices: ['a', 'A '] }, 'INVALID_INPUT'],
    [
      'too many choices',
      { question: 'x', choices: Array.from({ length: 21 }, (_, i) => `${i}`) },
      'INVALID_INPUT',
    ],
    ['an approval with choices', { question: 'x', kind: 'approval', choices: ['a', 'b'] }, 'INVALID_INPUT'],
    ['leave given by itself', { question: 'x', kind: 'approval', default: 'yes' }, 'INVALID_INPUT'],
    ['a time in which nobody could answer', { question: 'x', minutes: 0.4 }, 'INVALID_INPUT'],
    ['choices that look alike', { question: 'x', choices: ['a', 'a\u200b', 'a\u2060'] }, 'INVALID_INPUT'],
    ['a default that is no choice', { question: 'x', choices: ['a', 'b'], default: 'c' }, 'ANSWER_INVALID'],
    ['a permission, which is the engine’s', { question: 'x', kind: 'permission' }, 'INVALID_INPUT'],
    ['an id that is none', { id: '../../etc' }, 'INBOX_UNKNOWN'],
  ])('%s', async (_, args, code) => {
    const own = await agent.overHttp(true);
    expect(await callTool<Told>(own, 'ask_user', args)).toMatchObject({
      isError: true,
      code,
      tool_name: 'ask_user',
      instance_id: agent.id,
    });
    expect((await inbox()).filter(({ runId }) => runId === agent.id)).toEqual([]);
  });

  test('more than a person could answer', async () => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const own = await agent.overHttp(true);
    const waiting = Array.from({ length: 21 }, (_, i) =>
      callTool<Told>(own, 'ask_user', { question: `Question ${i}?` }),
    );
    const refused = await Promise.race(waiting);
    expect(refused).toMatchObject({ isError: true, code: 'INBOX_FULL' });
    const its = async (...more: string[]) => (await inbox(...more)).filter(({ runId }) => runId === agent.id);
    await until('all others are asked', async () => (await its()).length === 20);
    await squad.run(['cancel', agent.id]);
    await Promise.allSettled(waiting);
    await until('all are withdrawn', async () =>
      (await its('--all')).every(({ state }) => state === 'withdrawn'),
    );
  });
});

test('control characters in a question have no effect on the terminal', async () => {
  const nasty = '\u001b[2J\u001b]0;owned\u0007Delete \u202eevery\u200bthing?\r\u009b31m\nreally';
  await using agent = await RunningAgent.start(squad, 'coder');
  const own = await agent.overHttp(true);
  const waiting = callTool<Told>(own, 'ask_user', {
    question: nasty,
    details: nasty,
    choices: [`yes${nasty}`, 'no'],
  });
  const { id, question } = await asked(agent.id);
  expect(question).toBe(nasty.trim());
  const shown = [
    await squad.run(['inbox']),
    await squad.run(['show', agent.id]),
    await squad.run(['answer', id, 'maybe']),
    await squad.run(['answer', id]),
    await squad.run(['answer', id, '1']),
    await squad.run(['inbox', '--all']),
  ];
  for (const { stdout, stderr } of shown)
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n\t]|[\u200b\u202a-\u202e\u2066-\u2069]/u);
  // And it hides nothing: what a terminal would have swallowed is there to be read, in the question, the details and the choice.
  expect(shown[0]!.stdout.match(/␛\]0;owned␇Delete <U\+202E>every<U\+200B>thing\?␍/g)).toHaveLength(3);
  for (const { stdout } of [shown[1]!, shown[5]!]) expect(stdout).toContain('␛]0;owned␇Delete');
  expect(await waiting).toMatchObject({ status: 'answered' });
});

test('a model’s client cannot allow what it has not been shown whole', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const own = await agent.overHttp(true);
  const details = `echo harmless\n${'#'.repeat(1_500)}\nrm -rf ~`;
  const waiting = callTool<Told>(own, 'ask_user', { question: 'May I?', kind: 'approval', details });
  const { id } = await asked(agent.id);
  const { asks } = await callTool<{ asks: { details: string }[] }>(client, 'list_running');
  expect(asks[0]!.details).toMatch(/^echo harmless\n#+… \(\d+ characters not shown: `squad inbox`/);
  expect(await callTool(client, 'answer_question', { item: id, answer: 'ok' })).toMatchObject({
    isError: true,
    error: {
      code: 'ANSWER_INVALID',
      suggestions: [expect.stringContaining('squad inbox'), expect.anything()],
    },
  });
  expect((await squad.run(['inbox'])).stdout).toContain('rm -rf ~');
  expect(await squad.run(['answer', id, 'yes'])).toMatchObject({ code: 0 });
  expect(await waiting).toMatchObject({ answer: 'yes' });
  const again = callTool<Told>(own, 'ask_user', { question: 'And now?', kind: 'approval', details });
  const { id: next } = await asked(agent.id);
  expect(await callTool(client, 'answer_question', { item: next, answer: 'no' })).toMatchObject({
    answer: 'no',
  });
  expect(await again).toMatchObject({ answer: 'no' });
});

test('items that are not listed are counted', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const own = await agent.overHttp(true);
  const waiting = [1, 2, 3].map(i => callTool<Told>(own, 'ask_user', { question: `${i}?` }));
  await until('all are asked', async () => (await inbox()).length === 3);
  expect((await squad.run(['inbox', '--limit', '1'])).stdout).toContain('2 more');
  expect((await squad.run(['inbox'])).stdout).not.toContain('more');
  for (const { id } of await inbox()) await squad.run(['answer', id, 'yes']);
  await Promise.all(waiting);
  expect((await squad.run(['inbox', '--all', '--limit', '1'])).stdout).toContain('There are more');
});

test('a client over HTTP cannot claim to be the terminal', async () => {
  await using agent = await RunningAgent.start(squad, 'coder');
  const own = await agent.overHttp(true);
  const waiting = callTool<Told>(own, 'ask_user', { question: 'Who?' });
  const { id } = await asked(agent.id);
  const token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
  const response = await fetch(new URL(`/api/inbox/${id}/answer`, await hubUrl(squad)), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'squad-client': 'terminal',
    },
    body: JSON.stringify({ answer: 'me' }),
  });
  expect(response.status).toBe(200);
  expect(await waiting).toMatchObject({ by: 'the user (client terminal)' });
});

describe('a person at a terminal', () => {
  test('sees in `squad run` who needs them and what to type, answers elsewhere, and it goes on', async () => {
    const screen = Screen.open(squad, ['run', 'coder', script('ask "Left?" yes no', 'say done')], {
      columns: 90,
    });
    try {
      await screen.shows('needs you');
      await screen.shows('1 needs you');
      const item = (await inbox()).find(({ question }) => question === 'Left?')!;
      await screen.shows(`squad answer ${item.id} 'yes|no'`);
      await squad.run(['answer', item.id, 'no']);
      expect((await screen.ended()).code).toBe(0);
      await screen.shows('"no" by the user (terminal)');
      expect(screen.lines().every(line => line.length <= 90)).toBe(true);
    } finally {
      screen.close();
    }
  });

  test('is asked by `squad answer` without words', async () => {
    const runId = await start('ask "Which one?" first second');
    const { id } = await asked(runId);
    const screen = Screen.open(squad, ['answer', id]);
    try {
      await screen.shows('2  second');
      await screen.shows('Answer:');
      screen.press('2', 'Enter');
      expect((await screen.ended()).code).toBe(0);
    } finally {
      screen.close();
    }
    expect((await resultOf(runId)).result).toContain('The answer is: second');
  });
});
