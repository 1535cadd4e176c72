import { expect, test } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { type EditorServer, editorServers, isEditorVariable, withEditorServers } from './editor-servers.ts';
import { resolveServer } from './variables.ts';

const ROOTS = { WORKSPACE_ROOT: '/w', SQUAD_ROOT: '/w' };
const stdio = (more: Partial<Extract<EditorServer, { command: string }>> = {}): EditorServer => ({
  ...{ name: 'tool', command: 'node', args: ['server.js'], env: {} },
  ...more,
});
const resolved = (given: EditorServer) => {
  const { config, values } = editorServers([given])!;
  const [[id, server]] = Object.entries(config.servers) as [[string, McpConfig['servers'][string]]];
  return { id, server, values, resolution: resolveServer(id, server, { variables: values, roots: ROOTS }) };
};

test('without servers there is nothing', () => {
  expect(editorServers([])).toBeNull();
});

test('values that may be secret are not in the definition, and are secrets of its server', () => {
  const { server, values, resolution } = resolved(
    stdio({ args: ['-v', '--api-key=k1', '--token', 'k2', 'plain'], env: { ANY: 'k3', EMPTY: '' } }),
  );
  expect(JSON.stringify(server)).not.toMatch(/k[123]/);
  expect(Object.keys(values).every(isEditorVariable)).toBe(true);
  expect(resolution).toMatchObject({
    server: {
      command: 'node',
      args: ['-v', '--api-key=k1', '--token', 'k2', 'plain'],
      env: { ANY: 'k3', EMPTY: '' },
    },
  });
  const secrets = 'secrets' in resolution ? resolution.secrets.map(({ value }) => value) : [];
  expect(secrets).toEqual(expect.arrayContaining(['--api-key=k1', 'k2', 'k3']));
  expect(secrets).not.toContain('plain');
});

test('a remote server keeps its URL, unless that holds a secret; its headers are hidden', () => {
  const remote = (url: string): EditorServer => ({
    name: 'r',
    type: 'http',
    url,
    headers: { Authorization: 'Bearer k' },
  });
  const open = resolved(remote('https://example.org/mcp'));
  expect(open.server).toMatchObject({ url: 'https://example.org/mcp' });
  const closed = resolved(remote('https://example.org/mcp?token=abc'));
  for (const { server } of [open, closed]) expect(JSON.stringify(server)).not.toMatch(/Bearer|abc/);
  expect(closed.resolution).toMatchObject({
    server: { url: 'https://example.org/mcp?token=abc', headers: { Authorization: 'Bearer k' } },
  });
});

test('a dollar sign of the editor is no variable of ours', () => {
  const name = '$' + '{HOME}';
  expect(resolved(stdio({ command: name, args: [name] })).resolution).toMatchObject({
    server: { command: name, args: [name] },
  });
});

test('any name becomes an id, each another one', () => {
  const names = ['My Server!', 'My Server?', 'squad', 'über', '__proto__', 'x'.repeat(100), '…'];
  const ids = Object.keys(editorServers(names.map(name => stdio({ name })))!.config.servers);
  expect(ids).toHaveLength(names.length);
  expect(ids.slice(0, 3)).toEqual(['My-Server', 'My-Server-2', 'editor-squad']);
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
});

test('the run has the servers of its workspace too, which keep their names', () => {
  const own = McpConfig.parse({
    servers: { tool: { command: 'other', tools: ['a'] } },
    agentServers: { coder: ['tool'] },
    toolRestrictions: { '*': { extra: { exclude: ['b'] } } },
  });
  const { config } = editorServers([stdio(), stdio({ name: 'extra' })])!;
  expect(withEditorServers(own, config)).toMatchObject({
    servers: { tool: { command: 'other' }, extra: { command: 'node' } },
    ...{ shared: ['extra'], agentServers: { coder: ['tool'] }, toolRestrictions: own.toolRestrictions },
  });
  expect(withEditorServers(null, config)).toMatchObject({ servers: { tool: { command: 'node' } } });
});
