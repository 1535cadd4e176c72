import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processesIn } from './processes-in.ts';

test.runIf(process.platform === 'linux')(
  'finds who has a folder, or one below it, as its own; not its neighbours',
  async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-in-')));
    mkdirSync(join(folder, 'one/deep'), { recursive: true });
    mkdirSync(join(folder, 'one-more'));
    const children = ['one', 'one/deep', 'one-more'].map(name =>
      spawn('sleep', ['1000'], { cwd: join(folder, name) }),
    );
    try {
      await Promise.all(children.map(child => once(child, 'spawn')));
      const found = processesIn(join(folder, 'one'))!.toSorted((a, b) => a.pid - b.pid);
      expect(found).toEqual(children.slice(0, 2).map(({ pid }) => ({ pid, command: 'sleep 1000' })));
    } finally {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map(child => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
      rmSync(folder, { recursive: true });
    }
  },
);

test('says so where the system does not tell', () => {
  expect(processesIn('/', 'darwin')).toBeNull();
});
