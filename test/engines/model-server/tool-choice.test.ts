import { expect, test } from 'vitest';
import type { OfferedTool } from './conversation.ts';
import type { Step } from './script.ts';
import { callFor } from './tool-choice.ts';

const string = { type: 'string' };
const offer = (name: string, properties: object, required: string[] = []): OfferedTool => ({
  name,
  parameters: { properties: properties as Record<string, { type: string }>, required },
});
const call = (step: Step, tools: OfferedTool[], said = '') => {
  const made = callFor(step, {
    model: 'm',
    stream: true,
    system: '',
    tools,
    turns: [{ by: 'user', text: said }],
  });
  return made && { name: made.tool.name, ...made.arguments };
};

test.each([
  ['Claude', offer('Bash', { command: string, timeout: { type: 'number' } }, ['command']), { command: 'ls' }],
  ['Codex', offer('exec_command', { cmd: string, workdir: string }, ['cmd']), { cmd: 'ls' }],
  [
    'older Codex',
    offer('shell', { command: { type: 'array' } }, ['command']),
    { command: ['sh', '-c', 'ls'] },
  ],
  ['Gemini', offer('run_shell_command', { command: string }, ['command']), { command: 'ls' }],
  [
    'Copilot',
    offer('bash', { command: string, description: string }, ['command', 'description']),
    { command: 'ls', description: 'scripted' },
  ],
])('a command goes to the shell tool of %s', (_, tool, args) => {
  expect(call({ shell: 'ls' }, [offer('Read', {}), tool])).toEqual({ name: tool.name, ...args });
});

test.each([
  ['Write', { file_path: string, content: string }, { file_path: '/f', content: 'x' }],
  ['write', { filePath: string, content: string }, { filePath: '/f', content: 'x' }],
  ['create', { path: string, file_text: string }, { path: '/f', file_text: 'x' }],
])('a file goes to %s', (name, properties, args) => {
  expect(call({ write: { path: '/f', content: 'x' } }, [offer(name, properties)])).toEqual({ name, ...args });
});

test.each([
  'My operating system is linux, working on /dev.\nI am working in the directory: /home/a/work\nHere',
  '* Current working directory: `/home/a/work`',
  'Working directory: /home/a/work\n',
])('a path in its folder is made whole where the CLI names the folder: %j', said => {
  const tool = offer('write_file', { file_path: string, content: string });
  expect(call({ write: { path: 'f', content: 'x' } }, [tool], said)).toMatchObject({
    file_path: '/home/a/work/f',
  });
});

test('a CLI without a tool for files writes them with its shell', () => {
  const made = call({ write: { path: '/f', content: "it's" } }, [offer('exec_command', { cmd: string })]);
  expect(made).toEqual({ name: 'exec_command', cmd: `printf %s 'it'\\''s' > '/f'` });
});

test.each(['mcp__squad__squad_status', 'mcp_squad_squad_status', 'squad_squad_status', 'squad-squad_status'])(
  'squad_status finds %s',
  name => {
    expect(
      call({ call: 'squad_status', arguments: { a: 1 } }, [offer('status', {}), offer(name, {})]),
    ).toEqual({ name, a: 1 });
  },
);

test('a tool of a namespace is found by both names', () => {
  const tool = { ...offer('ping', {}), namespace: 'mcp__spike' };
  expect(call({ call: 'ping' }, [tool])).toEqual({ name: 'ping' });
  expect(call({ call: 'mcp__spike__ping' }, [tool])).toEqual({ name: 'ping' });
});

test('tools that are only functions in a program are called by a program', () => {
  const program = { ...offer('exec', {}), takesText: true };
  expect(call({ shell: 'ls' }, [program])).toMatchObject({
    name: 'exec',
    input: expect.stringContaining('{"cmd":"ls"}'),
  });
});

test('tools that are only named are called through the tool for that', () => {
  const bridge = offer('tool_call', { name: string, arguments: { type: 'object' } });
  const made = callFor(
    { call: 'ping', arguments: { value: 'v' } },
    {
      model: 'm',
      stream: true,
      system: '',
      tools: [bridge],
      turns: [{ by: 'user', text: 'Deferred: mcp__spike__ping' }],
    },
  );
  expect(made?.arguments).toEqual({ name: 'mcp__spike__ping', arguments: { value: 'v' } });
});

test('a tool that is not offered is refused by name, with what is offered', () => {
  expect(() => call({ call: 'spawn_agent' }, [offer('Bash', {})])).toThrow(
    'no tool for spawn_agent; it offers Bash',
  );
  expect(() => call({ shell: 'ls' }, [])).toThrow('it offers none');
});

test('a tool that is not offered can be called all the same, by the name it would have', () => {
  const offered = offer('mcp__squad__squad_status', {});
  expect(call({ unlisted: 'echo__count', arguments: { a: 1 } }, [offered])).toEqual({
    name: 'mcp__squad__echo__count',
    a: 1,
  });
  const grouped = { ...offer('squad_status', {}), namespace: 'mcp__squad_run' };
  expect(call({ unlisted: 'echo__count' }, [grouped])).toEqual({ name: 'echo__count' });
});

test('an object goes through the tool for it, where there is one', () => {
  expect(call({ structured: { a: 1 } }, [offer('StructuredOutput', {})])).toEqual({
    name: 'StructuredOutput',
    a: 1,
  });
  expect(call({ structured: { a: 1 } }, [])).toBeNull();
});
