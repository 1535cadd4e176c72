import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createProcessTable } from '../table/process-table.ts';
import { isAlive, until } from '../testing/turn-fixture.ts';
import {
  createServiceTags,
  readStderr,
  type ServiceProcess,
  startService,
  sweepServices,
} from './service.ts';

const table = createProcessTable();
const folder = mkdtempSync(join(tmpdir(), 'squad-service-'));
const tags = createServiceTags(folder);
const started: ServiceProcess[] = [];
afterEach(async () => {
  for (const service of started.splice(0)) await service.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = { PATH: process.env.PATH ?? '' };

async function service(argv: readonly [string, ...string[]], more: Record<string, string> = {}) {
  const lines: string[] = [];
  const tag = tags.next();
  const running = await startService({
    table,
    argv,
    cwd: folder,
    env: { ...env, ...more },
    tag,
    onStderrLine: line => lines.push(line),
  });
  started.push(running);
  let output = '';
  running.stdout.on('data', chunk => {
    output += chunk;
  });
  const members = async () => (await table.snapshot()).tagged({ service: tag });
  return { running, lines, tag, members, output: () => output };
}

const shell = (script: string, more?: Record<string, string>) => service(['/bin/sh', '-c', script], more);

describe('a service', () => {
  test('talks over its streams and knows nothing of ours', async () => {
    const { running, output } = await shell('read line; echo "$line in $PWD for $A $SQUAD_RUN_ID."', {
      A: 'me',
      SQUAD_RUN_ID: 'run_x',
    });
    running.stdin.write('hello\n');
    expect(await running.ended).toEqual({ code: 0, signal: null });
    await until(() => output() !== '', 'its words come');
    expect(output()).toBe(`hello in ${folder} for me .\n`);
  });

  test('leads a session of its own and is known by its tag, with all that it starts', async () => {
    const { running, members } = await shell('sleep 61 & wait');
    await until(async () => (await members()).length === 2, 'both are there');
    const [first] = await members();
    expect(first).toMatchObject({ pgid: running.pid, sid: running.pid });
  });

  test('that closes down at the end of its input is not signalled', async () => {
    const { running, output } = await shell('trap "echo signalled" TERM; cat; echo done');
    expect(await running.stop()).toEqual([]);
    expect(await running.ended).toEqual({ code: 0, signal: null });
    expect(output()).toBe('done\n');
  });

  test('that does not is ended by TERM, and all at once when asked twice', async () => {
    const { running } = await service(['sleep', '61']);
    const [first, second] = await Promise.all([running.stop(), running.stop()]);
    expect([first, second]).toEqual([[], []]);
    expect(await running.ended).toEqual({ code: null, signal: 'SIGTERM' });
  });

  test('that takes no TERM, held or not, is killed with its children', { tags: ['R14'] }, async () => {
    const { running, members } = await shell('trap "" TERM; (kill -STOP 0; sleep 61) & sleep 61; sleep 61');
    await until(async () => (await members()).some(each => each.isStopped), 'it is held');
    expect(await running.stop()).toEqual([]);
    expect(await running.ended).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await members()).toEqual([]);
  });

  test('takes with it what left its session, ignores TERM, or cleared its environment', {
    tags: ['zombies-and-orphans'],
  }, async () => {
    const { running, members, output } = await shell(
      [
        'setsid sh -c "trap \\"\\" TERM; echo \\$\\$; while :; do sleep 1; done" &',
        'env -i setsid /bin/sh -c "echo \\$\\$; exec /bin/sleep 61" &',
        'cat >/dev/null',
      ].join('\n'),
    );
    await until(() => output().split('\n').length === 3, 'both say who they are');
    const pids = output().trim().split('\n').map(Number);
    expect(pids.every(isAlive)).toBe(true);
    expect(await running.stop()).toEqual([]);
    expect(pids.some(isAlive)).toBe(false);
    expect(await members()).toEqual([]);
  });

  test('that ends by itself leaves nothing behind', async () => {
    const { running, members, output } = await shell(
      'setsid sleep 61 & sleep 62 & echo ready; read line; exit 4',
    );
    await until(() => output() !== '', 'it is ready');
    running.stdin.write('\n');
    expect(await running.ended).toEqual({ code: 4, signal: null });
    await until(async () => (await members()).length === 0, 'nothing of it is left');
    expect(await running.stop()).toEqual([]);
  });

  test('that is written to after its end does no harm', async () => {
    const { running } = await shell('exit 0');
    await running.ended;
    running.stdin.write('too late\n');
    expect(await running.stop()).toEqual([]);
  });
});

describe('its output on stderr', () => {
  test('comes in lines', async () => {
    const { running, lines } = await shell('printf "one\\ntwo\\nthree" >&2');
    await running.ended;
    await until(() => lines.length === 3, 'all have come');
    expect(lines).toEqual(['one', 'two', 'three']);
  });

  test('costs neither it nor us anything when it is a flood, and the end of it is kept', {
    tags: ['flooding'],
  }, async () => {
    const script = [
      "const noise = ('noise '.repeat(20) + '\\n').repeat(10_000);",
      'const write = text => { let left = Buffer.from(text); while (left.length) try { left = left.subarray(fs.writeSync(2, left)) } catch {} };',
      "for (let i = 0; i < 80; i++) write(noise); write('the last line\\n')",
    ].join('');
    const before = process.memoryUsage().rss;
    const { running, lines } = await service([process.execPath, '-e', script]);
    expect(await running.ended).toEqual({ code: 0, signal: null });
    await until(() => lines.at(-1) === 'the last line', 'the last line comes');
    expect(lines.some(line => /^\[\d+ bytes left out\]$/.test(line))).toBe(true);
    // 96 MB were written.
    expect(lines.join('').length).toBeLessThan(48_000_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
  });

  test('is left out where one line never ends', async () => {
    const { running, lines } = await shell(
      'head -c 900000 /dev/zero >&2; sleep 0.1; head -c 900000 /dev/zero >&2; printf "\\nshort\\n" >&2',
    );
    await running.ended;
    await until(() => lines.at(-1) === 'short', 'the last line comes');
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(1024 * 1024);
  });
});

describe('a service that cannot be started says why', () => {
  const start = (program: string, cwd = folder) =>
    startService({ table, argv: [program], cwd, env, tag: tags.next(), onStderrLine: () => {} }).then(
      () => null,
      error => error,
    );

  test('no such program', async () => {
    expect(await start('no-such-program')).toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: expect.stringContaining('no-such-program'),
    });
  });
  test('no right to run it', async () => {
    writeFileSync(join(folder, 'plain'), 'text');
    expect(await start('./plain')).toMatchObject({ code: 'COMMAND_NOT_EXECUTABLE' });
  });
  test('no such folder', async () => {
    expect(await start('sh', join(folder, 'nowhere'))).toMatchObject({ code: 'FOLDER_NOT_FOUND' });
  });
  test('the system refuses', async () => {
    writeFileSync(join(folder, 'bad'), '#!/no/such/interpreter\n');
    chmodSync(join(folder, 'bad'), 0o755);
    expect(await start('./bad')).toMatchObject({ code: 'SPAWN_FAILED' });
  });
});

describe('services of a dead hub', () => {
  test('is ended by the next one of the same home, and nobody else’s is', async () => {
    const dead = createServiceTags(folder);
    const other = createServiceTags(`${folder}/other`);
    const orphan = async (tag: string) => {
      const child = spawn('/bin/sh', ['-c', 'trap "" TERM; echo; while :; do sleep 1; done'], {
        env: { ...env, SQUAD_UPSTREAM: tag },
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      await once(child.stdout, 'data');
      return child.pid!;
    };
    const left = await orphan(dead.next());
    const strange = await orphan(other.next());
    const { running } = await service(['cat']);
    try {
      expect(await sweepServices(table, tags.isLeftBehind)).toEqual([]);
      expect([left, strange, running.pid].map(isAlive)).toEqual([false, true, true]);
    } finally {
      process.kill(-strange, 'SIGKILL');
    }
  });
});

const SECOND = 1024 * 1024;
const MARK = /^\[\d+ bytes left out\]$/;

/** Lines that are read from these pieces, when each arrives alone and all within one second. */
async function read(...pieces: string[]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  readStderr(
    stream,
    line => lines.push(line),
    () => 0,
  );
  for (const piece of pieces) {
    stream.write(piece);
    await new Promise(settle => setImmediate(settle));
  }
  stream.end();
  await new Promise(settle => stream.once('close', settle));
  return lines;
}

const MUCH = `${'x'.repeat(1023)}\n`.repeat(SECOND / 1024);
test.each([
  { where: 'at the beginning of what is left out', flood: ['half ', `apart\n${MUCH}`] },
  { where: 'at its end', flood: [MUCH, `${'half '.repeat(4_000)}apart\n`] },
  { where: 'not of one without an end either', flood: [MUCH, 'half '.repeat(SECOND / 4), 'apart\n'] },
])('no half of a line is shown, $where', async ({ flood }) => {
  const lines = await read(`${'x'.repeat(SECOND - 10)}\n`, ...flood, 'the last\n');
  expect(lines.filter(line => /half|apart/.test(line))).toEqual([]);
  expect(lines.filter(line => MARK.test(line))).toHaveLength(1);
  expect(lines.at(-1)).toBe('the last');
});

test('a line that nobody ended is not whole where its beginning was left out', async () => {
  expect(await read(MUCH, MUCH, 'half '.repeat(SECOND / 4))).not.toContainEqual(
    expect.stringContaining('half'),
  );
});

test('of a little too much nothing is left out', async () => {
  const lines = await read(`${'x'.repeat(SECOND - 10)}\n`, 'a whole ', 'line\n', 'the last\n');
  expect(lines.slice(1)).toEqual(['a whole line', 'the last']);
});

test('the last lines of a flood are kept, also when each comes in a piece of its own', async () => {
  const lines = await read('noise\n'.repeat(400_000), 'first of the end\n', 'the last ', 'line\n');
  expect(lines.slice(-2)).toEqual(['first of the end', 'the last line']);
  const marks = lines.filter(line => MARK.test(line));
  expect(marks).toHaveLength(1);
});
