import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Event } from '../../../src/schema/event.ts';
import type { MessageDelivery, Run } from '../../../src/schema/run.ts';
import { amountOf } from '../../faults/figures.ts';
import { isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const ROLES = {
  peer: 'messages: [sibling, client]',
  lead: 'spawn: true\nwake: on_child_end\nmessages: [child]',
  // Whoever has this role reports to its lead.
  worker: 'messages: [lead]',
  mute: 'spawn: true',
};
beforeAll(async () => {
  const roles = join(squad.root, 'roles');
  squad.env.SQUAD_AGENTS_DIR = roles;
  mkdirSync(roles);
  for (const [role, keys] of Object.entries(ROLES))
    writeFileSync(join(roles, `${role}.md`), `---\n${keys}\n---\nYou work.`);
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const fenced = (script: string, turn = '') => `\`\`\`script${turn}\n${script}\n\`\`\``;
const send = (run: string, text: string) => `insist send_message ${JSON.stringify({ run, text })}`;
const shown = async (id: string) => squad.shown<{ run: Run; result: { result: string } }>(id);
const events = async (id: string) =>
  (await squad.json<{ events: Event[] }>(['events', '--run', id, '--limit', '1000'])).events.map(
    ({ body }) => body,
  );
async function start(...pairs: [role: string, task: string][]): Promise<string[]> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...pairs.flat()]);
  return runIds;
}
const ended = (ids: string[]) => squad.run(['wait', ...ids]);
/** All prompts that the agent of a run got. */
function promptsOf(id: string): string {
  const folder = join(squad.home, 'runs', id);
  const turns = readdirSync(folder).filter(name => name.startsWith('turn-'));
  const files = turns.map(turn => join(folder, turn, 'prompt.md'));
  return files
    .filter(existsSync)
    .map(file => readFileSync(file, 'utf8'))
    .join('\n');
}
async function kill(): Promise<void> {
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  await squad.run(['ls']);
}

const RUNS = amountOf(20, 4);
const MESSAGES = amountOf(1_000);
const KILLS = amountOf(50);

test(`${MESSAGES} messages between ${RUNS} runs, with ${KILLS} hub kills: each is delivered once or reported undelivered`, {
  tags: ['G4'],
  timeout: 30_000 * KILLS + 60_000,
}, async () => {
  await squad.set('limits.concurrency', String(RUNS));
  const ids = await start(
    ...Array.from({ length: RUNS }, (_, i): [string, string] => [
      'peer',
      // The first run ends while others still send to it.
      fenced(`await go\nfollow send-${i}\n${i === 0 ? 'fail early' : 'await done'}`),
    ]),
  );
  const each = MESSAGES / RUNS;
  const text = (from: number, nth: number) => `message-${from}-${nth}-end`;
  const target = (from: number, nth: number) => (from + 1 + (nth % (RUNS - 1))) % RUNS;
  for (let from = 0; from < RUNS; from++) {
    // The first run is through in half the time. The pauses let the kills fall between and into the calls.
    const pause = from === 0 ? '10ms' : '50ms';
    const calls = Array.from({ length: each }, (_, nth) => send(ids[target(from, nth)]!, text(from, nth)));
    squad.write(`send-${from}`, calls.map(call => `${call}\nappend sent\n| x\nsleep ${pause}`).join('\n'));
  }
  squad.write('sent', '');
  squad.write('go', '');
  const progress = (goal: number) =>
    until(`${goal} are sent`, () => readFileSync(join(squad.workspace, 'sent'), 'utf8').length / 2 >= goal);
  for (let killed = 0; killed < KILLS; killed++) {
    await progress((MESSAGES * killed) / KILLS);
    await kill();
  }
  await progress(MESSAGES);
  squad.write('done', '');
  await ended(ids);

  const receipts = new Map<string, MessageDelivery>();
  for (const body of (await Promise.all(ids.map(events))).flat())
    if (body.type === 'run.receipt') receipts.set(body.id, body.delivery);
  const wrong: string[] = [];
  const prompts = ids.map(promptsOf);
  let missed = 0;
  const all = (await Promise.all(ids.map(events))).map(bodies =>
    bodies.flatMap(body => (body.type === 'run.sent' ? [body] : [])),
  );
  for (let from = 0; from < RUNS; from++) {
    for (let nth = 0; nth < each; nth++) {
      const rows = all[from]!.filter(body => body.text === text(from, nth));
      const state = rows[0] && (receipts.get(rows[0].id) ?? rows[0].delivery);
      const seen = prompts[target(from, nth)]!.split(`> ${text(from, nth)}\n`).length - 1;
      if (state === 'undelivered') missed++;
      if (rows.length !== 1 || seen !== (state === 'undelivered' ? 0 : 1) || state === 'queued')
        wrong.push(`${text(from, nth)}: sent ${rows.length}, seen ${seen}, ${state}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(missed).toBeGreaterThan(0);
  expect(missed).toBeLessThan(MESSAGES);
});

describe('an agent', () => {
  test('sends messages only to those whom its role names', { tags: ['G4'] }, async () => {
    const [peer, mute] = await start(
      ['peer', fenced('await go-1\nfollow calls-peer')],
      ['mute', fenced('await go-1\nfollow calls-mute\nawait go-2')],
    );
    const [stranger] = await start(['peer', fenced('await go-2')]);
    squad.write(
      'calls-peer',
      [send(mute!, 'a'), send(stranger!, 'b'), send('lead', 'c'), send(peer!, 'd')].join('\n'),
    );
    squad.write('calls-mute', send(peer!, 'e'));
    squad.write('go-1', '');
    await ended([peer!]);
    const answer = (await shown(peer!)).result.result;
    expect(answer).toMatch(
      /"delivery":\s*"queued"[\s\S]*There is no run[\s\S]*has no lead[\s\S]*There is no run/,
    );
    squad.write('go-2', '');
    await ended([mute!, stranger!]);
    expect((await shown(mute!)).result.result).not.toContain('delivery');
    expect(promptsOf(mute!)).toMatch(
      new RegExp(`A message from run ${peer} \\(peer\\).*another agent[\\s\\S]*> a`),
    );
  });

  test('reaches the client through the result of its run', { tags: ['G4'] }, async () => {
    const [id] = await start(['peer', fenced(send('client', 'The tests are red.'))]);
    await ended([id!]);
    expect((await shown(id!)).run.notes).toContain('Message from the agent: The tests are red.');
  });
});

describe('a lead with `wake: on_child_end`', () => {
  const child = (script: string) =>
    `call spawn_agent ${JSON.stringify({ roleId: 'worker', prompt: fenced(script), include_context: false, async: true })}`;

  test('is idle while its child runs work, and continues its chat when one ends, also across a hub kill', {
    tags: ['G4'],
  }, async () => {
    const task = [
      fenced(`${child('await child-1\nsay one is done')}\n${child('await child-2\nsay two is done')}`),
      fenced('say second turn', ' turn 2'),
      fenced('say last turn', ' turn 3'),
    ].join('\n');
    const [lead] = await start(['lead', task]);
    const idle = (turn: number) =>
      until(`it is idle after turn ${turn}`, async () => {
        const { run } = await shown(lead!);
        return run.status === 'waiting_children' && run.turn === turn;
      });
    await idle(1);
    squad.write('child-1', '');
    await idle(2);
    await kill();
    expect(await squad.statusOf(lead!)).toBe('waiting_children');
    squad.write('child-2', '');
    await ended([lead!]);
    expect((await shown(lead!)).run).toMatchObject({ status: 'completed', turn: 3 });
    expect((await shown(lead!)).result.result).toContain('last turn');
    expect(promptsOf(lead!)).toMatch(
      /which you started, has ended: completed[\s\S]*> one is done[\s\S]*> two is done/,
    );
  });

  test('and a child cannot wake each other without end', { tags: ['G4'] }, async () => {
    await squad.set('limits.wakes', '3');
    // The child's first turn stays open, so that the lead stays idle, and each message of the child wakes the lead.
    const calls = [1, 2, 3, 4, 5].map(n => `${send('lead', `ping ${n}`)}\nawait turn-${n + 1}`).join('\n');
    const task = [
      fenced(child(calls)),
      ...[2, 3, 4].map(turn => fenced(`write turn-${turn}`, ` turn ${turn}`)),
    ].join('\n');
    const [lead] = await start(['lead', task]);
    await ended([lead!]);
    const { run } = await shown(lead!);
    expect(run).toMatchObject({ status: 'completed', turn: 4 });
    expect(run.notes.join()).toContain('woken 3 times');
    await squad.run(['cancel', '--all']);
    await squad.set('limits.wakes', '20');
  });
});
