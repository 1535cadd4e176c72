/** Actions without permission: the user is asked. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { InboxItem } from '../../src/schema/inbox.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad, needsPermission } from './engine-squad.ts';
import { mock, type Step } from './model-server/script.ts';

const WAIT_TIMEOUT_MS = 60_000;

const ROLES = {
  careful: '---\npermission: read\napprovals: ask\n---\nYou look, and ask before all else.\n',
  hurried: '---\npermission: read\napprovals: ask\ntimeout: 30s\n---\nYou have little time.\n',
  // opencode takes up to 30 seconds to start on a busy machine.
  unhurried: '---\npermission: read\napprovals: ask\ntimeout: 120s\n---\nYou have some time.\n',
  ruled: '---\ntools: [Read, Write, "Bash(git status)"]\napprovals: ask\n---\nYou know git.\n',
  silent: '---\npermission: read\n---\nYou only look.\n',
};

/** How each of them asks for a command. */
const NAMES: Record<CliName, [string, string]> = {
  claude: ['Claude Code', 'Bash'],
  codex: ['Codex', 'shell'],
  gemini: ['Gemini CLI', 'execute'],
  opencode: ['opencode', 'execute'],
  copilot: ['GitHub Copilot CLI', 'execute'],
  qwen: ['Qwen Code', 'run_shell_command'],
};
const asking = chosenClis();

function inSquad(name: CliName) {
  let it: EngineSquad;
  beforeAll(async () => {
    it = await EngineSquad.start([name], { roles: ROLES });
  });
  afterAll(() => it[Symbol.asyncDispose]());
  const asked = (tag: string, step: number) =>
    it.server.requests.findLast(call => call.tag === tag && call.step === step)!;
  return {
    get it() {
      return it;
    },
    asked,
    /** The tool result that the model received after its first step. */
    told: (tag: string) => asked(tag, 1).toolResults.at(-1)!,
    /** All texts that the model received after its first step. */
    heard: (tag: string) => asked(tag, 1).body,
    begin: (tag: string, roleId: string, step: Step, more: object = {}) =>
      it.begin(name, `Work. ${mock([step, { text: 'Done.' }], tag)}`, { roleId, ...more }),
    /** A program of which no CLI knows what it does, and whether it ran. */
    job(tag: string): { step: Step; hasRun(): boolean } {
      it.squad.write(`${tag}.sh`, `echo done > ${tag}.ran\n`);
      return {
        step: needsPermission(name, `sh ${tag}.sh`),
        hasRun: () => existsSync(join(it.squad.workspace, `${tag}.ran`)),
      };
    },
    open: (runId: string) =>
      until(
        'it asks',
        async () => {
          const { items } = await it.squad.json<{ items: InboxItem[] }>(['inbox']);
          return items.find(item => item.runId === runId);
        },
        WAIT_TIMEOUT_MS,
      ),
    async answer(item: InboxItem, said: string) {
      const { code, stderr } = await it.squad.run(['answer', item.id, said]);
      expect(code, stderr).toBe(0);
    },
  };
}

describe.each(asking)('%s', name => {
  const here = inSquad(name);
  const [program, source] = NAMES[name];

  test('runs a command once the user has said yes, and holds no place until then', async () => {
    const { it } = here;
    await it.squad.run(['config', 'set', 'limits.concurrency', '1']);
    const job = here.job('yes');
    const { spawn_id } = await here.begin('yes', 'careful', job.step);
    const item = await here.open(spawn_id);
    expect(item).toMatchObject({
      ...{ kind: 'permission', source, question: `${program} wants to run: ${source}` },
      ...{ choices: ['yes', 'no', 'always'], default: 'no', owner: 'user' },
    });
    expect(item.details).toContain('sh yes.sh');
    const { spawn_id: other } = await here.begin('beside', 'silent', { text: 'Done meanwhile.' });
    expect(await it.end(other)).toMatchObject({ status: 'completed' });
    await it.squad.run(['config', 'set', 'limits.concurrency', '8']);
    expect(job.hasRun()).toBe(false);
    await here.answer(item, 'yes');
    expect(await it.end(spawn_id)).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(job.hasRun()).toBe(true);
  });

  test('does not ask again for what is always allowed in this run, but for everything else', async () => {
    const job = here.job('always');
    const other = here.job('other');
    const steps = [job.step, job.step, other.step, { text: 'Done.' }];
    const { spawn_id } = await here.it.begin(name, `Work. ${mock(steps, 'always')}`, { roleId: 'careful' });
    const item = await here.open(spawn_id);
    await here.answer(item, 'always');
    const next = await until('it asks for the other', async () => {
      const found = await here.open(spawn_id);
      return found.id !== item.id && found;
    });
    expect(next.details).toContain('other.sh');
    await here.answer(next, 'yes');
    expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed', result: 'Done.' });
    expect([job.hasRun(), other.hasRun()]).toEqual([true, true]);
  });

  test('does without what the user said no to, and its model reads that', async () => {
    const job = here.job('no');
    const { spawn_id } = await here.begin('no', 'careful', job.step);
    await here.answer(await here.open(spawn_id), 'no: use the other script');
    expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(job.hasRun()).toBe(false);
    expect(here.heard('no')).toMatch(/Not allowed: the user .*said no: use the other script\./);
  });

  test('does without what nobody answered in time, and its model reads that', async () => {
    const job = here.job('late');
    const { spawn_id } = await here.begin('late', name === 'opencode' ? 'unhurried' : 'hurried', job.step);
    expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(job.hasRun()).toBe(false);
    expect(here.heard('late')).toContain('Not allowed: the user was asked and nobody answered in time');
    const { items } = await here.it.squad.json<{ items: InboxItem[] }>(['inbox', '--all']);
    expect(items.find(item => item.runId === spawn_id)).toMatchObject({ state: 'expired', answer: 'no' });
  });

  test('says that it is held', async () => {
    const { spawn_id } = await here.begin('held', 'careful', { text: 'Done.' });
    await here.it.end(spawn_id);
    const { stdout } = await here.it.squad.run(['show', spawn_id]);
    expect(stdout).toMatch(/approvals +ask, held by engine/);
  });
});

/** Tools with which models ask the user, in their CLIs. */
const DIALOGS: Partial<Record<CliName, string>> = { claude: 'AskUserQuestion', codex: 'request_user_input' };

describe.each(asking.filter(name => DIALOGS[name]))('%s', name => {
  const here = inSquad(name);
  const dialog = DIALOGS[name]!;
  const options = ['Red', 'Blue'].map(label => ({ label, description: `A ${label} one` }));
  const more = name === 'claude' ? { multiSelect: false } : { id: 'colour' };
  const question = { question: 'Which colour?', header: 'Colour', options, ...more };
  const step = { call: dialog, arguments: { questions: [question] } };

  test('asks the user what its model wants to know, also across the death of a hub', {
    tags: ['G3'],
  }, async () => {
    const { spawn_id } = await here.begin('dialog', 'careful', step);
    const item = await here.open(spawn_id);
    expect(item).toMatchObject({ kind: 'question', source: dialog, question: 'Which colour?' });
    process.kill(await here.it.squad.hubPid(), 'SIGKILL');
    expect(await here.open(spawn_id)).toMatchObject({ id: item.id, state: 'open' });
    await here.answer(item, 'Blue');
    const { status, result, note } = await here.it.end(spawn_id);
    expect({ status, result }).toEqual({ status: 'completed', result: 'Done.' });
    expect(note ?? '').not.toMatch(/unstable|under.development/i);
    expect(here.told('dialog')).toContain('Blue');
  });

  test('goes on without an answer, and its model reads why', async () => {
    const { spawn_id } = await here.begin('no-dialog', 'careful', step);
    await here.answer(await here.open(spawn_id), 'decline');
    expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(here.heard('no-dialog')).toContain('declined to answer. Decide yourself');
  });
});

describe.each(asking.filter(name => name === 'claude'))('%s', name => {
  const here = inSquad(name);

  test('asks for the commands that no rule of its tools allows', async () => {
    const job = here.job('ruled');
    const { spawn_id } = await here.begin('ruled', 'ruled', job.step);
    await here.answer(await here.open(spawn_id), 'yes');
    expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed' });
    expect(job.hasRun()).toBe(true);
  });

  test('asks before it writes outside its folder', async () => {
    const path = join(here.it.squad.root, 'outside.txt');
    const step = { write: { path, content: 'hello' } };
    const { spawn_id } = await here.begin('outside', 'ruled', step);
    const item = await here.open(spawn_id);
    expect(item.question).toBe('Claude Code wants to run: Write');
    expect(item.details).toContain(path);
    expect(existsSync(path)).toBe(false);
    await here.answer(item, 'yes');
    expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed' });
    expect(existsSync(path)).toBe(true);
  });

  test('shows its model no tool for it, and its questions only if the user can be asked', async () => {
    for (const roleId of ['careful', 'silent']) {
      const { spawn_id } = await here.begin(`tools-${roleId}`, roleId, {
        unlisted: 'ask_permission',
        arguments: { tool_name: 'Bash', input: { command: 'date' } },
      });
      expect(await here.it.end(spawn_id)).toMatchObject({ status: 'completed' });
      const { tools } = here.asked(`tools-${roleId}`, 0);
      expect(tools.join()).toContain('ask_user');
      expect(tools.join()).not.toMatch(/ask_permission|PlanMode/);
      expect(tools.includes('AskUserQuestion')).toBe(roleId === 'careful');
      expect(here.told(`tools-${roleId}`)).toMatch(/no such tool/i);
    }
  });
});
