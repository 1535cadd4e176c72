import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createProcessTable } from '../../process/table/process-table.ts';
import { until } from '../../process/testing/turn-fixture.ts';
import { withIndexLock } from './index-lock.ts';

const isLinux = process.platform === 'linux';
const busy = { code: 'GIT_BUSY' };

/** A folder of git's and a work tree in one, with this lock. */
function locked(content: string | null, ageMs = 0): { gitDir: string; lock: string } {
  const gitDir = mkdtempSync(join(tmpdir(), 'squad-lock-'));
  onTestFinished(() => rmSync(gitDir, { recursive: true }));
  const lock = join(gitDir, 'index.lock');
  if (content !== null) writeFileSync(lock, content);
  const at = (Date.now() - ageMs) / 1000;
  if (content !== null) utimesSync(lock, at, at);
  return { gitDir, lock };
}

const take = (gitDir: string, ownTree?: string) =>
  withIndexLock(gitDir, async () => readFileSync(join(gitDir, 'index.lock'), 'latin1'), {
    ...{ timeoutMs: 50, ownTree },
  });

const startTimeOf = async (pid: number): Promise<string> =>
  (await createProcessTable().snapshot()).get(pid)!.startTime;

test('says whose it is, is there for the work alone, and leaves nothing behind', async () => {
  const { gitDir, lock } = locked(null);
  expect(await take(gitDir)).toBe(`squad ${process.pid} ${await startTimeOf(process.pid)}\n`);
  expect(existsSync(lock)).toBe(false);
  await expect(withIndexLock(gitDir, () => Promise.reject(new Error('No')))).rejects.toThrow('No');
  expect(readdirSync(gitDir)).toEqual([]);
});

test('one holder at a time, also within one process', async () => {
  const { gitDir } = locked(null);
  let inside = 0;
  const once = () =>
    withIndexLock(gitDir, async () => {
      expect(++inside).toBe(1);
      await new Promise(settle => setImmediate(settle));
      inside--;
    });
  await Promise.all([once(), once(), once()]);
  await withIndexLock(gitDir, () => expect(take(gitDir)).rejects.toMatchObject(busy));
});

describe('a lock that was left behind is taken over', () => {
  test('of a process that has ended', async () => {
    const pid = execFileSync('/bin/sh', ['-c', 'echo $$'], { encoding: 'utf8' }).trim();
    expect(await take(locked(`squad ${pid} 12345\n`).gitDir)).toContain(`squad ${process.pid} `);
  });

  test.runIf(isLinux)('of one that has ended and that nobody took note of', async () => {
    const parent = spawn('sh', ['-c', 'exec 3<&0; sh -c "read x <&3" & echo $!; exec sleep 60'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    const content = `squad ${pid} ${startedAt(pid)}\n`;
    // A shell would take note of it, what it becomes does not.
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n', 'another program');
    parent.stdin.end();
    await until(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '), 'its end');
    expect(await take(locked(content).gitDir)).toContain(`squad ${process.pid} `);
  });

  test.runIf(isLinux)('of one whose number another process has by now, also when that is us', async () => {
    for (const pid of [process.ppid, process.pid])
      expect(await take(locked(`squad ${pid} 1\n`).gitDir)).toContain(`squad ${process.pid} `);
  });

  test.runIf(isLinux)(
    'of a git that was killed in a work tree of ours before it had written anything',
    async () => {
      const { gitDir } = locked('', 60_000);
      expect(await take(gitDir, gitDir)).toContain(`squad ${process.pid} `);
    },
  );
});

describe('a lock is left alone', () => {
  test('of a running process', async () => {
    const { gitDir, lock } = locked(`squad ${process.ppid} ${await startTimeOf(process.ppid)}\n`);
    await expect(take(gitDir, gitDir)).rejects.toMatchObject(busy);
    expect(existsSync(lock)).toBe(true);
  });

  test.each([
    ['that is empty, in a work tree of the user’s', '', 60_000, false],
    ['that is empty and new', '', 0, true],
    ['that git has written into', 'DIRC', 60_000, true],
  ])('%s', async (_, content, ageMs, isOurs) => {
    const { gitDir, lock } = locked(content, ageMs);
    await expect(take(gitDir, isOurs ? gitDir : undefined)).rejects.toMatchObject(busy);
    expect(readFileSync(lock, 'latin1')).toBe(content);
  });

  test.runIf(isLinux)('that is empty while a git is running there', async () => {
    const { gitDir, lock } = locked('', 60_000);
    execFileSync('git', ['init', '-q'], { cwd: gitDir });
    const git = spawn('git', ['cat-file', '--batch'], { cwd: gitDir, stdio: ['pipe', 'pipe', 'ignore'] });
    git.stdin.write('HEAD\n');
    await once(git.stdout, 'data');
    await expect(take(gitDir, gitDir)).rejects.toMatchObject(busy);
    expect(existsSync(lock)).toBe(true);
    git.stdin.end();
    await once(git, 'exit');
    await take(gitDir, gitDir);
  });
});

const startedAt = (pid: number): string =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19]!;
