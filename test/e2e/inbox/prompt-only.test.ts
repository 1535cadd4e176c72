/** Agent CLIs that fail as agents that read lines: the turn runs again with a prompt, and the result says so. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliProfiles } from '../../../src/engines/cli-profiles.ts';
import { linesOf, RECORDED } from '../../../src/engines/testing/recorded.ts';
import type { RunResult } from '../../../src/operations/runs/run-result.ts';
import { callTool, TestSquad } from '../../support/squad.ts';

/** Ways to start a CLI as an agent that reads lines. */
const FED = '*app-server* | *--input-format* | *--acp* | "acp "*';
const FAILURES = {
  refuses: 'echo "error: unknown mode" >&2; exit 2',
  // Everything that a CLI may print before it reads its prompt.
  breaks: `echo '{"jsonrpc":"2.0","id":"init","result":{}}'; echo '{"id":"init","result":{}}'; exit 3`,
};

const clis = cliProfiles().filter(({ id, driver }) => driver && RECORDED.some(known => known === id));

async function withFakes(failure: string) {
  const squad = new TestSquad();
  const fakes = join(squad.root, 'fakes');
  const roles = join(squad.root, 'roles');
  for (const folder of [fakes, roles]) mkdirSync(folder);
  writeFileSync(join(roles, 'careful.md'), '---\npermission: read\napprovals: ask\n---\nYou ask.\n');
  for (const { id, programs, versions } of clis) {
    writeFileSync(join(fakes, `${id}.lines`), `${linesOf(id, 'answer').join('\n')}\n`);
    const script = `#!/bin/sh
[ "$1" = --version ] && { echo "${versions!.tested}"; exit; }
case "$*" in ${FED}) ${failure};; esac
cat >"${fakes}/${id}.prompt"
cat "${fakes}/${id}.lines"
`;
    writeFileSync(join(fakes, programs[0]), script, { mode: 0o755 });
  }
  squad.env.PATH = `${fakes}:${squad.env.PATH}`;
  squad.env.SQUAD_AGENTS_DIR = roles;
  await squad.unlimited();
  return squad;
}

const HANDSHAKES = clis.filter(({ id }) => id !== 'claude' && id !== 'qwen');

test.each([
  ['refuses', clis],
  ['breaks', HANDSHAKES],
] as const)(
  'a CLI that %s its start gets its prompt in another turn',
  { tags: ['G1'] },
  async (name, all) => {
    await using squad = await withFakes(FAILURES[name]);
    const client = await squad.client();
    for (const { id } of all) {
      const result = await callTool<RunResult>(client, 'spawn_agent', {
        ...{ engine: id, roleId: 'careful', prompt: 'Work.', include_context: false },
      });
      expect(result, id).toMatchObject({ status: 'completed', result: 'Hello from the model.' });
      expect(result.note).toContain(`${id} could not be started as an agent that reads lines`);
      const { stdout } = await squad.run(['show', result.spawn_id]);
      expect(stdout).toMatch(id === 'claude' ? /approvals +ask, held by engine/ : /advisory +approvals: ask/);
    }
  },
);
