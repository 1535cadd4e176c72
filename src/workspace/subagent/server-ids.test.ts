import { expect, test } from 'vitest';
import { ServerId } from '../../schema/mcp-config.ts';
import { serverIds } from './server-ids.ts';

test.each<[string[], string[]]>([
  [['files'], ['files']],
  [
    ['repo_coder', 'My Server!'],
    ['repo-coder', 'my-server'],
  ],
  [
    ['repo_coder', 'repo-coder'],
    ['repo-coder-2', 'repo-coder'],
  ],
  [
    ['a_b', 'a.b', 'A B'],
    ['a-b', 'a-b-2', 'a-b-3'],
  ],
  [
    ['squad', '', '日本', '1st'],
    ['squad-server', 'server', 'server-2', 'st'],
  ],
  [
    [`${'x'.repeat(30)}1`, `${'x'.repeat(30)}2`],
    ['x'.repeat(24), `${'x'.repeat(22)}-2`],
  ],
])('%j are %j', (names, expected) => {
  const ids = serverIds(names);
  expect(names.map(name => ids.get(name))).toEqual(expected);
  for (const id of ids.values()) expect(ServerId.safeParse(id).success).toBe(true);
});
