import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { until } from '../testing/turn-fixture.ts';
import { createLineFollower } from './line-follower.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-follow-'));
const follow = createLineFollower();
afterAll(() => rmSync(root, { recursive: true }));

describe('following a file', () => {
  test('gives lines as they are written, whole, also when a character comes in two parts', {
    tags: ['C10'],
  }, async () => {
    const path = join(root, 'growing');
    const lines: string[] = [];
    const following = follow(path, line => lines.push(line));
    writeFileSync(path, 'one\ntw');
    await until(() => lines.length === 1, 'the first line');
    const euro = Buffer.from('€');
    appendFileSync(path, euro.subarray(0, 2));
    appendFileSync(path, Buffer.concat([euro.subarray(2), Buffer.from('o\n\nlast')]));
    await until(() => lines.length === 3, 'more lines');
    expect(lines).toEqual(['one', 'tw€o', '']);
    await following.stop();
    expect(lines).toEqual(['one', 'tw€o', '', 'last']);
  });

  test('gives lines without a tick of its timer while it hurries', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const path = join(root, 'hurried');
    writeFileSync(path, 'one\n');
    const lines: string[] = [];
    const following = createLineFollower()(path, line => lines.push(line));
    const calm = following.hurry();
    await until(() => lines.length === 1, 'the first line');
    appendFileSync(path, 'two\n');
    await until(() => lines.length === 2, 'the second line');
    calm();
    await following.stop();
  });

  test('gives a line as long as the longest answer whole', async () => {
    const path = join(root, 'answer');
    const answer = 'ü'.repeat(3.5 * 1024 * 1024);
    writeFileSync(path, `${answer}\nafter\n`);
    const lines: string[] = [];
    await follow(path, line => lines.push(line)).stop();
    expect(lines.map(line => line.length)).toEqual([answer.length, 5]);
    expect(lines[0] === answer).toBe(true);
  });

  test('stop reads what is left first, and only once', async () => {
    const path = join(root, 'left');
    writeFileSync(path, 'a\n'.repeat(200_000));
    let count = 0;
    const following = follow(path, () => count++);
    await Promise.all([following.stop(), following.stop()]);
    expect(count).toBe(200_000);
    appendFileSync(path, 'b\n');
    await following.stop();
    expect(count).toBe(200_000);
  });

  test('stop in the middle of reading repeats nothing and leaves out nothing', async () => {
    const path = join(root, 'middle');
    writeFileSync(path, '0123456789abcdef\n'.repeat(1_000_000));
    let count = 0;
    const following = follow(path, () => count++);
    await until(() => count > 0, 'the first lines');
    expect(count).toBeLessThan(1_000_000);
    await following.stop();
    expect(count).toBe(1_000_000);
  });

  test('a file that never comes is no lines', async () => {
    const lines: string[] = [];
    await follow(join(root, 'never'), line => lines.push(line)).stop();
    expect(lines).toEqual([]);
  });

  test('a callback that throws fails its own following, even as it is stopped, and no other', async () => {
    const path = join(root, 'shared');
    const lines: string[] = [];
    writeFileSync(path, 'x\n');
    let stopped: Promise<string> | null = null;
    const bad = follow(path, () => {
      stopped = bad.stop().then(
        () => 'well',
        error => error.message,
      );
      throw new Error('no');
    });
    const good = follow(path, line => lines.push(line));
    await until(() => lines.length === 1, 'the line');
    expect(await stopped).toBe('no');
    await good.stop();
    expect(lines).toEqual(['x']);
  });

  test('64 MiB of lines and a line of 128 MiB pass through while memory stays flat and others get their turn', async () => {
    const path = join(root, 'large');
    const file = openSync(path, 'w');
    const block = Buffer.from(`${'é'.repeat(500)}\n`.repeat(1000));
    const blocks = Math.ceil((64 * 1024 * 1024) / block.length);
    for (let i = 0; i < blocks; i++) writeSync(file, block);
    const endless = Buffer.alloc(1024 * 1024, 'z');
    for (let i = 0; i < 128; i++) writeSync(file, endless);
    closeSync(file);

    let count = 0;
    let most = 0;
    let turns = 0;
    const before = process.memoryUsage.rss();
    const counting = setInterval(() => {
      turns++;
      most = Math.max(most, process.memoryUsage.rss());
    }, 1);
    const long: string[] = [];
    const following = follow(
      path,
      line => {
        if (line.length === 500) count++;
      },
      beginning => long.push(beginning),
    );
    await following.stop();
    clearInterval(counting);
    expect(count).toBe(blocks * 1000);
    expect(long.map(beginning => beginning.length)).toEqual([1024]);
    expect(turns).toBeGreaterThan(10);
    expect((most - before) / 1024 / 1024).toBeLessThan(48);
  });
});

test('a pipe that takes the place of the file while it is read ends the reading, and nobody waits for it', async () => {
  const path = join(root, 'replaced');
  writeFileSync(path, 'one\n');
  const stopped = Promise.withResolvers<void>();
  const lines: string[] = [];
  const following = follow(path, line => {
    lines.push(line);
    appendFileSync(path, 'two\n');
    following.stop().then(stopped.resolve, stopped.reject);
    rmSync(path);
    execFileSync('mkfifo', [path]);
  });
  await stopped.promise;
  expect(lines).toEqual(['one']);
});

test('a link in place of the file is not followed', async () => {
  const path = join(root, 'linked');
  writeFileSync(join(root, 'elsewhere'), 'not its own\n');
  symlinkSync(join(root, 'elsewhere'), path);
  const lines: string[] = [];
  await follow(path, line => lines.push(line)).stop();
  expect(lines).toEqual([]);
});
