import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { faultsOf, visit } from '../../../scripts/newcomer.ts';

/** `npm run newcomer` does the same with every Node that Squad supports, and measures. */
test('a newcomer whose npm may not write to its global folder installs the tarball as the guide says, sees the demo to its end and has a client connected', async () => {
  const npm = (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, 'npm'));
  const visited = await visit({ node: process.execPath, npm: firstReal(npm) }, true);
  expect(faultsOf(visited)).toEqual([]);
  expect(Object.keys(visited.tools)).toEqual(['squad-mcp', 'VS Code', 'Cursor']);
}, 240_000);

function firstReal(files: string[]): string {
  for (const file of files)
    try {
      return realpathSync(file);
    } catch {
      // The next folder on PATH may have it.
    }
  throw new Error('npm is not on PATH');
}
