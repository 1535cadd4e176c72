import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Event } from '../../../src/schema/event.ts';
import type { Run } from '../../../src/schema/run.ts';
import { amountOf, figureTimeout } from '../../faults/figures.ts';
import { echoBlock, variable } from '../../servers/start.ts';
import { isAlive, TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const ROLES = {
  patient: 'park: 1h',
  short: 'park: 5s',
  hasty: '',
  // The second engine is limited, too, and the last one waits.
  chain: 'engine: [scripted, second, third]\nmodel: big\npark: 1h',
  pair: 'engine: [scripted, plain, gemini]',
  logins: 'engine: [claude, codex]\nenv: [SHARED_TOKEN]',
};
beforeAll(async () => {
  const roles = join(squad.root, 'roles');
  squad.env.SQUAD_AGENTS_DIR = roles;
  mkdirSync(roles);
  for (const [role, keys] of Object.entries(ROLES))
    writeFileSync(join(roles, `${role}.md`), `---\n${keys}\n---\nYou work.`);
  // `second` and `third` print what Claude Code prints. Each program writes down its argument and its prompt.
  const program = (name: string, lines: string) =>
    squad.script(`${name}.sh`, `echo "$1" >> args-${name}\ncat >> prompts-${name}\n${lines}`);
  const line = (fields: object) => `echo '${JSON.stringify(fields)}'`;
  const refused = line({ type: 'result', is_error: true, result: 'Too much', api_error_status: 429 });
  const limit = `echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(($(date +%s) + 4))'}}'`;
  const third = [
    line({ type: 'system', subtype: 'init', session_id: 'chat-3' }),
    `if [ -f was-limited ]; then ${line({ type: 'result', is_error: false, result: 'third is done' })}; exit; fi`,
    `touch was-limited\n${limit}\n${refused}\nexit 1`,
  ].join('\n');
  const engines = {
    plain: { runTemplate: program('plain', 'echo plain is done') },
    second: { runTemplate: `${program('second', refused)} "m<%= model %>"`, parser: 'claude' },
    third: { runTemplate: `${program('third', third)} "c<%= chatId %>"`, parser: 'claude' },
  };
  execFileSync('git', ['init', '-q', squad.workspace]);
  squad.write('.squad/squad.json', JSON.stringify({ engines }));
  expect((await squad.run(['trust', '-y'])).code).toBe(0);
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const fenced = (script: string, turn = '') => `\`\`\`script${turn}\n${script}\n\`\`\``;
const shown = async (id: string) => squad.shown<{ run: Run; result: { result: string; note?: string } }>(id);
const events = async (id: string) =>
  (await squad.json<{ events: Event[] }>(['events', '--run', id, '--limit', '1000'])).events.map(
    ({ body }) => body,
  );
async function start(...pairs: [role: string, task: string][]): Promise<string[]> {
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...pairs.flat()]);
  return runIds;
}
const waits = (id: string) =>
  until('it waits for the limit', async () => (await squad.statusOf(id)) === 'waiting_limit', 60_000);
async function ended(id: string): Promise<Awaited<ReturnType<typeof shown>>> {
  await squad.run(['wait', id]);
  return shown(id);
}
async function killHub(): Promise<void> {
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
}

/** The agent writes down the time of each request, and is limited by the first. */
const limited = (name: string, limit: string, turn2 = 'report whole') =>
  [
    fenced(`say half\nrun date +%s%3N >> ${name}\nlimit ${limit}`),
    fenced(`run date +%s%3N >> ${name}\n${turn2}`, ' turn 2'),
  ].join('\n');
const requests = (name: string) =>
  readFileSync(join(squad.workspace, name), 'utf8').trim().split('\n').map(Number);
const iso = (at: number) => new Date(at).toISOString();

const RUNS = amountOf(20);
test(`${RUNS} limited runs continue in their chats after the reset and not before, also across a hub kill`, {
  tags: ['G5'],
  timeout: figureTimeout(180_000),
}, async () => {
  const names = Array.from({ length: RUNS }, (_, n) => `requests-${n}`);
  // The hub is killed before the reset, and the next one starts before it and after it.
  const reset = Date.now() + (RUNS > 2 ? 60_000 : 15_000);
  const ids = await start(
    ...names.map((name): [string, string] => ['patient', limited(name, `It resets at ${iso(reset)}`)]),
  );
  for (const id of ids) await waits(id);
  await killHub();
  const chats = await Promise.all(ids.map(async id => (await shown(id)).run.chatId));
  for (const [i, id] of ids.entries()) {
    const { run, result } = await ended(id);
    expect(run).toMatchObject({ status: 'completed', turn: 2, chatId: chats[i], notes: [expect.anything()] });
    expect(result).toMatchObject({ result: 'whole', note: expect.stringContaining('Waited once') });
    const [first, second, ...more] = requests(names[i]!);
    expect(first).toBeLessThan(reset);
    expect(second).toBeGreaterThanOrEqual(reset);
    expect(more).toEqual([]);
  }
});

describe('a limited run', { tags: ['G5'] }, () => {
  test('says until when it waits, holds no slot, and can be cancelled', async () => {
    await squad.set('limits.concurrency', '1');
    const reset = Date.now() + 1_800_000;
    const [id] = await start(['patient', limited('slot', `It resets at ${iso(reset)}`)]);
    await waits(id!);
    const [other] = await start(['hasty', fenced('report other')]);
    expect((await ended(other!)).run.status).toBe('completed');
    await squad.set('limits.concurrency', '8');

    const until = reset + 1_000;
    const text = `${iso(Math.floor(until / 1_000) * 1_000).slice(0, 19)}Z`;
    const { run, result } = await shown(id!);
    expect(run.options.limit).toEqual({ until, waits: 1, since: expect.any(Number), takeovers: [] });
    expect(result.note).toContain(`waits for the usage limit of scripted until ${text}`);
    expect(await events(id!)).toContainEqual({
      ...{ type: 'run.limited', turn: 1, engine: 'scripted', until, next: null },
    });
    expect((await squad.run(['ls'])).stdout).toMatch(/limited (29m|30m)/);

    expect((await squad.run(['cancel', id!])).code).toBe(0);
    expect((await shown(id!)).run).toMatchObject({ status: 'cancelled', turn: 1 });
    expect(requests('slot')).toHaveLength(1);
  });

  test('continues at once when the next hub starts after the reset', async () => {
    const reset = Date.now() + 8_000;
    const [id] = await start(['patient', limited('late', `It resets at ${iso(reset)}`)]);
    await waits(id!);
    await killHub();
    await until('the limit is reset', () => Date.now() > reset + 1_000, 60_000);
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', turn: 2 });
    expect(requests('late')).toHaveLength(2);
  });

  test('gets the messages that it missed with its next turn', async () => {
    const [id] = await start(['patient', limited('told', 'try again in 6s')]);
    await waits(id!);
    await squad.run(['tell', id!, 'Use tabs.']);
    await ended(id!);
    const prompt = readFileSync(join(squad.home, 'runs', id!, 'turn-2', 'prompt.md'), 'utf8');
    expect(prompt).toMatch(/ended at a usage limit, which is reset now[\s\S]*Use tabs\./);
  });

  test('tries again a little later if the reset is in the past', async () => {
    const again = `limit It resets at ${iso(0)}\n\`\`\`\n${fenced('report third', ' turn 3').slice(0, -4)}`;
    const [id] = await start(['patient', limited('past', `It resets at ${iso(0)}`, again)]);
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', turn: 3 });
    const [first, second] = requests('past');
    expect(second! - first!).toBeGreaterThanOrEqual(2_000);
  });

  test.each([
    [
      'patient',
      'It resets at 2099-01-01T00:00:00Z',
      'It is reset at 2099-01-01T00:00:00Z, and the run may wait',
    ],
    ['short', 'Nobody knows until when.', 'does not say when it is reset, and the run may wait'],
    ['hasty', 'try again in 1s', 'try again in 1s'],
  ])('with the role %s and "%s" ends with the reason', async (role, limit, why) => {
    const [id] = await start([role, fenced(`limit ${limit}`)]);
    const { run } = await ended(id!);
    expect(run).toMatchObject({ status: 'error', turn: 1 });
    expect(run.error).toMatchObject({ code: 'ENGINE_RATE_LIMITED', message: expect.stringContaining(why) });
  });

  test('waits without a role that says so if `limits.park` does', async () => {
    await squad.set('limits.park', '5');
    const [id] = await start(['hasty', limited('setting', 'try again in 2s')]);
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', turn: 2 });
    await squad.set('limits.park', '0');
  });
});

describe('with a list of engines', { tags: ['G5'] }, () => {
  const read = (file: string) => readFileSync(join(squad.workspace, file), 'utf8');

  test('the next engine takes over in the same folder with what was done, and the last one waits', async () => {
    const task = `The task.\n${fenced('say I wrote half of it\nusage 10 5\nwrite half.txt\nlimit')}`;
    const [id] = await start(['chain', task]);
    const { run, result } = await ended(id!);
    expect(run).toMatchObject({ status: 'completed', engine: 'third', turn: 4, chatId: 'chat-3' });
    expect(run.options).toMatchObject({
      attempt: { number: 3, turn: 3 },
      limit: { waits: 1, until: null, takeovers: [2, 3] },
    });
    expect(run.usage).toMatchObject({ input: 10, output: 5 });
    expect(result.result).toBe('third is done');
    expect(run.notes.join('\n')).toMatch(
      /scripted\. second took over[\s\S]*second\. third took over[\s\S]*Waited once/,
    );
    expect((await events(id!)).flatMap(body => (body.type === 'run.limited' ? [body] : []))).toMatchObject([
      { turn: 1, engine: 'scripted', next: 'second' },
      { turn: 2, engine: 'second', next: 'third' },
      { turn: 3, engine: 'third', next: null, until: expect.any(Number) },
    ]);
    // The model is a name of the first engine, and the chat is that of the last.
    expect(read('args-second')).toBe('m\n');
    expect(read('args-third')).toBe('c\ncchat-3\n');
    expect(read('prompts-second')).toMatch(
      /The task\.[\s\S]*Another agent \(scripted\) began this task[\s\S]*> A half\.txt[\s\S]*> I wrote half of it/,
    );
    const [takeover, afterwards] = [1, 2].map(n => read('prompts-third').split('# Task\n')[n]!);
    expect(takeover).toMatch(/The task\.[\s\S]*> I wrote half of it[\s\S]*Another agent \(second\)/);
    expect(afterwards).toMatch(/^Your last turn ended at a usage limit/);
    // Each turn is read with the engine that wrote it.
    expect((await squad.run(['log', id!])).stdout).toMatch(/I wrote half of it[\s\S]*✗ Too much/);
  });

  test('an engine without events has its output as result; one that is not installed is named', async () => {
    const [id] = await start(['pair', fenced('say first half\nlimit')]);
    const { run, result } = await ended(id!);
    expect(run).toMatchObject({ status: 'completed', engine: 'plain', outputIsEvents: false });
    expect(result.result).toBe('plain is done\n');
    expect(run.notes[0]).toMatch(/^gemini cannot take over at a usage limit: /);
  });

  test('each engine gets its own login variables, and only those', async () => {
    const names = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'SHARED_TOKEN', 'TRACKER_TOKEN'];
    await using other = new TestSquad(Object.fromEntries(names.map(name => [name, `value of ${name}`])));
    other.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
    other.env.PATH = `${join(other.workspace, 'bin')}:${other.env.PATH}`;
    // With rules of the user Codex only reads its prompt.
    other.write('codex-home/rules/default.rules', '');
    other.env.CODEX_HOME = join(other.workspace, 'codex-home');
    const line = (fields: object) => `echo '${JSON.stringify(fields)}'`;
    const cli = (name: string, version: string, lines: string[]) =>
      other.script(
        `bin/${name}`,
        [
          `case "$*" in --version) echo ${version}; exit;; esac`,
          `read -r prompt; printenv ${names.join(' ')} > env-${name}`,
          ...lines,
        ].join('\n'),
      );
    const refused = { type: 'result', is_error: true, result: 'Too much', api_error_status: 429 };
    cli('claude', '2.1.325', [line(refused), 'exit 1']);
    const answer = { type: 'item.completed', item: { type: 'agent_message', text: 'codex is done' } };
    cli('codex', '0.166.0', [line(answer), line({ type: 'turn.completed' })]);
    // The gateway uses all of them, so an agent gets only what its engine needs or its role names.
    const env = Object.fromEntries(names.map(name => [name, variable(name)]));
    other.write('.squad/mcp-config.json', JSON.stringify({ servers: { tracker: echoBlock({ env }) } }));
    expect((await other.run(['trust', '-y', '.squad/mcp-config.json'])).code).toBe(0);
    const ran = await other.run(['run', 'logins', 'Work.']);
    expect(ran.stdout, ran.stderr).toContain('codex is done');
    const had = (name: string) =>
      readFileSync(join(other.workspace, `env-${name}`), 'utf8')
        .trim()
        .split('\n');
    expect(had('claude')).toEqual(['value of ANTHROPIC_API_KEY', 'value of SHARED_TOKEN']);
    expect(had('codex')).toEqual(['value of OPENAI_API_KEY', 'value of SHARED_TOKEN']);
  });

  test('a call that names an engine has only that one', async () => {
    const { runIds } = await squad.json<{ runIds: string[] }>([
      ...['run', '-d', '--engine', 'scripted', 'pair', fenced('limit')],
    ]);
    expect((await ended(runIds[0]!)).run).toMatchObject({ status: 'error', engine: 'scripted', turn: 1 });
  });

  test('a hub that is killed right after the takeover continues with the next engine', async () => {
    await squad.set('limits.concurrency', '1');
    const [id] = await start(['pair', fenced('await go\nlimit')]);
    const [other] = await start(['hasty', fenced('await gone')]);
    squad.write('go', '');
    await until('the first engine is limited', async () =>
      (await events(id!)).some(({ type }) => type === 'run.limited'),
    );
    await killHub();
    squad.write('gone', '');
    expect((await ended(id!)).run).toMatchObject({ status: 'completed', engine: 'plain', turn: 2 });
    await ended(other!);
    await squad.set('limits.concurrency', '8');
  });

  test.each(['[]', '[scripted, scripted]', '[1]', '[a, b, c, d, e, f]'])('%s is refused', async list => {
    writeFileSync(join(squad.root, 'roles', 'wrong.md'), `---\nengine: ${list}\n---\nYou work.`);
    const { code, stderr } = await squad.run(['run', 'wrong', 'x']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('must be the name of an engine, or a list of at most five different names');
  });
});
