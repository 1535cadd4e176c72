/** A user who has Squad in the CLI itself: a run of that CLI still has Squad as its run, and only so. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliName, cliAt } from '../../scripts/engine-clis.ts';
import { Screen } from '../support/screen.ts';
import { type TestSquad, until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

/** Where each CLI keeps the user's own servers, and what `squad install` calls it. */
const CONFIGS: Record<CliName, { file: string; client: string }> = {
  claude: { file: '.claude.json', client: 'claude-code' },
  codex: { file: '.codex/config.toml', client: 'codex' },
  gemini: { file: '.gemini/settings.json', client: 'gemini' },
  opencode: { file: '.config/opencode/opencode.json', client: 'opencode' },
  copilot: { file: '.copilot/mcp-config.json', client: 'copilot' },
  qwen: { file: '.qwen/settings.json', client: 'qwen' },
};

const wasStarted = (squad: TestSquad) => existsSync(join(squad.root, 'users-own-started'));

/** The user's own entry, which leaves a trace when it is started. */
async function install(name: CliName, squad: TestSquad, home: string): Promise<void> {
  const { file, client } = CONFIGS[name];
  const config = join(home, file);
  expect(await squad.run(['install', client, '--yes'])).toMatchObject({ code: 0 });
  const tracing = squad.script(
    'tracing',
    `touch "${squad.root}/users-own-started"; exec "${process.execPath}" "$@"`,
  );
  const before = readFileSync(config, 'utf8');
  const after = before.replace(JSON.stringify(process.execPath), JSON.stringify(tracing));
  expect(after).not.toBe(before);
  writeFileSync(config, name === 'codex' ? `${after}${CODEX_OTHER(tracing)}` : withOther(after));
}

/** A server of the user's own that is not Squad, beside it. */
const CODEX_OTHER = (program: string) =>
  `\n[mcp_servers.other]\ncommand = ${JSON.stringify(program)}\nargs = []\n`;

function withOther(config: string): string {
  const settings = JSON.parse(config);
  const servers = settings.mcp ?? settings.mcpServers;
  servers.other = servers.squad;
  return JSON.stringify(settings);
}

describe.each(chosenClis())('%s with Squad installed in it', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { prepare: (squad, home) => install(name, squad, home) });
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test("is known as its run, sees Squad once and no way to spawn, and none of the user's servers", async () => {
    const steps = [{ call: 'squad_status', arguments: {} }, { text: 'Seen.' }];
    const result = await it.spawn(name, `Look. ${mock(steps, 'installed')}`);
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', result: 'Seen.' });
    const last = it.server.requests.findLast(({ tag, step }) => tag === 'installed' && step === 1);
    expect(last?.toolResults.join('\n')).toContain(result.spawn_id);
    const { tools } = it.server.first('installed')!;
    expect(tools.filter(tool => tool.endsWith('squad_status'))).toHaveLength(1);
    expect(tools.filter(tool => /squad.*(spawn_|start_squad)/.test(tool))).toEqual([]);
    expect(wasStarted(it.squad)).toBe(false);
  });
});

describe.each(chosenClis().filter(name => name === 'claude'))('%s that is just starting', name => {
  test('keeps the entry of Squad, and Squad keeps what it writes', async () => {
    await using it = await EngineSquad.start([name]);
    const config = join(it.squad.env.HOME!, '.claude.json');
    const settings = () => JSON.parse(readFileSync(config, 'utf8'));
    for (const round of [1, 2, 3]) {
      const user = {
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: [it.squad.env.ANTHROPIC_API_KEY!.slice(-20)] },
        projects: { [it.squad.workspace]: { hasTrustDialogAccepted: true } },
      };
      writeFileSync(config, JSON.stringify(user, null, 2));
      const screen = Screen.open(it.squad, [], { program: [cliAt(name).program], columns: 120 });
      try {
        // The later rounds install later in the start, during which Claude Code writes the file several times.
        if (round > 1) await until('it has written its file', () => settings().firstStartTime);
        if (round > 2) await screen.shows('Claude Code v');
        expect(await it.squad.run(['install', 'claude-code', '--yes'])).toMatchObject({ code: 0 });
        await screen.shows('❯');
        await until('it has counted its start', () => settings().numStartups);
      } finally {
        screen.close();
      }
      expect(settings()).toMatchObject({ numStartups: 1, mcpServers: { squad: { type: 'stdio' } } });
      expect(await it.squad.run(['install', 'claude-code', '--undo'])).toMatchObject({ code: 0 });
      expect(settings().mcpServers?.squad).toBeUndefined();
    }
  });
});
