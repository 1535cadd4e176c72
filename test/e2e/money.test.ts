import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad } from '../support/squad.ts';
import { storedEvents } from '../support/stored.ts';
import { type Refused, startAndWait, strictCall } from '../support/tools.ts';

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
  test('is warned of at 80 % and ends the run when it is used up, while it runs', async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('thrifty', 'usage 100 10 0 0.6', 'hang'));
    expect(members[0]).toMatchObject({ status: 'error', error: { code: 'BUDGET_EXCEEDED' } });
    expect(members[0]!.error!.message).toContain('$0.60 of a budget of $0.50');
    expect(storedEvents(squad).filter(({ type }) => type === 'run.budget')).toEqual([
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

  test('of a squad counts what all its members have spent, and ends all of them', async () => {
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

  test('of the day refuses what would come after it, and says how to go on', async () => {
    await squad.json(['config', 'set', 'budget.day_usd', '0.5']);
    const client = await squad.client();
    const refused = await strictCall<Refused>(client, 'start_squad_members', one('coder', 'say hello'));
    await squad.json(['config', 'unset', 'budget.day_usd']);
    expect(refused.error).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(refused.error.message).toMatch(/were spent today; budget\.day_usd is 0\.5/);
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

  test('that is only to be told of stops nobody, and the result says that it was gone over', async () => {
    const client = await squad.client();
    const asked = { prompt: script('usage 1 1 0 5', 'report done'), max_cost_usd: 0.5 };
    const result = await strictCall(client, 'spawn_agent', { ...asked, abort_on_budget_exceeded: false });
    expect(result).toMatchObject({
      status: 'completed',
      cost_usd: 5,
      note: expect.stringContaining('$5.00 of a budget of $0.50'),
    });
  });

  test('that could not be looked after is told too', async () => {
    const client = await squad.client();
    const { members } = await startAndWait(client, one('thrifty', 'usage 100 10', 'report done'));
    const result = await strictCall(client, 'get_result', { spawn_id: members[0]!.memberId });
    expect(result.note).toContain('could not be checked: there is no price');
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
