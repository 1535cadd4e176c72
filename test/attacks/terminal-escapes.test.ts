import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { visibleText } from '../../src/base/text.ts';
import { figure } from '../faults/figures.ts';
import { TestSquad, until } from '../support/squad.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure, upstreamsOf } from './config-file.ts';
import { foreignSequences, TERMINAL_ESCAPES } from './corpus/escapes.ts';
import { Recorded, toolNamed } from './recorded.ts';

const ALL = Object.entries(TERMINAL_ESCAPES);
const EVERYTHING = ALL.map(([, sequence]) => sequence).join('x');
const squad = new TestSquad({ MCP_LOG_LEVEL: 'debug' });
const hostile = (at: number) => ({
  ...toolNamed(`tool-${at}`),
  description: `Says ${ALL[at]![1]} and ${EVERYTHING}`,
  title: ALL[at]![1],
  annotations: { title: EVERYTHING },
});
const TOOLS = ALL.map((_, at) => hostile(at));
const kept = new Recorded(squad.root, 'kept', {
  tools: TOOLS,
  says: EVERYTHING,
  tells: EVERYTHING,
  told: true,
});
let agent: Agent;

beforeAll(async () => {
  await squad.unlimited();
  const body = ALL.map(
    ([name, sequence], at) =>
      `### 2026-01-0${1 + (at % 9)}: ${name} ${sequence}\n**By:** ${sequence}\n**What:** ${sequence}\n**Why:** ${EVERYTHING}\n`,
  );
  squad.write('.squad/decisions.md', body.join('\n'));
  squad.write('.squad/backlog.md', ALL.map(([name, sequence]) => `- [ ] ${name} ${sequence}`).join('\n'));
  squad.write(
    '.squad/team.md',
    [
      '| Name | Role |',
      '| --- | --- |',
      ...ALL.map(([, sequence], at) => `| m${at} ${sequence} | ${sequence} |`),
    ].join('\n'),
  );
  squad.write(
    '.squad/agents/coder.md',
    `---\nname: Coder\ndescription: "${JSON.stringify(EVERYTHING).slice(1, -1)}"\n---\n${EVERYTHING}\n`,
  );
  const dies = `process.stderr.write(${JSON.stringify(EVERYTHING)}, () => process.exit(3))`;
  await configure(squad, {
    servers: {
      kept: kept.block(),
      dies: {
        command: process.execPath,
        args: ['-e', dies],
        tools: ['*'],
        env: { NOTE: EVERYTHING.replaceAll('\0', '') },
      },
      missing: { command: `/no/such/${EVERYTHING.replaceAll('\0', '')}`, tools: ['*'] },
      unset: { command: 'x', args: [`\${NOT_SET}`], tools: ['*'] },
    },
    shared: ['kept', 'dies', 'missing', 'unset'],
    agentServers: { [`r${EVERYTHING}`]: ['kept'] },
    // A pattern: an exact name that no tool has would hide the server's tools.
    argumentRules: [{ server: 'kept', tool: `${EVERYTHING}*`, argument: EVERYTHING, deny: [EVERYTHING] }],
  });
  [agent] = (await startAgents(squad, 'coder')) as [Agent];
  await until('the tools are there', async () => (await agent.theirs()).length === TOOLS.length);
  // A call of an unknown tool is logged with the name of the tool.
  for (const [, sequence] of ALL) await agent.call(`kept__${sequence}`);
  kept.offers({
    tools: [
      ...TOOLS.map(tool => ({ ...tool, description: `${tool.description} changed ${EVERYTHING}` })),
      { ...toolNamed('new'), description: EVERYTHING },
    ],
    says: EVERYTHING,
    tells: EVERYTHING,
    told: true,
  });
  await agent.call('kept__tool-0');
  await until('the changes are seen', async () => {
    const upstreams = await upstreamsOf(squad);
    return (
      upstreams.find(({ server }) => server === 'kept')!.pending > 0 &&
      upstreams.find(({ server }) => server === 'dies')!.fault !== null
    );
  });
  squad.write(
    'strange.json',
    JSON.stringify({
      servers: { [`s${EVERYTHING}`]: { command: EVERYTHING, [EVERYTHING]: 1 } },
      [EVERYTHING]: 1,
    }),
  );
});
afterAll(() => squad[Symbol.asyncDispose]());

const COMMANDS = [
  ...[
    ['mcp', 'status'],
    ['mcp', 'tools'],
    ['mcp', 'tools', '--role', 'coder'],
    ['mcp', 'tools', '--role', EVERYTHING.replaceAll('\0', '')],
  ],
  ...[
    ['mcp', 'approve'],
    ['mcp', 'approve', 'kept/new'],
    ['mcp', 'lint'],
    ['mcp', 'lint', 'strange.json'],
    ['mcp', 'import', 'strange.json'],
  ],
  ...[['decisions'], ['decisions', '-s', 'colour'], ['backlog'], ['team'], ['roles'], ['context', 'coder']],
  ...[
    ['audit', '-n', '1000'],
    ['audit', '--denied'],
    ['audit', 'verify'],
    ['doctor'],
    ['trust'],
    ['config', 'show'],
    ['ls'],
    ['hub', 'log', '-n', '1000'],
  ],
];

describe('whatever servers, agents and files say, a terminal is shown words', {
  tags: ['terminal-escapes'],
}, () => {
  test.each(
    COMMANDS.map(words => [words.map(word => visibleText(word).slice(0, 30)).join(' '), words] as const),
  )('by squad %s', async (_, words) => {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await squad.run([...words, ...more], {
        env: { FORCE_COLOR: '1', COLUMNS: '200' },
      });
      expect((stdout + stderr).length).toBeGreaterThan(0);
      expect(foreignSequences(more.length > 0 ? withoutMarks(stdout + stderr) : stdout + stderr)).toEqual([]);
    }
  });

  test('by the output about a run', { tags: ['terminal-escapes'] }, async () => {
    const said = [
      '```script',
      ...ALL.map(([, sequence]) => `say ${sequence.replaceAll(/[\n\r]/g, '')}`),
      `stderr ${EVERYTHING.replaceAll(/[\n\r]/g, '')}`,
      '```',
    ].join('\n');
    const ran = await squad.run([
      'run',
      '--engine',
      'scripted',
      'coder',
      `${EVERYTHING.replaceAll('\0', '')}\n${said}`,
    ]);
    expect(foreignSequences(ran.stdout + ran.stderr)).toEqual([]);
    const { runs } = await squad.json<{ runs: { id: string }[] }>(['ls']);
    // `squad log` writes raw output to a pipe; another test covers what it shows on a terminal.
    for (const words of [['show'], ['wait']]) {
      const { stdout, stderr } = await squad.run([...words, runs[0]!.id]);
      expect([words, foreignSequences(stdout + stderr)]).toEqual([words, []]);
    }
  });
});

/** Every family of ECMA-48, seven-bit and, where it has one, eight-bit. */
const FAMILIES: [string, string][] = [
  ['C0', '[\\0-\\u001f]'],
  ['C1', '[\\u0080-\\u009f]'],
  ['CSI', '\\u001b\\['],
  ['CSI, eight-bit', '\\u009b'],
  ['OSC', '\\u001b\\]'],
  ['OSC, eight-bit', '\\u009d'],
  ['DCS', '\\u001bP'],
  ['DCS, eight-bit', '\\u0090'],
  ['APC', '\\u001b_'],
  ['APC, eight-bit', '\\u009f'],
  ['PM', '\\u001b\\^'],
  ['PM, eight-bit', '\\u009e'],
  ['SOS', '\\u001bX'],
  ['SOS, eight-bit', '\\u0098'],
  ['nF: intermediate bytes', '\\u001b[ -/]'],
  ['Fp: private use', '\\u001b[0-?]'],
  ['Fe: C1 as two bytes', '\\u001b[@-_]'],
  ['Fs: standard functions', '\\u001b[`-~]'],
];

test('every family of control sequences is among them', { tags: ['R28'] }, () => {
  const found = FAMILIES.filter(([, family]) =>
    ALL.some(([, sequence]) => new RegExp(family).test(sequence)),
  );
  expect(found).toEqual(FAMILIES);
  figure('R28', {
    reached: found.length,
    of: FAMILIES.length,
    told: `families of control sequences, ${ALL.length} sequences, none reached a terminal`,
  });
});

test.each(ALL)('%s is shown and does nothing', { tags: ['terminal-escapes'] }, (_, sequence) => {
  for (const text of [sequence, `before ${sequence}after`, sequence.repeat(3), `${sequence}\nnext`])
    expect(foreignSequences(visibleText(text))).toEqual([]);
});

/** Data for programs has the marks of reading direction as they are: they are letters of it. */
const withoutMarks = (json: string) => json.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '');
