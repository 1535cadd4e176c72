import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { ENDPOINT, TurnPlace } from '../testing/turn.ts';
import { geminiCommand, geminiHome } from './gemini-command.ts';
import { geminiPolicy } from './gemini-policy.ts';

const CLI = { program: '/bin/gemini' };
const CHAT = '589b0adb-a52d-4bbd-bb0b-d03dbd1ae2f4';

describe('the command of Gemini CLI', () => {
  it('hands the prompt over on standard input and always names a model', async () => {
    using place = new TurnPlace();
    const input = place.input();
    const { argv, stdin } = await geminiCommand(input, CLI);
    expect(stdin).toBe(input.promptFile);
    expect(argv).not.toContain(input.prompt);
    expect(argv).toContain('--model=pro');
    expect((await geminiCommand({ ...input, model: 'flash' }, CLI)).argv).toContain('--model=flash');
    const env = { ...input.env, GEMINI_MODEL: 'mine' };
    expect((await geminiCommand({ ...input, env }, CLI)).argv).toContain('--model=mine');
  });

  it('reaches Squad by the relay, named in a file only the user can read', async () => {
    using place = new TurnPlace();
    const { argv, env } = await geminiCommand(place.input({ endpoint: ENDPOINT }), CLI);
    const file = join(place.chatFolder, '.gemini/settings.json');
    expect(env.GEMINI_CLI_HOME).toBe(place.chatFolder);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers).toEqual({
      squad: { ...ENDPOINT.relay, trust: true },
    });
    expect(JSON.stringify([argv, env])).not.toContain(ENDPOINT.token);
  });

  it('reads lines while it works if it has to ask the user, and finds its session again', async () => {
    using place = new TurnPlace();
    const options = { approvals: 'ask' as const, permission: 'read' as const };
    const input = place.input({ endpoint: ENDPOINT, options });
    const { argv, stdin, isFed } = await geminiCommand(input, CLI);
    expect({ acp: argv.includes('--acp'), stdin, isFed }).toEqual({ acp: true, stdin: null, isFed: true });
    const chats = join(place.chatFolder, '.gemini/tmp/work/chats');
    const session = `session-2026-11-19T20-26-${CHAT.slice(0, 8)}.jsonl`;
    await input.files.writeInChat(join('.gemini/tmp/work/chats', session), '{}');
    const again = await geminiCommand({ ...input, chatId: CHAT, continues: true }, CLI);
    expect(again.argv.join(' ')).not.toContain(CHAT);
    expect(readdirSync(chats)).toEqual([`session-squad-${CHAT.slice(0, 8)}.jsonl`]);
  });

  it('opens a chat under the given id, and resumes only a chat that exists', async () => {
    using place = new TurnPlace();
    const first = place.input({ chatId: CHAT });
    await expect(geminiCommand({ ...first, continues: true }, CLI)).rejects.toMatchObject({
      code: 'CHAT_UNKNOWN',
    });
    expect((await geminiCommand(first, CLI)).argv.slice(-2)).toEqual(['--session-id', CHAT]);
    expect((await geminiCommand({ ...first, continues: true }, CLI)).argv.slice(-2)).toEqual([
      '--resume',
      CHAT,
    ]);
    await expect(geminiCommand({ ...first, chatId: 'latest' }, CLI)).rejects.toMatchObject({
      code: 'CHAT_UNKNOWN',
    });
  });

  it("gives a person the chat's home without Squad's server, and trusts no folder for them", async () => {
    using place = new TurnPlace();
    const { files, env } = place.input({ endpoint: ENDPOINT });
    await expect(geminiHome({ chatId: CHAT, env, files })).rejects.toMatchObject({ code: 'CHAT_UNKNOWN' });
    await geminiCommand(place.input({ chatId: CHAT, endpoint: ENDPOINT }), CLI);
    expect(settings(place).mcpServers).not.toEqual({});
    expect(await geminiHome({ chatId: CHAT, env, files })).toEqual({ GEMINI_CLI_HOME: place.chatFolder });
    expect(settings(place).mcpServers).toEqual({});
  });

  it("links the user's login into the chat's home, as it is", async () => {
    using place = new TurnPlace();
    const login = place.inHome('.gemini/oauth_creds.json', '{"refresh_token":"secret"}');
    await geminiCommand(place.input(), CLI);
    await geminiCommand(place.input(), CLI);
    expect(readlinkSync(join(place.chatFolder, '.gemini/oauth_creds.json'))).toBe(login);
    expect(settings(place).security.auth.selectedType).toBe('oauth-personal');
  });

  it("takes the user's own choice of login over what the environment suggests", async () => {
    using place = new TurnPlace();
    const env = { HOME: place.home, GEMINI_API_KEY: 'k' };
    await geminiCommand(place.input({ env }), CLI);
    expect(settings(place).security.auth.selectedType).toBe('gemini-api-key');
    place.inHome('.gemini/settings.json', '{"security":{"auth":{"selectedType":"vertex-ai"}}}');
    await geminiCommand(place.input({ env }), CLI);
    expect(settings(place).security.auth.selectedType).toBe('vertex-ai');
    place.inHome('.gemini/settings.json', '{ half');
    await geminiCommand(place.input({ env }), CLI);
    expect(settings(place).security.auth.selectedType).toBe('gemini-api-key');
  });

  it('writes nothing in a rehearsal', async () => {
    using place = new TurnPlace();
    place.inHome('.gemini/oauth_creds.json', '{}');
    await geminiCommand(place.rehearsal({ chatId: CHAT, endpoint: ENDPOINT }), CLI);
    expect(place.has('chats')).toBe(false);
    expect(place.has('turn')).toBe(false);
  });
});

describe('permissions of Gemini CLI', () => {
  it('has no tool that changes anything with permission read', async () => {
    using place = new TurnPlace();
    const { argv } = await geminiCommand(place.input({ options: { permission: 'read' } }), CLI);
    expect(argv).toContain('default');
    expect(rules(place)).toContain(
      'toolName = ["replace","write_file","run_shell_command"]\ndecision = "deny"',
    );
  });

  it('may edit and run commands with edit, and anything with full', async () => {
    using place = new TurnPlace();
    expect((await geminiCommand(place.input(), CLI)).argv).toContain('auto_edit');
    expect(rules(place)).toContain(
      'toolName = "run_shell_command"\ndecision = "allow"\nallowRedirection = true',
    );
    expect((await geminiCommand(place.input({ options: { permission: 'full' } }), CLI)).argv).toContain(
      'yolo',
    );
    expect(rules(place)).not.toContain('run_shell_command');
  });

  it('has only the tools of a list, by the names everyone uses or its own', async () => {
    using place = new TurnPlace();
    await geminiCommand(place.input({ options: { tools: ['Grep', 'Read', 'glob'] } }), CLI);
    expect(rules(place)).toContain(
      'toolName = ["grep_search","read_file","read_many_files","glob"]\ndecision = "allow"',
    );
    expect(rules(place)).toContain('toolName = "*"\ndecision = "deny"\npriority = 600');
    const unknown = place.input({ options: { tools: ['Telescope'] } });
    await expect(geminiCommand(unknown, CLI)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('says which rules it holds and which are only words', () => {
    expect(geminiPolicy({ ...PLAIN_OPTIONS, permission: 'full' })).toEqual([]);
    const asked = { ...PLAIN_OPTIONS, tools: ['Read', 'Edit'], effort: 'high', outputSchema: {} };
    expect(geminiPolicy(asked).map(({ rule, heldBy }) => [rule, heldBy])).toEqual([
      ['permission: edit', 'engine'],
      ['tools: Read, Edit', 'engine'],
      ['output_schema', 'advisory'],
      ['effort: high', 'advisory'],
    ]);
    expect(geminiPolicy(PLAIN_OPTIONS)[0]?.heldBy).toBe('advisory');
  });
});

const rules = (place: TurnPlace) => readFileSync(join(place.folder, 'turn/policy.toml'), 'utf8');
const settings = (place: TurnPlace) =>
  JSON.parse(readFileSync(join(place.chatFolder, '.gemini/settings.json'), 'utf8'));
