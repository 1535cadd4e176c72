import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { ENDPOINT, TurnPlace } from '../testing/turn.ts';
import { copilotCommand } from './copilot-command.ts';
import { copilotPolicy } from './copilot-tools.ts';

const CHAT = '589b0adb-a52d-4bbd-bb0b-d03dbd1ae2f4';
const argvOf = async (input: TurnInput) =>
  (await copilotCommand(input, { program: '/bin/copilot' })).argv.join(' ');

describe('the command of Copilot CLI', () => {
  it('hands the prompt over on standard input and asks for the usage in a file', async () => {
    using place = new TurnPlace();
    const input = place.input();
    const { argv, stdin } = await copilotCommand(input, { program: '/bin/copilot' });
    expect(stdin).toBe(input.promptFile);
    expect(argv).not.toContain(input.prompt);
    expect(argv.join(' ')).toContain(`--usage-output-file ${input.files.path('reports/usage.json')}`);
  });

  it("gives Squad's endpoint in a file only the user can read, and in no argument", async () => {
    using place = new TurnPlace();
    const argv = await argvOf(place.input({ endpoint: ENDPOINT }));
    const file = join(place.folder, 'turn/mcp.json');
    expect(argv).toContain(`--additional-mcp-config @${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8')).mcpServers.squad).toMatchObject({
      url: ENDPOINT.url,
      tools: ['*'],
    });
    expect(argv).not.toContain(ENDPOINT.token);
    expect(await argvOf(place.input())).not.toContain('--additional-mcp-config');
  });

  it('reads lines while it works if it has to ask the user', async () => {
    using place = new TurnPlace();
    const options = { approvals: 'ask' as const, permission: 'read' as const };
    const input = place.input({ options, chatId: CHAT, continues: true });
    const { argv, stdin, isFed } = await copilotCommand(input, { program: '/bin/copilot' });
    expect({ stdin, isFed }).toEqual({ stdin: null, isFed: true });
    expect(argv).toContain('--acp');
    // Copilot CLI refuses these together with `--acp`, and what is denied is not asked for.
    expect(argv.join(' ')).not.toMatch(
      /--resume|--session-id|--usage-output-file|--output-format|--deny-tool/,
    );
  });

  it("turns the user's own MCP servers off by name", async () => {
    using place = new TurnPlace();
    place.inHome('.copilot/mcp-config.json', '{"mcpServers":{"mine":{},"--yolo":{},"squad":{}}}');
    const argv = await argvOf(place.input({ endpoint: ENDPOINT }));
    expect(argv).toContain('--disable-builtin-mcps --disable-mcp-server mine --additional-mcp-config');
    expect(argv).not.toContain('--yolo');
    expect(await argvOf(place.input())).toContain('--disable-mcp-server squad');
    place.inHome('.copilot/mcp-config.json', '{ half');
    expect(await argvOf(place.input())).not.toContain('--disable-mcp-server');
  });

  it('keeps classic tokens of GitHub from it, with which it would not start', async () => {
    using place = new TurnPlace();
    const envOf = async (env: Record<string, string>) =>
      (await copilotCommand(place.input({ env }), { program: '/bin/copilot' })).env;
    expect(await envOf({ HOME: '/h', GITHUB_TOKEN: 'ghp_classic', GH_TOKEN: 'ghp_classic' })).toEqual({
      HOME: '/h',
    });
    const good = { GITHUB_TOKEN: 'github_pat_fine', GH_TOKEN: 'gho_login', OTHER: 'ghp_of_something_else' };
    expect(await envOf(good)).toEqual(good);
  });

  it('opens a chat under the given id and resumes it', async () => {
    using place = new TurnPlace();
    expect(await argvOf(place.input({ chatId: CHAT }))).toContain(`--session-id ${CHAT}`);
    expect(await argvOf(place.input({ chatId: CHAT, continues: true }))).toContain(`--resume=${CHAT}`);
    const named = place.input({ chatId: 'my feature', continues: true });
    await expect(argvOf(named)).rejects.toMatchObject({ code: 'CHAT_UNKNOWN' });
  });

  it('passes model and effort on', async () => {
    using place = new TurnPlace();
    const argv = await argvOf(place.input({ model: 'gpt-5.4', options: { effort: 'high' } }));
    expect(argv).toContain('--model=gpt-5.4 --reasoning-effort=high');
  });
});

describe('permissions of Copilot CLI', () => {
  it.each([
    ['read', '--allow-tool squad --deny-tool write --deny-tool shell'],
    ['edit', '--allow-all-tools'],
    ['full', '--allow-all '],
  ] as const)('permission %s', async (permission, flags) => {
    using place = new TurnPlace();
    expect(await argvOf(place.input({ options: { permission } }))).toContain(flags);
  });

  it("has only the tools of a list, and Squad's own", async () => {
    using place = new TurnPlace();
    const argv = await argvOf(place.input({ options: { tools: ['Read', 'Write', 'Grep'] } }));
    expect(argv).toContain('--available-tools view,create,grep,rg,squad ');
    const unknown = place.input({ options: { tools: ['Telescope'] } });
    await expect(argvOf(unknown)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('holds edit only as long as it has no shell', () => {
    expect(copilotPolicy(PLAIN_OPTIONS)[0]).toMatchObject({ rule: 'permission: edit', heldBy: 'advisory' });
    expect(copilotPolicy({ ...PLAIN_OPTIONS, tools: ['Edit'] })[0]).toMatchObject({ heldBy: 'engine' });
    expect(copilotPolicy({ ...PLAIN_OPTIONS, permission: 'read' })[0]).toMatchObject({ heldBy: 'engine' });
  });
});
