import { describe, expect, it, test } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { EMPTY_MCP_CONFIG } from '../../workspace/gateway/change-mcp-config.ts';
import { withoutServer, withServers } from './mcp-servers.ts';

const NEW = { id: 'new', entry: { command: 'new', tools: ['*'] } };

describe('the text of a configuration', () => {
  const given = { roles: ['coder', 'tester'], shared: true };

  it('keeps its indentation, its line ends and its order', () => {
    const text =
      '{\r\n\t"agentServers": { "coder": ["old"] },\r\n\t"servers": {\r\n\t\t"old": { "command": "old", "tools": [] }\r\n\t}\r\n}\r\n';
    const after = withServers(text, [NEW], given);
    expect(after).toContain('\t\t"old": { "command": "old", "tools": [] }');
    expect(after).toContain('\r\n\t\t"new": {\r\n\t\t\t"command": "new"');
    expect(after.replaceAll('\r\n', '')).not.toContain('\n');
    expect(after.indexOf('agentServers')).toBeLessThan(after.indexOf('"servers"'));
    expect(JSON.parse(after)).toMatchObject({
      agentServers: { coder: ['old', 'new'], tester: ['new'] },
      shared: ['new'],
    });
  });

  it('names a server once however often it is given', () => {
    const once = withServers(EMPTY_MCP_CONFIG, [NEW], given);
    expect(withServers(once, [NEW], given)).toBe(once);
  });

  it('has nothing left of a server that is replaced', () => {
    const before = JSON.stringify({
      servers: { new: { type: 'http', url: 'x', tools: [] }, old: { command: 'old', tools: [] } },
    });
    const after = withServers(before, [NEW], { roles: [], shared: false });
    expect(JSON.parse(after).servers).toEqual({ old: { command: 'old', tools: [] }, new: NEW.entry });
  });

  it('of a single line stays readable by us', () => {
    const after = withServers('{"servers":{}}', [NEW], given);
    expect(McpConfig.parse(JSON.parse(after)).agentServers).toEqual({ coder: ['new'], tester: ['new'] });
  });
});

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
