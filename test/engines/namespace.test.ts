import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const run = (env: Record<string, string>, ...command: string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'namespace.ts'), ...command], {
    env,
    encoding: 'utf8',
  });

test('on a machine that cannot create a namespace, the error names what is missing and the command is not run', () => {
  const empty = mkdtempSync(join(tmpdir(), 'squad-no-programs-'));
  const { status, stdout, stderr } = run({ PATH: empty }, '/bin/echo', 'ran');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/cannot make an empty network namespace: .*util-linux.*bubblewrap/);
  rmSync(empty, { recursive: true });
});
