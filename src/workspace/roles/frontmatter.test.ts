import { describe, expect, it } from 'vitest';
import { readFrontmatter } from './frontmatter.ts';

const fault = (source: string) => {
  const read = readFrontmatter(source);
  return 'fault' in read ? read.fault : null;
};

describe('readFrontmatter', () => {
  it('splits head and body', () => {
    expect(readFrontmatter('---\nname: Coder\ndescription: Writes code\n---\n\n# You\n\nWrite.\n')).toEqual({
      meta: { name: 'Coder', description: 'Writes code' },
      body: '# You\n\nWrite.',
      warnings: [],
    });
  });

  it('reads Windows line ends the same', () => {
    expect(readFrontmatter('---\r\nname: Coder\r\n---  \r\nOne\r\nTwo\r\n')).toEqual({
      meta: { name: 'Coder' },
      body: 'One\nTwo',
      warnings: [],
    });
  });

  it.each([
    ['Just text\n', 'Just text'],
    ['Text\n\n---\n\nmore: text\n---\n', 'Text\n\n---\n\nmore: text\n---'],
    ['---\n---\nBody', 'Body'],
    ['---\n# a comment\n---\nBody\n---\nmore', 'Body\n---\nmore'],
    ['----\nBody', '----\nBody'],
    ['', ''],
  ])('finds no keys in %j', (source, body) => {
    expect(readFrontmatter(source)).toEqual({ meta: {}, body, warnings: [] });
  });

  it('reads every key it knows', { tags: ['A12'] }, () => {
    const source = [
      ...[
        '---',
        'type: review',
        'engine: claude',
        'model: m',
        'effort: high',
        'tools: [Read, Grep]',
        'permission: read',
      ],
      ...[
        'timeout: 15m',
        'stall: 90',
        'budget: 1.5',
        'output_schema: a.json',
        'context: true',
        'isolation: worktree',
      ],
      ...['env: A, B', 'spawn: true', 'mcp: [db]', 'leftovers: keep', 'approvals: ask', '---', 'x'],
    ].join('\n');
    expect(readFrontmatter(source)).toEqual({
      meta: {
        type: 'review',
        engine: 'claude',
        model: 'm',
        effort: 'high',
        tools: ['Read', 'Grep'],
        permission: 'read',
        timeout: 900_000,
        stall: 90_000,
        budget: 1.5,
        output_schema: 'a.json',
        context: true,
        isolation: 'worktree',
        env: ['A', 'B'],
        spawn: true,
        mcp: ['db'],
        leftovers: 'keep',
        approvals: 'ask',
      },
      body: 'x',
      warnings: [],
    });
  });

  it('takes a key without a value as not there', () => {
    expect(readFrontmatter('---\nname:\ndescription: ~\n---\nx')).toEqual({
      meta: {},
      body: 'x',
      warnings: [],
    });
  });

  it('warns about a key it does not know, with its line', { tags: ['A12'] }, () => {
    expect(readFrontmatter('---\nname: A\ntimeuot: 5m\n---\nx')).toEqual({
      meta: { name: 'A' },
      body: 'x',
      warnings: ['line 3: the key "timeuot" is not known to Squad and has no effect'],
    });
  });

  it.each([
    ['---\nname: Coder\nbody', 'line 1: the frontmatter that begins with "---" is never closed'],
    ['---\nname: "Coder\n---\nx', 'line 2: Missing closing "quote'],
    ['---\nname: A\ntools:\n\t- Read\n---\nx', 'line 4: '],
    ['---\nname: A\nname: B\n---\nx', 'line 3: Map keys must be unique'],
    ['---\nname: A: B\n---\nx', 'line 2: '],
    ['---\n- name\n---\nx', 'line 2: the frontmatter is not a list of "key: value" lines'],
    ['---\n\njust words\n---\nx', 'line 3: the frontmatter is not'],
    ['---\nname: A\ndescription: [a]\n---\nx', 'line 3: "description" must be text'],
    ['---\nname: 12\n---\nx', 'line 2: "name" must be text'],
    ['---\ntype: boss\n---\nx', 'line 2: "type" must be planning, coding or review'],
    ['---\n\n\ntimeout: soon\n---\nx', 'line 4: "timeout" must be a time'],
    ['---\nbudget: -1\n---\nx', 'line 2: "budget" must be an amount above 0'],
  ])('says where and why for %j', (source, expected) => {
    expect(fault(source)).toContain(expected);
  });

  it('refuses aliases that unfold without end', () => {
    const rows = Array.from({ length: 12 }, (_, n) => `k${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(10)}]`);
    expect(fault(`---\nk0: &a0 [x]\n${rows.join('\n')}\n---\nx`)).toContain('alias');
  });
});
