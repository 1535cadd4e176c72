import { expect, test } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { withoutServer } from './mcp-remove.ts';

const server = { command: 'x', tools: ['*'] };

test('a server goes with all that refers to it, and nothing else does', () => {
  const before = {
    servers: { a: server, b: server },
    shared: ['a', 'b', 'a'],
    agentServers: { coder: ['b', 'a'], tester: ['a'], nobody: [] },
    toolRestrictions: {
      coder: { a: { include: ['x'] }, b: { exclude: ['y'] } },
      tester: { a: { include: [] } },
    },
    argumentRules: [
      { server: 'a', argument: 'x', maxLength: 1 },
      { server: 'b', argument: 'y', maxLength: 2 },
      { server: 'a', argument: 'z', maxLength: 3 },
    ],
  };
  for (const indent of [0, 2]) {
    const after = JSON.parse(withoutServer(JSON.stringify(before, null, indent), 'a'));
    expect(after).toEqual({
      servers: { b: server },
      shared: ['b'],
      agentServers: { coder: ['b'], nobody: [] },
      toolRestrictions: { coder: { b: { exclude: ['y'] } } },
      argumentRules: [{ server: 'b', argument: 'y', maxLength: 2 }],
    });
    expect(McpConfig.safeParse(after).success).toBe(true);
  }
});

test('the last server leaves a configuration that can be read', () => {
  const after = withoutServer(
    '{\n  "servers": { "a": { "command": "x", "tools": [] } },\n  "shared": ["a"]\n}\n',
    'a',
  );
  expect(JSON.parse(after)).toEqual({ servers: {}, shared: [] });
});
