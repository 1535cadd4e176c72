/** Every engine when its run does not end by itself, or Squad does not live to see it. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive, until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import { mock } from './model-server/script.ts';

const ROLES = { hasty: '---\ntimeout: 4s\n---\nYou have little time.\n' };

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { roles: ROLES });
  });
  afterAll(() => it[Symbol.asyncDispose]());
  const inWorkspace = (path: string) => join(it.squad.workspace, path);

  test('a model that says nothing is not waited for longer than the role says', async () => {
    const result = await it.spawn(name, `Wait. ${mock([{ hang: 'headers' }], 'silent')}`, {
      roleId: 'hasty',
    });
    expect(result).toMatchObject({ status: 'timeout', success: false });
    await it.nothingLeft();
  });

  test('a model nobody has is an error that names it', async () => {
    const model = name === 'opencode' ? 'mock/no-such-model' : 'no-such-model';
    const result = await it.spawn(name, `Try. ${mock([{ status: 404 }], 'model')}`, { model });
    expect(result).toMatchObject({ status: 'error', success: false, error: { code: 'ENGINE_FAILED' } });
    expect(result.error?.message).toMatch(/no-such-model|404/);
    await it.nothingLeft();
  });

  test('a tool call that was running when the run was cancelled is counted', async () => {
    const steps = [{ shell: 'touch running; sleep 60' }];
    const { spawn_id } = await it.begin(name, `Work. ${mock(steps, 'cut')}`, { permission: 'edit' });
    await until('its command runs', () => existsSync(inWorkspace('running')), 60_000);
    // A CLI may report a call some time after it started the command, and opencode when the call is over.
    if (name !== 'opencode')
      await until('the CLI has reported it', () => it.output(spawn_id).includes('touch running'));
    await it.call('cancel_run', { spawn_id });
    const result = await it.end(spawn_id);
    expect(result).toMatchObject({ status: 'cancelled', evidence: { tool_calls: 1 } });
    await it.nothingLeft();
  });

  test('outlives a hub that was killed, is known to the next one, and its tokens are counted once', async () => {
    const steps = [
      { shell: 'touch begun; until [ -e go ]; do sleep 0.1; done' },
      { call: 'squad_status', arguments: {} },
      { text: 'Still here.' },
    ];
    const { spawn_id } = await it.begin(name, `Go on. ${mock(steps, 'hub')}`, { permission: 'edit' });
    await until('its command runs', () => existsSync(inWorkspace('begun')), 60_000);
    const before = await it.squad.hubPid();
    process.kill(before, 'SIGKILL');
    await until('the hub is gone', () => !isAlive(before));
    expect(await it.squad.hubPid()).not.toBe(before);
    writeFileSync(inWorkspace('go'), '');
    const result = await it.end(spawn_id);
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', success: true, result: 'Still here.' });
    const last = it.server.requests.findLast(({ tag, step }) => tag === 'hub' && step === 2);
    expect(last?.toolResults.join('\n')).toContain(spawn_id);
    const { input, output, cached } = it.server.usage({ tag: 'hub' });
    expect(result.tokens).toEqual({ input, output, cached });
  });
});
