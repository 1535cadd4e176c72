import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-tmux-')));
const socket = `squad-test-${process.pid}`;
const env = { ...process.env, TMUX_TMPDIR: folder, CI: '', NO_COLOR: '', TZ: 'UTC', LC_ALL: 'C.UTF-8' };
const tmux = (...args: string[]) =>
  execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', env });
const screen = () => tmux('capture-pane', '-p', '-t', 'main').trimEnd().split('\n');
const scrollback = () => tmux('capture-pane', '-p', '-S', '-', '-t', 'main').trimEnd().split('\n');

beforeEach(() => {
  const script = join(folder, 'three-runs.mts');
  writeFileSync(script, driver());
  const command = `exec '${process.execPath}' '${script}'`;
  tmux('new-session', '-d', '-s', 'main', '-x', '100', '-y', '30', command);
});
afterEach(() => {
  tmux('kill-server');
  rmSync(folder, { recursive: true, force: true });
});

test('three runs on a real terminal: live below, lines above, nothing left behind', async () => {
  const started = [
    'earlier output of the shell',
    '09:04:01  architect  started    claude · run_0000000001',
    '09:04:01  coder      started    codex · run_0000000002',
    '09:04:01  tester     started    claude · run_0000000003',
  ];
  await until(() => screen().at(-1)?.startsWith(' running 3'));
  expect(still(screen())).toEqual([
    ...started,
    row(' * architect  reading the code', '0s'),
    row(' * coder      editing src/auth/refresh.ts', '0s'),
    ' * tester     日本語 and more words than this line can hold, so that it has to be cut somewhe…  0s',
    row(' running 3', '0s'),
  ]);

  step();
  await until(() => screen().at(-1)?.startsWith(' running 2'));
  const done = '09:05:31  architect  done       1m30s · 41k tokens · $0.61';
  expect(still(screen())).toEqual([
    ...started,
    done,
    row(' * coder   editing src/auth/refresh.ts', '1m30s'),
    ` * tester  日本語 and more words than this line can hold, so that it has to be cut somewhe…  1m30s`,
    row(' running 2 · done 1', '1m30s · 41k tokens · $0.61'),
  ]);

  tmux('resize-window', '-t', 'main', '-x', '60', '-y', '30');
  await until(() => screen().at(-1)?.length === 58);
  expect(screen().filter(line => line.includes(' running 2'))).toHaveLength(1);
  expect(still(screen()).slice(-4)).toEqual([
    done,
    row(' * coder   editing src/auth/refresh.ts', '1m30s', 60),
    ' * tester  日本語 and more words than this line ca…  1m30s',
    row(' running 2 · done 1', '1m30s · 41k tokens · $0.61', 60),
  ]);
  tmux('resize-window', '-t', 'main', '-x', '100', '-y', '30');
  await until(() => screen().at(-1)?.length === 98);

  step();
  await until(() => screen().at(-1)?.startsWith('  squad show'));
  expect(scrollback()).toEqual([
    ...started,
    done,
    ...Array.from({ length: 40 }, (_, index) => `note ${index}`),
    '09:05:31  coder      failed     exit 1: context limit (ENGINE_FAILED)  squad log run_0000000002',
    '09:05:31  tester     cancelled  1m30s',
    '',
    'role       result      time  tokens   cost  run',
    'architect  done       1m30s     41k  $0.61  run_0000000001',
    'coder      failed     1m30s       –      –  run_0000000002  exit 1: context limit (ENGINE_FAILED)',
    'tester     cancelled  1m30s       –      –  run_0000000003',
    '',
    'failed 1 · cancelled 1 · done 1 · 1m30s · ≥41k tokens · ≥$0.61',
    '  squad log run_0000000002   why coder failed (ENGINE_FAILED)',
    '  squad show run_0000000001  what architect reported',
  ]);
});

/** A line of the block: its right end stands two columns from the edge. */
const row = (left: string, right: string, columns = 100) => left.padEnd(columns - 2 - right.length) + right;

/** Any state of the spinner is as good as another. */
const still = (lines: string[]) => lines.map(line => line.replace(/^ [◐◓◑◒]/u, ' *').trimEnd());

/** The script goes on by one step for each signal. */
function step(): void {
  process.kill(Number(tmux('display-message', '-p', '-t', 'main', '#{pane_pid}')), 'SIGUSR2');
}

async function until(isSo: () => boolean | undefined): Promise<void> {
  for (const deadline = Date.now() + 60_000; !isSo(); ) {
    if (Date.now() > deadline) throw new Error(`not seen in time; the screen is:\n${screen().join('\n')}`);
    await new Promise(wake => setTimeout(wake, 25));
  }
}

function driver(): string {
  const from = (name: string) => JSON.stringify(new URL(`../${name}.ts`, import.meta.url).href);
  return `
import { openStatusBlock, statusLines } from ${from('runs/status-block')};
import { eventToLine, labelWidth } from ${from('runs/run-lines')};
import { summaryLines } from ${from('runs/run-summary')};
import { RunViews } from ${from('runs/run-view')};
import { createStyle } from ${from('terminal/style')};
import { openTerminal } from ${from('terminal/terminal')};

const terminal = openTerminal(process.stdout, process.env);
const style = createStyle(terminal.color);
const views = new RunViews();
let now = Date.UTC(2026, 0, 2, 9, 4, 1);
const signal = () => new Promise(go => process.once('SIGUSR2', go));
const stay = setInterval(() => {}, 60_000);

console.log('earlier output of the shell');
const block = openStatusBlock(terminal, () => statusLines(views.list(), now, terminal, style));
const tell = (number, body) => {
  const event = { seq: 0, at: now, runId: 'run_000000000' + number, squadId: null, body };
  const run = views.apply(event);
  const line = eventToLine(event, run, labelWidth(views.list()), style, terminal.columns);
  if (line && body.type !== 'run.queued') block.append(line);
  block.changed();
};
const end = (status, fields) => ({
  type: 'run.ended', status, exitCode: 0, error: null, usage: null, leftovers: [], durationMs: 90_000, ...fields,
});
const doing = text => ({ type: 'run.activity', kind: 'tool', text });

tell(1, { type: 'run.queued', roleId: 'architect', engine: 'claude' });
tell(2, { type: 'run.queued', roleId: 'coder', engine: 'codex' });
tell(3, { type: 'run.queued', roleId: 'tester', engine: 'claude' });
for (const number of [1, 2, 3]) tell(number, { type: 'run.started', turn: 1, pid: 1 });
tell(1, doing('reading the code'));
tell(2, doing('editing src/auth/refresh.ts'));
tell(3, doing('日本語 and more words than this line can hold, so that it has to be cut somewhere near the edge'));
await signal();

now += 90_000;
tell(1, end('completed', { usage: { input: 40_000, output: 1_000, cached: null, costUsd: 0.61 } }));
await signal();

for (let index = 0; index < 40; index++) block.append('note ' + index);
tell(2, end('error', { exitCode: 1, error: { code: 'ENGINE_FAILED', message: 'context limit' } }));
tell(3, end('cancelled', { exitCode: 143 }));
block.close();
for (const line of summaryLines(views.list(), terminal.columns, style)) block.append(line);
`;
}
