import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Event } from '../../../src/schema/event.ts';
import type { Run } from '../../../src/schema/run.ts';
import { isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
beforeAll(async () => {
  squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
  mkdirSync(squad.env.SQUAD_AGENTS_DIR);
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'coder.md'), 'You code.');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;
const shown = async (id: string) =>
  squad.json<{ run: Run; result: { status: string; result: string } }>(['show', id]);
async function started(script: string): Promise<string> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', fenced(script)]);
  await until('it runs', async () => (await shown(runIds[0]!)).run.status === 'running');
  return runIds[0]!;
}
const tell = (id: string, text: string) =>
  squad.json<{ delivery: string; spawn_id: string }>(['tell', id, text]);
const deliveries = async (id: string) =>
  (await squad.json<{ events: Event[] }>(['events', '--run', id])).events.flatMap(({ body }) =>
    body.type === 'run.told' ? body.delivery : [],
  );

test('messages to an agent that reads only its prompt begin its next turn on the same chat, in order', {
  tags: ['G2'],
}, async () => {
  const id = await started('await go-1\nsay first');
  for (const text of [fenced('say second'), 'And this.'])
    expect(await tell(id, text)).toMatchObject({ delivery: 'queued', spawn_id: id });
  squad.write('go-1', '');
  expect((await squad.run(['wait', id])).code).toBe(0);
  const { run, result } = await shown(id);
  expect(run).toMatchObject({ status: 'completed', turn: 2 });
  expect(result.result).toContain('second');
  const prompt = readFileSync(join(squad.home, 'runs', id, 'turn-2', 'prompt.md'), 'utf8');
  expect(prompt).toMatch(/say second[\s\S]*And this\./);
  expect(await deliveries(id)).toEqual(['queued', 'queued']);
});

test('a message is not lost with the hub, and arrives once', async () => {
  const id = await started('await go-2\nsay first');
  await tell(id, fenced('append told.txt\n| once'));
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  squad.write('go-2', '');
  expect((await squad.run(['wait', id])).code).toBe(0);
  expect((await shown(id)).run).toMatchObject({ status: 'completed', turn: 2 });
  expect(readFileSync(join(squad.workspace, 'told.txt'), 'utf8').trim()).toBe('once');
});

test('a run that fails before its agent got the message says so', async () => {
  const id = await started('await go-3\nfail for a reason');
  await tell(id, 'More.');
  squad.write('go-3', '');
  await squad.run(['wait', id]);
  const { run } = await shown(id);
  expect(run).toMatchObject({ status: 'error', turn: 1 });
  expect(run.notes.join()).toContain('A message did not reach the agent');
});

test('a run that has ended, or does not exist, is refused with what to do instead', async () => {
  const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', fenced('say done')]);
  const [id] = runIds;
  await squad.run(['wait', id]);
  expect(await squad.run(['tell', id, 'More.'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(new RegExp(`has ended[\\s\\S]*squad reply ${id}`)),
  });
  expect(await squad.run(['tell', 'run_nothing', 'More.'])).toMatchObject({ code: 2 });
  expect(await squad.run(['tell', id, ' '])).toMatchObject({ code: 2 });
});

test('an agent that reads only its prompt cannot be interrupted, and that is said', async () => {
  const id = await started('await never');
  for (const words of [
    ['interrupt', id],
    ['tell', id, '--interrupt', 'Stop.'],
  ])
    expect(await squad.run(words)).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(/reads only its prompt[\s\S]*squad cancel/),
    });
  expect((await shown(id)).run.status).toBe('running');
  await squad.run(['cancel', id]);
});
