import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_INLINE_CHARS } from '../../src/core/off-thread.ts';
import {
  hostileReaders,
  KIB,
  putFile,
  type Reader,
  readHostile,
  SHAPES,
} from '../../src/workspace/testing/hostile-readers.ts';
import { type Figure, single } from '../figure.ts';
import { median } from '../measure.ts';

const ROUNDS = 3;
const MAX_BLOCKED_MS = 50;
/** Sizes of the largest frontmatter, and of the largest file that is read without a thread. */
const READ_AT_ONCE = [16 * KIB, MAX_INLINE_CHARS];

/**
 * Hostile files of a repository, in the shapes and sizes that take longest: how long they block other work of the hub.
 */
export const hostileFiles: Figure = {
  name: 'hostile-files',
  title: 'Hostile files of a repository',
  async measure() {
    const [root, home] = [
      mkdtempSync(join(tmpdir(), 'squad-hostile-')),
      mkdtempSync(join(tmpdir(), 'squad-home-')),
    ];
    const found: { what: string; usual: number; first: number }[] = [];
    // A file that no module of the hub reads is read by a command in a separate process.
    const ofHub = Object.entries(hostileReaders(root, home)).filter(([, reader]) => reader.in.length > 0);
    for (const [name, reader] of ofHub)
      for (const [shape, of] of Object.entries(SHAPES[reader.kind]))
        for (const size of [reader.most, ...READ_AT_ONCE].filter(each => each <= reader.most)) {
          const path = putFile(root, reader.file, of(size).slice(0, size));
          const blocked: number[] = [];
          for (let round = 0; round < ROUNDS; round++) blocked.push(await longestBlock(reader));
          rmSync(path);
          const what = `${name}: ${shape}, ${size / KIB} KiB`;
          found.push({ what, usual: median(blocked), first: Math.max(...blocked) });
        }
    for (const folder of [root, home]) rmSync(folder, { recursive: true });
    const worst = (of: 'usual' | 'first') => found.toSorted((one, other) => other[of] - one[of])[0]!;
    const note = 'processor time of the main thread between two turns of the event loop';
    return [
      single(`longest block, ${found.length} files (${worst('usual').what})`, 'ms', worst('usual').usual, {
        target: `≤ ${MAX_BLOCKED_MS} ms`,
        isMet: ({ value }) => value <= MAX_BLOCKED_MS,
        note,
      }),
      single(`the same, slowest of ${ROUNDS} reads (${worst('first').what})`, 'ms', worst('first').first, {
        target: `≤ ${MAX_BLOCKED_MS} ms`,
        isMet: ({ value }) => value <= MAX_BLOCKED_MS,
        note: 'a first read compiles functions, and any may collect garbage',
      }),
    ];
  },
};

/** Longest block in milliseconds of processor time, which other programs on the machine do not affect. */
async function longestBlock(reader: Reader): Promise<number> {
  let isOver = false;
  let longest = 0;
  let before = process.threadCpuUsage();
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
    before = process.threadCpuUsage();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await readHostile(reader);
  isOver = true;
  turn();
  return longest;
}
