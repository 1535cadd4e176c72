/** Taking over a run opens the real CLI at a terminal, on the chat of its agent. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Screen } from '../support/screen.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const WAIT_TIMEOUT_MS = 60_000;

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], {
      prepare: async (squad, home) => {
        // Somebody who has used Claude Code here before.
        const { ANTHROPIC_API_KEY: key = '' } = squad.env;
        const settings = {
          hasCompletedOnboarding: true,
          customApiKeyResponses: { approved: [key.slice(-20)] },
          projects: { [squad.workspace]: { hasTrustDialogAccepted: true } },
        };
        writeFileSync(join(home, '.claude.json'), JSON.stringify(settings));
      },
    });
  });
  afterAll(() => it[Symbol.asyncDispose]());

  const takeOver = async (spawn_id: string, shows: RegExp) => {
    const screen = Screen.open(it.squad, ['attach', spawn_id, '--take-over', '--yes'], {
      columns: 120,
      rows: 50,
    });
    try {
      await until(
        `the screen shows ${shows}`,
        () => {
          const lines = screen.lines();
          // Codex asks, because its sandbox has left an empty `.codex` folder.
          if (lines.some(line => line.includes('1. Trust and continue'))) screen.press('Enter');
          return lines.some(line => shows.test(line));
        },
        WAIT_TIMEOUT_MS,
      );
    } finally {
      screen.close();
    }
  };

  test('opens on the chat of a run that has ended, with what was said in it', async () => {
    const { spawn_id } = await it.spawn(name, `Remember plums. ${mock([{ text: 'Plums it is.' }], 'over')}`);
    await takeOver(spawn_id, /^[^\w"]*Plums it is\./);
  });

  test('ends a running run and opens its chat', { tags: ['D6'] }, async () => {
    const steps = [{ text: 'Beginning.', shell: 'touch began; tail -f /dev/null' }, { text: 'Never said.' }];
    const { spawn_id } = await it.begin(name, `Remember pears. ${mock(steps, 'at-work')}`, {
      permission: 'edit',
    });
    await until('it is running', () => existsSync(join(it.squad.workspace, 'began')), WAIT_TIMEOUT_MS);
    await takeOver(spawn_id, /Remember pears\./);
    const { run } = await it.squad.json<{ run: object }>(['show', spawn_id]);
    expect(run).toMatchObject({
      status: 'cancelled',
      notes: expect.arrayContaining(['taken over at a terminal']),
    });
  });
});
