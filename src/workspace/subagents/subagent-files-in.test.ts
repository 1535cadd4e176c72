import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { subagentFilesIn } from './subagent-file.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-subagent-files-'));
afterAll(() => rmSync(root, { recursive: true }));

function lay(...names: string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), '');
  }
}

test('files of that name are found in every folder of the project, and nowhere else', async () => {
  lay('b.subagent.yaml', 'tools/a.subagent.yml', 'review.cpe.yaml', 'subagent.yaml', '.subagent.yaml');
  lay('node_modules/x/c.subagent.yaml', '.git/d.subagent.yaml', 'e.subagent.yaml.bak');
  symlinkSync(root, join(root, 'around'));
  const found = await subagentFilesIn(root);
  expect(found.map(file => relative(root, file))).toEqual([
    'b.subagent.yaml',
    'review.cpe.yaml',
    'tools/a.subagent.yml',
  ]);
});

test('a folder that is not there has none', async () => {
  expect(await subagentFilesIn(join(root, 'nowhere'))).toEqual([]);
});
