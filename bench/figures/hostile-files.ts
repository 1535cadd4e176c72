import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  hostileReaders,
  putFile,
  type Reader,
  readHostile,
  SHAPES,
} from '../../src/workspace/testing/hostile-readers.ts';
import { type Figure, single } from '../figure.ts';
import { median } from '../measure.ts';

const ROUNDS = 3;
const MAX_BLOCKED_MS = 50;

/** Files that came with a repository, each of the worst shape and as large as it is read: how long they keep everybody else waiting. */
export const hostileFiles: Figure = {
  name: 'hostile-files',
  title: 'Hostile files of a repository',
  async measure() {
    const [root, home] = [
      mkdtempSync(join(tmpdir(), 'squad-hostile-')),
      mkdtempSync(join(tmpdir(), 'squad-home-')),
    ];
    const found: { what: string; usual: number; first: number }[] = [];
    // A file that no module of the hub reads is read by a command, in a process of its own.
    const ofHub = Object.entries(hostileReaders(root, home)).filter(([, reader]) => reader.in.length > 0);
    for (const [name, reader] of ofHub)
      for (const [shape, of] of Object.entries(SHAPES[reader.kind])) {
        const path = putFile(root, reader.file, of(reader.most).slice(0, reader.most));
        const blocked: number[] = [];
        for (let round = 0; round < ROUNDS; round++) blocked.push(await longestBlock(reader));
        rmSync(path);
        found.push({ what: `${name}: ${shape}`, usual: median(blocked), first: Math.max(...blocked) });
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

/** In milliseconds. Processor time, not the clock: other programs of the machine do not count. */
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
