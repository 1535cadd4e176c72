import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import { isAlive, TestSquad, until } from '../../support/squad.ts';

const script = (...lines: string[]) => `\`\`\`script\n${lines.join('\n')}\n\`\`\``;

/** A Squad whose user has a command for the ends of runs, or for questions. */
function withHook(lines: string, setting = 'onEnd'): TestSquad {
  const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const config = join(squad.env.HOME!, '.config', 'squad', 'config.json');
  mkdirSync(join(config, '..'), { recursive: true });
  writeFileSync(config, JSON.stringify({ [setting]: [squad.script('hook.sh', lines)] }));
  return squad;
}

const textOf = (squad: TestSquad, name: string) => {
  const file = join(squad.workspace, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

test('a command that is running when the hub stops is ended with the hub, with its child processes', async () => {
  await using squad = withHook('sleep 600 & echo $$ $! >pids.new; mv pids.new pids; wait');
  await squad.run(['run', 'coder', script('say x')]);
  const pids = (await until('it is running', () => textOf(squad, 'pids'))).trim().split(' ').map(Number);
  expect(pids.every(isAlive)).toBe(true);
  await squad.run(['hub', 'stop']);
  await until('both are gone', () => !pids.some(isAlive));
});

test('a hook that is nearly done is waited for', async () => {
  await using squad = withHook(
    'echo x >begun; while [ ! -e stopping ]; do sleep 0.02; done; sleep 0.2; echo x >done',
  );
  await squad.run(['run', 'coder', script('say x')]);
  await until('it is running', () => textOf(squad, 'begun'));
  const stopped = squad.run(['hub', 'stop']);
  squad.write('stopping', '');
  await stopped;
  await until('it has done what it was to do', () => textOf(squad, 'done'));
});

test('the hook is notified of each end once, also of a run that was lost with its hub', async () => {
  await using squad = withHook('echo "$SQUAD_HOOK_RUN $SQUAD_HOOK_STATUS" >>told');
  const pid = await squad.hubPid();
  const begin = async () => {
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', script('await go')]);
    await until('it is running', async () => (await squad.statusOf(runIds[0]!)) === 'running');
    return runIds[0]!;
  };
  const [kept, lost] = [await begin(), await begin()];
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  rmSync(join(squad.home, 'runs', lost, 'turn-1', 'plan.json'));
  squad.write('go', '');
  await squad.run(['wait', kept, lost]);
  const told = await until('both were reported', () => {
    const lines = textOf(squad, 'told').trim().split('\n');
    return lines.length >= 2 && lines;
  });
  expect(told.sort()).toEqual([`${kept} completed`, `${lost} lost`].sort());
});

test('the command for questions has the question on its input, and nothing an agent worded in its environment', async () => {
  await using squad = withHook('env >told.env; cat >told.new; mv told.new "told-$SQUAD_HOOK_ASK"', 'onAsk');
  await squad.run(['run', '-d', 'coder', `Choose\n${script('ask "Which one?" red blue')}`]);
  const { id, runId, squadId, deadlineAt } = await openItem(squad);
  const told = await until('the hook has run', () => textOf(squad, `told-${id}`));
  expect(JSON.parse(told)).toMatchObject({
    ...{ ask_id: id, spawn_id: runId, squad_id: squadId, role_id: 'coder', title: 'Choose' },
    ...{ kind: 'question', question: 'Which one?', choices: ['red', 'blue'], deadline_at: deadlineAt },
  });
  const variables = textOf(squad, 'told.env');
  expect(variables).toContain(`SQUAD_HOOK_RUN=${runId}\n`);
  expect(variables).not.toContain('Which one?');
  await squad.run(['answer', id, 'red']);
  await squad.run(['wait', runId]);
});

test('the hook is run once for each question, also when the hub dies while one is open, and not when nobody is to be asked', async () => {
  await using squad = withHook('echo "$SQUAD_HOOK_ASK" >>told', 'onAsk');
  const pid = await squad.hubPid();
  await squad.run(['run', '-d', 'coder', script('ask Still there?')]);
  const { id, runId } = await openItem(squad);
  await until('the hook has run', () => textOf(squad, 'told'));
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  await until('it is open again', () => openItem(squad));
  await squad.run(['answer', id, 'yes']);
  await squad.run(['wait', runId]);
  await squad.run(['config', 'set', 'inbox.timeout_minutes', '0']);
  await squad.run(['run', 'coder', script('ask Anybody?')]);
  // A hub that stops lets its commands come to their end.
  await squad.run(['hub', 'stop']);
  expect(textOf(squad, 'told')).toBe(`${id}\n`);
});

test('a repository cannot name it before it is trusted', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  squad.write(
    '.squad/squad.json',
    JSON.stringify({ onAsk: [squad.script('hook.sh', 'echo "$SQUAD_HOOK_ASK" >>told')] }),
  );
  const answered = async () => {
    await squad.run(['run', '-d', 'coder', script('ask Well?')]);
    const { id, runId } = await openItem(squad);
    await squad.run(['answer', id, 'yes']);
    await squad.run(['wait', runId]);
    return id;
  };
  await answered();
  expect((await squad.run(['doctor'])).stdout).toMatch(/onAsk in .*squad\.json is ignored/);
  await squad.run(['trust', '-y', '.squad/squad.json']);
  const second = await answered();
  await squad.run(['hub', 'stop']);
  expect(textOf(squad, 'told')).toBe(`${second}\n`);
});

const openItem = (squad: TestSquad) =>
  until('a question is open', async () => {
    const { items } = await squad.json<{ items: InboxItem[] }>(['inbox']);
    return items[0];
  });
