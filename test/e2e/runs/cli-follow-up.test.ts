import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ended, TestSquad, until } from '../../support/squad.ts';
import { footprint } from '../../support/stored.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;
const git = (...args: string[]) => execFileSync('git', args, { cwd: squad.workspace, encoding: 'utf8' });

interface Stored {
  id: string;
  squadId: string;
  lineageId: string;
  roleId: string | null;
  task: string;
  cwd: string;
  engine: string;
  model: string | null;
  chatId: string | null;
  chatIsNew: boolean;
  timeoutMs: number;
  status: string;
  options: Record<string, unknown>;
}

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '300']);
  squad.write('agents/coder.md', 'You code.');
  squad.write(
    'agents/strict.md',
    '---\nmodel: big\neffort: low\ntimeout: 77s\nbudget: 3\n---\nYou are strict.',
  );
  squad.write('sub/old.txt', 'old\n');
  git('init', '-q');
  git('config', 'user.email', 'a@example.com');
  git('config', 'user.name', 'a');
  git('add', '-A');
  git('commit', '-qm', 'start');
});
afterAll(() => squad[Symbol.asyncDispose]());

async function detached(...words: string[]): Promise<string[]> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...words]);
  return runIds;
}
async function over(...words: string[]): Promise<Stored> {
  const [id] = await detached(...words);
  await squad.run(['wait', id!]);
  return stored(id!);
}
const stored = async (id: string) => (await squad.json<{ run: Stored }>(['show', id])).run;
const running = (id: string) =>
  until(`${id} is running`, async () => (await stored(id)).status === 'running');
const prompt = (id: string) => readFileSync(join(squad.home, 'runs', id, 'turn-1', 'prompt.md'), 'utf8');
const newest = async () => (await squad.json<{ runs: Stored[] }>(['ls'])).runs[0]!;

describe('squad wait', () => {
  test('tells each end as it comes, and its exit code whether all completed', { tags: ['C4'] }, async () => {
    const [first, second] = await detached(
      'coder',
      fenced('await go-1'),
      'coder',
      fenced('await go-2\nfail for a reason'),
    );
    const child = squad.start(['wait', first!, second!]);
    let seen = '';
    child.stdout!.on('data', chunk => {
      seen += chunk;
    });
    const ran = ended(child);
    squad.write('go-1', '');
    await until('the first end is reported', () => seen.includes(first!));
    expect(seen).not.toContain(second!);
    squad.write('go-2', '');
    const { code, stdout, stderr } = await ran;
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^${first} {2}done .*coder.*\n${second} {2}failed .*for a reason \\(ENGINE_FAILED\\)\n$`),
    );
    expect(stderr).toBe(`  squad log ${second}   shows why\n`);
    expect((await squad.run(['wait', first!])).code).toBe(0);
  });

  test('takes a squad, and the beginning of an id', async () => {
    const [id] = await detached('coder', fenced('say a'), 'coder', fenced('say b'));
    const { squadId } = await stored(id!);
    const whole = await squad.run(['wait', squadId]);
    expect(whole.code).toBe(0);
    expect(whole.stdout.trimEnd().split('\n')).toHaveLength(2);
    const short = await squad.run(['wait', squadId.slice('squad_'.length), id!.slice('run_'.length)]);
    expect(short.stdout.trimEnd().split('\n')).toHaveLength(2); // each run once
  });

  test('--any is content with the first', async () => {
    const [slow, quick] = await detached('coder', fenced('await never-1'), 'coder', fenced('say done'));
    const any = await squad.run(['wait', '--any', slow!, quick!]);
    expect(any).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^${quick} .*\n$`)) });
    await squad.run(['cancel', slow!]);
    expect((await squad.run(['wait', slow!])).code).toBe(1);
  });

  test('--timeout ends with 124 and leaves the run alone', async () => {
    const [id] = await detached('coder', fenced('await go-3'));
    expect(await squad.run(['wait', id!, '--timeout', '50ms'])).toEqual({
      code: 124,
      stdout: '',
      stderr: `Still running after 50ms: ${id}\n  They continue. Wait again: squad wait ${id}\n`,
    });
    const asJson = await squad.run(['wait', id!, '--timeout', '50ms', '--json']);
    expect(JSON.parse(asJson.stdout)).toEqual({ v: 1, type: 'wait.timeout', open: [id] });
    squad.write('go-3', '');
    expect((await squad.run(['wait', id!, '--timeout', '1m'])).code).toBe(0);
  });

  test('--json prints the events of the ends, one a line', async () => {
    const [first, second] = await detached('coder', fenced('say a'), 'coder', fenced('exit 4'));
    const { code, stdout } = await squad.run(['wait', '--json', first!, second!]);
    expect(code).toBe(1);
    const lines = stdout.trimEnd().split('\n');
    const events = lines.map(line => JSON.parse(line) as { runId: string; status: string });
    expect(events).toHaveLength(2);
    expect(events.find(event => event.runId === second)).toMatchObject({
      v: 1,
      type: 'run.ended',
      status: 'error',
      exitCode: 4,
    });
  });

  test('goes on when the hub is killed under it', async () => {
    const [id] = await detached('coder', fenced('await go-4'));
    await running(id!);
    const child = squad.start(['wait', id!]);
    const ran = ended(child);
    const pid = await squad.hubPid();
    const waits = async () =>
      (await squad.json<{ callsInFlight: number }>(['hub', 'status'])).callsInFlight > 1;
    await until('it waits', waits);
    process.kill(pid, 'SIGKILL');
    await until('another hub is there', async () => (await squad.hubPid()) !== pid);
    squad.write('go-4', '');
    expect(await ran).toMatchObject({ code: 0, stdout: expect.stringContaining(`${id}  done`) });
  });

  test('refuses what it does not know, or knows too much of', async () => {
    const { id } = await over('coder', fenced('say a'));
    const wrong = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`;
    expect(await squad.run(['wait', wrong])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Did you mean ${id}`),
    });
    expect((await squad.run(['wait'])).code).toBe(2);
    expect(await squad.run(['wait', id, '--timeout', 'soon'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Invalid value for --timeout: "soon"'),
    });
    // There are 32 letters: of 33 ids, two begin with the same one.
    const ids = await detached(...Array.from({ length: 33 }, () => ['coder', fenced('say b')]).flat());
    const firsts = ids.map(each => each['run_'.length]!);
    const shared = firsts.find((letter, at) => firsts.indexOf(letter) !== at)!;
    expect(await squad.run(['wait', shared])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${shared} matches several ids`),
    });
  });
});

describe('squad reply', () => {
  test('resumes the chat: same role, folder, engine, model and limits, and only the new text', {
    tags: ['A3'],
  }, async () => {
    const first = await over('strict', fenced('say first'), '--cwd', 'sub');
    const { code, stdout } = await squad.run(['reply', first.id, fenced('say second\nreport The answer.')]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Result\nThe answer\.\n$/);
    const reply = await newest();
    expect(reply).toMatchObject({
      roleId: 'strict',
      cwd: 'sub',
      engine: 'scripted',
      model: 'big',
      chatId: first.chatId,
      chatIsNew: false,
      lineageId: first.id,
      timeoutMs: 77_000,
      options: { effort: 'low', budgetUsd: 3 },
    });
    expect(prompt(reply.id)).toMatch(/^# Task\nDo it\./);
    expect((await squad.run(['show', reply.id])).stdout).toContain(`reply to  ${first.id}, done`);
    expect((await squad.run(['show', first.id])).stdout).toContain(`replied   ${reply.id}, done`);
  });

  test('keeps the limits of the run when its role has changed meanwhile', async () => {
    squad.write('agents/moody.md', '---\neffort: low\ntimeout: 50s\n---\nMood.');
    const first = await over('moody', fenced('say first'));
    squad.write('agents/moody.md', '---\neffort: high\ntimeout: 90s\ntools: [Bash]\n---\nMood.');
    await squad.run(['reply', first.id, fenced('say second')]);
    expect(await newest()).toMatchObject({
      timeoutMs: 50_000,
      options: { effort: 'low', tools: null },
    });
  });

  test('reads the words from standard input, and -d leaves at once', async () => {
    const first = await over('coder', fenced('say first'));
    const { code, stdout } = await squad.run(['reply', '-d', first.id, '-'], {
      input: fenced('say from stdin'),
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^run_\w+\n$/);
    expect(prompt(stdout.trim())).toContain('say from stdin');
    await squad.run(['wait', stdout.trim()]);
  });

  test('is refused while the run is running', async () => {
    const [id] = await detached('coder', fenced('await never-2'));
    const before = await footprint(squad);
    expect(await squad.run(['reply', id!, 'More.'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /is still (queued|running): its chat is in use \(CHAT_BUSY\)\n.*squad wait/,
      ),
    });
    expect(await footprint(squad)).toEqual(before);
    await squad.run(['cancel', id!]);
  });

  test('is refused without a chat, and says why there is none', async () => {
    const stateless = { env: { RUN_TEMPLATE: 'cat', ENGINE_COMMAND: '' } };
    const [id] = (await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x'], stateless)).runIds;
    await squad.run(['wait', id!]);
    expect(await squad.run(['reply', id!, 'More.'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `Run ${id} has no chat to continue: the template engine keeps no chats`,
      ),
    });
    const chats = { env: { RUN_TEMPLATE: 'cat', CREATE_CHAT_TEMPLATE: 'echo c1', ENGINE_COMMAND: '' } };
    const [other] = (await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x'], chats)).runIds;
    await squad.run(['wait', other!]);
    expect((await squad.run(['reply', other!, 'More.'])).stderr).toContain(
      'it ran with STATE_MODE=stateless',
    );
  });

  test('is refused when its words are empty, its run unknown, its engine or its files gone', async () => {
    const first = await over('coder', fenced('say first'));
    expect(await squad.run(['reply', first.id, '  '])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('TASK_EMPTY'),
    });
    expect((await squad.run(['reply', 'run_nope', 'x'])).stderr).toContain('RUN_UNKNOWN');
    const turn = join(squad.home, 'runs', first.id, 'turn-1');
    const spec = {
      kind: 'cli',
      cli: 'claude',
      program: join(squad.root, 'gone', 'claude'),
      version: '2.1.325',
    };
    writeFileSync(join(turn, 'plan.json'), JSON.stringify({ engine: spec, request: {} }));
    expect(await squad.run(['reply', first.id, 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /belongs to .*gone\/claude, which is no longer installed \(ENGINE_NOT_FOUND\)/,
      ),
    });
    rmSync(join(turn, 'plan.json'));
    expect(await squad.run(['reply', first.id, 'x'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot be read any more (LOST)'),
    });
  });
});

describe('the engine and the folder of a run are checked again', () => {
  const claude = (version: string) => squad.script('../checked/claude', `echo ${version}`);
  const tooOld = {
    code: 2,
    stderr: expect.stringMatching(
      /version 0\.0\.1; Squad needs .*\(ENGINE_TOO_OLD\)\n {2}Update it: npm install/,
    ),
  };

  test('before a reply, a retry and a take-over', { tags: ['A10'] }, async () => {
    mkdirSync(join(squad.workspace, 'gone'));
    const first = await over('coder', 'x', '--cwd', 'gone', '--engine', claude('99.0.0'));
    expect(first.chatId).not.toBeNull();
    claude('0.0.1');
    expect(await squad.run(['reply', first.id, 'x'])).toMatchObject(tooOld);
    expect(await squad.run(['retry', first.id])).toMatchObject(tooOld);
    expect(await squad.run(['attach', first.id, '--take-over'])).toMatchObject(tooOld);
    claude('99.0.01');
    rmSync(join(squad.workspace, 'gone'), { recursive: true });
    const noFolder = { code: 2, stderr: expect.stringMatching(/gone.* does not exist.*\(CWD_MISSING\)/) };
    expect(await squad.run(['reply', first.id, 'x'])).toMatchObject(noFolder);
    expect(await squad.run(['retry', first.id])).toMatchObject(noFolder);
    expect(await squad.run(['attach', first.id, '--take-over'])).toMatchObject(noFolder);
  });

  test('and a workspace that is gone is named as that of the run', async () => {
    mkdirSync(join(squad.workspace, 'project'));
    const first = await over('coder', fenced('say x'), '--workspace', join(squad.workspace, 'project'));
    rmSync(join(squad.workspace, 'project'), { recursive: true });
    for (const again of [
      ['reply', first.id, 'x'],
      ['retry', first.id],
    ]) {
      const { stderr } = await squad.run(again);
      expect(stderr).toMatch(/The workspace of that run is gone .*project\. \(WORKSPACE_REFUSED\)/);
      expect(stderr).not.toContain('--workspace');
    }
  });

  test('before a turn that waited for its place', { tags: ['A10'] }, async () => {
    const limit = (places: string) => squad.json(['config', 'set', 'limits.concurrency', places]);
    await limit('1');
    const [busy] = await detached('coder', fenced('await go-checked'));
    await running(busy!);
    mkdirSync(join(squad.workspace, 'gone'));
    const [old] = await detached('coder', 'x', '--engine', claude('99.0.0'));
    const [homeless] = await detached('coder', fenced('say x'), '--cwd', 'gone');
    claude('0.0.1');
    rmSync(join(squad.workspace, 'gone'), { recursive: true });
    squad.write('go-checked', '');
    await squad.run(['wait', busy!, old!, homeless!]);
    await limit('8');
    expect(await stored(old!)).toMatchObject({ status: 'error', error: { code: 'ENGINE_TOO_OLD' } });
    expect(await stored(homeless!)).toMatchObject({ status: 'error', error: { code: 'CWD_MISSING' } });
  });
});

describe('squad retry', () => {
  test('asks for the same once more, in a fresh chat and the same lineage', async () => {
    const first = await over('strict', fenced('say first\nexit 3'), '--cwd', 'sub', '--timeout', '66s');
    expect(first.status).toBe('error');
    expect((await squad.run(['retry', first.id])).code).toBe(1);
    const again = await newest();
    expect(again).toMatchObject({
      roleId: 'strict',
      task: first.task,
      cwd: 'sub',
      model: 'big',
      timeoutMs: 66_000,
      lineageId: first.id,
      chatIsNew: true,
      options: { effort: 'low' },
    });
    expect(again.chatId).not.toBe(first.chatId);
    expect(prompt(again.id)).toBe(prompt(first.id));
    expect((await squad.run(['show', again.id])).stdout).toContain(`retry of  ${first.id}, failed`);
    expect((await squad.run(['show', first.id])).stdout).toContain(`retried   ${again.id}, failed`);
  });

  test('of a retry is shown with the run it retries and the original run', async () => {
    const first = await over('strict', fenced('exit 3'));
    await squad.run(['retry', first.id]);
    const second = await newest();
    await squad.run(['retry', second.id]);
    const third = await newest();
    const { stdout } = await squad.run(['show', third.id]);
    expect(stdout).toContain(`began as  ${first.id}`);
    expect(stdout).toContain(`retry of  ${second.id}, failed`);
    expect(await squad.json(['show', first.id])).toMatchObject({
      tries: { of: null, since: [{ runId: second.id, by: 'retry', status: 'error' }] },
    });
    expect(await squad.json(['show', second.id])).toMatchObject({
      tries: { of: { runId: first.id }, since: [{ runId: third.id }] },
    });
  });

  test('reads the role as it is today, and keeps what the caller had said', async () => {
    squad.write('agents/changing.md', '---\ntimeout: 50s\n---\nYesterday.');
    const first = await over('changing', fenced('say x'));
    squad.write('agents/changing.md', '---\ntimeout: 90s\nmodel: newer\n---\nToday.');
    await squad.run(['retry', first.id]);
    const again = await newest();
    expect(again).toMatchObject({ timeoutMs: 90_000, model: 'newer' });
    expect(prompt(again.id)).toMatch(/^Today\./);
    await squad.run(['retry', first.id, '--timeout', '5m', '--model', 'other']);
    expect(await newest()).toMatchObject({ timeoutMs: 300_000, model: 'other' });
  });

  test('of a squad takes those that did not complete', async () => {
    const [first, bad] = await detached('coder', fenced('await go-5'), 'strict', fenced('fail once'));
    const { squadId } = await stored(first!);
    expect((await squad.run(['retry', squadId])).stderr).toContain('RUN_NOT_OVER');
    squad.write('go-5', '');
    await squad.run(['wait', squadId]);
    const { runIds } = await squad.json<{ runIds: string[] }>(['retry', squadId, '-d']);
    expect(runIds).toHaveLength(1);
    expect(await stored(runIds[0]!)).toMatchObject({ roleId: 'strict', lineageId: bad });
    const { squadId: sound } = await over('coder', fenced('say fine'));
    expect(await squad.run(['retry', sound])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Every run of ${sound} completed: there is nothing to retry`),
    });
  });

  test('of a reply resumes the chat again, and only with the same engine', async () => {
    const first = await over('coder', fenced('say first'));
    await squad.run(['reply', first.id, fenced('fail once')]);
    const reply = await newest();
    await squad.run(['retry', reply.id]);
    expect(await newest()).toMatchObject({ chatId: first.chatId, chatIsNew: false, lineageId: first.id });
    expect(await squad.run(['retry', reply.id, '--engine', 'codex'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('continued a chat of scripted, which no other engine can continue'),
    });
  });

  test('takes the template that is set today, or else the one of then', async () => {
    const run = ['run', '-d', 'coder', 'x'];
    const env = { RUN_TEMPLATE: 'sh -c "echo then"', ENGINE_COMMAND: '' };
    const [id] = (await squad.json<{ runIds: string[] }>(run, { env })).runIds;
    await squad.run(['wait', id!]);
    const unset = { env: { ENGINE_COMMAND: '' } };
    expect((await squad.run(['retry', id!], unset)).stdout).toContain('Result\nthen');
    const today = { env: { RUN_TEMPLATE: 'sh -c "echo today"', ENGINE_COMMAND: '' } };
    expect((await squad.run(['retry', id!], today)).stdout).toContain('Result\ntoday');
  });

  test('keeps the engine variable of a template, also if it is the name of an agent CLI', async () => {
    const env = { RUN_TEMPLATE: 'echo then <%= engine %>', ENGINE_COMMAND: 'claude' };
    const [id] = (await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x'], { env })).runIds;
    await squad.run(['wait', id!]);
    const today = { env: { RUN_TEMPLATE: 'echo today <%= engine %>', ENGINE_COMMAND: 'other' } };
    expect((await squad.run(['retry', id!], today)).stdout).toContain('Result\ntoday claude');
  });

  test('is refused while the template of the workspace is not trusted', async () => {
    const [id] = (
      await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', 'x'], {
        env: { RUN_TEMPLATE: 'echo mine' },
      })
    ).runIds;
    await squad.run(['wait', id!]);
    const file = squad.write('templates/run-agent.template', 'echo theirs');
    expect(await squad.run(['retry', id!])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('(ENGINE_NOT_TRUSTED)'),
    });
    rmSync(file);
  });

  test('runs the program again whose path was given', async () => {
    const path = squad.script('../elsewhere/claude', 'echo 99.0.0');
    const [id] = await detached('coder', 'x', '--engine', path);
    await squad.run(['wait', id!]);
    const { runIds } = await squad.json<{ runIds: string[] }>(['retry', id!, '-d']);
    await squad.run(['wait', runIds[0]!]);
    const { engine } = JSON.parse(
      readFileSync(join(squad.home, 'runs', runIds[0]!, 'turn-1', 'plan.json'), 'utf8'),
    );
    expect(engine).toMatchObject({ cli: 'claude', program: path });
  });

  test('of a spawned prompt gives it its context and heading again', async () => {
    squad.write('CLAUDE.md', '# The rules\n');
    const client = await squad.client();
    const call = { name: 'spawn_agent', arguments: { prompt: fenced('say hi'), task_summary: 'Hello' } };
    const result = await client.callTool(call);
    const { spawn_id } = result.structuredContent as { spawn_id: string };
    await squad.run(['retry', spawn_id]);
    const again = await newest();
    expect(prompt(again.id)).toBe(prompt(spawn_id));
    expect(prompt(again.id)).toMatch(/^# Project context: CLAUDE\.md[\s\S]*# Your Task\n\nDo it\./);
    expect(again).toMatchObject({ roleId: null, title: 'Hello' });
    rmSync(join(squad.workspace, 'CLAUDE.md'));
  });

  test('is refused while the run is running, for an unknown id, engine or time', async () => {
    const [id] = await detached('coder', fenced('await never-3'));
    expect(await squad.run(['retry', id!])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is still (queued|running) \(RUN_NOT_OVER\)\n.*squad cancel/),
    });
    await squad.run(['cancel', id!]);
    const before = await footprint(squad);
    expect((await squad.run(['retry', 'nope'])).stderr).toContain('There is no run or squad nope');
    expect(await squad.run(['retry', id!, '--engine', 'nothing'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ENGINE_UNKNOWN'),
    });
    expect((await squad.run(['retry', id!, '--timeout', '0'])).code).toBe(2);
    expect(await footprint(squad)).toEqual(before);
  });
});

describe('squad diff', () => {
  test('shows what is different from before the run, on standard output alone', async () => {
    const { id } = await over('coder', fenced('write sub/old.txt\n| changed\nwrite sub/new.txt\n| fresh'));
    const { code, stdout, stderr } = await squad.run(['diff', id]);
    expect(code).toBe(0);
    expect(stdout).toContain('-old\n+changed\n');
    expect(stdout).toContain('+++ b/sub/new.txt\n');
    expect(stdout).not.toContain('\u001b');
    expect(stderr).toBe(
      'The diff compares with the folder as it is now, so it includes changes made after the run.\n',
    );
    const stat = await squad.run(['diff', '--stat', id]);
    expect(stat.stdout).toBe('A sub/new.txt\nM sub/old.txt\n2 files changed, +2 −1 lines\n');
    const coloured = await squad.run(['diff', id], { env: { FORCE_COLOR: '1' } });
    expect(coloured.stdout).toContain('\u001b[32m+changed\u001b[39m\n');
    git('add', '-A');
    git('commit', '-qm', 'kept');
  });

  test('says so when there is nothing, and when the run is still running', async () => {
    const { id } = await over('coder', fenced('say nothing changed'));
    expect(await squad.run(['diff', id])).toEqual({
      code: 0,
      stdout: '',
      stderr: `No changes since ${id} started.\n`,
    });
    const [at] = await detached('coder', fenced('write sub/half.txt\n| half\nsay wrote\nawait never-4'));
    const [beside] = await detached('coder', fenced('await never-4'));
    await running(beside!);
    await until('it wrote', () => existsSync(join(squad.workspace, 'sub/half.txt')));
    const { stdout, stderr } = await squad.run(['diff', at!]);
    expect(stdout).toContain('+half\n');
    expect(stderr).toContain(`${at} is still running: these are its changes so far.\n`);
    // On a busy machine the baseline may be late, which is noted first.
    expect(stderr).toMatch(/^Note: (?:.*; )?1 other run is running in this folder\.$/m);
    await squad.run(['cancel', at!, beside!]);
    expect((await squad.run(['diff', at!])).stderr).toMatch(
      /^Note: (?:.*; )?1 other run worked in this folder/m,
    );
    rmSync(join(squad.workspace, 'sub/half.txt'));
  });

  test('says why there is none', async () => {
    const elsewhere = new TestSquad({ ENGINE_COMMAND: 'scripted' });
    try {
      const { runIds } = await elsewhere.json<{ runIds: string[] }>(['run', '-d', 'coder', fenced('say x')]);
      await elsewhere.run(['wait', runIds[0]!]);
      const refused = await elsewhere.run(['diff', runIds[0]!]);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(
        /^squad: No diff of run run_\w+: .*git.* \(DIFF_UNAVAILABLE\)\n.*squad show/,
      );
    } finally {
      await elsewhere[Symbol.asyncDispose]();
    }
    expect((await squad.run(['diff', 'nope'])).stderr).toContain('There is no run nope');
  });
});

describe('squad prune', () => {
  test('removes the chats that nothing refers to any more, and no other', async () => {
    const first = await over('coder', fenced('say one'));
    const chats = join(squad.home, 'chats', 'scripted');
    expect(readdirSync(chats)).toContain(first.chatId);
    const [live] = await detached('coder', fenced('await never-5'));
    await running(live!);
    const { chatId } = await stored(live!);
    const stray = join(chats, 'left-behind');
    const recent = join(chats, 'just-made');
    for (const folder of [stray, recent]) mkdirSync(folder);
    const longAgo = Date.now() / 1000 - 3 * 86_400;
    utimesSync(stray, longAgo, longAgo);
    await squad.run(['prune', '--days', '0']);
    expect(readdirSync(chats).sort()).toEqual([chatId, 'just-made']);
    await squad.run(['cancel', live!]);
  });
});
