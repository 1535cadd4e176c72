import { expect, test } from 'vitest';
import { ServerId } from '../../schema/mcp-config.ts';
import { serverIds } from './servers.ts';

test.each<[string[], string[]]>([
  [['files'], ['files']],
  [
    ['repo_coder', 'My Server!'],
    ['repo_coder', 'my-server'],
  ],
  [
    ['repo_coder', 'repo-coder'],
    ['repo_coder', 'repo-coder'],
  ],
  [
    ['a_b', 'a.b', 'A B'],
    ['a_b', 'a-b', 'a-b-2'],
  ],
  [
    ['squad', '', '日本', '1st'],
    ['squad-server', 'server', 'server-2', '1st'],
  ],
  [
    [`${'x'.repeat(40)}1`, `${'x'.repeat(40)}2`],
    ['x'.repeat(24), `${'x'.repeat(22)}-2`],
  ],
])('%j are %j', (names, expected) => {
  const ids = serverIds(names);
  expect(names.map(name => ids.get(name))).toEqual(expected);
  for (const id of ids.values()) expect(ServerId.safeParse(id).success).toBe(true);
});
