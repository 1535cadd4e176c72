import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { saveCommand, savePlan } from '../../core/runs/plan-file.ts';
import { createRunFiles } from '../../process/output/run-files.ts';
import type { RunId } from '../../schema/ids.ts';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import type { Call } from '../operation.ts';
import { settingOf } from './show-run.ts';

const home = mkdtempSync(join(tmpdir(), 'squad-setting-'));
const files = createRunFiles<RunId>({ runsDir: join(home, 'runs'), chatsDir: join(home, 'chats') });
afterAll(() => rmSync(home, { recursive: true }));

const asUser = { services: { files }, caller: { parent: null } } as unknown as Call;
const asRun = { services: { files }, caller: { parent: { id: 'run_1' } } } as unknown as Call;

test('says names of variables and never a value, to the user and only while they are kept', async () => {
  const run = aRun(aSquad(), { status: 'running', endedAt: null });
  await files.prepare({ runId: run.id, number: 1 }, '');
  await files.saveEnvironment(run.id, { PATH: '/bin', API_KEY: 'very secret' });
  const setting = await settingOf(asUser, run);
  expect(setting.variables).toEqual(['API_KEY', 'PATH']);
  expect(JSON.stringify(setting)).not.toContain('very secret');
  expect((await settingOf(asRun, run)).variables).toBeNull();
  expect((await settingOf(asUser, { ...run, status: 'completed' })).variables).toBeNull();
});

test('says which program its engine is and the version it had then; of others nothing', async () => {
  const run = aRun(aSquad());
  const turn = { runId: run.id, number: 1 };
  await files.prepare(turn, '');
  const spec = { kind: 'cli', cli: 'claude', program: '/opt/claude', version: '2.1.0' } as const;
  await savePlan(files, turn, spec, [], { task: 'x' });
  expect(await settingOf(asUser, run)).toMatchObject({ program: '/opt/claude', version: '2.1.0' });
  await savePlan(files, turn, { kind: 'scripted' }, [], { task: 'x' });
  expect(await settingOf(asUser, run)).toMatchObject({ program: null, version: null });
});

test('says what its last turn was started with, to the user alone', async () => {
  const run = aRun(aSquad(), { turn: 2 });
  expect((await settingOf(asUser, run)).command).toBeNull();
  for (const number of [1, 2]) {
    const turn = { runId: run.id, number };
    await files.prepare(turn, 'Do it');
    const command = { argv: ['agent', `--turn=${number}`] as [string, string], stdin: null, env: {} };
    await saveCommand(files, turn, command, { prompt: 'Do it', task: 'Do it', endpoint: null });
    expect(statSync(files.path(turn, 'command.json')).mode & 0o777).toBe(0o600);
  }
  expect((await settingOf(asUser, run)).command).toEqual(['agent', '--turn=2']);
  expect((await settingOf(asRun, run)).command).toBeNull();
});
