/** The guide's own lines, typed as they stand there: a subagent becomes a tool of a real client, which calls it. */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import { BIN, ended, type Ran, TestSquad } from '../support/squad.ts';
import { type AgentHome, agentHome } from './agent-home.ts';
import { chosenClis } from './chosen-clis.ts';
import { mock } from './model-server/script.ts';
import { type ModelServer, startModelServer } from './model-server/server.ts';
import { setUpClis } from './user-setup.ts';

const GUIDE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'subagents.md'), 'utf8');
const ANSWER = { answer: 'It adds a test.', evidence: [{ file: 'a.diff', line: 1, quote: '+test' }] };

interface Client {
  /** Has the tool put into it as the guide says. */
  add(type: (line: string) => Promise<Ran>, squad: TestSquad): Promise<void>;
  /** Asks once, with the prompt on standard input, and may use the tool. */
  ask: string;
}

const CLIENTS: Partial<Record<CliName, Client>> = {
  claude: {
    async add(type) {
      await typed(linesOf('claude mcp add '), type);
      expect((await type('claude mcp list')).stdout).toMatch(/^review: squad mcp serve .*Connected/m);
    },
    ask: 'claude -p --permission-mode dontAsk --allowedTools mcp__review__review_changes',
  },
  codex: {
    async add(_, { workspace, env }) {
      const [, block] = /```toml\n([\s\S]*?)```/.exec(GUIDE)!;
      appendFileSync(join(env.HOME!, '.codex', 'config.toml'), `\n${block!.replace('/path/to', workspace)}`);
    },
    ask: `codex exec --skip-git-repo-check -c mcp_servers.review.required=true -c 'mcp_servers.review.default_tools_approval_mode="approve"' -`,
  },
};

const linesOf = (start: string) => GUIDE.split('\n').filter(line => line.startsWith(start));

async function typed(lines: string[], type: (line: string) => Promise<Ran>): Promise<void> {
  expect(lines).not.toEqual([]);
  for (const line of lines)
    expect([line, await type(line)]).toEqual([line, expect.objectContaining({ code: 0 })]);
}

describe.each(chosenClis().filter(name => name in CLIENTS))('%s', name => {
  let model: ModelServer;
  let place: AgentHome;
  let squad: TestSquad;
  beforeAll(async () => {
    model = await startModelServer();
    place = agentHome();
    const env = setUpClis([name], place.home, model.url);
    squad = new TestSquad(
      { ...env, ANTHROPIC_API_KEY: 'fake-key', ANTHROPIC_BASE_URL: model.url, ENABLE_TOOL_SEARCH: 'false' },
      place.home,
    );
    // Where the model and its own state are, in this test alone; a client may hand down neither.
    const own = `SQUAD_HOME="${squad.home}" ANTHROPIC_BASE_URL="${model.url}"`;
    squad.script('../../bin/squad', `${own} exec "${process.execPath}" "${BIN}" "$@"`);
  });
  afterAll(async () => {
    await squad[Symbol.asyncDispose]();
    place[Symbol.dispose]();
    await model.close();
  });

  const type = (line: string, input = ''): Promise<Ran> => {
    const child = spawn('/bin/sh', ['-c', line], { cwd: squad.workspace, env: squad.env, stdio: 'pipe' });
    // It may have ended before it read anything.
    child.stdin.on('error', () => {}).end(input);
    return ended(child);
  };

  test('has the tool as the guide says, calls it and gets its answer as data', { tags: ['E1'] }, async () => {
    const { add, ask } = CLIENTS[name]!;
    await typed([...linesOf('squad init '), ...linesOf('squad config lint ')], type);
    await add(type, squad);
    const { stdout } = await type(`${name} mcp get review`);
    expect(stdout).toMatch(/squad\b[\s\S]*mcp,? serve,? --config/);

    const inner = mock([{ call: 'final_answer', arguments: ANSWER }], 'inner');
    const steps = [
      { call: 'review_changes', arguments: { prompt: `Review it. ${inner}` } },
      { text: 'Reviewed.' },
    ];
    const asked = await type(ask, `Have it reviewed. ${mock(steps, 'outer')}`);
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('Reviewed.') });
    const told = model.requests.findLast(({ tag, step }) => tag === 'outer' && step === 1);
    expect(told?.toolResults.join('\n')).toContain(ANSWER.answer);
    expect(await squad.json(['conversation', 'list', '--subagent', 'review_changes'])).toMatchObject({
      conversations: [{ status: 'completed' }],
    });
  });
});
