import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mixups } from './other-squad.ts';

test('files and a program of another Squad are named, each with what to do', () => {
  const root = mkdtempSync(join(tmpdir(), 'squad-other-'));
  const own = { name: 'squad', other: null };
  mkdirSync(join(root, '.squad', 'agents'), { recursive: true });
  for (const name of ['team.md', 'decisions.md']) writeFileSync(join(root, '.squad', name), '# x\n');
  expect(mixups(root, own)).toEqual([]);
  writeFileSync(join(root, '.squad', 'routing.md'), '# Routing\n');
  expect(mixups(root, own).map(({ what }) => what)).toEqual([
    'This folder also has files of another Squad (https://github.com/bradygaster/squad): .squad/routing.md.',
  ]);
  const [program, files] = mixups(root, { name: 'squad-mcp', other: '/usr/bin/squad' });
  expect(program).toMatchObject({
    what: '`squad` on your PATH is another program: /usr/bin/squad.',
    next: 'This Squad is `squad-mcp`.',
  });
  expect(files?.what).toContain('.squad/routing.md');
  expect(mixups(root, { name: 'squad', other: '/usr/bin/squad' })[0]?.next).toContain(
    'npm install -g squad-mcp',
  );
});
