import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import type { Executor } from '../../core/ports/turns.ts';
import { processesOf, TurnsFixture, until } from '../testing/turn-fixture.ts';
import { createSupervisor } from './supervisor.ts';

const turns = new TurnsFixture();
const supervisor: Executor = createSupervisor({ runsDir: turns.runsDir });
const options = { keepLeftovers: false };
afterAll(() => turns.remove());

describe('a turn', () => {
  test('ends with its exit code, its output in files and nothing left', async () => {
    const before = Date.now();
    const turn = turns.turn('echo out; echo err >&2; exit 7');
    const live = await supervisor.start(turn, options);
    const end = await live.ended;
    expect(end).toMatchObject({ exitCode: 7, spawnError: null, leftovers: [] });
    expect(end.endedAt).toBeGreaterThanOrEqual(before - 20);
    expect(end.endedAt).toBeLessThanOrEqual(Date.now());
    expect(turns.read(turn, 'stdout')).toBe('out\n');
    expect(turns.read(turn, 'stderr')).toBe('err\n');
    expect(turns.read(turn, 'pid')).toBe(`${live.pid}\n`);
    expect(turns.read(turn, 'exit')).toBe('7\n');
    expect(await processesOf(turn.runId)).toEqual([]);
  });

  test('that dies of a signal has 128 + its number, and the shell adds nothing to its output', async () => {
    const turn = turns.turn('kill -SEGV $$');
    const end = await (await supervisor.start(turn, options)).ended;
    expect(end.exitCode).toBe(139);
    expect(turns.read(turn, 'stderr')).toBe('');
  });

  test('gets every argument byte for byte', async () => {
    const nasty = [
      '',
      ' ',
      "it's",
      '"',
      '$(touch x)',
      '`id`',
      '$HOME',
      '\\n\\',
      'a\nb\n',
      '--flag',
      '-n',
      '*',
      'é😀',
      ';|&<>',
      '\u0001',
    ];
    const turn = turns.turn(['/usr/bin/printf', '%s\\0', ...nasty]);
    await (await supervisor.start(turn, options)).ended;
    expect(turns.read(turn, 'stdout').split('\0').slice(0, -1)).toEqual(nasty);
  });

  test('reads the given file as standard input, or nothing', async () => {
    writeFileSync(turns.path('input'), 'from a file');
    const given = turns.turn('cat', { stdin: turns.path('input') });
    const none = turns.turn('cat; echo end');
    await Promise.all([given, none].map(async turn => (await supervisor.start(turn, options)).ended));
    expect(turns.read(given, 'stdout')).toBe('from a file');
    expect(turns.read(none, 'stdout')).toBe('end\n');
  });

  test('has its environment as given, with the marks of the run, in its folder', async () => {
    const env = { PATH: '/usr/bin:/bin', squad: 'kept', dir: 'mine', s: 'two\nlines', SHELLOPTS: 'errexit' };
    const turn = turns.turn(['/usr/bin/env', '-0'], { env });
    const end = await (await supervisor.start(turn, options)).ended;
    const got = Object.fromEntries(
      turns
        .read(turn, 'stdout')
        .split('\0')
        .filter(Boolean)
        .map(line => line.split(/=(.*)/s)),
    );
    expect(got).toMatchObject({ ...env, SQUAD_RUN_ID: turn.runId, SQUAD_TURN: '1', PWD: turns.root });
    expect(Object.keys(got).filter(name => name.startsWith('squad_'))).toEqual([]);
    expect(end.exitCode).toBe(0);
  });

  test('can be interrupted: no signal is ignored in it', async () => {
    const turn = turns.turn(['/bin/cat', '/proc/self/status']);
    await (await supervisor.start(turn, options)).ended;
    expect(/^SigIgn:\s*(\w+)$/m.exec(turns.read(turn, 'stdout'))?.[1]).toMatch(/^0+$/);
  });

  test('is run by the program, never by a builtin of the shell of the same name', async () => {
    const turn = turns.turn(['echo', 'a\\tb'], { env: { PATH: '/usr/bin:/bin' } });
    await (await supervisor.start(turn, options)).ended;
    expect(turns.read(turn, 'stdout')).toBe('a\\tb\n');
  });

  test('writes its output where only the user can read it', { tags: ['S1'] }, async () => {
    const turn = turns.turn('stat -c %a "$1/stdout" "$1/stderr"');
    turn.command.argv.push('sh', turns.folder(turn));
    await (await supervisor.start(turn, options)).ended;
    expect(turns.read(turn, 'stdout')).toBe('600\n600\n');
  });
});

describe('a fed turn', () => {
  const ECHO = 'while read line; do echo "got $line"; done; echo over; exit 7';

  test('ends by itself once its input is ended, by the one that started it or by another', async () => {
    for (const isFound of [false, true]) {
      const turn = turns.turn(ECHO, { isFed: true });
      turns.write(turn, 'input', 'a line\n');
      const started = await supervisor.start(turn, options);
      await turns.said(turn, 'got a line');
      const found = isFound ? await supervisor.find(turn, options) : null;
      const live = found?.state === 'live' ? found.turn : started;
      expect(await live.processStats()).toMatchObject({ alive: true, processes: 1 });
      await live.endInput!();
      expect(await started.ended).toMatchObject({ exitCode: 7, leftovers: [] });
      expect(turns.read(turn, 'stdout')).toBe('got a line\nover\n');
      await live.endInput!();
    }
  });

  test('another process is not ended in place of the feed', async () => {
    const other = turns.turn('echo ready; exec sleep 62');
    const beside = await supervisor.start(other, options);
    await turns.said(other, 'ready');
    const turn = turns.turn(ECHO, { isFed: true });
    turns.write(turn, 'input', 'a line\n');
    const live = await supervisor.start(turn, options);
    await turns.said(turn, 'got a line');
    turns.write(turn, 'feed', `${beside.pid}\n`);
    await live.endInput!();
    expect(await processesOf(other.runId)).toContain('sleep');
    expect(await processesOf(turn.runId)).toContain('tail');
    for (const each of [beside, live]) each.stop(0);
    await Promise.all([beside.ended, live.ended]);
  });

  test('is stopped whole', async () => {
    const turn = turns.turn('trap "" TERM; echo ready; while :; do sleep 0.1; done', { isFed: true });
    turns.write(turn, 'input', '');
    const live = await supervisor.start(turn, options);
    await turns.said(turn, 'ready');
    live.stop(100);
    expect(await live.ended).toMatchObject({ exitCode: 137, leftovers: [] });
    expect(await processesOf(turn.runId)).toEqual([]);
  });
});

describe('a program that cannot be run', () => {
  test.each([
    ['is missing', '/no/such/program', 127, /^\/no\/such\/program: .*(not found|No such file)/],
    ['is not executable', 'plain-file', 126, /plain-file: Permission denied$/],
    ['has no interpreter', 'bad-interpreter', 127, /bad-interpreter: .*not found/],
  ])('%s: the shell says why', async (_, name, exitCode, words) => {
    writeFileSync(turns.path('plain-file'), 'text', { mode: 0o644 });
    writeFileSync(turns.path('bad-interpreter'), '#!/no/such/interpreter\n', { mode: 0o755 });
    const turn = turns.turn([name.startsWith('/') ? name : turns.path(name)]);
    const end = await (await supervisor.start(turn, options)).ended;
    expect(end).toMatchObject({ exitCode, spawnError: expect.stringMatching(words) });
  });

  test('is not confused with a program that ends with 127 by itself', async () => {
    const turn = turns.turn('echo "no-such-command: not found" >&2; exit 127');
    const end = await (await supervisor.start(turn, options)).ended;
    expect(end).toMatchObject({ exitCode: 127, spawnError: null });
  });
});

describe('a wrapper that cannot be started', () => {
  test.each([
    ['an argument too long for the system', { argv: ['/bin/echo', 'x'.repeat(200_000)] }, {}, /too long/],
    ['a folder that is not there', {}, { cwd: '/no/such/folder' }, /\/no\/such\/folder: no such folder/],
    ['a name that is on no PATH', { argv: ['no-such-program-anywhere'] }, {}, /is not on the PATH/],
    [
      'a standard input that is not there',
      { stdin: '/no/such/prompt' },
      {},
      /no such file.*\/no\/such\/prompt/,
    ],
    ['a NUL in an argument', { argv: ['/bin/echo', 'a\0b'] }, {}, /null bytes/],
  ])('is an error at the start: %s', async (_, command, more, message) => {
    const turn = turns.turn('true');
    Object.assign(turn, more, { command: { ...turn.command, ...command } });
    const failed = { code: 'SPAWN_FAILED', message: expect.stringMatching(message) };
    await expect(supervisor.start(turn, options)).rejects.toMatchObject(failed);
    expect(existsSync(`${turns.folder(turn)}/pid`)).toBe(false);
    expect(await supervisor.find(turn, options)).toEqual({ state: 'never_started' });
  });

  test('is an error at the start: a folder without the right to enter', async () => {
    const turn = turns.turn('true');
    turn.cwd = turns.path('file-not-folder');
    writeFileSync(turn.cwd, '');
    chmodSync(turn.cwd, 0o600);
    await expect(supervisor.start(turn, options)).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
  });
});

describe('two starts of one turn', () => {
  test('run the agent once, and both see its end', { tags: ['S13'] }, async () => {
    const turn = turns.turn('echo ran >>"$1"; while [ ! -e "$2" ]; do sleep 0.02; done; exit 3');
    const [log, gate] = [turns.path('ran'), turns.path('gate')];
    turn.command.argv.push('sh', log, gate);
    const lives = await Promise.all([supervisor.start(turn, options), supervisor.start(turn, options)]);
    await until(() => existsSync(log), 'the agent');
    writeFileSync(gate, '');
    const ends = await Promise.all(lives.map(live => live.ended));
    expect(ends.map(end => end.exitCode)).toEqual([3, 3]);
    expect(readFileSync(log, 'utf8')).toBe('ran\n');
  });

  test('one after the other: the second reports the first', async () => {
    const turn = turns.turn('echo ran; exit 5');
    await (await supervisor.start(turn, options)).ended;
    const again = await (await supervisor.start(turn, options)).ended;
    expect(again).toMatchObject({ exitCode: 5, spawnError: null });
    expect(turns.read(turn, 'stdout')).toBe('ran\n');
  });

  test('a folder that a dead wrapper took without a word is not used again', { tags: ['S13'] }, async () => {
    const turn = turns.turn('echo ran');
    writeFileSync(`${turns.folder(turn)}/pid`, '');
    const end = await (await supervisor.start(turn, options)).ended;
    expect(end).toMatchObject({
      exitCode: null,
      spawnError: expect.stringContaining('could not be recorded'),
    });
    expect(turns.read(turn, 'stdout')).toBe('');
  });
});

describe('an agent that removes its own folder', () => {
  test.each([
    ['has the exit code its parent saw', 'exit 3', 3],
    ['is not taken for one that was never started', 'exit 0', 0],
    ['may end like a program that cannot be run', 'exit 127', 127],
  ])('%s', async (_, last, exitCode) => {
    const errors: string[] = [];
    const watched = createSupervisor({ runsDir: turns.runsDir, onError: said => errors.push(said) });
    const turn = turns.turn(`rm -rf "$1"; ${last}`);
    turn.command.argv.push('sh', turns.folder(turn));
    const end = await (await watched.start(turn, options)).ended;
    expect(end).toMatchObject({ exitCode, spawnError: null });
    expect(errors).toEqual([`The folder of turn 1 of ${turn.runId} is gone, and with it what was written`]);
  });

  test('and is then killed has no exit code, and was started all the same', async () => {
    const turn = turns.turn('rm -rf "$1"; while :; do sleep 0.05; done');
    turn.command.argv.push('sh', turns.folder(turn));
    const live = await supervisor.start(turn, options);
    await until(() => !existsSync(turns.folder(turn)), 'the folder to go');
    process.kill(live.pid, 'SIGKILL');
    expect(await live.ended).toMatchObject({ exitCode: null, spawnError: null });
    expect(await processesOf(turn.runId)).toEqual([]);
  });
});

test('an agent that puts pipes in place of its files still ends', async () => {
  const turn = turns.turn('cd "$1"; rm stdout stderr pid; mkfifo stdout stderr pid; exit 127');
  turn.command.argv.push('sh', turns.folder(turn));
  const end = await (await supervisor.start(turn, options)).ended;
  expect(end).toMatchObject({ exitCode: 127, spawnError: null });
});
