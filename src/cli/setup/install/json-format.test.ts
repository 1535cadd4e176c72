import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { expect, test } from 'vitest';
import { jsonFormat } from './json-format.ts';

const PATH = ['mcpServers', 'squad'];
const ENTRY = { command: '/n', args: ['/s', 'mcp'], env: { A: '1' } };
const put = (text: string) => jsonFormat.put(text, PATH, ENTRY);
const remove = (text: string) => jsonFormat.remove(text, PATH);

const FRESH = `{
  "mcpServers": {
    "squad": {
      "command": "/n",
      "args": [
        "/s",
        "mcp"
      ],
      "env": {
        "A": "1"
      }
    }
  }
}
`;

test.each(['', '\n', '{}', '{\n}\n'])('%j becomes a tidy file', text => {
  expect(put(text).trimEnd()).toBe(FRESH.trimEnd());
});

test('comments, order, blank lines and odd spacing of the rest stay', () => {
  const before = `// mine
{
    "z" : [1,2,   3], // last of the alphabet

    "mcpServers": {
        /* the old one */
        "other": { "command":"x" } // keep me
        // and me
    },
    "a": null
}
`;
  const after = put(before);
  expect(after).toBe(
    before.replace(
      '"x" } // keep me\n        // and me\n',
      `"x" }, // keep me
        // and me
        "squad": {
            "command": "/n",
            "args": [
                "/s",
                "mcp"
            ],
            "env": {
                "A": "1"
            }
        }
`,
    ),
  );
  expect(put(after)).toBe(after);
  expect(parse(remove(after))).toEqual(parse(before));
  expect(remove(after)).toContain('// keep me\n        // and me\n');
});

test('tabs, CRLF and a trailing comma are kept', () => {
  const before = '{\r\n\t"mcpServers": {\r\n\t\t"other": {},\r\n\t},\r\n}\r\n';
  const after = put(before);
  expect(after).not.toMatch(/[^\r]\n/);
  expect(after).toContain('\t\t"other": {},\r\n\t\t"squad": {\r\n\t\t\t"command": "/n",');
  expect(after.endsWith('\t\t},\r\n\t},\r\n}\r\n')).toBe(true);
  expect(remove(after)).toBe(before);
});

test('a file on one line stays on one line', () => {
  expect(put('{"a":1,"mcpServers":{"other":{}}}')).toBe(
    '{"a":1,"mcpServers":{"other":{},"squad":{"command":"/n","args":["/s","mcp"],"env":{"A":"1"}}}}',
  );
  expect(put('{"mcpServers": {}, "a": 1}\n')).toBe(
    '{"mcpServers": {"squad": {"command":"/n","args":["/s","mcp"],"env":{"A":"1"}}}, "a": 1}\n',
  );
});

test('an equal entry in another layout stays unchanged', () => {
  const text =
    '{\n  "mcpServers": {\n    "squad": { "env": {"A":"1"}, "args": ["/s", "mcp"], "command": "/n" }\n  }\n}\n';
  expect(put(text)).toBe(text);
});

test('fields of the user stay, ours are updated', () => {
  const before =
    '{\n  "mcpServers": {\n    "squad": {\n      "command": "/old", // was here\n      "trust": true,\n      "env": { "MINE": "x" }\n    }\n  }\n}\n';
  const after = put(before);
  expect(parse(after).mcpServers.squad).toEqual({
    command: '/n',
    trust: true,
    args: ['/s', 'mcp'],
    env: { MINE: 'x', A: '1' },
  });
  expect(after).toContain('"/n", // was here\n');
  expect(put(after)).toBe(after);
});

test.each([
  ['{\n  "a": 1\n  "b": 2\n}', /^line 3, column 3: not valid JSON \(comma expected\)/],
  ['{ "mcpServers": {', /^line 1, column \d+: not valid JSON/],
  ['[]', /^line 1, column 1: the file should contain a JSON object/],
  ['{\n "mcpServers": null }', /^line 2, column 16: "mcpServers" should be an object/],
])('%j is refused with line and column', (text, message) => {
  expect(() => put(text)).toThrow(message);
  expect(() => put(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

test('first, middle and last entries are removed cleanly', () => {
  const file = (...lines: string[]) => `{\n  "mcpServers": {\n${lines.join('\n')}\n  }\n}\n`;
  expect(remove(file('    "squad": {},', '    "b": {}'))).toBe(file('    "b": {}'));
  expect(remove(file('    "a": {},', '    "squad": {},', '    "b": {}'))).toBe(
    file('    "a": {},', '    "b": {}'),
  );
  expect(remove(file('    "a": {}, // one', '    "squad": {}'))).toBe(file('    "a": {} // one'));
  expect(remove('{"mcpServers":{"a":1,"squad":{}}}')).toBe('{"mcpServers":{"a":1}}');
  expect(remove('{"mcpServers":{"squad":{},"a":1}}')).toBe('{"mcpServers":{"a":1}}');
  expect(remove('{"a":1}')).toBe('{"a":1}');
});

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && !Array.isArray(value);

const key = fc.constantFrom('mcpServers', 'squad', 'a', 'b // c', 'env', '/* d');
const tree = fc.letrec(self => ({
  value: fc.oneof({ depthSize: 'small' }, fc.integer(), fc.string(), fc.array(fc.string()), self('object')),
  object: fc.dictionary(key, self('value'), { maxKeys: 4 }),
})).object as fc.Arbitrary<Record<string, unknown>>;

test('for any file: other values stay, a second put changes nothing, and remove undoes it', () => {
  fc.assert(
    fc.property(tree, fc.constantFrom(0, 2, 3, '\t'), fc.boolean(), (data, indent, crlf) => {
      const servers = data.mcpServers;
      fc.pre(servers === undefined || isObject(servers));
      const env = isObject(servers) && isObject(servers.squad) ? servers.squad.env : undefined;
      fc.pre(env === undefined || isObject(env));
      const plain = JSON.stringify(data, null, indent);
      const text = crlf ? plain.replaceAll('\n', '\r\n') : plain;
      const after = put(text);
      expect(parse(after)).toMatchObject({ mcpServers: { squad: { command: '/n', args: ['/s', 'mcp'] } } });
      expect(put(after)).toBe(after);
      const { mcpServers: left, ...rest } = parse(remove(after));
      const { mcpServers: original, ...expected } = JSON.parse(plain);
      delete original?.squad;
      expect(rest).toEqual(expected);
      expect(left).toEqual(original ?? {});
    }),
    { numRuns: 500 },
  );
});
