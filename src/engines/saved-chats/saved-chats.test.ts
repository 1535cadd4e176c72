/** Chat files of agent CLIs, also such as a hostile program may leave there. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CliId } from '../../schema/engine-spec.ts';
import { cliProfile } from '../cli-profiles.ts';
import { readSavedChats, savedChats } from './saved-chats.ts';

const ID = '3f0e6a52-8d1c-4b7a-9e6f-2c4d5e6f7a8b';
const OTHER = '4f0e6a52-8d1c-4b7a-9e6f-2c4d5e6f7a8b';
let home: string;
let folder: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'squad-chats-')));
  folder = join(home, 'My proj_ect.x');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = (path: string, content: string): string => {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
};
const jsonLines = (...lines: unknown[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('');
const read = (cli: CliId, env: Record<string, string> = {}) =>
  readSavedChats(cli, { folder, env: { HOME: home, ...env } });

/** The chat of each CLI: where it is, and what is in it. */
const claude = (id: string, cwd = folder, prompt: unknown = 'Remember plums.\nAnd more.') =>
  write(
    `.claude/projects/${folder.replace(/[^a-zA-Z0-9]/g, '-')}/${id}.jsonl`,
    jsonLines(
      { type: 'queue-operation', content: 'x' },
      { type: 'user', isMeta: true, message: { content: 'Caveat' }, cwd },
      { type: 'user', message: { content: '<command-name>/clear</command-name>' }, cwd },
      { type: 'user', message: { content: prompt }, cwd },
    ),
  );
const codex = (id: string, cwd = folder, more: object = { source: 'cli' }, day = '2026/11/19') =>
  write(
    `.codex/sessions/${day}/rollout-2026-11-19T20-21-09-${id}.jsonl`,
    jsonLines(
      { type: 'session_meta', payload: { id, cwd, base_instructions: 'long '.repeat(9_000), ...more } },
      { type: 'response_item', payload: { role: 'user', content: [{ text: '<environment_context>' }] } },
      {
        type: 'event_msg',
        payload: {
          type: 'item_completed',
          item: { type: 'UserMessage', content: [{ text: 'Remember plums.' }] },
        },
      },
    ),
  );
const hashOf = (path: string) => createHash('sha256').update(path).digest('hex');
const gemini = (id: string, cwd = folder) => {
  write('.gemini/projects.json', JSON.stringify({ projects: { [folder]: 'my-project' } }));
  return write(
    `.gemini/tmp/my-project/chats/session-2026-11-19T20-30-${id.slice(0, 8)}.jsonl`,
    jsonLines(
      { sessionId: id, projectHash: hashOf(cwd), kind: 'main' },
      { $set: { messages: [{ type: 'user', content: [{ text: '<session_context>\n…' }] }] } },
      { type: 'user', content: [{ text: 'Remember plums.' }] },
    ),
  );
};
const qwen = (id: string, cwd = folder) =>
  write(
    `.qwen/projects/${folder.replace(/[^a-zA-Z0-9]/g, '-')}/chats/${id}.jsonl`,
    jsonLines({ type: 'user', cwd, message: { parts: [{ text: 'Remember plums.' }] } }),
  );
const copilot = (id: string, cwd = folder) =>
  write(
    `.copilot/session-state/${id}/events.jsonl`,
    jsonLines(
      { type: 'session.start', data: { context: { cwd } } },
      { type: 'user.message', data: { content: 'Remember plums.' } },
    ),
  );
const CLIS = { claude, codex, gemini, qwen, copilot };

describe.each(Object.entries(CLIS))('%s', { tags: ['G7'] }, (name, chat) => {
  const cli = name as CliId;

  test('a chat of this folder is found, with its first prompt and last change', () => {
    const file = chat(ID);
    utimesSync(file, 1_000, 2_000);
    expect(read(cli)).toEqual([
      {
        ...{ id: ID, file, changedAt: 2_000_000, claimedBy: [] },
        title: expect.stringMatching(/^Remember plums\./),
      },
    ]);
  });

  test("another folder's chat is left out", () => {
    // Some CLIs give both folders the same name.
    chat(ID, folder.replace('_', '-'));
    expect(read(cli)).toEqual([]);
  });

  test('a CLI that was never used has no chats', () => {
    expect(read(cli)).toEqual([]);
  });

  test.each([
    ['is empty', ''],
    ['is no JSON', 'Hello\n{"type":\n\u0000\u0001{}{}\n'],
    [
      'has values of other types',
      '[]\n{"type":7,"payload":[],"message":"x","data":null,"cwd":{},"sessionId":1}\n7\nnull\n',
    ],
    ['is one endless line', `{"type":"user","x":"${'y'.repeat(3_000_000)}`],
    ['nests without end', `{"payload":${'['.repeat(60_000)}\n`],
  ])('a file that %s is left out, and the others are found', (_, content) => {
    chat(ID);
    writeFileSync(chat(OTHER), content);
    expect(read(cli).map(({ id }) => id)).toEqual([ID]);
  });

  test('a link and a pipe are left out', () => {
    const file = chat(ID);
    const elsewhere = join(home, 'elsewhere');
    execFileSync('mv', [file, elsewhere]);
    symlinkSync(elsewhere, file);
    expect(read(cli)).toEqual([]);
    rmSync(file);
    execFileSync('mkfifo', [file]);
    expect(read(cli)).toEqual([]);
  });
});

describe('claude', () => {
  test('the title that the user gave comes before the first prompt', () => {
    writeFileSync(claude(ID), jsonLines({ type: 'custom-title', customTitle: 'Fruit' }), { flag: 'a' });
    expect(read('claude')[0]!.title).toBe('Fruit');
  });

  test('a first prompt that is longer than what is read leaves the chat without a title', () => {
    writeFileSync(claude(ID, folder, 'x'.repeat(1_000_000)), jsonLines({ type: 'system', cwd: folder }), {
      flag: 'a',
    });
    expect(read('claude')).toMatchObject([{ id: ID, title: null }]);
  });

  test('a long title is one short line', () => {
    claude(ID, folder, [{ type: 'text', text: `A\n\n\tB ${'word '.repeat(200)}` }]);
    const { title } = read('claude')[0]!;
    expect(title).toMatch(/^A B word /);
    expect(title!.length).toBeLessThanOrEqual(200);
  });

  test('a running process that says which chat it has open is known', () => {
    claude(ID);
    write('.claude/sessions/4711.json', JSON.stringify({ pid: 4711, sessionId: ID }));
    write('.claude/sessions/4712.json', '{"pid":"x"');
    expect(read('claude')[0]!.claimedBy).toEqual([4711]);
  });

  test('the variable that moves its folder is followed', () => {
    execFileSync('mv', [dirname(dirname(dirname(claude(ID)))), join(home, 'moved')]);
    expect(read('claude')).toEqual([]);
    expect(read('claude', { CLAUDE_CONFIG_DIR: join(home, 'moved') })).toHaveLength(1);
  });
});

test('codex: chats of its own agents are left out', { tags: ['G7'] }, () => {
  codex(ID, folder, { source: { subagent: 'review' } });
  expect(read('codex')).toEqual([]);
});

test('opencode: chats of its database, without those of its own agents and archived ones', {
  tags: ['G7'],
}, () => {
  expect(read('opencode')).toEqual([]);
  const path = join(home, '.local/share/opencode/opencode.db');
  mkdirSync(dirname(path), { recursive: true });
  const database = new BetterSqlite3(path);
  database.exec(
    'CREATE TABLE session (id TEXT, directory TEXT, title TEXT, parent_id TEXT, time_updated INTEGER, time_archived INTEGER)',
  );
  const add = database.prepare('INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)');
  add.run('ses_1', folder, 'Fruit', null, 1, null);
  add.run('ses_2', folder, 'Fruit', 'ses_1', 2, null);
  add.run('ses_3', folder, 'Fruit', null, 3, 4);
  add.run('ses_4', home, 'Fruit', null, 5, null);
  database.close();
  expect(read('opencode')).toEqual([
    { id: 'ses_1', title: 'Fruit', changedAt: 1, file: null, claimedBy: [] },
  ]);
});

test('chats of all CLIs are listed newest first, and one CLI that cannot be read is a note', {
  tags: ['G7'],
}, async () => {
  utimesSync(claude(ID), 1, 1);
  utimesSync(codex(OTHER), 2, 2);
  write('.local/share/opencode/opencode.db', 'This is no database, and it is long enough to be looked at.');
  const clis = (['claude', 'codex', 'opencode'] as const).map(cliProfile);
  const { chats, notes } = await savedChats(clis, folder, { HOME: home });
  expect(chats.map(({ engine, openIn }) => ({ engine, openIn }))).toEqual([
    { engine: 'codex', openIn: null },
    { engine: 'claude', openIn: null },
  ]);
  expect(notes).toEqual([expect.stringContaining('The chats of opencode could not be read')]);
});
