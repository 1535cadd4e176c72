import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../src/operations/operation.ts';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { WorkspaceFile } from '../../src/schema/config.ts';
import { asSquadError } from '../../src/schema/error.ts';
import { RoleMeta } from '../../src/schema/role.ts';
import { fieldsOf, type ObjectSchema, routesOf } from '../../src/web-server/open-api.ts';
import { requireMcpConfig } from '../../src/workspace/gateway/mcp-config-file.ts';
import { readRole } from '../../src/workspace/roles/roles.ts';
import { readConfigFiles } from '../../src/workspace/settings/config-files.ts';
import { readOutputSchema } from '../../src/workspace/settings/open-workspace.ts';
import { amountOf, figure, figureTimeout } from '../faults/figures.ts';
import { TestSquad } from '../support/squad.ts';
import { type Agent, messageIn, post, requestOf, startAgents } from './agents.ts';
import { BAD_VALUES } from './corpus/bad-values.ts';
import { inBatches } from './in-batches.ts';

const SECRET = 'canary-bad-input-77c1';
const squad = new TestSquad({ SOME_SECRET: SECRET });
const installation = resolve(import.meta.dirname, '..', '..');
const guide = readFileSync(join(installation, 'docs', 'reference', 'errors.md'), 'utf8');
const documented = new Set([...guide.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => code!));
const ROOT_FOLDERS = readdirSync('/').map(name => name.replaceAll(/[^\w-]/g, '.'));
const ABSOLUTE_PATH = new RegExp(`(?<![\\w./:-])/(?:${ROOT_FOLDERS.join('|')})/[\\w./-]*\\w`, 'g');
const STACK = /(?:\n|\\n)\s+at |[a-z]\.[cm]?[jt]s:\d+:\d+|node:internal|node_modules/;

let agent: Agent;
let token: string;
/** Each input by name, once. */
const refused = new Set<string>();

beforeAll(async () => {
  await squad.unlimited();
  [agent] = (await startAgents(squad, 'coder')) as [Agent];
  token = readFileSync(join(squad.home, 'token'), 'utf8').trim();
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Refusal {
  code: unknown;
  text: string;
}

/** Everything wrong with a refusal: of the paths of the machine it may name what it was given, and files of the workspace. */
function flawsOf(
  name: string,
  { code, text }: Refusal,
  given: string,
  workspace = squad.workspace,
): string[] {
  const secrets = [SECRET, token, agent.token].filter(secret => text.includes(secret));
  const places = [squad.home, join(squad.root, 'user'), installation].filter(place => text.includes(place));
  const others = (text.match(ABSOLUTE_PATH) ?? []).filter(
    path => !path.startsWith(workspace) && !given.includes(path),
  );
  const stack = STACK.exec(text)?.[0];
  const isKnown = typeof code === 'string' && documented.has(code) && code !== 'INTERNAL';
  return [
    ...(isKnown ? [] : [`${name}: the code is ${code}: ${text.slice(0, 300)}`]),
    ...secrets.map(() => `${name}: a secret in ${text.slice(0, 300)}`),
    ...[...places, ...others].map(place => `${name}: names ${place}: ${text.slice(0, 300)}`),
    ...(stack === undefined ? [] : [`${name}: a stack in ${text.slice(0, 300)}`]),
  ];
}

/** They end the hub or its runs, start the demo in a folder of its own, stream without end, or look for the agent CLIs of this machine. */
const LEFT_OUT = 'stop_hub start_demo follow_events prune prune_worktrees open_page inspect_engines'.split(
  ' ',
);
/** A text is all they need to start an agent CLI or to wait for a person. */
const FREE_TEXT = /^(spawn_(claude|codex)\.prompt|ask_user\.question)$/;

const MEMBER = { roleId: 'coder', task: 'x' };
/** The rest of an input, so that the one bad value decides. A value that is accepted starts a scripted agent. */
const BASES: Record<string, Record<string, unknown>> = {
  start_squad: { members: [MEMBER], engine: 'scripted' },
  start_squad_members: { members: [MEMBER] },
  spawn_agent: { prompt: 'x', engine: 'scripted', async: true },
  squad_decision_record: { title: 'x', what: 'x', why: 'x' },
  search_output: { q: 'x' },
  search_everything: { q: 'x' },
  change_setting: { key: 'review.max_iterations', value: '3' },
  edit_backlog: { action: 'done', number: 1 },
};

function inputOf(name: string, field?: string, value?: unknown): Record<string, unknown> {
  const base = BASES[name] ?? {};
  if (field === undefined) return base;
  const [, ofMember] = field.split('members.');
  return ofMember === undefined
    ? { ...base, [field]: value }
    : { ...base, members: [{ ...MEMBER, [ofMember]: value }] };
}

function fieldNames({ input }: Operation): string[] {
  const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as ObjectSchema;
  const fields = fieldsOf(schema);
  const member = (fields.get('members') as { items?: ObjectSchema } | undefined)?.items;
  const ofMember = member ? [...fieldsOf(member).keys()].map(name => `members.${name}`) : [];
  return [...fields.keys(), ...ofMember, 'no_such_field'];
}

interface Case {
  operation: Operation;
  field: string;
  what: string;
  value: unknown;
}

const cases: Case[] = OPERATIONS.filter(({ name }) => !LEFT_OUT.includes(name)).flatMap(operation =>
  fieldNames(operation).flatMap(field =>
    Object.entries(BAD_VALUES)
      .map(([what, value]) => ({ operation, field, what, value }))
      .filter(({ value }) => !isAccepted(`${operation.name}.${field}`, value)),
  ),
);

function isAccepted(field: string, value: unknown): boolean {
  if (field === 'cancel_run.all') return value === true;
  return FREE_TEXT.test(field) && typeof value === 'string' && value.trim() !== '';
}

/** The whole list, or a tenth of it from all over the list. */
function someOf<T>(all: readonly T[], inSuite?: number): readonly T[] {
  const every = Math.ceil(all.length / amountOf(all.length, inSuite));
  return all.filter((_, at) => at % every === 0);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * Asks with the bad value and, once for each operation, without it. A refusal counts only if it differs from the one without:
 * an input that lacks something else is refused in any case.
 */
async function refuseAll(
  surface: string,
  chosen: readonly Case[],
  ask: (operation: Operation, field?: string, value?: unknown) => Promise<Refusal | null>,
): Promise<void> {
  const without = new Map<string, Promise<Refusal | null>>();
  const flaws = await inBatches(
    chosen,
    async ({ operation, field, what, value }) => {
      const name = `${surface} ${operation.name}.${field}: ${what}`;
      if (!without.has(operation.name)) without.set(operation.name, ask(operation));
      const refusal = await ask(operation, field, value);
      if (refusal === null) return [];
      if (refusal.text !== (await without.get(operation.name))?.text) refused.add(name);
      return flawsOf(name, refusal, textOf(value));
    },
    20,
  );
  expect(flaws.flat().slice(0, 20)).toEqual([]);
}

test('over HTTP a bad input is refused with a documented code, or accepted', {
  tags: ['R27'],
  timeout: figureTimeout(120_000),
}, async () => {
  const routes = new Map(routesOf(OPERATIONS).map(route => [route.operation.name, route]));
  const routed = cases.filter(({ operation }) => routes.has(operation.name));
  await refuseAll('HTTP', someOf(routed), async ({ name }, field, value) => {
    const { method, path, fields } = routes.get(name)!;
    const run = method === 'GET' ? agent.id : 'run_0000000000';
    const place = path.replaceAll(/\{(\w+)\}/g, (_, each: string) =>
      each === field ? encodeURIComponent(textOf(value).toWellFormed()) || '%20' : run,
    );
    const input = inputOf(name, field, value);
    const beside = Object.entries(input).filter(([key]) => !fields.includes(key));
    const query = beside.map(([key, each]): [string, string] => [key, textOf(each)]);
    const response = await fetch(
      new URL(method === 'GET' ? `${place}?${new URLSearchParams(query)}` : place, agent.url),
      {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'squad-workspace': squad.workspace,
        },
        ...(method === 'POST' && { body: JSON.stringify(Object.fromEntries(beside)) }),
      },
    );
    const body = await response.text();
    if (response.status < 300) return null;
    return { code: codeIn(body), text: body };
  });
});

/** Of an error, or of the first finding of a linter. */
function codeIn(body: string): string {
  try {
    const { error, files } = JSON.parse(body) as {
      error?: { code: string };
      files?: { findings: { code: string }[] }[];
    };
    return (error ?? files?.[0]?.findings[0])?.code ?? 'none';
  } catch {
    return 'none';
  }
}

test('over MCP a bad input is refused with a documented code, or accepted', {
  tags: ['R27'],
  timeout: figureTimeout(120_000),
}, async () => {
  const tools = cases.filter(({ operation }) => operation.tool !== null);
  await refuseAll('MCP', someOf(tools), async ({ name, tool }, field, value) => {
    const request = requestOf('tools/call', { name, arguments: inputOf(name, field, value) });
    request.headers['squad-workspace'] = squad.workspace;
    const { body } = await post(agent.url, request, tool?.forAgents ? agent.token : token);
    const { result, error } = messageIn(body);
    if (error) return { code: error.code === NO_SUCH_TOOL ? 'INVALID_INPUT' : error.code, text: body };
    if (!result?.isError) return result ? null : { code: 'none', text: body };
    // Tools of agents have the code at the top.
    const { code, error: nested } = result.structuredContent as { code?: string; error: { code?: string } };
    return { code: code ?? nested.code, text: body };
  });
});

/** The protocol's own error. It is the same whatever the input is, so it is never counted. */
const NO_SUCH_TOOL = -32602;

test('in files a bad input is refused with a documented code, or accepted', { tags: ['R27'] }, async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'squad-bad-files-')));
  for (const folder of ['agents', '.squad']) mkdirSync(join(root, folder));
  const flaws: string[] = [];
  try {
    for (const [name, read] of someOf(badFiles(root))) {
      const thrown: unknown = await read().then(
        () => null,
        error => error,
      );
      if (thrown === null) continue;
      const { code, message, suggestions } = asSquadError(thrown);
      refused.add(name);
      flaws.push(...flawsOf(name, { code, text: [message, ...suggestions].join('\n') }, '', root));
    }
  } finally {
    rmSync(root, { recursive: true });
  }
  expect(flaws.slice(0, 20)).toEqual([]);
});

const SERVER_KEYS =
  'command args env cwd tools resources prompts timeout cooldown instance type url headers no_such_key'.split(
    ' ',
  );
const SERVERS_KEYS = 'servers shared agentServers toolRestrictions argumentRules no_such_key'.split(' ');

function badFiles(root: string): [name: string, read: () => Promise<unknown>][] {
  const put = (file: string, text: string) => writeFileSync(join(root, file), text);
  const roles = { directory: join(root, 'agents'), from: 'workspace', why: '', charters: false } as const;
  const kept = { command: 'x', tools: ['*'] };
  const servers = { servers: { kept }, shared: ['kept'] };
  const readServers = async (text: string) => requireMcpConfig('.squad/mcp-config.json', text);
  const readSettings = (text: string) => {
    put('.squad/squad.json', text);
    return readConfigFiles({ workspace: root, home: join(root, 'home'), env: {} });
  };
  const readRoleText = (text: string) => {
    put('agents/bad.md', text);
    return readRole(roles, 'bad', async () => true);
  };
  const readSchema = (text: string) => {
    put('schema.json', text);
    return readOutputSchema(root, 'schema.json');
  };
  return Object.entries(BAD_VALUES).flatMap(([what, value]) => {
    const json = JSON.stringify(value);
    const wholes = [json, textOf(value), json.slice(0, -1), `{"a":${json}`];
    const read: [string, (text: string) => Promise<unknown>, string][] = [
      ...[...Object.keys(RoleMeta.shape), 'no_such_key'].map(
        key => [`role ${key}`, readRoleText, `---\n${key}: ${json}\n---\nYou code.`] as (typeof read)[number],
      ),
    ];
    const add = (name: string, reader: (text: string) => Promise<unknown>, text: string) =>
      read.push([name, reader, text]);
    for (const key of [...Object.keys(WorkspaceFile.shape), 'no_such_key'])
      add(`settings ${key}`, readSettings, JSON.stringify({ [key]: value }));
    for (const key of SERVERS_KEYS)
      add(`servers ${key}`, readServers, JSON.stringify({ ...servers, [key]: value }));
    for (const key of SERVER_KEYS)
      add(
        `server ${key}`,
        readServers,
        JSON.stringify({ ...servers, servers: { kept: { ...kept, [key]: value } } }),
      );
    for (const [at, text] of wholes.entries()) {
      add(`settings, whole file ${at}`, readSettings, text);
      add(`servers, whole file ${at}`, readServers, text);
      add(`output schema, whole file ${at}`, readSchema, text);
      add(`role, whole head ${at}`, readRoleText, `---\n${text}\n---\nYou code.`);
    }
    return read.map(([name, reader, text]): [string, () => Promise<unknown>] => [
      `file of ${name}: ${what}`,
      () => reader(text),
    ]);
  });
}

const COMMANDS = [
  ...['show', 'log', 'wait', 'cancel', 'retry', 'diff', 'export -', 'reply', 'comment', 'review', 'attach'],
  ...['context', 'decisions', 'backlog done', 'config set', 'config lint', 'mcp remove', 'mcp tools', 'run'],
  ...['answer', 'conversation print', 'completion', 'trust', 'take-over', 'cost --days'],
  'no-such-command',
];

test('on the command line a bad input is refused with a documented code, or accepted', {
  tags: ['R27'],
  timeout: figureTimeout(120_000),
}, async () => {
  const lines = COMMANDS.flatMap(command =>
    Object.entries(BAD_VALUES).flatMap(([what, value]) =>
      // No program can be given a NUL.
      typeof value === 'string' && !value.includes('\0')
        ? { command, what, value: value.toWellFormed() }
        : [],
    ),
  );
  // Each is a process: a tenth would take longer than all the rest.
  const flaws = await inBatches(
    someOf(lines, 12),
    async ({ command, what, value }) => {
      const { code, stdout, stderr } = await squad.run([...command.split(' '), value, '--json']);
      if (code === 0) return [];
      const name = `squad ${command}: ${what}`;
      refused.add(name);
      const given = `${value} ${resolve(squad.workspace, value)}`;
      return flawsOf(name, { code: codeIn(stdout), text: `${stdout}${stderr}` }, given);
    },
    2,
  );
  expect(flaws.flat().slice(0, 20)).toEqual([]);
});

test('3,000 bad inputs were refused', { tags: ['R27'] }, () => {
  expect(refused.size).toBeGreaterThanOrEqual(amountOf(3_000));
  const of = (surface: string) => [...refused].filter(name => name.startsWith(surface)).length;
  const counts = { HTTP: of('HTTP'), MCP: of('MCP'), files: of('file'), CLI: of('squad') };
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
  const by = Object.entries(counts).map(([surface, count]) => `${surface} ${count}`);
  figure('R27', {
    reached: refused.size,
    of: 3_000,
    told: `bad inputs refused (${by.join(', ')}), each with a documented code; no stack, secret or foreign path`,
  });
});
