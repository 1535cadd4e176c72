import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SquadError } from '../../schema/error.ts';
import { renderCommand } from './render.ts';
import { type TemplateValues, VARIABLES } from './variables.ts';

const some: TemplateValues = {
  prompt: 'Do it',
  chatId: 'chat-1',
  cwd: '/w/client',
  task: 'it',
  roleId: 'coder',
  engine: 'cursor-agent',
  model: 'm1',
  promptFile: '/runs/prompt.md',
  mcpConfigFile: '/runs/mcp.json',
};
const argv = (template: string, values: Partial<TemplateValues> = {}) =>
  renderCommand(template, { ...some, ...values }).argv;

function refusal(template: string, values: Partial<TemplateValues> = {}): SquadError {
  try {
    argv(template, values);
  } catch (thrown) {
    if (thrown instanceof SquadError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
}

const seedTemplate = `cursor-agent --approve-mcps --model composer-1 --print \\
<% if (chatId) { %> --resume <%= chatId %> <% } %> \\
agent "<%= prompt %>"
`;

describe('result of a template', () => {
  it('is the command of the documented example, with and without a chat', () => {
    const head = ['cursor-agent', '--approve-mcps', '--model', 'composer-1', '--print'];
    expect(argv(seedTemplate)).toEqual([...head, '--resume', 'chat-1', 'agent', 'Do it']);
    expect(argv(seedTemplate, { chatId: '' })).toEqual([...head, 'agent', 'Do it']);
  });

  it('is the same with Windows line ends', () => {
    expect(argv(seedTemplate.replaceAll('\n', '\r\n'))).toEqual(argv(seedTemplate));
  });

  it('has every variable, bare and as it.x', { tags: ['A6'] }, () => {
    for (const name of VARIABLES) {
      expect(argv(`x <%= ${name} %> "<%= it.${name} %>"`)).toEqual(['x', some[name], some[name]]);
    }
  });

  it('keeps one argument for an empty value', () => {
    expect(argv('x <%= model %> y', { model: '' })).toEqual(['x', '', 'y']);
  });

  it('follows conditions, loops and locals', () => {
    const template = `x<% var n = 0; for (const word of task.split(' ')) { n++ %> -<%= n %>=<%= word %><% } %>`;
    expect(argv(template, { task: 'a b' })).toEqual(['x', '-1=a', '-2=b']);
    expect(
      argv('x <% if (model) { %>--model <%= model %><% } else { %>--auto<% } %>', { model: '' }),
    ).toEqual(['x', '--auto']);
    expect(argv('x <% switch (roleId) { case "coder": %>c<% break; default: %>d<% } %>')).toEqual(['x', 'c']);
  });

  it('says which variables it looked at', () => {
    expect([...renderCommand('x <% if (chatId) { %>y<% } %> <%= it.promptFile %>', some).uses]).toEqual([
      'chatId',
      'promptFile',
    ]);
    expect(renderCommand('x y', some).uses.size).toBe(0);
    expect([...renderCommand('x <% if (false) { %><%= prompt %><% } %>', some).uses]).toEqual([]);
  });
});

describe('whatever is in a value', () => {
  const nasty = fc
    .oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom(...`'"\\$\`|;&<>()~#= \t\n-%{}xA`) }),
      fc.constantFrom(
        '$(id)',
        '`id`',
        `\${HOME}`,
        '" "',
        "' '",
        '<%= task %>',
        '<%~ x %>',
        '\\',
        '\r\n',
        '\u2028',
      ),
      fc.constantFrom('text_0000000000000000', '%%0%%', '\ue000', '$&', '$1', '__proto__', 'constructor'),
      fc.string({ unit: fc.constantFrom('\u0001', '\u007f', '\ufeff', '\ufffd', '🎉', 'é') }),
    )
    .filter(text => !text.includes('\0') && text.isWellFormed());
  const free = nasty.chain(text => fc.constantFrom(text, `--${text}`, `-${text}`));
  const exact = (text: string) => (text.startsWith('-') ? `\n${text}` : text);

  it('arrives exactly, as one argument, in every position', { tags: ['A6'] }, () => {
    fc.assert(
      fc.property(free, free, (prompt, task) => {
        const template = `run <%= prompt %> "<%= prompt %>" '<%= task %>' --a=<%= task %> "b <%= prompt %> c" 'd'<%= task %>"e" end`;
        expect(argv(template, { prompt, task })).toEqual([
          'run',
          exact(prompt),
          exact(prompt),
          exact(task),
          `--a=${task}`,
          `b ${prompt} c`,
          `d${task}e`,
          'end',
        ]);
      }),
    );
  });

  it('is that of each variable, and the count of arguments never changes', () => {
    fc.assert(
      fc.property(fc.record(Object.fromEntries(VARIABLES.map(name => [name, nasty]))), record => {
        const values = record as TemplateValues;
        const template = `run ${VARIABLES.map(name => `":<%= ${name} %>" --${name}=<%= it.${name} %>`).join('\n')}`;
        expect(argv(template, values)).toEqual([
          'run',
          ...VARIABLES.flatMap(name => [`:${values[name]}`, `--${name}=${values[name]}`]),
        ]);
      }),
    );
  });

  it('cannot become an option where the value is no free text', { tags: ['argument-injection'] }, () => {
    fc.assert(
      fc.property(nasty, fc.constantFrom('chatId', 'cwd', 'roleId', 'model'), (text, name) => {
        const error = refusal(`run "<%= ${name} %>"`, { [name]: `-${text}` });
        expect(error.code).toBe('ARGUMENT_LOOKS_LIKE_FLAG');
        expect(error.message).toContain(`<%= ${name} %>`);
      }),
    );
  });
});

describe('a value that begins with a dash', () => {
  it.each([
    ['run <%= prompt %>', { prompt: '--help' }, '\n--help'],
    ['run <%= task.trim() %>', { task: ' -' }, '\n-'],
    ['run <% const p = prompt %><%= p %>', { prompt: '-x' }, '\n-x'],
    ['run <%= chatId %><%= prompt %>', { prompt: '-x', chatId: '' }, '\n-x'],
    ['run ""<%= prompt %>', { prompt: '-x' }, '\n-x'],
    ['run <%= task || model %>', { task: '-x' }, '\n-x'],
    ['run --m=<%= model %>', { model: '-x' }, '--m=-x'],
  ])('is kept from being an option in %j', (template, values, expected) => {
    expect(argv(template, values)[1]).toBe(expected);
  });

  it('is refused when a fallback gave another variable, even with the same words as the task', () => {
    expect(refusal('run <%= task || model %>', { task: '', model: '-x' }).code).toBe(
      'ARGUMENT_LOOKS_LIKE_FLAG',
    );
    expect(refusal('run <%= model %>', { task: '-x', model: '-x' }).code).toBe('ARGUMENT_LOOKS_LIKE_FLAG');
  });
});

describe('the size of an argument', () => {
  it('may be just under 128 KiB in bytes', () => {
    const longest = 'é'.repeat((128 * 1024 - 2) / 2);
    expect(argv('run "<%= prompt %>x"', { prompt: longest })[1]).toHaveLength(longest.length + 1);
    const error = refusal('run "<%= prompt %>xy"', { prompt: longest });
    expect(error.code).toBe('ARGUMENT_TOO_LONG');
    expect(error.message).toContain('"<%= prompt %>xy"'.replaceAll('"', ''));
    expect(error.message).toContain('131073 bytes');
    expect(error.suggestions.join(' ')).toMatch(/promptFile.*standard input/);
  });
});

describe('a wrong template', () => {
  it.each([
    ['run\n\n<%= promt %>', 'uses the unknown variable "promt" (line 3)'],
    ['run <%= it.promt %>', 'uses the unknown variable "promt" (line 1)'],
    ['run\n<% if (chat) { %>x<% } %>', 'uses the unknown variable "chat" (line 2)'],
    ['run\n<% const all = [1,\n  2,\n  nope] %>', 'uses the unknown variable "nope" (line 4)'],
    ['run <%= process.env.KEY %>', 'uses the unknown variable "process"'],
    ['run <%= include("x") %>', 'uses the unknown variable "include"'],
    ['<% layout("x") %> run', 'uses the unknown variable "layout"'],
    ['run <% output(prompt) %>', 'uses the unknown variable "output"'],
    ['run <% __eta.res += prompt %>', 'uses the unknown variable "__eta"'],
  ])('%j names what is unknown and what is known', (template, problem) => {
    const error = refusal(template);
    expect(error.code).toBe('TEMPLATE_INVALID');
    expect(error.message).toContain(problem);
    expect(error.suggestions).toEqual([
      'A template can use: prompt, chatId, cwd, task, roleId, engine, model, promptFile, mcpConfigFile.',
    ]);
  });

  it.each([
    ['run\n<% if (chatId) { %> x', /syntax error: .* \(line 2\)/],
    ['run\n<% } %>', /syntax error: .* \(line 2\)/],
    ['run\n\n<%= prompt +* 2 %>', /syntax error: .* \(line 3\)/],
    ['run <%= %>', /syntax error/],
    ['run\n<%= prompt', /cannot be read: unclosed tag at line 2 col 1/],
    ["run\n<% x = ' %>", /cannot be read: unclosed string at line 2/],
    ['run\n<%~ prompt %>', /uses <%~.* \(line 2\)/],
    ['run\n<%- prompt %>', /<% prompt %>, which outputs nothing \(line 2\)/],
    ['run\n<%= prompt.a.b %>', /failed: .*undefined.* \(line 2\)/],
    ['run <%= it %>', /not text but object/],
    ['run <%= prompt.nothing %>', /not text but undefined/],
    ['run <% prompt = 1 %>', /"prompt" cannot be changed/],
    ['run \0', /NUL/],
    ['', /empty command line/],
    ['<% if (!chatId) { %>run<% } %>', /empty command line/],
    ['"" x', /program, is empty/],
    ['<%= prompt %> x', /program, contains <%= prompt %>/],
    ['bin/<%= chatId %> x', /program, contains <%= chatId %>/],
  ])('%j says what is wrong', (template, problem) => {
    const error = refusal(template);
    expect(error.code).toBe('TEMPLATE_INVALID');
    expect(error.message).toMatch(problem);
  });

  it.each([
    ['a loop', 'run <% while (true) {} %>x'],
    ['a loop that catches everything', 'run <% for (;;) try { for (;;); } catch {} %>x'],
    ['a loop put off', 'run <% (async () => { await 1; for (;;); })() %>x'],
    ['promises without end', 'run <% (async () => { for (;;) await 1; })() %>x'],
    ['a loop in a value', 'run <%= (() => { for (;;); })() %>'],
  ])('is cut off when it does not end: %s', (_, template) => {
    for (let time = 0; time < 2; time++)
      expect(refusal(template)).toMatchObject({
        code: 'TEMPLATE_INVALID',
        message: 'The template ran longer than 250 ms.',
      });
    expect(argv('run <%= task %>')).toEqual(['run', 'it']);
  });

  it('is run again if the process was suspended meanwhile', () => {
    const never = new Int32Array(new SharedArrayBuffer(4));
    let reads = 0;
    const values = {
      get task() {
        if (reads++ === 0) Atomics.wait(never, 0, 0, 60_000);
        return 'it';
      },
    };
    const template = '<% for (const part of ["a", "b"]) { %>run <%= it.task + part %> <% } %>';
    expect(renderCommand(template, Object.setPrototypeOf(values, some)).argv).toEqual([
      ...['run', 'ita', 'run', 'itb'],
    ]);
    expect(reads).toBe(3);
  });

  it('cannot change what Squad itself works with', () => {
    expect(argv('run <% String.prototype.trim = () => "changed" %>')).toEqual(['run']);
    expect(' x '.trim()).toBe('x');
  });

  it('may begin with the engine, when one is set', () => {
    expect(argv('<%= engine %> -p', { task: 'cursor-agent' })).toEqual(['cursor-agent', '-p']);
    expect(refusal('<%= engine %> -p', { engine: '' }).code).toBe('ENGINE_NOT_SET');
  });

  it('never hands NUL or half a character to a program', () => {
    expect(refusal('run <%= model %>', { model: 'a\0b' })).toMatchObject({
      code: 'INVALID_TEXT',
      message: expect.stringContaining('<%= model %> contains a NUL character at line 1, column 2'),
    });
    expect(refusal('run <%= prompt %>', { prompt: '\ud83d' }).code).toBe('INVALID_TEXT');
  });
});
