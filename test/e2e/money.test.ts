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
});
