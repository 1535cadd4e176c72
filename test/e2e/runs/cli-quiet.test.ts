import { afterAll, beforeAll, expect, test } from 'vitest';
import { Screen } from '../../support/screen.ts';
import { TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '300']);
  squad.write('agents/hasty.md', '---\nstall: 2s\n---\nYou have little time.');
  squad.write('agents/calm.md', '---\nstall: 10s\n---\nYou have time.');
  squad.write('agents/cheap.md', '---\nbudget: 1\n---\nYou have little money.');
});
afterAll(() => squad[Symbol.asyncDispose]());

test('a stall is reported on the screen before the run is stopped for it', async () => {
  const screen = Screen.open(squad, ['run', 'hasty', fenced('say on my way\nhang')], { columns: 72 });
  try {
    const { code } = await screen.ended();
    expect(code).toBe(1);
    const lines = screen.lines();
    const at = (text: string) => lines.findIndex(line => line.includes(text));
    expect(lines[at('quiet')]).toMatch(/hasty {2}quiet {6}stalled: No output for \d+ s, and its/);
    expect(at('stopping')).toBeGreaterThan(at('quiet'));
    expect(lines[at('stopping')]).toMatch(/stopping {3}stalled$/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(72);
  } finally {
    screen.close();
  }
});

test('a run that is held shows as dead in ls and show, and is still running', async () => {
  const { runIds } = await squad.json<{ runIds: string[] }>([
    'run',
    '-d',
    'calm',
    fenced('run kill -STOP $PPID'),
  ]);
  const id = runIds[0]!;
  interface Listed {
    runs: { id: string; status: string; quiet: { state: string; text: string } | null }[];
  }
  const quiet = await until('it is seen to be held', async () => {
    const { runs } = await squad.json<Listed>(['ls']);
    return runs.find(run => run.id === id && run.status === 'running')?.quiet;
  });
  expect(quiet).toMatchObject({ state: 'dead', text: expect.stringContaining('SIGCONT') });
  expect((await squad.run(['ls'])).stdout).toMatch(new RegExp(`^${id} {2}dead +calm`, 'm'));
  expect((await squad.run(['show', id])).stdout).toMatch(
    /^ {2}state {5}running, dead: Its process is stopped by a signal/m,
  );
  await squad.run(['cancel', id]);
  expect((await squad.json<Listed>(['ls'])).runs.find(run => run.id === id)?.quiet).toBeNull();
});

test('a low budget is reported before it is used up', async () => {
  const { stdout } = await squad.run(['run', 'cheap', fenced('usage 10 5 0 0.85\nsay nearly')]);
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d {2}cheap {2}budget {5}\$0\.85 of \$1\.00 for the run$/m);
});
