/** An agent of every engine that may start agents itself: it sees how, its runs are its children, and there is an end to it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/operations/runs/run-result.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const ROLES = { lead: '---\nspawn: true\n---\nYou lead.\n' };
const REPORT = 'Report.\n```script\nreport The scripted one was here.\n```';

describe.each(chosenClis())('%s in a role that may spawn', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { roles: ROLES });
    await it.squad.json(['config', 'set', 'limits.depth', '1']);
  });
  afterAll(() => it[Symbol.asyncDispose]());

  const spawning = (engine: string, prompt: string) => ({
    // Codex has a tool of that name itself.
    call: name === 'codex' ? 'squad_run__spawn_agent' : 'spawn_agent',
    arguments: { engine, roleId: 'lead', prompt, include_context: false },
  });
  /** The tool result that the model received after a step. */
  const told = (tag: string, step: number) =>
    it.server.requests.findLast(call => call.tag === tag && call.step === step + 1)?.toolResults.join('\n');
  const shown = async (id: string) =>
    (await it.squad.json<{ run: { parentId: string; depth: number; status: string } }>(['show', id])).run;

  test('starts agents, gets their answers, and these start none beyond the depth allowed', async () => {
    const inner = mock([spawning('scripted', REPORT), { text: 'I may not.' }], 'inner');
    const outer = [
      spawning('scripted', REPORT),
      spawning(name, `Spawn as well. ${inner}`),
      { call: 'squad_status', arguments: {} },
      { text: 'Led.' },
    ];
    const result = await it.spawn(name, `Lead. ${mock(outer, 'outer')}`, { roleId: 'lead' });
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', result: 'Led.' });

    const { tools } = it.server.first('outer')!;
    for (const wanted of ['list_roles', 'spawn_agent', 'get_result', 'cancel_run'])
      expect(tools).toContainEqual(expect.stringMatching(new RegExp(`squad.*${wanted}$`)));
    expect(told('outer', 0)).toContain('The scripted one was here.');
    expect(told('outer', 1)).toContain('I may not.');
    expect(told('inner', 0)).toContain('DEPTH_LIMIT');

    const { runs } = await it.squad.json<{ runs: { id: string }[] }>(['ls', '--all']);
    expect(runs).toHaveLength(3);
    const children = runs.map(({ id }) => id).filter(id => id !== result.spawn_id);
    for (const id of children) {
      expect(await shown(id)).toMatchObject({ parentId: result.spawn_id, depth: 1, status: 'completed' });
      expect(told('outer', 2)).toContain(id);
    }
    const answers = children.map(spawn_id => it.call<RunResult>('get_result', { spawn_id }));
    expect((await Promise.all(answers)).map(({ result }) => result).sort()).toEqual([
      'I may not.',
      'The scripted one was here.',
    ]);
  });
});
