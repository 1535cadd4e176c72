import { expect, test } from 'vitest';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { NO_SANDBOX } from '../../schema/sandbox.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { createStyle } from '../terminal/style.ts';
import { displayWidth } from '../terminal/width.ts';
import { eventToLine, labelWidth } from './run-lines.ts';
import { summaryLines } from './run-summary.ts';
import { RunViews } from './run-view.ts';
import { statusLines } from './status-block.ts';

const plain = createStyle(false);
const START = new Date(2026, 0, 2, 12, 4, 1).getTime();
const id = (number: number) => `run_000000000${number}` as RunId;
const usage = (input: number, output: number, costUsd: number | null) => ({
  input,
  output,
  cached: null,
  costUsd,
  costIsEstimated: false,
});

type End = Extract<EventBody, { type: 'run.ended' }>;
const ended = (fields: Partial<End>): End => ({
  ...{
    type: 'run.ended',
    status: 'completed',
    exitCode: 0,
    error: null,
    usage: null,
    leftovers: [],
    durationMs: null,
  },
  ...fields,
});

/** Feeds events and gives the lines they are worth. */
function newStory() {
  const views = new RunViews();
  let at = START;
  let seq = 0;
  const tell = (runId: RunId | null, body: EventBody, afterMs = 0, columns?: number) => {
    at += afterMs;
    const event = { seq: ++seq, at, runId, squadId: null, body };
    const run = views.apply(event);
    return eventToLine(event, run, labelWidth(views.list()), plain, columns);
  };
  const queue = (number: number, roleId: string, engine = 'claude') =>
    tell(id(number), { type: 'run.queued', roleId, engine });
  const start = (number: number, turn = 1) => tell(id(number), { type: 'run.started', turn, pid: 1 });
  return { views, tell, queue, start, now: () => at };
}

test('events of a run are aligned lines: time, role, state, detail', () => {
  const { tell, queue, start } = newStory();
  queue(2, 'architect');
  expect([
    queue(1, 'qa', 'codex'),
    start(1),
    start(1, 2),
    tell(id(1), ended({ durationMs: 90_000, usage: usage(38_000, 3_000, 0.61) }), 90_000),
  ]).toEqual([
    '12:04:01  qa         queued     codex · run_0000000001',
    '12:04:01  qa         started    codex · run_0000000001',
    '12:04:01  qa         started    codex · run_0000000001 · turn 2',
    '12:05:31  qa         done       1m30s · 41k tokens · $0.61',
  ]);
});

test.each([
  [
    'error',
    { exitCode: 1, error: { code: 'ENGINE_FAILED', message: 'context\nlimit' } },
    'failed     exit 1: context limit (ENGINE_FAILED)  squad log run_0000000001',
  ],
  [
    'error',
    { exitCode: 7, error: { code: 'ENGINE_FAILED', message: 'exit code 7' } },
    'failed     exit code 7 (ENGINE_FAILED)  squad log run_0000000001',
  ],
  [
    'timeout',
    { error: { code: 'TIMEOUT', message: 'over 5 minutes' } },
    'timeout    over 5 minutes (TIMEOUT)  squad log run_0000000001',
  ],
  ['lost', { exitCode: null }, 'lost       squad log run_0000000001'],
  ['cancelled', { exitCode: 143, durationMs: 1_500 }, 'cancelled  1.5s'],
  ['completed', {}, 'done'],
] as const)('%s has its own word and says what to do', (status, fields, text) => {
  const { tell, queue } = newStory();
  queue(1, 'qa');
  expect(tell(id(1), ended({ ...fields, status }))).toBe(`12:04:01  qa  ${text}`);
});

test('a stopping run shows the reason', () => {
  const { tell, queue } = newStory();
  queue(1, 'qa');
  expect(tell(id(1), { type: 'run.stopping', reason: 'timeout' })).toBe(
    '12:04:01  qa  stopping   over its time limit',
  );
});

test('a silent run is reported with details, and its next activity too', () => {
  const { tell, queue } = newStory();
  queue(1, 'qa');
  const text = 'Not a word since it started 31 s ago.';
  expect(tell(id(1), { type: 'run.quiet', state: 'slow_start', text })).toBe(
    `12:04:01  qa  quiet      slow start: ${text}`,
  );
  const narrow = tell(id(1), { type: 'run.quiet', state: 'stalled', text: 'word '.repeat(50) }, 0, 60) ?? '';
  expect(displayWidth(narrow)).toBe(60);
  expect(narrow).toMatch(/quiet {6}stalled: word .*…$/);
  expect(tell(id(1), { type: 'run.quiet', state: null, text: 'Running.' })).toBe(
    '12:04:01  qa  awake      active again',
  );
});

test('a budget warning names the amount, the limit and the scope', () => {
  const { tell, queue } = newStory();
  queue(1, 'qa');
  expect(tell(id(1), { type: 'run.budget', spentUsd: 0.82, budgetUsd: 1, scope: 'squad' })).toBe(
    '12:04:01  qa  budget     $0.82 of $1.00 for the squad',
  );
});

test('the status line of a silent run says so until the next activity', () => {
  const { tell, queue, start, views, now } = newStory();
  queue(1, 'qa');
  start(1);
  tell(id(1), { type: 'run.activity', kind: 'text', text: 'reading' });
  const screen = { write: () => undefined, isTTY: true, columns: 60, rows: 24, color: false };
  const live = () => statusLines(views.list(), now(), screen, plain)[0];
  tell(id(1), { type: 'run.quiet', state: 'silent', text: 'No sign for 60 s\u001b[2J.' });
  expect(live()).toMatch(/qa {2}silent: No sign for 60 s␛\[2J\. +0s$/);
  tell(id(1), { type: 'run.activity', kind: 'text', text: 'writing' });
  expect(live()).toMatch(/qa {2}writing +0s$/);
  tell(id(1), { type: 'run.quiet', state: 'dead', text: 'Its process is gone.' });
  tell(id(1), { type: 'run.stopping', reason: 'cancel' });
  expect(live()).toMatch(/qa {2}stopping +0s$/);
});

test('a long reason is cut before its code, and the command is omitted', () => {
  const { tell, queue } = newStory();
  queue(1, 'qa');
  const error = { code: 'ENGINE_NOT_LOGGED_IN', message: 'word '.repeat(100) };
  const line = tell(id(1), ended({ status: 'error', exitCode: 1, error }), 0, 80) ?? '';
  expect(displayWidth(line)).toBe(80);
  expect(line).toMatch(/exit 1: word .*… \(ENGINE_NOT_LOGGED_IN\)$/);
  const short = { code: 'LOST', message: 'gone' };
  expect(tell(id(1), ended({ status: 'lost', exitCode: null, error: short }), 0, 80)).toMatch(
    /lost {7}gone \(LOST\) {2}squad log run_0000000001$/,
  );
});

test('text of an agent cannot send control sequences to the terminal', () => {
  const { tell, queue, views, now } = newStory();
  queue(1, 'q\u001b[31ma', 'cl\u0007aude');
  tell(id(1), { type: 'run.started', turn: 1, pid: 1 });
  tell(id(1), { type: 'run.activity', kind: 'text', text: 'hi\u001b]0;owned\u0007 there\r\nyou' });
  const error = { code: 'X', message: '\u001b[2Jgone' };
  const screen = { write: () => undefined, isTTY: true, columns: 80, rows: 24, color: false };
  const status = statusLines(views.list(), now(), screen, plain);
  const line = tell(id(1), ended({ status: 'error', exitCode: 1, error }));
  expect(status[0]).toContain('hi␛]0;owned␇ there you');
  expect([...status, line, ...summaryLines(views.list(), 80, plain)].join('')).not.toMatch(/\p{Cc}/u);
});

test('events of unknown runs and minor events print nothing', () => {
  const { tell, queue } = newStory();
  queue(1, 'qa');
  expect(tell(id(9), { type: 'run.started', turn: 1, pid: 1 })).toBeNull();
  expect(tell(id(1), { type: 'run.activity', kind: 'text', text: 'hello' })).toBeNull();
  expect(tell(null, { type: 'squad.created', members: 2 })).toBeNull();
});

test('stop and recovery of the hub are reported', () => {
  const { tell, queue } = newStory();
  queue(1, 'qa-engineer');
  expect(tell(null, { type: 'hub.stopped', reason: 'newer version' })).toBe(
    '12:04:01  hub          stopped    newer version',
  );
  expect(tell(null, { type: 'hub.recovered', watched: 2, ended: 0, requeued: 0, lost: 1 })).toBe(
    '12:04:01  hub          recovered  2 still running · 1 lost',
  );
});

test('the second run of a role has a number', () => {
  const { queue, views } = newStory();
  queue(1, 'coder');
  queue(2, 'coder');
  queue(2, 'coder');
  expect(views.list().map(run => run.label)).toEqual(['coder', 'coder 2']);
});

test('the block has a line for each running agent and one for the totals', () => {
  const { tell, queue, start, views, now } = newStory();
  for (const [number, role] of ['architect', 'developer', 'qa', 'reviewer'].entries())
    queue(number + 1, role);
  for (const number of [1, 2, 3]) start(number);
  tell(id(1), ended({ usage: usage(40_000, 1_000, 0.61) }), 90_000);
  tell(id(2), { type: 'run.activity', kind: 'tool', text: 'Edit src/auth/refresh.ts' }, 57_000);
  const screen = { write: () => undefined, isTTY: true, columns: 80, rows: 24, color: false };
  expect(statusLines(views.list(), now(), screen, plain)).toEqual([
    expect.stringMatching(/^ . developer {2}Edit src\/auth\/refresh\.ts {35}2m27s$/u),
    expect.stringMatching(/^ . qa {9}running {52}2m27s$/u),
    ' running 2 · queued 1 · done 1                      2m27s · 41k tokens · $0.61',
  ]);
});

test('the block is never more than eight agents and one line, nor taller than the screen', () => {
  const { queue, start, views, now } = newStory();
  for (let number = 1; number <= 9; number++) {
    queue(number, `r${number}`);
    start(number);
  }
  const screen = { write: () => undefined, isTTY: true, columns: 80, rows: 24, color: false };
  const tall = statusLines(views.list(), now(), screen, plain);
  expect(tall).toHaveLength(9);
  expect(tall.at(-1)).toContain('running 9 · 1 more not shown');
  expect(statusLines(views.list(), now(), { ...screen, rows: 5 }, plain)).toHaveLength(4);
  for (let columns = 1; columns < 60; columns++)
    expect(() => statusLines(views.list(), now(), { ...screen, columns }, plain)).not.toThrow();
});

test('the summary has every run, the totals and the next commands', () => {
  const { tell, queue, start, views } = newStory();
  queue(1, 'architect');
  queue(2, 'reviewer');
  start(1);
  start(2);
  tell(id(1), ended({ durationMs: 90_000, usage: usage(40_000, 1_000, 0.61) }), 90_000);
  const error = { code: 'ENGINE_FAILED', message: 'context limit' };
  tell(id(2), ended({ status: 'error', exitCode: 1, error, durationMs: 95_000 }), 5_000);
  expect(summaryLines(views.list(), 100, plain)).toEqual([
    '',
    'role       result   time  tokens   cost  run',
    'architect  done    1m30s     41k  $0.61  run_0000000001',
    'reviewer   failed  1m35s       –      –  run_0000000002  exit 1: context limit (ENGINE_FAILED)',
    '',
    'failed 1 · done 1 · 1m35s · ≥41k tokens · ≥$0.61',
    '  squad log run_0000000002   why reviewer failed (ENGINE_FAILED)',
    '  squad show run_0000000001  what architect reported',
  ]);
  expect(summaryLines([], 100, plain)).toEqual([]);
});

test('the summary names the next step of a failure once for all runs that share it', () => {
  const { tell, queue, views } = newStory();
  const error = { code: 'ENGINE_NOT_LOGGED_IN', message: 'Please run /login' };
  for (const number of [1, 2]) {
    queue(number, 'coder');
    tell(id(number), ended({ status: 'error', exitCode: 1, error }));
  }
  queue(3, 'qa', 'codex');
  tell(id(3), ended({ status: 'error', error: { code: 'ENGINE_RATE_LIMITED', message: '429' } }));
  const lines = summaryLines(views.list(), 60, plain, new Map([['claude', 'Run `claude` and log in.']]));
  expect(lines.slice(lines.indexOf('failed 3') + 1)).toEqual([
    '  Run `claude` and log in. Set-up:',
    '  https://github.com/squad-mcp/squad/blob/main/docs/guides/engines/claude.md.',
    '  Then: squad retry RUN',
    '  Wait, then: squad retry run_0000000003. To run fewer',
    '  agents at once: squad config set limits.concurrency N',
    '  squad log run_0000000001  why coder failed (ENGINE_NOT_LO…',
    '  squad log run_0000000002  why coder 2 failed (ENGINE_NOT_…',
    '  squad log run_0000000003  why qa failed (ENGINE_RATE_LIMI…',
  ]);
});

test('too many commands are merged into one per kind', () => {
  const { tell, queue, views } = newStory();
  for (const number of [1, 2, 3, 4]) {
    queue(number, `r${number}`);
    tell(id(number), ended({}));
  }
  expect(summaryLines(views.list(), 80, plain).slice(-2)).toEqual([
    'done 4',
    '  squad show RUN  what each of them reported',
  ]);
});

test('existing runs are shown with their state', () => {
  const run = {
    ...{ id: id(1), roleId: 'coder', engine: 'codex', status: 'completed', error: null, usage: null },
    ...{ startedAt: START, endedAt: START + 20_000 },
  } as Run;
  const views = new RunViews([run]);
  expect(views.list()).toMatchObject([{ label: 'coder', status: 'completed', durationMs: 20_000 }]);
});

const FACTS = { notes: [], options: { sandbox: NO_SANDBOX } };

test('the summary shows the evidence, in a column that shrinks on a narrow screen', () => {
  const { tell, queue, views } = newStory();
  const seen = (number: number, verdict: 'verified' | 'claimed', files: number) => {
    queue(number, number === 1 ? 'coder' : 'reviewer');
    tell(
      id(number),
      ended({ durationMs: 2_000, usage: { ...usage(10, 5, 0.2), costIsEstimated: number === 1 } }),
    );
    const filesChanged = { count: files, files: [] };
    views.addFacts({ id: id(number), evidence: { verdict, filesChanged }, ...FACTS } as unknown as Run);
  };
  seen(1, 'verified', 2);
  seen(2, 'claimed', 0);
  const lines = summaryLines(views.list(), 100, plain);
  expect(lines.slice(1, 4)).toEqual([
    'role      result  evidence           time  tokens    cost  run',
    'coder     done    verified, 2 files  2.0s      15  ~$0.20  run_0000000001',
    'reviewer  done    claimed            2.0s      15   $0.20  run_0000000002',
  ]);
  expect(lines).toContain('done 2 · 30 tokens · ~$0.40');
  expect(lines.at(-1)).toBe('  squad diff run_0000000001  what changed while coder worked');
  for (const line of summaryLines(views.list(), 60, plain))
    expect(displayWidth(line)).toBeLessThanOrEqual(60);
});

test('the summary names the branch with the changes, and how to view and merge it', () => {
  const { tell, queue, views } = newStory();
  const done = (number: number, files: number, worktree: Partial<Worktree> | null) => {
    queue(number, 'coder');
    tell(id(number), ended({}));
    const evidence = { verdict: 'verified', filesChanged: { count: files, files: [] } };
    views.addFacts({ id: id(number), evidence, ...FACTS, worktree } as unknown as Run);
  };
  done(1, 2, { branch: 'squad/coder/run_1', baseBranch: 'main' });
  const ofOne = summaryLines(views.list(), 80, plain);
  expect(ofOne.slice(ofOne.indexOf('done 1') + 1)).toEqual([
    '  The changes of coder are on branch squad/coder/run_1.',
    '  squad show run_0000000001       what coder reported',
    '  squad diff run_0000000001       what changed while coder worked',
    '  squad integrate run_0000000001  merge the changes of coder into main',
  ]);
  done(2, 0, { branch: 'squad/coder/run_2', baseBranch: 'main' });
  done(3, 1, null);
  const all = summaryLines(views.list(), 80, plain).join('\n');
  expect(all.match(/are on branch .*/g)).toEqual(['are on branch squad/coder/run_1.']);
  expect(all).toContain('squad integrate run_0000000001');
  for (const number of [4, 5, 6, 7])
    done(number, 1, { branch: `squad/coder/run_${number}`, baseBranch: null });
  const many = summaryLines(views.list(), 120, plain).join('\n');
  expect(many).toContain('The changes of 5 runs are on separate branches: squad worktrees lists them.');
  expect(many).toContain('squad integrate RUN');
});

test('the summary says if changes of a branch are not committed', () => {
  const { tell, queue, views } = newStory();
  queue(1, 'coder');
  tell(id(1), ended({}));
  const worktree = { branch: 'squad/coder/run_1', baseBranch: 'main' };
  const filesChanged = { count: 1, files: [] };
  const commits = { count: 0, newest: [] };
  views.addFacts({
    ...{ id: id(1), ...FACTS, worktree },
    evidence: { verdict: 'verified', filesChanged, commits },
  } as unknown as Run);
  expect(summaryLines(views.list(), 120, plain)).toContain(
    '  The changes of coder are in the work tree of branch squad/coder/run_1, not on the branch yet.',
  );
});

test('the summary prints notes of runs, shared ones once', () => {
  const { tell, queue, views } = newStory();
  for (const number of [1, 2]) {
    queue(number, number === 1 ? 'coder' : 'reviewer');
    tell(id(number), ended({ durationMs: 2_000 }));
    const notes = [
      'The MCP server gone was not available: no\u001b[31m',
      ...(number === 1 ? ['Only here.'] : []),
    ];
    views.addFacts({ id: id(number), evidence: null, ...FACTS, notes } as unknown as Run);
  }
  const lines = summaryLines(views.list(), 80, plain);
  expect(lines.filter(line => line.includes('gone'))).toEqual([
    expect.stringMatching(/^ {2}The MCP server gone was not available: no/),
  ]);
  expect(lines).toContain('  coder: Only here.');
  expect(lines.join('')).not.toContain('\u001b');
});
