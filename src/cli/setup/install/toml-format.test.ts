import { expect, test } from 'vitest';
import { tomlFormat } from './toml-format.ts';

const PATH = ['mcp_servers', 'squad'];
const ENTRY = { command: '/n', args: ['/s', 'mcp'], tool_timeout_sec: 3600, env: { A: '1' } };
const put = (text: string) => tomlFormat.put(text, PATH, ENTRY);
const remove = (text: string) => tomlFormat.remove(text, PATH);

const OURS = `[mcp_servers.squad]
command = "/n"
args = ["/s", "mcp"]
tool_timeout_sec = 3600

[mcp_servers.squad.env]
A = "1"
`;

test('a new file has our two tables', () => {
  expect(put('')).toBe(OURS);
});

test('our tables are added at the end and every other byte stays', () => {
  const before = `# my settings
model = "gpt"   # the big one
notes = """
[mcp_servers.squad]
command = "not a table"
"""
paths = [
  "a", # one
  'b]',
]
when = 1979-05-27 07:32:00

[mcp_servers.other]
command = "x"
env = { "K" = "v", n = { deep = [1, 2] } }

[[profiles]]
name = 'p'
`;
  const after = put(before);
  expect(after).toBe(`${before}\n${OURS}`);
  expect(put(after)).toBe(after);
  expect(remove(after)).toBe(before);
});

test('a missing final newline and CRLF are kept', () => {
  expect(put('model = "x"')).toBe(`model = "x"\n\n${OURS}`);
  const after = put('model = "x"\r\n');
  expect(after).toBe(`model = "x"\r\n\r\n${OURS.replaceAll('\n', '\r\n')}`);
  expect(remove(after)).toBe('model = "x"\r\n');
});

test('an existing entry is updated in place, and fields of the user stay', () => {
  const before = `[mcp_servers."squad"] # here
  command = '/old' # was
  required = true

[mcp_servers.squad.env]
MINE = "x"

# about the next one
[tui]
theme = "dark"
`;
  const after = put(before);
  expect(after).toBe(`[mcp_servers."squad"] # here
  command = "/n" # was
  required = true
  args = ["/s", "mcp"]
  tool_timeout_sec = 3600

[mcp_servers.squad.env]
MINE = "x"
A = "1"

# about the next one
[tui]
theme = "dark"
`);
  expect(put(after)).toBe(after);
  expect(remove(after)).toBe('\n# about the next one\n[tui]\ntheme = "dark"\n');
});

test('an inline entry and one with dotted keys keep their form', () => {
  expect(put('[mcp_servers]\nsquad = { command = "/old", env = { B = "2" } }\n')).toBe(
    '[mcp_servers]\nsquad = { command = "/n", env = { B = "2", A = "1" }, args = ["/s", "mcp"], tool_timeout_sec = 3600 }\n',
  );
  expect(put('mcp_servers.squad.command = "/old"\nmodel = "x"\n')).toContain(
    'mcp_servers.squad.command = "/n"\nmcp_servers.squad.args = ["/s", "mcp"]\n',
  );
  expect(put('mcp_servers = {}\n')).toMatch(
    /^mcp_servers = \{ squad\.command = "\/n", squad\.args = .*\}\n$/,
  );
});

test('an entry that only has an environment gets its own table', () => {
  const after = put('[mcp_servers.squad.env]\nB = "2"\n\n[z]\nk = 1\n');
  expect(after).toBe(`[mcp_servers.squad.env]
B = "2"
A = "1"

[mcp_servers.squad]
command = "/n"
args = ["/s", "mcp"]
tool_timeout_sec = 3600

[z]
k = 1
`);
  expect(put(after)).toBe(after);
});

test('remove deletes every form of the entry and nothing else', () => {
  expect(remove('[mcp_servers]\na = 1\nsquad = { command = "x" }\nb = 2\n')).toBe(
    '[mcp_servers]\na = 1\nb = 2\n',
  );
  expect(remove('mcp_servers = { a = { x = 1 }, squad = { y = 2 } }\n')).toBe(
    'mcp_servers = { a = { x = 1 } }\n',
  );
  expect(remove('mcp_servers = { squad = { y = 2 }, a = 1 }\n')).toBe('mcp_servers = { a = 1 }\n');
  expect(
    remove('[mcp_servers.squad]\ncommand = "x"\n[mcp_servers.squad.tools.t]\nm = "p"\n[z]\nk = 1\n'),
  ).toBe('[z]\nk = 1\n');
  expect(remove('[mcp_servers.squadron]\ncommand = "x"\n')).toBe('[mcp_servers.squadron]\ncommand = "x"\n');
});

test.each([
  ['a = 1\nb = "open\n', /^line 2, column 5: not valid TOML/],
  ['a = [1, 2\n', /^line 2, column 1: not valid TOML/],
  ['[a\nb = 1\n', /^line 1, column 3: not valid TOML/],
  ['a = word\n', /^line 1, column 5: not valid TOML/],
  ['a = 1 b = 2\n', /^line 1, column 6: not valid TOML/],
  ['just text\n', /^line 1, column 6: not valid TOML/],
  ['mcp_servers = 3\n', /^line 1, column 1: `mcp_servers` should be a table/],
  ['[[mcp_servers.squad]]\ncommand = "x"\n', /^line 1, column 1: `mcp_servers.squad` should be a table/],
])('%j is refused with line and column', (text, message) => {
  expect(() => put(text)).toThrow(message);
  expect(() => put(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

test('fields are found in every form of the entry', () => {
  expect(tomlFormat.fields(OURS, PATH)).toEqual(
    expect.arrayContaining(['command', 'args', 'tool_timeout_sec', 'env']),
  );
  expect(tomlFormat.fields('mcp_servers.squad = { url = "http://x" }', PATH)).toEqual(['url']);
  expect(tomlFormat.fields('[mcp_servers.other]\ncommand = "x"', PATH)).toBeNull();
});

test('a path with quotes, backslashes and control characters is one TOML string', () => {
  const after = tomlFormat.put('', PATH, { command: 'a"b\\c\n\u007f' });
  expect(after).toBe('[mcp_servers.squad]\ncommand = "a\\"b\\\\c\\n\\u007f"\n');
  expect(tomlFormat.put(after, PATH, { command: 'a"b\\c\n\u007f' })).toBe(after);
});
