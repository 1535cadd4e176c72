import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad, until } from '../../support/squad.ts';
import { storedEvents } from '../../support/stored.ts';
import { type Refused, startAndWait, strictCall } from '../../support/tools.ts';

const squad = new TestSquad({ SQUAD_AGENTS_DIR: 'roles', ENGINE_COMMAND: 'scripted' });

beforeAll(async () => {
  squad.write('roles/thrifty.md', '---\nbudget: 0.5\n---\nYou save.');
  squad.write('roles/coder.md', 'You code.');
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `\n\`\`\`script\n${lines.join('\n')}\n\`\`\``;
const one = (roleId: string, ...lines: string[]) => ({ members: [{ roleId, task: script(...lines) }] });

describe('a budget', () => {
  test('is warned of at 80 % and ends the run when it is used up, while it runs', {
    tags: ['A12', 'C8'],
  }, async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('thrifty', 'usage 100 10 0 0.6', 'hang'));
    expect(members[0]).toMatchObject({ status: 'error', error: { code: 'BUDGET_EXCEEDED' } });
    expect(members[0]!.error!.message).toContain('$0.60 of a budget of $0.50');
    expect((await storedEvents(squad)).filter(({ type }) => type === 'run.budget')).toEqual([
      expect.objectContaining({
        run_id: members[0]!.memberId,
        data: { scope: 'run', spentUsd: 0.6, budgetUsd: 0.5 },
      }),
    ]);
  });

  test('that is not reached changes nothing', async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('thrifty', 'usage 100 10 0 0.3', 'report fine'));
    expect(members[0]).toMatchObject({ status: 'completed', rawStdout: 'fine' });
  });

  test('that was exceeded by a turn that had already ended by itself leaves it completed, with a note', {
    tags: ['C8'],
  }, async () => {
    const client = await squad.client();
    const task = script('usage 100 10 0 0.6', 'report fine');
    const members = Array.from({ length: 8 }, () => ({ roleId: 'thrifty', task }));
    const { members: ended } = await startAndWait(client, { members });
    for (const { memberId } of ended)
      expect(await strictCall(client, 'get_result', { spawn_id: memberId })).toMatchObject({
        status: 'completed',
        result: 'fine',
        cost_usd: 0.6,
        note: expect.stringContaining('$0.60 of a budget of $0.50. It was not stopped: its turn had already'),
      });
  });

  test('does not stop an engine that has reported its end and is on its way out', async () => {
    const program = squad.script(
      'slow/claude',
      `[ "$1" = --version ] && { echo 2.1.325; exit; }
echo '{"type":"result","is_error":false,"result":"ok","total_cost_usd":0.6,"usage":{"input_tokens":1,"output_tokens":1}}'
until [ -e ${squad.workspace}/looked ]; do sleep 0.05; done; touch ${squad.workspace}/left`,
    );
    const PATH = `${join(program, '..')}:${squad.env.PATH}`;
    const client = await squad.client({ env: { ENGINE_COMMAND: 'claude', PATH } });
    const asked = { roleId: 'thrifty', prompt: 'x', include_context: false, async: true };
    const { spawn_id } = await strictCall<{ spawn_id: string }>(client, 'spawn_agent', asked);
    await until('its budget was looked at', async () =>
      (await storedEvents(squad)).some(({ type, run_id }) => type === 'run.budget' && run_id === spawn_id),
    );
    squad.write('looked', '');
    const result = await strictCall(client, 'get_result', { spawn_id, wait_seconds: 90 });
    expect(result).toMatchObject({ status: 'completed', result: 'ok', cost_usd: 0.6 });
    expect(existsSync(join(squad.workspace, 'left'))).toBe(true);
  });

  test('of a squad counts what all its members have spent, and ends all of them', {
    tags: ['C8'],
  }, async () => {
    await squad.json(['config', 'set', 'budget.squad_usd', '1']);
    const client = await squad.client();
    const members = ['usage 1 1 0 0.7', 'usage 1 1 0 0.7'].map(line => ({
      roleId: 'coder',
      task: script(line, 'await never'),
    }));
    const { members: ended } = await startAndWait(client, { members });
    await squad.json(['config', 'unset', 'budget.squad_usd']);
    expect(ended.map(({ error }) => error?.message)).toEqual([
      expect.stringContaining('Its squad reached $1.40 of a budget of $1.00'),
      expect.stringContaining('Its squad reached $1.40 of a budget of $1.00'),
    ]);
  });

  test('of the day refuses what would come after it, and says how to go on', {
    tags: ['C8', 'F3'],
  }, async () => {
    await squad.json(['config', 'set', 'budget.day_usd', '0.5']);
    const client = await squad.client();
    const refused = await strictCall<Refused>(client, 'start_squad_members', one('coder', 'say hello'));
    await squad.json(['config', 'unset', 'budget.day_usd']);
    expect(refused.error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(refused.error.message).toMatch(/reaches the limit of 0\.5 US dollars per day \(budget\.day_usd\)/);
    expect(refused.error.suggestions?.join()).toContain('squad config set budget.day_usd');
  });

  test('counts the last report too, however soon it comes after another', async () => {
    const client = await squad.client();
    const { members } = await startAndWait(
      client,
      one('thrifty', 'usage 1 1 0 0.1', 'usage 1 1 0 50', 'await never'),
    );
    expect(members[0]).toMatchObject({ status: 'error', error: { code: 'BUDGET_EXCEEDED' } });
  });

  test('that is only reported stops no run, and the result says that it was exceeded', async () => {
    const client = await squad.client();
    const asked = { prompt: script('usage 1 1 0 5', 'report done'), max_cost_usd: 0.5 };
    const result = await strictCall(client, 'spawn_agent', { ...asked, abort_on_budget_exceeded: false });
    expect(result).toMatchObject({
      status: 'completed',
      cost_usd: 5,
      note: expect.stringContaining('$5.00 of a budget of $0.50'),
    });
  });

  test('that could not be checked is reported with the reason: no model, no price, or no usage', {
    tags: ['C8'],
  }, async () => {
    const client = await squad.client();
    const noteOf = async (line: string, more: object = {}) => {
      const asked = { prompt: script(line, 'report done'), max_cost_usd: 0.5, include_context: false };
      return (await strictCall<{ note: string }>(client, 'spawn_agent', { ...asked, ...more })).note;
    };
    expect(await noteOf('usage 100 10')).toMatch(/could not be checked: scripted did not say which model/);
    expect(await noteOf('usage 100 10', { model: 'm-1' })).toMatch(/there is no price for the model m-1\./);
    expect(await noteOf('say hi')).toMatch(/scripted did not report what this run used/);
  });

  test('is checked with the model that the configuration of Codex names', { tags: ['C8'] }, async () => {
    const program = squad.script(
      'codex/codex',
      `[ "$1" = --version ] && { echo "codex-cli 0.166.0"; exit; }
cat > /dev/null
echo '{"type":"turn.completed","usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":0}}'`,
    );
    squad.write('codex-home/config.toml', 'model = "gpt-5"\n');
    // With rules it only reads its prompt.
    squad.write('codex-home/rules/default.rules', '');
    const CODEX_HOME = join(squad.workspace, 'codex-home');
    const PATH = `${join(program, '..')}:${squad.env.PATH}`;
    const client = await squad.client({ env: { PATH, CODEX_HOME } });
    const asked = { engine: 'codex', prompt: 'x', include_context: false, max_cost_usd: 0.5 };
    expect(await strictCall(client, 'spawn_agent', asked)).toMatchObject({
      status: 'completed',
      model: 'gpt-5',
      cost_usd: 1.25,
      usage_source: 'estimated',
      note: expect.stringContaining('$1.25 of a budget of $0.50'),
    });
  });

  test('of every run reaches an engine that can hold it itself', async () => {
    const program = squad.script(
      'bin/claude',
      `[ "$1" = --version ] && { echo 2.1.325; exit; }\nprintf '%s\\n' "$@" > argv\necho '{"type":"result","is_error":false,"result":"ok"}'`,
    );
    await squad.json(['config', 'set', 'budget.run_usd', '0.25']);
    const PATH = `${join(program, '..')}:${squad.env.PATH}`;
    const client = await squad.client({ env: { ENGINE_COMMAND: 'claude', PATH } });
    await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] });
    await squad.json(['config', 'unset', 'budget.run_usd']);
    const argv = readFileSync(join(squad.workspace, 'argv'), 'utf8');
    expect(argv).toMatch(/--max-budget-usd[=\n]0\.25/);
  });

  test('of a squad ends those that wait for a place with the reason', async () => {
    await squad.json(['config', 'set', 'budget.squad_usd', '1']);
    await squad.json(['config', 'set', 'limits.concurrency', '1']);
    const client = await squad.client();
    const members = ['usage 1 1 0 2', 'say never'].map(line => ({
      roleId: 'coder',
      task: script(line, 'await never'),
    }));
    const { members: ended } = await startAndWait(client, { members });
    await squad.json(['config', 'unset', 'budget.squad_usd']);
    await squad.json(['config', 'unset', 'limits.concurrency']);
    expect(ended.map(({ error }) => error?.code)).toEqual(['BUDGET_EXCEEDED', 'BUDGET_EXCEEDED']);
  });
});
