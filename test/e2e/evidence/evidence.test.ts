import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestSquad, until } from '../../support/squad.ts';
import { storedEvents } from '../../support/stored.ts';
import { startAndWait, strictCall } from '../../support/tools.ts';

const squad = new TestSquad({ SQUAD_AGENTS_DIR: '.roles', ENGINE_COMMAND: 'scripted' });

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@localhost', ...args], {
    cwd: squad.workspace,
    env: { ...squad.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  });

beforeAll(async () => {
  squad.write('.roles/coder.md', 'You code.');
  squad.write('.roles/nervous.md', '---\nstall: 3s\n---\nYou hurry.');
  squad.write('.roles/patient.md', '---\nstall: 2s\nspawn: true\n---\nYou lead.');
  squad.write('a.txt', 'one\n');
  squad.write('.squad/notes.md', '');
  squad.write('.gitignore', '.roles\n.squad\n');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'First');
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
afterAll(() => squad[Symbol.asyncDispose]());

const script = (...lines: string[]) => `\n~~~script\n${lines.join('\n')}\n~~~`.replaceAll('~~~', '```');
async function result(roleId: string, ...lines: string[]) {
  const client = await squad.client();
  const { members } = await startAndWait(client, { members: [{ roleId, task: script(...lines) }] });
  return strictCall(client, 'get_result', { spawn_id: members[0]!.memberId });
}

interface Shown {
  run: { status: string; endedAt: number | null; evidence: object | null; error: object | null };
}
const show = (id: string) => squad.shown<Shown>(id);

describe('the evidence of a run', () => {
  test('names what it changed and committed, which verifies it', { tags: ['F1'] }, async () => {
    const commit = 'git -c user.name=T -c user.email=t@localhost commit --quiet --all --message Second';
    const { evidence } = await result(
      'coder',
      'run echo two >> a.txt',
      `run ${commit}`,
      'run echo x > new.txt',
      'report done',
    );
    expect(evidence).toMatchObject({
      verdict: 'verified',
      exit_code: 0,
      tool_calls: 3,
      files_changed: { count: 2, files: ['M a.txt', 'A new.txt'] },
      commits: { count: 1 },
      diff: { insertions: 2, deletions: 0 },
      leftovers_killed: 0,
    });
  });

  test('does not verify a commit that was reset away, and shows work hidden from git', {
    tags: ['F1'],
  }, async () => {
    const commit = 'git -c user.name=T -c user.email=t@localhost commit --quiet --message Gone';
    const reset = await result(
      'coder',
      'run echo x > gone.txt',
      `run git add gone.txt && ${commit} && git reset --quiet --hard HEAD~1`,
      'report done',
    );
    expect(reset.evidence).toMatchObject({
      verdict: 'claimed',
      commits: { count: 0 },
      note: expect.stringContaining('on no branch any more'),
    });
    const hidden = await result(
      'coder',
      'run echo hidden.txt >> .git/info/exclude && echo x > hidden.txt',
      'run git update-index --skip-worktree a.txt && echo changed >> a.txt',
      'report done',
    );
    expect(hidden.evidence).toMatchObject({
      verdict: 'verified',
      files_changed: { count: 2, files: ['M a.txt', 'A hidden.txt'] },
    });
  });

  test('of words only is a claim, and of nothing at all is empty', { tags: ['F1'] }, async () => {
    expect((await result('coder', 'report All tests pass.')).evidence).toMatchObject({
      verdict: 'claimed',
      files_changed: { count: 0 },
    });
    expect((await result('coder', 'usage 1 1')).evidence).toMatchObject({ verdict: 'empty' });
  });

  test('a report of success with a failing exit code contradicts itself', { tags: ['F1'] }, async () => {
    const fake = squad.script(
      'liar.sh',
      `echo '{"at":1,"type":"end","ok":true,"answer":"fine","error":null}'; exit 3`,
    );
    squad.write(
      '../user/.config/squad/config.json',
      JSON.stringify({ engines: { liar: { runTemplate: fake, parser: 'squad' } } }),
    );
    const client = await squad.client({ env: { ENGINE_COMMAND: 'liar' } });
    const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] });
    expect(members[0]).toMatchObject({ status: 'completed', engine: 'liar', rawStdout: 'fine' });
    const { evidence } = await strictCall(client, 'get_result', { spawn_id: members[0]!.memberId });
    expect(evidence).toMatchObject({ verdict: 'contradicted', exit_code: 3 });
  });
});

test('changes by another run in the repository meanwhile verify nobody else, also after the hub was killed', async () => {
  for (const folder of ['left', 'right']) squad.write(`${folder}/.keep`, '');
  const client = await squad.client();
  const start = async (cwd: string, ...lines: string[]) => {
    const asked = { prompt: script(...lines), working_directory: cwd, include_context: false, async: true };
    return (await strictCall<{ spawn_id: string }>(client, 'spawn_agent', asked)).spawn_id;
  };
  const idle = await start('right', 'await ../go', 'report I changed everything.');
  await until('it is running', async () => (await show(idle)).run.status === 'running');
  const busy = await start('left', 'run echo x > by-left.txt', 'report I wrote.');
  const busyEnd = await strictCall(client, 'get_result', { spawn_id: busy, wait_seconds: 90 });
  process.kill(await squad.hubPid(), 'SIGKILL');
  squad.write('go', '');
  const idleEnd = await until('it is over', async () => {
    const { run } = await show(idle);
    return run.endedAt !== null && run;
  });
  expect(busyEnd.evidence).toMatchObject({ note: expect.stringContaining('1 other run') });
  expect(idleEnd.evidence).toMatchObject({
    verdict: 'claimed',
    note: expect.stringContaining('1 other run worked in this folder'),
  });
});

test('a run that waits for one it started is not stalled, however long that takes', async () => {
  const child = JSON.stringify({ prompt: script('run sleep 5', 'report done'), include_context: false });
  const lead = await result('patient', `call spawn_agent ${child}`, 'report it did');
  expect(lead).toMatchObject({ status: 'completed', result: 'it did' });
});

test('a run that is held by a signal is stopped like one that is stalled', async () => {
  const { runIds } = await squad.json<{ runIds: string[] }>([
    'run',
    '-d',
    'nervous',
    script('say hi', 'hang'),
  ]);
  const turn = join(squad.home, 'runs', runIds[0]!, 'turn-1');
  const agent = await until('its agent is there', () => {
    if (!existsSync(join(turn, 'pid'))) return false;
    const wrapper = readFileSync(join(turn, 'pid'), 'utf8').trim();
    if (wrapper === '') return false;
    const children = readFileSync(`/proc/${wrapper}/task/${wrapper}/children`, 'utf8').trim().split(' ');
    return children.length > 1 && existsSync(join(turn, 'stdout')) && Number(children.at(-1));
  });
  process.kill(agent, 'SIGSTOP');
  const ended = await until('it was stopped', async () => {
    const { run } = await show(runIds[0]!);
    return run.endedAt !== null && run;
  });
  expect(ended).toMatchObject({ status: 'error', error: { code: 'STALLED' } });
});

test('a run that gives no sign of life for as long as its role allows is stopped, and says so', {
  tags: ['A12'],
}, async () => {
  const run = await result('nervous', 'say I begin.', 'hang');
  expect(run).toMatchObject({ status: 'error', error: { code: 'STALLED' } });
  const quiet = (await storedEvents(squad)).filter(
    ({ type, run_id }) => type === 'run.quiet' && run_id === run.spawn_id,
  );
  expect(quiet.map(({ data }) => data.state)).toEqual(['stalled']);
});

test('starts and ends are kept in the workspace for whoever reads them there', { tags: ['C7'] }, async () => {
  const run = await result('coder', 'report done');
  const iac = join(squad.workspace, '.squad', 'IAC.md');
  const lines = await until('both are logged', () => {
    const mine = existsSync(iac)
      ? readFileSync(iac, 'utf8')
          .split('\n')
          .filter(line => line.includes(String(run.spawn_id)))
      : [];
    return mine.length === 2 && mine;
  });
  expect(lines[0]).toContain('start');
  expect(lines[1]).toContain('completed');
  expect(readFileSync(join(squad.workspace, '.squad', 'CONTEXT.md'), 'utf8')).toContain(String(run.spawn_id));
});
