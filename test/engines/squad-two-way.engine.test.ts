/** Hubs that die while a CLI waits for permission: no line to it is lost, and none is sent twice. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { CliName } from '../../scripts/engine-clis.ts';
import type { InboxItem } from '../../src/schema/inbox.ts';
import { amountOf } from '../faults/figures.ts';
import { dyingHub } from '../support/die-at.ts';
import { isAlive, type TestSquad, until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad, needsPermission } from './engine-squad.ts';
import { mock, type Step } from './model-server/script.ts';

const WAIT_TIMEOUT_MS = 60_000;
/** All hub deaths: `SQUAD_FIGURES=whole npm run test:engines -- codex test/engines/squad-two-way -t "a hub dies"`. */
const DEATHS = amountOf(100);
/** Longest time from the start of a run to a hub death at a random moment. CLIs ask within it, or soon after. */
const RANDOM_MS = 3_000;
const ROLES = { careful: '---\npermission: read\napprovals: ask\n---\nYou look, and ask before all else.\n' };

/** Lines that a CLI gets in a turn with one answer and no message. */
const ACP_LINES = ['initialize', 'session/new', 'session/prompt', 'answer'];
const ALLOWED: Record<CliName, string[]> = {
  claude: ['user', 'control_response'],
  qwen: ['control_request', 'user', 'control_response'],
  codex: ['initialize', 'initialized', 'thread/start', 'turn/start', 'answer'],
  gemini: ACP_LINES,
  opencode: ACP_LINES,
  copilot: ACP_LINES,
};
/** Some CLIs get the reason of a refusal as a message. */
const REFUSED: Record<CliName, string[]> = {
  ...ALLOWED,
  codex: ALLOWED.codex.toSpliced(-1, 0, 'turn/start'),
  gemini: [...ACP_LINES.toSpliced(-1, 0, 'session/cancel'), 'session/prompt'],
  opencode: [...ACP_LINES, 'session/prompt'],
  copilot: [...ACP_LINES, 'session/prompt'],
};
/** A message to these ends what they do. */
const CANCELLED_BY_MESSAGES: CliName[] = ['gemini', 'copilot'];

const CASES = chosenClis().map(name => ({
  ...{ name, engine: name as string, allowed: ALLOWED[name], refused: REFUSED[name] },
  steers: !CANCELLED_BY_MESSAGES.includes(name),
  // The prompt, for a CLI that first has to open the chat.
  sentFirst: name === 'claude' || name === 'qwen' ? 0 : 1,
}));
type Case = (typeof CASES)[number];

/** Agents of the Agent Client Protocol, as an engine of the user's configuration. */
const ACP: Partial<Record<CliName, string[]>> = {
  gemini: ['gemini', '--acp', '--model=gemini-3-pro', '--approval-mode=default'],
};
const CONFIGURED = CASES.filter(({ name }) => ACP[name]).map(each => ({
  ...{ ...each, engine: 'agent', refused: each.allowed },
}));

async function setAcpEngine(squad: TestSquad, acp: string[] | undefined) {
  squad.write('.squad/squad.json', JSON.stringify({ engines: { agent: { acp } } }));
  expect(await squad.run(['trust', '-y'])).toMatchObject({ code: 0 });
}

/** A run that wants to start a program once, which leaves a line each time it runs. */
async function asking({ name, engine }: Case, before?: (squad: TestSquad) => Promise<void>) {
  const prepare = async (squad: TestSquad) => {
    await before?.(squad);
    if (engine === 'agent') await setAcpEngine(squad, ACP[name]);
  };
  const it = await EngineSquad.start([name], { roles: ROLES, prepare });
  it.squad.write('job.sh', 'echo ran >> job.ran\n');
  const prompt = `Work. ${mock([needsPermission(name, 'sh job.sh'), { text: 'Done.' }], 'job')}`;
  const { spawn_id } = await it.begin(engine, prompt, { roleId: 'careful' });
  const items = async () => (await it.squad.json<{ items: InboxItem[] }>(['inbox', '--all'])).items;
  const ran = join(it.squad.workspace, 'job.ran');
  const turns = () =>
    readdirSync(join(it.squad.home, 'runs', spawn_id)).filter(each => /^turn-/.test(each)).length;
  return {
    it,
    id: spawn_id,
    turns,
    items,
    item: () => until('it asks', async () => (await items())[0], WAIT_TIMEOUT_MS),
    end: () => it.end(spawn_id),
    runs: () => (existsSync(ran) ? readFileSync(ran, 'utf8').trim().split('\n').length : 0),
    /** Types of the lines that the CLI was given. A hub that dies while the CLI starts can cost a turn without a prompt. */
    sent: () =>
      readFileSync(join(it.squad.home, 'runs', spawn_id, `turn-${turns()}`, 'input'), 'utf8')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as { type?: string; method?: string })
        .map(({ type, method }) => type ?? method ?? 'answer'),
    async kill() {
      const pid = await it.squad.hubPid();
      process.kill(pid, 'SIGKILL');
      await until('the hub is gone', () => !isAlive(pid));
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

describe.each([...CASES, ...CONFIGURED])('$name as $engine', each => {
  test('a request that is open when hubs are killed is one item, and its answer reaches the same turn', {
    tags: ['G3'],
  }, async () => {
    await using run = await asking(each);
    const { id } = await run.item();
    await run.kill();
    expect(await run.item()).toMatchObject({ id, state: 'open' });
    await run.kill();
    expect(await run.it.squad.run(['answer', id, 'yes'])).toMatchObject({ code: 0 });
    expect(await run.end()).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(run.runs()).toBe(1);
    expect(await run.items()).toHaveLength(1);
    expect(run.sent()).toEqual(each.allowed);
  });

  // Lines that the hub sends before the answer.
  const before = each.sentFirst;
  const points = [
    ['the answer is stored and not sent', 'line:stored', before, 'yes', 1],
    ['the answer is sent', 'line:written', before, 'yes', 1],
    ['the answer is sent in part', 'line:half', before, 'yes', 1],
    ['the answer is recorded as received', 'inbox:heard', 0, 'yes', 1],
    ['a refusal is stored and not sent', 'line:stored', before, 'no', 0],
    ['a request is open', 'open', 0, 'yes', 1],
    ['it wants, at a random moment', 'random', 0, 'yes', 1],
    ...(before > 0
      ? [
          ['the prompt is stored and not sent', 'line:stored', 0, 'yes', 1] as const,
          ['the prompt is sent', 'line:written', 0, 'yes', 1] as const,
          ['the prompt is sent in part', 'line:half', 0, 'yes', 1] as const,
        ]
      : []),
  ] as const;
  // The same agent as an engine of the configuration has the same driver.
  const deaths = Array.from(
    { length: each.engine === 'agent' ? 1 : DEATHS },
    (_, nth) => [nth + 1, ...points[nth % points.length]!] as const,
  );
  test.each(deaths)(
    '%i: a hub dies when %s: the agent gets each line once',
    { tags: ['G1', 'G3'] },
    async (...[, , point, passed, said, runs]) => {
      const isCheckpoint = point.includes(':');
      const dying = Promise.withResolvers<string | null>();
      await using run = await asking(each, async squad => {
        if (isCheckpoint) void (await dyingHub(squad, point, passed + 1)).died.then(dying.resolve);
      });
      if (point === 'random') await delay(Math.random() * RANDOM_MS);
      if (point === 'open') await run.item();
      if (!isCheckpoint) await run.kill();
      const { id } = await run.item();
      // The hub may be gone before it has told this one that the answer is taken.
      await run.it.squad.run(['answer', id, said]);
      if (isCheckpoint) expect(await dying.promise).toBe('SIGKILL');
      expect(await run.end()).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(run.runs()).toBe(runs);
      expect(run.sent()).toEqual(said === 'yes' ? each.allowed : each.refused);
      expect(await run.items()).toEqual([expect.objectContaining({ id, state: 'answered', answer: said })]);
    },
  );

  test('reads a message in its running turn, unless that would end what it does', {
    tags: ['G2'],
  }, async () => {
    await using run = await asking(each);
    const { id } = await run.item();
    const told = await run.it.squad.json<{ delivery: string }>(['tell', run.id, 'Use the other parser.']);
    expect(told.delivery).toBe(each.steers ? 'in_turn' : 'queued');
    // As a configured engine, Gemini CLI overwrites the session when it loads it again in the same minute.
    if (each.engine === 'agent') return;
    await run.it.squad.run(['answer', id, 'yes']);
    expect(await run.end()).toMatchObject({ status: 'completed' });
    expect(run.turns()).toBe(each.steers ? 1 : 2);
    const prompts = run.it.server.requests.map(request => JSON.stringify(request));
    expect(prompts.some(request => request.includes('Use the other parser.'))).toBe(true);
  });

  test('is interrupted with a request open: the run is cancelled, and a built-in engine continues its chat', async () => {
    await using run = await asking(each);
    await run.item();
    expect(await run.it.squad.json(['interrupt', run.id])).toMatchObject({ status: 'cancelled' });
    expect(run.runs()).toBe(0);
    expect(await run.items()).toEqual([expect.objectContaining({ state: 'withdrawn' })]);
    expect(run.it.output(run.id)).toMatch(
      /"type":"result"|"method":"turn\/completed"|"stopReason":"cancelled"/,
    );
    if (each.engine === 'agent') return;
    const { code, stdout } = await run.it.squad.run([
      'reply',
      run.id,
      `Go on. ${mock([{ text: 'Here.' }], 'reply')}`,
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('Here.');
    expect(stdout).not.toContain('Done.');
  });

  test('is interrupted by a message and continues with it', async () => {
    await using run = await asking(each);
    await run.item();
    const text = `Stop. ${mock([{ text: 'Stopped.' }], 'other')}`;
    const told = await run.it.squad.json<{ delivery: string }>(['tell', run.id, '--interrupt', text]);
    expect(told.delivery).toBe('in_turn');
    expect(await run.end()).toMatchObject({ status: 'completed', result: 'Stopped.' });
    expect(run.runs()).toBe(0);
    expect(run.turns()).toBe(1);
  });
});

const ALWAYS_FED: CliName[] = ['claude', 'codex', 'qwen'];
describe.each(CASES.filter(({ name }) => ALWAYS_FED.includes(name)))('$name', ({ name }) => {
  test('reads a message in a turn that asks nobody, and what it has no permission for is refused at once', {
    tags: ['G1', 'G2'],
  }, async () => {
    await using it = await EngineSquad.start([name]);
    const begun = join(it.squad.workspace, 'begun');
    const outside = join(it.squad.root, 'outside');
    const wait = { shell: 'touch begun; until [ -e go ]; do sleep 0.1; done' };
    // Qwen Code may write everywhere.
    const refused: Partial<Record<CliName, Step[]>> = {
      claude: [{ write: { path: outside, content: 'x' } }],
      codex: [needsPermission('codex', `touch ${outside}`)],
    };
    const steps = [...(refused[name] ?? []), wait, { text: 'Done.' }];
    const prompt = `Work. ${mock(steps, 'steered')}`;
    const { spawn_id } = await it.begin(name, prompt, { permission: 'edit' });
    await until('its command runs', () => existsSync(begun), WAIT_TIMEOUT_MS);
    const told = await it.squad.json<{ delivery: string }>(['tell', spawn_id, 'Use the other parser.']);
    expect(told.delivery).toBe('in_turn');
    it.squad.write('go', '');
    expect(await it.end(spawn_id)).toMatchObject({ status: 'completed', success: true });
    expect(it.server.requests.some(request => JSON.stringify(request).includes('the other parser'))).toBe(
      true,
    );
    const { items } = await it.squad.json<{ items: InboxItem[] }>(['inbox', '--all']);
    expect([items, existsSync(outside)]).toEqual([[], false]);
    expect(existsSync(join(it.squad.home, 'runs', spawn_id, 'turn-2'))).toBe(false);
  });
});
