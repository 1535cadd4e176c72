import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { until } from '../../support/squad.ts';
import { nested, ownServer, Subagents, said } from '../../support/subagents.ts';

const HOSTILE = '\u001b]0;title\u0007\u001b[31mred\u001b[0m \u202egnp.exe ````fence';

interface Listed {
  conversations: { run: string; label: string; subagent: string | null; messages: number; status: string }[];
}
interface Whole {
  messages: {
    id: string;
    parentId: string | null;
    role: string;
    content: { type: string }[];
    label: string;
  }[];
  note: string | null;
}

let subagents: Subagents;
let parent: string;
let child: string;
beforeAll(async () => {
  subagents = await Subagents.start();
  await subagents.squad.unlimited();
  subagents.write('asker', { servers: { echo: ownServer('echo') } });
  subagents.write('outer', {
    servers: { echo: ownServer('echo'), below: nested(join(subagents.squad.workspace, 'asker.yaml')) },
  });
  const inner = mock([{ call: 'echo', arguments: { nonce: HOSTILE } }, { text: `inner ${HOSTILE}` }]);
  const prompt = `Ask it. ${mock([
    { text: 'First an echo.', call: 'echo', arguments: { nonce: 'n-1', bytes: 3_000 } },
    { call: 'asker', arguments: { prompt: inner } },
    { text: 'All done.' },
  ])}`;
  const client = await subagents.client('outer');
  expect((await said(client, client.call('outer', { prompt }))).text).toBe('All done.');
  await client.close();
  [parent, child] = await until('all of both is stored', async () => {
    const { conversations } = await subagents.squad.json<Listed>(['conversation', 'list']);
    const [outer, asker] = ['outer', 'asker'].map(name =>
      conversations.find(({ subagent }) => subagent === name),
    );
    return outer?.messages === 6 && asker?.messages === 4 && ([outer.run, asker.run] as const);
  });
}, 120_000);
afterAll(() => subagents[Symbol.asyncDispose]());

const whole = (run: string) => subagents.squad.json<Whole>(['conversation', 'print', run]);

describe('squad conversation list', () => {
  test('has each with its label and how much was said, all or of one subagent', {
    tags: ['E8'],
  }, async () => {
    const all = await subagents.squad.json<Listed>(['conversation', 'list']);
    expect(all.conversations).toMatchObject([
      { run: child, label: `subagent:asker:${child}`, messages: 4, status: 'completed' },
      { run: parent, label: `subagent:outer:${parent}`, messages: 6, status: 'completed' },
    ]);
    const one = await subagents.squad.json<Listed>(['conversation', 'list', '--subagent', 'outer']);
    expect(one.conversations.map(({ run }) => run)).toEqual([parent]);
    const { stdout } = await subagents.squad.run(['conversation', 'list']);
    expect(stdout).toMatch(new RegExp(`${child} +asker .* 4 +done`));
  });

  test('is of the workspace one is in, or of all of them', { tags: ['E8'] }, async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'squad-elsewhere-'));
    const there = ['conversation', 'list', '--workspace', elsewhere];
    const none = await subagents.squad.run(there);
    expect(none.stdout).toContain('No conversations in this workspace');
    expect(none.stdout).toContain('--all');
    const { conversations } = await subagents.squad.json<Listed>([...there, '--all']);
    expect(conversations.map(({ run }) => run)).toEqual(expect.arrayContaining([parent, child]));
    rmSync(elsewhere, { recursive: true });
  });

  test('of a name that nobody has says which is near', async () => {
    const { code, stderr } = await subagents.squad.run(['conversation', 'list', '--subagent', 'outr']);
    expect(code).toBe(2);
    expect(stderr).toContain('Did you mean outer?');
  });
});

describe('squad conversation print', () => {
  test('shows who said what, tools with what they were given, and the run that a call started below it', {
    tags: ['E8'],
  }, async () => {
    const { stdout } = await subagents.squad.run(['conversation', 'print', parent]);
    expect(stdout).toMatch(/^subagent:outer:run_\w+ +done +6 messages\n/);
    expect(stdout).toMatch(/\nuser .*\n {2}Ask it\./);
    expect(stdout).toMatch(
      /\nassistant .*\n {2}First an echo\.\n {2}→ echo__echo \{"nonce":"n-1","bytes":3000\}/,
    );
    expect(stdout).toMatch(/\ntool .*\n {2}← echo__echo\n {4}n-1\n {4}x+…\n {4}… cut: --tools full/);
    expect(stdout).toMatch(
      new RegExp(`→ below__asker \\{"prompt".*\\n {4}↳ ${child} asker {2}squad conversation print ${child}`),
    );
    expect(stdout.indexOf('First an echo')).toBeLessThan(stdout.indexOf('All done.'));
  });

  test('takes a label and the beginning of an id for the run', async () => {
    const [byId, byLabel, byStart] = await Promise.all([
      whole(parent),
      whole(`subagent:outer:${parent}`),
      whole(parent.slice(0, -2)),
    ]);
    expect(byLabel).toEqual(byId);
    expect(byStart).toEqual(byId);
  });

  test('every message is there once, each after the one it names', { tags: ['E8'] }, async () => {
    const { messages } = await whole(parent);
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(messages.map(({ parentId }) => parentId)).toEqual([
      null,
      ...messages.slice(0, -1).map(({ id }) => id),
    ]);
    expect(new Set(messages.map(({ label }) => label))).toEqual(new Set([`subagent:outer:${parent}`]));
  });

  test('obeys nothing that was said', async () => {
    const { stdout } = await subagents.squad.run(['conversation', 'print', child, '--tools', 'full']);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    expect(stdout).not.toMatch(/[\u001b\u0007\u202e]/);
    expect(stdout).toContain('inner');
  });

  test('of long results shows the beginning, and with --tools full all of it', async () => {
    const steps = [{ call: 'echo', arguments: { nonce: 'line\n'.repeat(40) } }, { text: 'ok' }];
    const prompt = mock(steps, 'forty-lines');
    const client = await subagents.client('asker');
    await said(client, client.call('asker', { prompt }));
    await client.close();
    const run = (await subagents.runs()).find(({ task }) => task.includes('"forty-lines"'))!.id;
    await until('all of it is stored', async () => (await whole(run)).messages.length === 4);
    const short = (await subagents.squad.run(['conversation', 'print', run])).stdout;
    expect(short).toContain('… 34 more lines: --tools full');
    const full = (await subagents.squad.run(['conversation', 'print', run, '--tools', 'full'])).stdout;
    expect(full.match(/^ {4}line$/gm)).toHaveLength(40);
    expect(full).not.toContain('more lines');
  });

  test('of a run without one says what there is instead', async () => {
    const started = ['run', '-d', '--engine', 'scripted', 'coder', 'Say hello'];
    const { runIds } = await subagents.squad.json<{ runIds: string[] }>(started);
    const { code, stdout } = await subagents.squad.run(['conversation', 'print', runIds[0]!]);
    expect(code).toBe(0);
    expect(stdout).toContain('Its engine is scripted');
    expect(stdout).toContain(`squad log ${runIds[0]}`);
    const { stderr, code: refused } = await subagents.squad.run(['conversation', 'export', runIds[0]!]);
    expect(refused).toBe(2);
    expect(stderr).toContain(`squad log ${runIds[0]}`);
  });

  test('of a run that is not there names the nearest', async () => {
    const wrong = `${parent.slice(0, -1)}${parent.endsWith('0') ? '1' : '0'}`;
    const { code, stderr } = await subagents.squad.run(['conversation', 'print', wrong]);
    expect(code).toBe(2);
    expect(stderr).toContain(parent);
  });
});

describe('squad conversation export', () => {
  test('as JSON lines is every message as it was stored, in a new file for the user alone', async () => {
    const file = join(subagents.squad.workspace, 'out.jsonl');
    const args = ['conversation', 'export', child, '-o', 'out.jsonl'];
    expect((await subagents.squad.run(args)).stdout.trim()).toBe(file);
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines).toEqual((await whole(child)).messages);
    expect(JSON.stringify(lines)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
    const again = await subagents.squad.run(args);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('already exists');
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(4);
  });

  test('as Markdown keeps everything that was said inside fences', async () => {
    const { stdout } = await subagents.squad.run(['conversation', 'export', child, '--format', 'md']);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    expect(stdout).not.toMatch(/[\u001b\u0007\u202e]/);
    expect(stdout).toMatch(/^# subagent:asker:run_\w+\n\n## user, /);
    expect(stdout).toMatch(/`````text\n[^`]*````fence\n`````/);
  });
});

test('a hub that is killed in the middle takes nothing of the conversation with it', {
  tags: ['E8'],
}, async () => {
  const { squad, model } = subagents;
  const env = { ANTHROPIC_API_KEY: 'fake', ANTHROPIC_BASE_URL: model.url };
  const task = mock(
    [...Array.from({ length: 12 }, () => ({ call: 'squad_status' })), { text: 'the end' }],
    'killed',
  );
  const options = ['--engine', 'native', '--model', 'anthropic/claude-test'];
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', ...options, 'coder', task], {
    env,
  });
  const [run] = runIds as [string];
  await model.waitForRequest(({ tag, step }) => tag === 'killed' && step === 2);
  process.kill(await squad.hubPid(), 'SIGKILL');
  await squad.run(['wait', run]);
  const { messages } = await until('all of it is stored', async () => {
    const found = await whole(run);
    return JSON.stringify(found.messages.at(-1)?.content).includes('the end') && found;
  });
  const output = readFileSync(join(squad.home, 'runs', run, 'turn-1', 'stdout'), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(({ type }) => type === 'message');
  expect(messages.map(({ id }) => id)).toEqual(output.map(({ message }) => message.id));
  expect(messages.length).toBeGreaterThan(4);
});
