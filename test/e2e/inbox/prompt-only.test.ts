/** Agent CLIs that fail as agents that read lines: the turn runs again with a prompt, and the result says so. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliProfiles } from '../../../src/engines/cli-profiles.ts';
import { linesOf, RECORDED } from '../../../src/engines/testing/recorded.ts';
import type { RunResult } from '../../../src/operations/runs/run-result.ts';
import type { Run } from '../../../src/schema/run.ts';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

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

/** What `codex app-server` prints for one prompt. */
const CODEX = `
import { createInterface } from 'node:readline';
const send = message => process.stdout.write(JSON.stringify(message) + '\\n');
const threadId = 't', turn = { id: 'a', status: 'completed' };
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: {} });
  if (method === 'thread/start') send({ id, result: { thread: { id: threadId } } });
  if (method !== 'turn/start') return;
  send({ id, result: { turn } });
  send({ method: 'item/started', params: { threadId, item: { type: 'userMessage', clientId: id } } });
  send({ method: 'item/completed', params: { threadId, item: { type: 'agentMessage', text: 'Started.' } } });
  send({ method: 'turn/completed', params: { threadId, turn } });
});
`;

test('a CLI that fails its start because the hub was killed is started again as before', {
  tags: ['G1'],
}, async () => {
  await using squad = await withFakes(
    'if [ -e started ]; then exec "$NODE" "$ANSWERS"; fi; touch started; until [ -e fail ]; do sleep 0.05; done; exit 3',
  );
  Object.assign(squad.env, { NODE: process.execPath, ANSWERS: join(squad.root, 'answers.mjs') });
  writeFileSync(squad.env.ANSWERS!, CODEX);
  const { runIds } = await squad.json<{ runIds: [string] }>([
    ...['run', '-d', '--engine', 'codex', 'careful', 'Work.'],
  ]);
  await until('it starts', () => existsSync(join(squad.workspace, 'started')));
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  await squad.hubPid();
  squad.write('fail', '');
  await squad.run(['wait', runIds[0]]);
  const { run, result } = await squad.shown<{ run: Run; result: { result: string } }>(runIds[0]);
  expect(run).toMatchObject({ status: 'completed', turn: 2, options: { promptOnly: false } });
  expect(result.result).toBe('Started.');
  expect(run.notes.join()).toContain('could not start while the hub was restarted');
  expect(run.policy).toContainEqual(expect.objectContaining({ rule: 'approvals: ask', heldBy: 'engine' }));
});
