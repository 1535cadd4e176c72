import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { askHub } from '../support/ask-hub.ts';
import { GitSquad, script } from '../support/git-squad.ts';
import { isAlive, type TestSquad, until } from '../support/squad.ts';

/** Two hubs on a new database, each with a repository and roles. */
async function twoHubs(): Promise<{ database: string; one: GitSquad; two: GitSquad }> {
  const database = await newSchema();
  const roles = {
    coder: 'You code.',
    lead: '---\nspawn: true\nmessages: [sibling, child]\n---\nYou lead.',
  };
  const env = { SQUAD_DATABASE_URL: database, STATE_MODE: 'stateful' };
  const [one, two] = [new GitSquad(roles, env), new GitSquad(roles, env)];
  for (const squad of [one, two]) onTestFinished(() => squad[Symbol.asyncDispose]());
  return { database, one, two };
}

async function start(squad: TestSquad, task: string, ...more: string[]): Promise<string> {
  const args = ['run', 'coder', task, '--detach', ...more];
  return runOf(await squad.json(args));
}

/** The run that a command has started. */
function runOf(started: { runIds?: string[] }): string {
  const [run] = started.runIds ?? [];
  if (run === undefined) throw new Error(JSON.stringify(started));
  return run;
}

const ended = (squad: TestSquad, run: string) =>
  expect.poll(() => squad.statusOf(run), { timeout: 60_000 }).toBe('completed');

test('a run is shown, followed, answered, told, continued and retried at another hub', {
  tags: ['H7'],
}, async () => {
  const { one, two } = await twoHubs();
  const go = join(one.workspace, 'go');
  const run = await start(
    one,
    script(
      'say Grüße ✓',
      'stderr a warning',
      'write new.txt',
      '| text',
      'ask Which one?',
      `await ${go}`,
      'flood 1MB',
      'report done 😀',
    ),
  );
  await two.hubPid();
  const asked = async () => JSON.stringify(await two.json(['inbox'])).match(/ask_\w{10}/)?.[0] ?? '';
  await expect.poll(asked, { timeout: 60_000 }).not.toBe('');
  expect((await two.run(['ls', '--all'])).stdout).toMatch(new RegExp(`hub[\\s\\S]*${one.home.slice(0, 8)}`));
  expect((await two.run(['ls', '--need', '--all'])).stdout).toContain('asks you');
  expect((await two.run(['show', run])).stdout).toContain(`:${one.home}`);

  const follower = two.start(['log', '-f', run]);
  let followed = '';
  follower.stdout!.setEncoding('utf8').on('data', (text: string) => {
    followed += text;
  });
  await until('the output is there', () => followed.includes('Grüße ✓'));
  const told = await two.json<{ delivery: string }>(['tell', run, 'Hurry up']);
  expect(told.delivery).toBe('queued');
  const interrupted = await two.run(['interrupt', run]);
  expect(interrupted).toMatchObject({ code: 4, stderr: expect.stringContaining('cannot be interrupted') });
  const wrong = await two.run(['answer', 'ask_zzzzzzzzzz', 'x']);
  expect(wrong.stderr).toContain('INBOX_UNKNOWN');
  expect(await two.json(['answer', await asked(), 'the second'])).toMatchObject({ state: 'answered' });
  writeFileSync(go, '');
  const code = new Promise(resolve => follower.once('close', resolve));
  expect(await code).toBe(0);
  await ended(two, run);

  // The same bytes and the same result as at the run's own hub.
  expect(followed.length).toBeGreaterThan(1_000_000);
  const [there, here] = await Promise.all([one, two].map(squad => squad.run(['log', run])));
  expect(here).toEqual(there);
  const result = (squad: TestSquad) => askHub(squad, 'get_result', { spawn_id: run });
  expect(await result(two)).toEqual(await result(one));
  expect(await two.json(['show', run])).toEqual(await one.json(['show', run]));
  expect((await two.run(['diff', run])).stdout).toContain('+text');
  expect((await two.run(['diff', run])).stdout).toEqual((await one.run(['diff', run])).stdout);

  const reply = runOf(await two.json(['reply', run, `Once more ${script('report again')}`, '--detach']));
  const retry = runOf(await two.json(['retry', run, '--detach']));
  await ended(two, reply);
  expect(JSON.stringify(await askHub(two, 'get_result', { spawn_id: reply }))).toContain('again');
  const there2 = await one.json<{ run: { workspace: string } }>(['show', retry]);
  expect(there2.run.workspace).toBe(one.workspace);
  await two.run(['cancel', retry]);

  // Whatever is about the machine of the hub is only possible there.
  const attached = await two.run(['attach', run]);
  expect(attached.stderr).toContain('RUN_ELSEWHERE');
  expect(attached.stderr).toContain('only possible there');
});

test('a run whose hub is not running is shown as the database has it, and nothing waits for that hub', {
  tags: ['H7'],
}, async () => {
  const { one, two } = await twoHubs();
  const [done, hanging] = [
    await start(one, script('say said', 'report the final answer')),
    await start(one, script('say half', 'hang')),
  ];
  await ended(one, done);
  await expect.poll(async () => (await one.run(['log', hanging])).stdout).toContain('half');
  await two.hubPid();

  // A hub that hangs still holds its lock, but takes no requests.
  const pid = await one.hubPid();
  process.kill(pid, 'SIGSTOP');
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  const silent = await two.run(['log', hanging]);
  expect(silent).toMatchObject({ code: 2, stderr: expect.stringContaining('does not answer') });
  process.kill(pid, 'SIGCONT');
  expect((await two.run(['log', hanging])).stdout).toContain('half');

  const waiting = askHub(two, 'get_result', { spawn_id: hanging, wait_seconds: 600 }).catch(thrown => thrown);
  const wasTaken = () =>
    query(one.env.SQUAD_DATABASE_URL!, 'select id from hub_calls where seen_at is not null');
  await expect.poll(wasTaken).toHaveLength(1);
  process.kill(pid, 'SIGKILL');
  await until('the hub is dead', () => !isAlive(pid));
  expect(await waiting).toMatchObject({
    code: 'RUN_ELSEWHERE',
    message: expect.stringContaining('stopped before it answered'),
  });

  const shown = await two.run(['show', done]);
  expect(shown.stdout).toMatch(/state +done/);
  expect(shown.stdout).toContain('the final answer');
  expect(JSON.stringify(await askHub(two, 'get_result', { spawn_id: done }))).toContain('the final answer');
  expect(JSON.stringify(await askHub(two, 'list_events', { run: done }))).toContain('run.ended');
  const away = await two.run(['log', done]);
  expect(away).toMatchObject({ code: 2, stderr: expect.stringContaining(`hub of ${one.home} on `) });
  expect(away.stderr).toContain('is not running');
  expect(away.stderr).toContain(`SQUAD_HOME=${one.home}`);
  expect((await query(one.env.SQUAD_DATABASE_URL!, 'select id from hub_calls')).length).toBe(0);

  // The next hub of that home answers.
  await one.hubPid();
  expect((await two.run(['log', done])).stdout).toContain('said');
});

test('a request in the database reaches the runs of a hub, and nothing else of it', {
  tags: ['H7', 'S16'],
}, async () => {
  const { database, one } = await twoHubs();
  const run = await start(one, script('report done'));
  await ended(one, run);
  const [hub] = await query(database, 'select id from hubs');
  const answerTo = async (request: object): Promise<string> => {
    const id = `forged-${Math.random()}`;
    // The sender has to be a running hub, or its request is dropped.
    await query(
      database,
      `insert into hub_calls (id, from_hub, to_hub, request)
         values ('${id}', '${hub!.id}', '${hub!.id}', '${JSON.stringify(request)}');
       select pg_notify('squad_' || (select oid from pg_namespace where nspname = current_schema()), 'calls ${hub!.id}')`,
    );
    const answers = () => query(database, `select answer from hub_answers where call_id = '${id}'`);
    await expect.poll(answers).toHaveLength(1);
    return String((await answers())[0]!.answer);
  };
  const asked = { run, client: 'terminal', waitMs: 0, ceilingMs: null, isByModel: false };
  for (const [operation, input] of [
    ['stop_hub', {}],
    ['change_setting', { key: 'limits.depth', value: '9' }],
    ['open_terminal', { run }],
    ['spawn_agent', { task: 'Say hello' }],
  ])
    expect(await answerTo({ ...asked, operation, input })).toContain('NOT_ALLOWED');
  expect(await answerTo({ ...asked, operation: 'read_output', input: { run, bad: 1 } })).toContain(
    'INVALID_INPUT',
  );
  expect(await answerTo({ ...asked, run: 'nonsense', operation: 'read_output', input: { run } })).toContain(
    'error',
  );
  expect(await answerTo({ ...asked, operation: 'get_result', input: { spawn_id: run } })).toContain('done');
  expect(await one.statusOf(run)).toBe('completed');
});

test('an agent reaches no run of another hub', { tags: ['S16'] }, async () => {
  const { one, two } = await twoHubs();
  const secret = await start(one, script('report the secret'));
  await ended(one, secret);
  const calls = [
    `call get_result {"spawn_id":"${secret}"}`,
    `call send_message {"run":"${secret}","text":"hello"}`,
    `call cancel_run {"spawn_id":"${secret}"}`,
    'call list_running {"recent":true}',
  ];
  const lead = runOf(await two.json(['run', 'lead', script(...calls), '--detach']));
  await ended(two, lead);
  const { stdout } = await two.run(['log', lead]);
  expect(stdout.match(/RUN_UNKNOWN/g)).toHaveLength(3);
  expect(stdout).not.toContain('the secret');
});
