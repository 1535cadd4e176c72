import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive, TestSquad, until } from '../support/squad.ts';

const script = (...lines: string[]) => `\`\`\`script\n${lines.join('\n')}\n\`\`\``;

/** A Squad whose user has a command for the ends of runs. */
function withHook(lines: string): TestSquad {
  const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const config = join(squad.env.HOME!, '.config', 'squad', 'config.json');
  mkdirSync(join(config, '..'), { recursive: true });
  writeFileSync(config, JSON.stringify({ onEnd: [squad.script('hook.sh', lines)] }));
  return squad;
}

const textOf = (squad: TestSquad, name: string) => {
  const file = join(squad.workspace, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

test('a command that is at work when the hub stops is ended with it, and what it started too', async () => {
  await using squad = withHook('sleep 600 & echo $$ $! >pids.new; mv pids.new pids; wait');
  await squad.run(['run', 'coder', script('say x')]);
  const pids = (await until('it is at work', () => textOf(squad, 'pids'))).trim().split(' ').map(Number);
  expect(pids.every(isAlive)).toBe(true);
  await squad.run(['hub', 'stop']);
  await until('both are gone', () => !pids.some(isAlive));
});

test('one that is nearly done is waited for', async () => {
  await using squad = withHook(
    'echo x >begun; while [ ! -e stopping ]; do sleep 0.02; done; sleep 0.2; echo x >done',
  );
  await squad.run(['run', 'coder', script('say x')]);
  await until('it is at work', () => textOf(squad, 'begun'));
  const stopped = squad.run(['hub', 'stop']);
  squad.write('stopping', '');
  await stopped;
  await until('it has done what it was to do', () => textOf(squad, 'done'));
});

test('it hears of each end once, also of a run that was lost with its hub', async () => {
  await using squad = withHook('echo "$SQUAD_HOOK_RUN $SQUAD_HOOK_STATUS" >>told');
  const pid = await squad.hubPid();
  const begin = async () => {
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', script('await go')]);
    await until('it is at work', async () => {
      const { run } = await squad.json<{ run: { status: string } }>(['show', runIds[0]!]);
      return run.status === 'running';
    });
    return runIds[0]!;
  };
  const [kept, lost] = [await begin(), await begin()];
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  rmSync(join(squad.home, 'runs', lost, 'turn-1', 'plan.json'));
  squad.write('go', '');
  await squad.run(['wait', kept, lost]);
  const told = await until('both were told', () => {
    const lines = textOf(squad, 'told').trim().split('\n');
    return lines.length >= 2 && lines;
  });
  expect(told.sort()).toEqual([`${kept} completed`, `${lost} lost`].sort());
});
