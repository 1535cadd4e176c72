/** Chats that a person began with the real CLIs by hand are listed, and continued as runs. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { Output } from '../../src/operations/operations.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

/** What a person types: the prompt comes on standard input, and a chat is resumed by its id. */
const BY_HAND: Record<CliName, (chat?: string) => string[]> = {
  claude: chat => ['-p', ...(chat ? ['--resume', chat] : [])],
  codex: chat => ['exec', '--skip-git-repo-check', ...(chat ? ['resume', chat] : []), '-'],
  gemini: chat => [...(chat ? ['--resume', chat] : [])],
  opencode: chat => ['run', ...(chat ? ['--session', chat] : ['--title', 'Remember plums.'])],
  copilot: chat => ['--allow-all-tools', ...(chat ? [`--resume=${chat}`] : [])],
  qwen: chat => [...(chat ? [`--resume=${chat}`] : [])],
};
const FORKS: Record<CliName, 'own' | 'copy' | null> = {
  ...{ claude: 'own', codex: 'own', opencode: 'own', qwen: 'own' },
  ...{ gemini: 'copy', copilot: null },
};

describe.each(chosenClis())('%s', { tags: ['G7'] }, name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], {
      roles: { asker: '---\napprovals: ask\n---\nYou ask before you act.\n' },
      prepare: async (squad, home) => {
        squad.env.GEMINI_CLI_TRUST_WORKSPACE = 'true';
        mkdirSync(join(home, '.gemini'), { recursive: true });
        const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
        writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      },
    });
  });
  afterAll(() => it[Symbol.asyncDispose]());

  const start = (prompt: string, chat?: string) => {
    const { env, workspace: cwd } = it.squad;
    const child = spawn(name, BY_HAND[name](chat), {
      ...{ cwd, env, detached: true },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin.on('error', () => {});
    child.stdin.end(prompt);
    return { child, ended: new Promise<void>(resolve => child.on('close', () => resolve())) };
  };
  const listed = () => it.squad.json<Output<'list_chats'>>(['adopt']);
  const chatBegun = async (tag: string) => {
    const before = (await listed()).chats.map(({ id }) => id);
    await start(`Remember plums. ${mock([{ text: 'Plums it is.' }], tag)}`).ended;
    const { chats, notes } = await listed();
    const begun = chats.filter(({ id }) => !before.includes(id));
    expect(notes).toEqual([]);
    expect(begun).toEqual([
      {
        ...{ engine: name, id: expect.any(String), short: expect.any(String), run: null, openIn: null },
        ...{ title: expect.stringContaining('Remember plums.'), changedAt: expect.any(Number) },
        canBeForked: FORKS[name] !== null,
      },
    ]);
    return begun[0]!;
  };
  const adopt = async (...args: string[]) => {
    const { runIds } = await it.squad.json<{ runIds: [string] }>(['adopt', '-d', ...args]);
    return it.end(runIds[0]);
  };
  const said = (tag: string) =>
    it.server
      .first(tag)!
      .turns.map(({ text }) => text)
      .join('\n');

  test('a chat begun by hand is listed, and a run continues it', async () => {
    const { short, id } = await chatBegun('begun');
    const run = await adopt(short, `What was it? ${mock([{ text: 'Plums.' }], 'adopted')}`);
    expect(run.error).toBeUndefined();
    expect(run).toMatchObject({ status: 'completed', result: 'Plums.', chat_id: id });
    expect(said('adopted')).toContain('Remember plums.');
    expect(said('adopted')).toContain('Plums it is.');
    expect((await listed()).chats[0]).toMatchObject({ id, run: run.spawn_id });
    const { runIds } = await it.squad.json<{ runIds: [string] }>([
      ...['reply', '-d', run.spawn_id, `Sure? ${mock([{ text: 'Yes.' }], 'replied')}`],
    ]);
    expect(await it.end(runIds[0])).toMatchObject({ status: 'completed', result: 'Yes.', chat_id: id });
    expect(said('replied')).toContain('Plums it is.');
  });

  test('a chat that is open elsewhere is refused, with the process that has it open', async () => {
    const { id } = await chatBegun('to-open');
    const { child, ended } = start(`Wait. ${mock([{ hang: 'stream' }], 'open')}`, id);
    try {
      await it.server.waitForRequest(({ tag }) => tag === 'open', 60_000);
      const refused = await it.squad.run(['adopt', id, 'Say hello', '--json']);
      expect(JSON.parse(refused.stdout)).toMatchObject({
        error: { code: 'CHAT_BUSY', message: expect.stringMatching(/open elsewhere: in process \d+/) },
      });
      expect((await listed()).chats.find(chat => chat.id === id)?.openIn?.command).toContain(name);
    } finally {
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
    }
  });

  test('a fork leaves the chat of the user as it is', async () => {
    const { id } = await chatBegun('to-fork');
    const before = contentOf(id);
    if (FORKS[name] === null) {
      const refused = await it.squad.run(['adopt', '--fork', id, 'Say hello', '--json']);
      expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'INVALID_INPUT' } });
      return;
    }
    const run = await adopt('--fork', id, `What was it? ${mock([{ text: 'Plums.' }], 'forked')}`);
    expect(run.error).toBeUndefined();
    expect(run).toMatchObject({ status: 'completed', result: 'Plums.' });
    expect(said('forked')).toContain('Plums it is.');
    expect(run.chat_id === id).toBe(FORKS[name] === 'copy');
    const { runIds } = await it.squad.json<{ runIds: [string] }>([
      ...['reply', '-d', run.spawn_id, `Sure? ${mock([{ text: 'Yes.' }], 'fork-replied')}`],
    ]);
    expect(await it.end(runIds[0])).toMatchObject({ status: 'completed', chat_id: run.chat_id });
    expect(said('fork-replied')).toContain('Plums.');
    expect(contentOf(id)).toBe(before);
  });

  test('an agent that asks for approvals continues a chat, and a fork of it', async () => {
    const { id } = await chatBegun('to-ask');
    const options = ['--role', 'asker', id];
    const canForkAndAsk = FORKS[name] === 'own' && name !== 'opencode';
    if (FORKS[name] === null || name === 'opencode') {
      const refused = await it.squad.run(['adopt', '--fork', ...options, 'Say hello', '--json']);
      expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'INVALID_INPUT' } });
    }
    for (const [tag, ...args] of canForkAndAsk ? [['asks'], ['asks-fork', '--fork']] : [['asks']]) {
      const run = await adopt(...args, ...options, `What was it? ${mock([{ text: 'Plums.' }], tag)}`);
      expect(run.error).toBeUndefined();
      expect(run).toMatchObject({ status: 'completed', result: 'Plums.', role_id: 'asker' });
      expect(said(tag!)).toContain('Plums it is.');
      expect(said(tag!)).toContain('You ask before you act.');
      expect(run.chat_id === id).toBe(tag === 'asks');
    }
  });

  /** The whole conversation as the CLI keeps it. Opencode has it in a database. */
  const contentOf = (id: string): string => {
    const files = name === 'opencode' ? [] : filesWith(it.squad.env.HOME!, id);
    return files.map(path => `${path}\n${readFileSync(path, 'utf8')}`).join('\n');
  };
});

/** Files of a chat below a home. Gemini CLI names them only after the beginning of the id. */
const filesWith = (home: string, id: string): string[] =>
  readdirSync(home, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => path.includes(id) || path.endsWith(`-${id.slice(0, 8)}.jsonl`));
