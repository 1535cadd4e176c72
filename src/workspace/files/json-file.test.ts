import { describe, expect, it } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { checkJson, parseJsonFile, placeOf } from './json-file.ts';

/** `line:column message (suggestion)` of everything that is wrong. */
function problems(text: string): string[] {
  const checked = checkJson(text, McpConfig);
  if ('value' in checked) return [];
  return checked.problems.map(({ offset, message, suggestion }) => {
    const { line, column } = placeOf(text, offset);
    return `${line}:${column} ${message}${suggestion ? ` (${suggestion})` : ''}`;
  });
}

const json = (value: unknown) => JSON.stringify(value, null, 2);
const local = { command: 'x', tools: [] };

describe('a file that does not fit its schema', () => {
  it('names an unknown key at any depth, with the one that was meant', () => {
    expect(
      problems(
        json({
          servers: { github: local },
          toolRestrictions: { tester: { github: { exlude: ['x'] } } },
        }),
      ),
    ).toEqual([
      '11:9 the key "exlude" is not known in "toolRestrictions.tester.github" (Did you mean exclude?)',
    ]);
    expect(problems(json({ servers: {}, agentserver: {} }))).toEqual([
      '3:3 the key "agentserver" is not known (Did you mean agentServers?)',
    ]);
    expect(
      problems(json({ servers: {}, argumentRules: [{ server: 'a', argument: 'b', deny: ['c'], rol: '*' }] })),
    ).toEqual(['10:7 the key "rol" is not known in "argumentRules.0" (Did you mean role?)']);
  });

  it('tells everything that is wrong with one server, and of each', () => {
    const servers = {
      a: { command: 'x', tols: [], timeout: 1, args: 'no list' },
      'B b': { command: '', tools: 7 },
      c: { type: 'ftp', url: 3, tools: [] },
    };
    const argumentRules = [
      { server: 'a', argument: '' },
      { server: '', argument: 'x', deny: [] },
    ];
    const found = problems(json({ servers, argumentRules })).join('\n');
    for (const part of [
      'the key "tols" is not known in "servers.a" (Did you mean tools?)',
      '"servers.a.timeout" is wrong',
      '"servers.a.args" is wrong',
      'the name "B b" is wrong',
      '"servers.B b.command" is wrong',
      '"servers.B b.tools" is wrong',
      '"servers.c.type" is wrong: must be one of local, stdio, http, sse',
      '"servers.c.url" is wrong',
      '"argumentRules.0.argument" is wrong',
      '"argumentRules.1.server" is wrong',
      '"argumentRules.1.deny" is wrong',
    ])
      expect(found).toContain(part);
    // A misspelt key is not reported as missing, too.
    expect(found).not.toContain('"servers.a.tools" is missing');
  });

  it('tells every key that stands twice', () => {
    expect(problems('{"servers": {}, "servers": {}, "shared": [], "shared": []}')).toEqual([
      '1:17 the key "servers" is repeated',
      '1:46 the key "shared" is repeated',
    ]);
  });

  it('says which kind of server it was taken for', () => {
    const at = (server: object) => problems(json({ servers: { s: server } }));
    expect(at({ url: 'https://x.example', tools: [] })).toEqual([
      '3:10 "servers.s.command" is missing (taken for a local server: its "type" is not given)',
      '4:7 "servers.s.url" does not go with this type (taken for a local server: its "type" is not given)',
    ]);
    expect(at({ type: 'http', url: 7, tools: [] })).toEqual([
      '5:14 "servers.s.url" is wrong: Invalid input: expected string, received number (taken for a remote server: its "type" is "http")',
    ]);
    expect(at({ type: 'websocket', url: 'x', tools: [] })).toEqual([
      '4:15 "servers.s.type" is wrong: must be one of local, stdio, http, sse',
    ]);
    expect(at({ ...local, url: 'x' })).toEqual([
      '6:7 "servers.s.url" does not go with this type (taken for a local server: its "type" is not given)',
    ]);
    expect(at({ ...local, tolls: [] })).toEqual([
      '6:7 the key "tolls" is not known in "servers.s" (Did you mean tools?)',
    ]);
    expect(problems(json({ servers: { s: 'npx' } }))).toEqual([
      '3:10 "servers.s" is wrong: must be an object',
    ]);
  });

  it('says what one of several forms lacks', () => {
    const restricted = (restriction: unknown) =>
      problems(json({ servers: { s: local }, toolRestrictions: { r: { s: restriction } } }));
    expect(restricted({})).toEqual(['10:12 "toolRestrictions.r.s" is wrong: needs "include" or "exclude"']);
    expect(restricted({ include: ['a'], exclude: ['b'] })).toEqual([
      '14:9 "toolRestrictions.r.s.exclude" does not go with "include"',
    ]);
    const ruled = (role: unknown) =>
      problems(json({ servers: {}, argumentRules: [{ server: 's', argument: 'a', deny: ['x'], role }] }));
    expect(ruled(5)).toEqual(['10:15 "argumentRules.0.role" is wrong: must be text or a list']);
    expect(ruled(['a', 5])).toEqual([
      '12:9 "argumentRules.0.role.1" is wrong: Invalid input: expected string, received number',
    ]);
  });

  it('gives the name of a server that is none, at its key', () => {
    expect(problems(json({ servers: { 'Git Hub': local } }))).toEqual([
      '3:5 the name "Git Hub" is wrong: must be 1 to 40 letters, digits, - and _',
    ]);
    expect(problems(json({ servers: { squad: local } }))).toEqual([
      '3:5 the name "squad" is wrong: "squad" is Squad itself',
    ]);
  });

  it('finds everything that is wrong, in the order of the file', () => {
    expect(
      problems('{\n "shared": 1,\n "servers": [],\n "extra": 2\n}').map(line => line.slice(0, 4)),
    ).toEqual(['2:12', '3:13', '4:2 ']);
  });
});

describe('a file that is not sound JSON', () => {
  it.each([
    ['', '1:1 the file is empty'],
    ['{', '1:2 close brace expected'],
    ['{"servers": {},}', '1:16 property name expected'],
    ['{"servers": {}} x', '1:17 invalid symbol'],
    ['// note\n{"servers": {}}', '1:1 invalid comment token'],
    ['{"servers": {},\r\n "servers": {}}', '2:2 the key "servers" is repeated'],
    ['{"servers": {"a": {"tools": [], "tools": ["*"]}}}', '1:33 the key "tools" is repeated'],
    ['{"servers": {"__proto__": {"command": "x", "tools": []}}}', '1:14 the key "__proto__" is not allowed'],
    ['{"servers": "\u0001"}', '1:13 invalid character'],
  ])('says where: %j', (text, words) => {
    expect(problems(text)).toEqual([words]);
  });

  it('is refused for being nested too deep, before anything follows it down', () => {
    const deep = (levels: number) => `{"servers": ${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect(problems(deep(10_000))).toEqual(['1:76 nested deeper than 64 levels']);
    expect(problems(deep(63))[0]).toContain('"servers" is wrong');
  });
});

it('the first thing that is wrong is thrown for who needs the file', () => {
  expect(() => parseJsonFile('/x.json', '{"servers": {}, "shard": []}', McpConfig)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: '/x.json, line 1, column 17: the key "shard" is not known.',
      suggestions: ['Did you mean shared?'],
    }),
  );
});
