import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Changed, watchFolder } from './watch.ts';

let base: string;
let folder: string;
let told: Changed[];
let stop: () => void;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'squad-watch-')));
  folder = join(base, '.squad');
  told = [];
  stop = () => {};
});
afterEach(() => {
  stop();
  rmSync(base, { recursive: true, force: true });
});

const start = () => {
  stop = watchFolder(folder, changed => void told.push(changed));
};
const hasTold = (name: string) => told.some(changed => changed === null || changed.has(name));

/** Repeats the change until it is reported: a watch begins a moment after it was asked for. */
async function untilTold(name: string, change: (round: number) => void): Promise<void> {
  for (let round = 0; round < 300 && !hasTold(name); round++) {
    change(round);
    await new Promise(wake => setTimeout(wake, 30));
  }
  expect(hasTold(name)).toBe(true);
}

it('tells of a change in the folder and below it, by name, and of none beside it', async () => {
  mkdirSync(join(folder, 'decisions', 'inbox'), { recursive: true });
  start();
  await untilTold('decisions.md', round => writeFileSync(join(folder, 'decisions.md'), `${round}`));
  told.length = 0;
  await untilTold('decisions/inbox/a.md', round =>
    appendFileSync(join(folder, 'decisions/inbox/a.md'), `${round}`),
  );
  const names = told.flatMap(changed => [...(changed ?? ['null'])]);
  expect(new Set(names)).toEqual(new Set(['decisions/inbox/a.md']));
  told.length = 0;
  writeFileSync(join(base, 'beside.md'), 'x');
  await untilTold('after.md', round => writeFileSync(join(folder, 'after.md'), `${round}`));
  expect(told.every(changed => changed !== null && !changed.has('beside.md'))).toBe(true);
});

it('tells of files in a folder that came later', async () => {
  mkdirSync(folder);
  start();
  await untilTold('a.md', round => writeFileSync(join(folder, 'a.md'), `${round}`));
  told.length = 0;
  await untilTold('decisions', () => mkdirSync(join(folder, 'decisions', 'inbox'), { recursive: true }));
  told.length = 0;
  await untilTold('decisions/inbox/b.md', round =>
    writeFileSync(join(folder, 'decisions/inbox/b.md'), `${round}`),
  );
});

it('lives through the folder being absent, coming, and being replaced', async () => {
  start();
  await untilTold('any', round => (round === 0 ? undefined : mkdirSync(folder, { recursive: true })));
  told.length = 0;
  await untilTold('a.md', round => writeFileSync(join(folder, 'a.md'), `${round}`));
  renameSync(folder, join(base, 'old'));
  mkdirSync(folder);
  told.length = 0;
  await untilTold('b.md', round => writeFileSync(join(folder, 'b.md'), `${round}`));
});

it('says nothing after it was stopped', async () => {
  mkdirSync(folder);
  start();
  await untilTold('a.md', round => writeFileSync(join(folder, 'a.md'), `${round}`));
  stop();
  told.length = 0;
  const other: Changed[] = [];
  const stopOther = watchFolder(folder, changed => void other.push(changed));
  for (let round = 0; round < 300 && other.length === 0; round++) {
    writeFileSync(join(folder, 'c.md'), `${round}`);
    await new Promise(wake => setTimeout(wake, 30));
  }
  stopOther();
  expect(other.length).toBeGreaterThan(0);
  expect(told).toEqual([]);
});
