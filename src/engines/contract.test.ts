import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Engine, TurnInput } from '../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../core/testing/plain-options.ts';
import { findExecutable } from '../process/programs/find-executable.ts';
import { SquadError } from '../schema/error.ts';
import { AllowedHost } from '../schema/sandbox.ts';
import { createCliEngine } from './cli-profile.ts';
import { cliProfiles, readerOf } from './cli-profiles.ts';
import { createNativeEngine } from './native/native-engine.ts';
import { nativeSubagent } from './native/testing/native-subagent.ts';
import { createScriptedEngine } from './scripted/scripted-engine.ts';
import { createTemplateEngine } from './template/template-engine.ts';
import { ALL_OPTIONS, CHAT, ENDPOINT, rehearsal, TOKEN } from './testing/contract.ts';

const CLIS: Engine[] = cliProfiles().map(profile =>
  createCliEngine(profile, {
    program: `/opt/bin/${profile.id}`,
    version: profile.versions?.tested ?? null,
  }),
);
const OTHERS: Engine[] = [
  createScriptedEngine({ node: '/usr/bin/node', agentScript: '/opt/squad/scripted-agent.cjs' }),
  createNativeEngine(
    { node: '/usr/bin/node', agentScript: '/opt/squad/agent.cjs', compileCache: '/squad/cache' },
    { subagent: nativeSubagent(), inputs: [] },
  ),
  createTemplateEngine({
    id: 'template-with-parser',
    runTemplate: '/bin/cat -u',
    createChatTemplate: null,
    engineCommand: 'cat',
    reader: readerOf('claude'),
    findExecutable,
  }),
];

async function build(engine: Engine, changes: Partial<TurnInput> = {}) {
  const { input, written } = rehearsal({ chatId: firstChat(engine), ...changes });
  const command = await engine.command(input);
  const lines = command.isFed ? engine.driver!(input).open() : [];
  return { ...command, written, lines };
}

/** CLIs that read lines while they work, whatever their role says. */
const READS_LINES = ['claude', 'codex', 'qwen'];

const firstChat = ({ newChat }: Engine): string | null =>
  newChat?.kind === 'minted' ? newChat.mint(PLAIN_OPTIONS) : newChat?.kind === 'command' ? CHAT : null;

const knownChat = ({ id }: Engine): string => (id === 'opencode' ? 'ses_1234567890abcdef' : CHAT);

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

const ids = (engines: Engine[]) => engines.map(engine => [engine.id, engine] as const);

describe.each(ids([...CLIS, ...OTHERS]))('%s', (_id, engine) => {
  test('gets the prompt by its input; neither prompt nor task nor token is in an argument', {
    tags: ['argument-injection'],
  }, async () => {
    const { argv, stdin, isFed } = await build(engine, { endpoint: ENDPOINT });
    expect(stdin).toBe(isFed ? null : '/squad/turn/prompt.md');
    expect(isFed === true).toBe(READS_LINES.includes(engine.id));
    for (const argument of argv) {
      expect(argument).not.toContain('the-prompt-itself');
      expect(argument).not.toContain('the-task-itself');
      expect(argument).not.toContain(TOKEN);
    }
  });

  test('a prompt of 5 MB makes the command no longer', async () => {
    const long = 'é'.repeat(2_500_000);
    const { argv, env } = await build(engine, { prompt: long, task: long });
    expect(JSON.stringify({ argv, env }).length).toBeLessThan(10_000);
  });

  test('passes on the environment it was given', async () => {
    const { env } = await build(engine, { env: { PATH: '/usr/bin:/bin', HOME: '/home/u', MINE: 'a\n"b"' } });
    expect(env).toMatchObject({ HOME: '/home/u', MINE: 'a\n"b"' });
  });

  test('builds with every combination of options', { tags: ['C1'] }, async () => {
    for (const options of ALL_OPTIONS)
      for (const endpoint of [null, ENDPOINT]) {
        const { argv } = await build(engine, { options, endpoint });
        for (const argument of argv) expect(argument).not.toContain(TOKEN);
      }
  });

  test('says who holds a list of tools, and reading only', { tags: ['F5'] }, () => {
    for (const options of ALL_OPTIONS) {
      const rules = engine.policy(options).map(({ rule }) => rule);
      expect(rules.some(rule => rule.startsWith('tools:'))).toBe(options.tools !== null);
      if (options.permission === 'read') expect(rules).toContain('permission: read');
      if (options.permission === 'full') expect(rules.join()).not.toContain('permission');
    }
  });
});

describe.each(ids([...CLIS, ...OTHERS]))('%s in a sandbox', { tags: ['I1', 'I4'] }, (_id, engine) => {
  const env = { PATH: '/usr/bin:/bin', HOME: '/home/u', IS_SANDBOX: '1' };
  const sandbox = { level: 'workspace' as const, network: 'full' as const, hosts: [], read: [] };
  const options = { ...PLAIN_OPTIONS, sandbox };
  const needs = (more: Record<string, string> = {}, model: string | null = null) =>
    engine.sandbox({ env: { ...env, ...more }, model, cwd: '/work', options });

  test('names absolute files, and hosts that a proxy can compare', () => {
    const { programs, login, hosts } = needs({ OPENAI_BASE_URL: 'not an address', ANTHROPIC_BASE_URL: '' });
    expect(programs).not.toEqual([]);
    for (const path of [...programs, ...login.flatMap(file => [file.from, file.path])])
      expect(path).toMatch(/^\//);
    for (const host of hosts) expect(AllowedHost.safeParse(host).success).toBe(true);
  });

  test('finds its login at its usual place in HOME, wherever a variable has moved it', () => {
    const moved = { CLAUDE_CONFIG_DIR: '/m', CODEX_HOME: '/m', COPILOT_HOME: '/m', QWEN_HOME: '/m' };
    const { login, drops } = needs({ ...moved, XDG_DATA_HOME: '/m', XDG_CONFIG_HOME: '/m' });
    for (const { path } of login) expect(path).toMatch(/^\/home\/u\//);
    const usual = needs().login.map(({ path }) => path);
    expect(login.map(({ path }) => path)).toEqual(usual);
    // Other folders of state, and sandboxes of their own, which do not work inside ours.
    const others = ['QWEN_RUNTIME_DIR', 'COPILOT_CACHE_HOME', 'COPILOT_PKG_CACHE_HOME', 'GEMINI_SANDBOX'];
    for (const name of drops) expect([...Object.keys(moved), ...others, 'QWEN_SANDBOX']).toContain(name);
  });

  test('reaches Squad over HTTP, because the socket of the hub is not there', async () => {
    if (!engine.wantsEndpoint || engine.id === 'cursor') return;
    const { env: variables, written } = await build(engine, { endpoint: ENDPOINT, options });
    const seen = JSON.stringify([variables, ...written.values()]);
    expect(seen).not.toContain('--identity');
    expect(seen).toContain(TOKEN);
  });
});

/** Cursor Agent takes servers only from files that are not ours to write, and knows no list of tools. */
describe.each(ids(CLIS.filter(({ id }) => id !== 'cursor')))('%s', (_id, engine) => {
  test('hands over Squad with the token in a file or variable, or by the relay, only when it can be reached', async () => {
    const seen = ({ env, written }: Awaited<ReturnType<typeof build>>) =>
      JSON.stringify([env, ...written.values()]);
    const reachable = seen(await build(engine, { endpoint: ENDPOINT }));
    expect(reachable.includes(TOKEN) || reachable.includes('--identity')).toBe(true);
    const alone = seen(await build(engine, { endpoint: null }));
    expect(alone).not.toContain(TOKEN);
    expect(alone).not.toContain('--identity');
  });

  test.each(['--yolo', 'no such tool', 'Bash,Write', 'x\ny', 'Bash(rm\n*)'])(
    'the tool %j is refused',
    async tool => {
      const options = { ...PLAIN_OPTIONS, tools: ['Read', tool] };
      await expect(build(engine, { options })).rejects.toBeInstanceOf(SquadError);
    },
  );
});

describe.each(ids(CLIS))('%s', (_id, engine) => {
  test('resumes a chat by its id, and does not begin one that way', { tags: ['A3'] }, async () => {
    // Some keep a chat in a folder of Squad's, and look there first.
    const chatFolder = mkdtempSync(join(tmpdir(), 'squad-chat-'));
    onTestFinished(() => rmSync(chatFolder, { recursive: true }));
    mkdirSync(join(chatFolder, '.gemini'));
    const files = { ...rehearsal().input.files, chatFolder };
    const begun = await build(engine, { files });
    const later = await build(engine, { chatId: knownChat(engine), continues: true, files });
    const said = ({ argv, lines }: typeof begun) => [...argv, ...lines];
    const anyChat = (words: string[]) => words.map(word => word.replace(UUID, 'ID'));
    expect(anyChat(said(later))).not.toEqual(anyChat(said(begun)));
    expect(said(later).some(word => word.includes(knownChat(engine)))).toBe(true);
  });

  test('a chat id that could be taken for a flag, or cannot be an argument, is refused', {
    tags: ['argument-injection'],
  }, async () => {
    for (const chatId of ['--yolo', '-x', 'a\0b'])
      await expect(build(engine, { chatId, continues: true })).rejects.toBeInstanceOf(SquadError);
  });

  test('opens its interactive mode on a chat by its id, and on nothing that could be a flag', async () => {
    const chatFolder = mkdtempSync(join(tmpdir(), 'squad-chat-'));
    onTestFinished(() => rmSync(chatFolder, { recursive: true }));
    mkdirSync(join(chatFolder, '.gemini'));
    const { input } = rehearsal({ endpoint: ENDPOINT });
    const files = { ...input.files, chatFolder };
    const open = (chatId: string) => engine.interactive!({ chatId, env: input.env, files });
    const { argv } = await open(knownChat(engine));
    expect(argv[0]).toBe(`/opt/bin/${engine.id}`);
    expect(argv.slice(1).join(' ')).toMatch(new RegExp(`(resume|--session)[ =]${knownChat(engine)}$`));
    for (const chatId of ['--yolo', 'a\0b']) {
      const refused = await open(chatId).then(
        opened => opened.argv.every(word => word !== chatId && !word.includes('\0')),
        thrown => thrown instanceof SquadError,
      );
      expect(refused).toBe(true);
    }
  });

  test('covers each limit that is asked for, and says why one is only advice', {
    tags: ['A12', 'C1'],
  }, () => {
    for (const options of ALL_OPTIONS) {
      const rules = engine.policy(options);
      const has = (start: string) => rules.some(({ rule }) => rule.startsWith(start));
      expect(has(`permission: ${options.permission}`)).toBe(options.permission !== 'full');
      expect(has('budget:')).toBe(options.budgetUsd !== null);
      expect(has('output_schema')).toBe(options.outputSchema !== null);
      expect(has('effort:')).toBe(options.effort !== null);
      for (const { heldBy, note } of rules) if (heldBy === 'advisory') expect(note).toBeTruthy();
    }
  });

  test.each([
    '-model',
    '--dangerously-skip-permissions',
    'two words',
    'a\nb',
    `"quoted" 'too'`,
    '$(touch x) `y`',
    'モデル🙂',
    '{"a":1}',
    'a,b',
  ])('the model %j is one argument, or refused', { tags: ['argument-injection'] }, async model => {
    const chatId = firstChat(engine) && CHAT;
    const usual = await build(engine, { model: 'anthropic/sonnet', chatId });
    await outcome(build(engine, { model, chatId }), ({ argv, env, written, lines }) => {
      expect(argv.length).toBe(usual.argv.length);
      const changed = argv.filter((argument, index) => argument !== usual.argv[index]);
      expect(changed.length).toBeLessThanOrEqual(1);
      // Alone it would be a flag.
      if (model.startsWith('-')) expect(argv).not.toContain(model);
      const places = [...argv, ...Object.values(env), ...written.values(), ...lines];
      const quoted = JSON.stringify(model).slice(1, -1);
      expect(places.some(place => place.includes(model) || place.includes(quoted))).toBe(true);
    });
  });

  test.each(['a\0b', 'x'.repeat(200_000)])('a model that cannot be an argument is refused', async model => {
    await outcome(build(engine, { model }), ({ argv }) => {
      for (const argument of argv) {
        expect(argument).not.toContain('\0');
        expect(Buffer.byteLength(argument)).toBeLessThan(128 * 1024);
      }
    });
  });

  test('an effort of any shape stays in one argument, or is refused', async () => {
    const chatId = firstChat(engine) && CHAT;
    const usual = await build(engine, { options: { ...PLAIN_OPTIONS, effort: 'high' }, chatId });
    for (const effort of ['--x', 'a" b=\'c', 'a\nb', '\\', '\u007f'])
      await outcome(build(engine, { options: { ...PLAIN_OPTIONS, effort }, chatId }), ({ argv }) => {
        expect(argv.length).toBe(usual.argv.length);
        expect(argv).not.toContain(effort);
      });
  });
});

/** A refusal is a fine answer when it is one of ours. */
async function outcome<T>(building: Promise<T>, check: (built: T) => void): Promise<void> {
  let built: T;
  try {
    built = await building;
  } catch (error) {
    expect(error).toBeInstanceOf(SquadError);
    return;
  }
  check(built);
}
