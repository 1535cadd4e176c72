import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newerBuild } from '../../support/newer-build.ts';
import { Screen } from '../../support/screen.ts';
import { ended, type Ran, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const other = join(squad.root, 'other');
const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '300']);
  mkdirSync(join(other, 'agents'), { recursive: true });
  for (const role of ['coder', 'tester']) squad.write(`agents/${role}.md`, 'You work.');
  writeFileSync(join(other, 'agents', 'stranger.md'), 'You work elsewhere.');
});
afterAll(() => squad[Symbol.asyncDispose]());

async function begin(role: string, script: string, cwd?: string): Promise<string> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', role, fenced(script)], { cwd });
  return runIds[0]!;
}

const go = (name: string) => squad.write(name, '');

/** A running `squad watch`: what it has written so far, and its end. */
function watching(...args: string[]): { child: ChildProcess; text(): string; over: Promise<Ran> } {
  const child = squad.start(['watch', ...args]);
  let text = '';
  child.stdout!.on('data', chunk => {
    text += chunk;
  });
  return { child, text: () => text, over: ended(child) };
}

const shows = (watch: { text(): string }, pattern: RegExp) =>
  until(`it shows ${pattern}`, () => pattern.test(watch.text()));

interface Line {
  v: number;
  type: string;
  seq: number;
  runId: string | null;
}
const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

test('the list starts with the active runs, reports new events, and leaves runs alone', async () => {
  await begin('tester', 'say long gone');
  await until('nothing is running', async () => (await squad.json<Listed>(['ls', '-r'])).runs.length === 0);
  const before = await begin('coder', 'say reading the plan\nawait one');
  await until('it is running', async () => (await squad.json<Listed>(['ls', '-r'])).runs[0]?.startedAt);
  const watch = watching();
  await shows(watch, /Ctrl-C leaves/);
  await begin('stranger', 'say none of your business', other);
  const later = await begin('tester', 'say tested');
  await shows(watch, /tester {2}done/);
  watch.child.kill('SIGINT');
  const { code, stdout } = await watch.over;
  expect(code).toBe(130);
  const [head, now, ...rest] = stdout.split('\n');
  expect(head).toBe(`${squad.workspace} · running 1 · Ctrl-C leaves, runs continue`);
  expect(now).toMatch(new RegExp(`^[\\d:]{8} {2}coder {2}running {4}scripted · ${before}`));
  expect(rest[0]).toMatch(new RegExp(`^[\\d:]{8} {2}tester {2}started {4}scripted · ${later}$`));
  expect(rest[1]).toMatch(/tester {2}done/);
  expect(stdout).toMatch(/^tester {2}done .*\n\ndone 1 [^\n]*\n.*\n1 run continues\.\n$/m);
  expect(stdout).not.toMatch(/stranger|long gone/);
  expect((await squad.json<Listed>(['ls', '-r'])).runs.map(run => run.id)).toEqual([before]);
  go('one');
  expect((await squad.run(['wait', before])).code).toBe(0);
});

interface Listed {
  runs: { id: string; startedAt: number | null }[];
}

test('of every workspace it tells with --all', async () => {
  const watch = watching('--all');
  await shows(watch, /^every workspace · nothing running/);
  await begin('stranger', 'say hello', other);
  await shows(watch, /stranger {2}done/);
  watch.child.kill('SIGINT');
  expect((await watch.over).code).toBe(130);
});

test('named runs are reported until they have ended, and the exit code is their outcome', async () => {
  const good = await begin('coder', 'await two\nsay good');
  const bad = await begin('tester', 'await two\nfail broken on purpose');
  const watch = watching(good, bad.replace('run_', '').slice(0, 8));
  const single = watching(good);
  await shows(watch, /Ctrl-C/);
  await shows(single, /Ctrl-C/);
  await begin('coder', 'say not asked for');
  go('two');
  const { code, stdout } = await watch.over;
  expect(code).toBe(1);
  expect(stdout).toMatch(/tester {2}failed {5}exit 1: broken on purpose/);
  expect(stdout).toMatch(/^role +result/m);
  expect(stdout.match(/started/g)).toBeNull();
  expect(await single.over).toMatchObject({ code: 0, stderr: '' });
  const again = await squad.run(['watch', good, bad]);
  expect(again.code).toBe(1);
  expect(again.stdout).toMatch(/done 1/);
});

test('a name that is none is refused as everywhere', async () => {
  const { code, stderr } = await squad.run(['watch', 'run_nosuchrun0']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/There is no run run_nosuchrun0 \(RUN_UNKNOWN\)/);
});

test('a hub that is killed meanwhile is found again; nothing is missed and nothing told twice', async () => {
  const watch = watching('--json');
  await shows(watch, /watch\.started/);
  const first = await begin('coder', 'say one\nawait three\nsay two');
  await shows(watch, new RegExp(`"run.started".*${first}|${first}.*"run.started"`));
  for (const round of [1, 2]) {
    process.kill(await squad.hubPid(), 'SIGKILL');
    await begin('tester', `say round ${round}`);
  }
  go('three');
  const { runs } = await squad.json<Listed>(['ls', '-n', '3']);
  await squad.run(['wait', ...runs.map(run => run.id)]);
  await until('every end was reported', () => watch.text().match(/"run\.ended"/g)?.length === 3);
  watch.child.kill('SIGINT');
  const { code, stdout } = await watch.over;
  expect(code).toBe(130);
  const [begun, ...events] = linesOf(stdout);
  expect(begun).toMatchObject({ v: 1, type: 'watch.started', runs: [] });
  const numbers = events.map(event => event.seq);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  const stored = await squad.json<{ events: Line[] }>(['events', '-n', '1000']);
  const expected = stored.events.filter(event => event.seq > (begun as unknown as { after: number }).after);
  expect(numbers).toEqual(expected.map(event => event.seq).sort((a, b) => a - b));
});

test('a hub that was stopped on purpose is not brought back by whoever only watches', async () => {
  const watch = watching();
  await shows(watch, /nothing running/);
  await squad.run(['hub', 'stop']);
  await shows(watch, /The hub was stopped/);
  expect((await squad.run(['hub', 'status'])).stdout).not.toMatch(/pid +\d/);
  const id = await begin('coder', 'say back again');
  await shows(watch, new RegExp(`coder +started {4}scripted · ${id}`));
  watch.child.kill('SIGINT');
  expect((await watch.over).code).toBe(130);
});

test('a newer hub does not wait for `squad watch`, which continues on the new hub', async () => {
  const own = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const newer = newerBuild('99.0.0');
  try {
    own.write('agents/coder.md', 'You work.');
    const child = own.start(['watch', '--json']);
    let text = '';
    child.stdout!.on('data', chunk => {
      text += chunk;
    });
    const over = ended(child);
    await until('it has begun', () => text.includes('watch.started'));
    const hub = await own.json<{ version: string }>(['hub', 'start'], { bin: newer.bin });
    expect(hub.version).toBe('99.0.0');
    await own.run(['run', 'coder', fenced('say hello from the newer one')]);
    await until('the end was reported', () => text.includes('"run.ended"'));
    child.kill('SIGINT');
    expect((await over).code).toBe(130);
    const numbers = linesOf(text)
      .slice(1)
      .map(line => line.seq);
    expect(new Set(numbers).size).toBe(numbers.length);
  } finally {
    await own[Symbol.asyncDispose]();
    newer[Symbol.dispose]();
  }
});

test('--quiet tells of failures and of who needs the user, and nothing else', async () => {
  const watch = watching('--quiet');
  const asking = await begin('coder', 'ask May I?\nsay thanks');
  // It says nothing by which its beginning could be known.
  await shows(watch, /needs you/);
  const fine = await begin('tester', 'say fine');
  const broken = await begin('tester', 'fail broken on purpose');
  await squad.run(['answer', /ask_[0-9a-z]{10}/.exec(watch.text())![0], 'yes']);
  await squad.run(['wait', asking, fine, broken]);
  await shows(watch, /failed/);
  watch.child.kill('SIGINT');
  const { stdout } = await watch.over;
  const [lines] = stdout.split('\n\n');
  expect(lines!.split('\n')).toEqual([
    expect.stringMatching(/coder +needs you {2}May I\? {2}squad answer ask_/),
    expect.stringMatching(/tester.* failed {5}exit 1: broken on purpose/),
  ]);
  expect(stdout).toMatch(/\nfailed 1 · done 2/);
});

test('--group keeps the lines of a run together, --only leaves other roles out', async () => {
  const named = [
    await begin('coder', 'await four\nsay first'),
    await begin('tester', 'await four\nsay second'),
    await begin('coder', 'await five\nsay third'),
  ];
  const all = watching('--group', '--json', ...named);
  const some = watching('--only', 'coder', ...named);
  await shows(all, /watch\.started/);
  await shows(some, /Ctrl-C/);
  go('four');
  await squad.run(['wait', ...named.slice(0, 2)]);
  go('five');
  const { stdout, code } = await all.over;
  expect(code).toBe(0);
  const order = linesOf(stdout)
    .slice(1)
    .map(line => line.runId);
  expect([...new Set(order)]).toHaveLength(3);
  const changes = order.filter((runId, index) => runId !== order[index - 1]);
  expect(changes).toHaveLength(3);
  const one = await some.over;
  expect(one.stdout).toMatch(/coder 2 {2}done/);
  expect(one.stdout.split('\n\n')[0]).not.toMatch(/tester/);
});

test('`squad run` accepts the same output options', async () => {
  const { code, stdout } = await squad.run(['run', '--quiet', 'coder', fenced('say fine')]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\nrole/);
  const grouped = await squad.run(['run', '--group', 'coder', fenced('say a'), 'tester', fenced('say b')]);
  const names = grouped.stdout
    .split('\n\n')[0]!
    .split('\n')
    .slice(1)
    .map(line => line.slice(10, 16).trim());
  expect(names.filter((name, index) => name !== names[index - 1])).toHaveLength(2);
});

test('on a screen: the bell and the title call, ids are links to the web UI, and the scrollback is whole', async () => {
  const screen = Screen.open(squad, ['watch'], { columns: 90, rows: 20 });
  try {
    await screen.shows('nothing running');
    const id = await begin('coder', 'ask May I go on?\nsay thanks');
    await screen.shows('needs you: May I go on?');
    const item = screen
      .lines()
      .join('\n')
      .match(/ask_[0-9a-z]{10}/)![0];
    await squad.run(['answer', item, 'yes']);
    await screen.shows('done 1');
    screen.press('C-c');
    const { code, bytes } = await screen.ended();
    expect(code).toBe(130);
    const { page } = await squad.json<{ page: string }>(['hub', 'status']);
    const link = `\u001b]8;;${new URL(page).origin}/r/${id}\u001b\\${id}\u001b]8;;\u001b\\`;
    expect(bytes).toContain(link);
    expect(bytes).not.toMatch(/#(key|token)=/);
    expect(bytes).toContain('\u001b]0;(1) Squad needs you\u0007\u0007');
    expect(bytes.indexOf('\u001b[23;0t')).toBeGreaterThan(bytes.indexOf('needs you'));
    const lines = screen.lines();
    expect(lines.filter(line => line.includes('started'))).toHaveLength(1);
    expect(lines.some(line => /^ [◐◓◑◒]/u.test(line))).toBe(false);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(90);
  } finally {
    screen.close();
  }
});
