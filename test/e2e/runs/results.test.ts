import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, TestSquad } from '../../support/squad.ts';
import {
  allMembers,
  RESULT_LIMIT,
  type Squad,
  startAndWait,
  strictCall,
  wholeStream,
} from '../../support/tools.ts';

const squad = new TestSquad();

// One, two, three and four bytes a character, so that every page boundary falls inside one now and then.
const LINE = 'aé→😀 "quoted" \\ \t tab\n';
const LONG = `FIRST WORDS\n${LINE.repeat(4000)}LAST WORDS`;

beforeAll(async () => {
  squad.write('long.txt', LONG);
  squad.write('control.txt', `\u0001\u0002${'\u0003'.repeat(30_000)}`);
  squad.script('both.sh', 'cat long.txt; cat long.txt >&2');
  await squad.unlimited();
  await squad.json(['config', 'set', 'limits.concurrency', '16']);
});
afterAll(() => squad[Symbol.asyncDispose]());

const members = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ roleId: 'coder', task: `task ${i}` }));

describe('a long output', () => {
  test.each(['stdout', 'stderr', 'result'])(
    'is paged by get_result to its last byte: %s',
    { tags: ['C3'] },
    async stream => {
      const client = await squad.client({ env: { RUN_TEMPLATE: './both.sh' } });
      const started = await startAndWait(client, { members: members(1) });
      expect(await wholeStream(client, started.members[0]!.memberId, stream)).toBe(LONG);
    },
  );

  test('is the same after the hub was restarted, for a client that was there before', {
    tags: ['C3'],
  }, async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat long.txt' } });
    const started = await startAndWait(client, { members: members(1) });
    const before = await squad.hubPid();
    await squad.run(['hub', 'stop']);
    const id = started.members[0]!.memberId;
    // The call that meets the restart may be answered with HUB_RESTARTED; the next one must not be.
    await client.callTool({ name: 'list_roles', arguments: {} }).catch(() => {});
    expect(await wholeStream(client, id, 'stdout')).toBe(LONG);
    expect(await strictCall<Squad>(client, 'get_result', { squad_id: started.squadId })).toEqual(started);
    expect(await squad.hubPid()).not.toBe(before);
  });

  test('of one member keeps its head and its tail, says what is missing, and names the file with all of it', async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat long.txt' } });
    const { members: ended } = await startAndWait(client, { members: members(1) });
    const { rawStdout, truncated, outputFile } = ended[0]!;
    expect(rawStdout).toMatch(/^FIRST WORDS\naé→😀/);
    expect(rawStdout).toMatch(/tab\nLAST WORDS$/);
    const [mark, call] = /\[… left out, (?:\d+) bytes in all; get_result (\{.*?\}) reads on …\]/.exec(
      rawStdout,
    )!;
    expect(mark).toContain(` ${Buffer.byteLength(LONG)} bytes`);
    const { page } = await strictCall<{ page: { text: string } }>(client, 'get_result', JSON.parse(call!));
    const head = rawStdout.slice(0, rawStdout.indexOf(`\n${mark}`));
    expect(LONG.startsWith(head + page.text)).toBe(true);
    expect(JSON.stringify(rawStdout).length).toBeGreaterThan(RESULT_LIMIT - 1000);
    expect(truncated).toBe(true);
    expect(readFileSync(outputFile!, 'utf8')).toBe(LONG);
  });

  test('of control characters, six times as long in JSON, still fits and is paged to its end', async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat control.txt' } });
    const started = await startAndWait(client, { members: members(1) });
    expect(started.members[0]!.truncated).toBe(true);
    const text = await wholeStream(client, started.members[0]!.memberId, 'stdout');
    expect(text).toBe(readFileSync(`${squad.workspace}/control.txt`, 'utf8'));
  });

  test('of a built-in engine is its final answer, paged likewise, also when it ends in the replacement character', async () => {
    const answer = `${LINE.replace('\t', '').repeat(1000)}${'→'.repeat(9000)} the end \ufffd\ufffd`;
    const body = answer
      .split('\n')
      .map(line => `| ${line}`)
      .join('\n');
    const client = await squad.client({ env: { ENGINE_COMMAND: 'scripted' } });
    const started = await startAndWait(client, {
      members: [{ roleId: 'coder', task: `x\n\`\`\`script\nsay working\nreport\n${body}\n\`\`\`` }],
    });
    expect(started.members[0]!.rawStdout).toMatch(/the end \ufffd\ufffd$/);
    expect(await wholeStream(client, started.members[0]!.memberId, 'result')).toBe(answer);
  });

  test('a page may begin at any byte and is never half a character', { tags: ['C10'] }, async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: 'cat long.txt' } });
    const started = await startAndWait(client, { members: members(1) });
    const bytes = Buffer.from(LONG);
    for (let offset = 12; offset < 24; offset++) {
      const { page } = await strictCall<{ page: { offset: number; text: string } }>(client, 'get_result', {
        spawn_id: started.members[0]!.memberId,
        stream: 'stdout',
        offset,
      });
      expect(page.offset - offset).toBeLessThan(4);
      expect(bytes.toString('utf8', page.offset).startsWith(page.text)).toBe(true);
    }
    const { page } = await strictCall<{ page: { text: string } }>(client, 'get_result', {
      spawn_id: started.members[0]!.memberId,
      stream: 'stdout',
      offset: -10,
    });
    expect(page.text).toBe('LAST WORDS');
  });
});

describe.each([1, 5, 100, 300])('a squad of %d with huge outputs', count => {
  test('fits into one result, and its pages show every member in order with its last words', {
    tags: ['A2'],
  }, async () => {
    const client = await squad.client({ env: { RUN_TEMPLATE: './both.sh' } });
    const started = await startAndWait(client, { members: members(count), metadata: { count } });
    expect(JSON.stringify(started).length).toBeLessThanOrEqual(RESULT_LIMIT);
    if (count <= 5) expect(started.nextOffset).toBeUndefined();
    else expect(started.nextOffset).toBe(started.members.length);
    const everyone = await allMembers(client, started.squadId);
    expect(everyone).toHaveLength(count);
    for (const member of everyone) {
      expect(member).toMatchObject({ status: 'completed', truncated: true, outputFile: expect.any(String) });
      expect(member.rawStdout).toMatch(/^F.*LAST WORDS$/s);
      expect(member.rawStderr).toMatch(/LAST WORDS$/);
    }
    const { runs } = await squad.json<{ runs: { id: string; position: number; squadId: string }[] }>([
      'ls',
      '--limit',
      '1000',
    ]);
    const ids = runs.filter(run => run.squadId === started.squadId);
    ids.sort((a, b) => a.position - b.position);
    expect(everyone.map(member => member.memberId)).toEqual(ids.map(run => run.id));
  });
});

test('short outputs are given whole however many there are, and what they leave goes to the long one', async () => {
  squad.script('one-long.sh', '[ "$1" != "task 3" ] || cat long.txt; echo "done with $1"');
  const client = await squad.client({ env: { RUN_TEMPLATE: './one-long.sh <%= task %>' } });
  const { members: ended } = await startAndWait(client, { members: members(8) });
  for (const [i, member] of ended.entries()) {
    if (i === 3) continue;
    expect(member.rawStdout).toBe(`done with task ${i}\n`);
    expect(member).not.toHaveProperty('truncated');
    expect(member).not.toHaveProperty('outputFile');
  }
  expect(ended[3]!.rawStdout).toMatch(/^FIRST WORDS.*done with task 3\n$/s);
  expect(JSON.stringify(ended[3]!.rawStdout).length).toBeGreaterThan(8000);
});

test('hundreds of queued runs fit into list_running and cancel_run, which say how many are not shown', async () => {
  const client = await squad.client({ env: { ENGINE_COMMAND: 'scripted', MCP_TOOL_TIMEOUT: '50' } });
  await squad.json(['config', 'set', 'limits.concurrency', '1']);
  try {
    const task = `\u0001${'long '.repeat(40)}\n\`\`\`script\nhang\n\`\`\``;
    const started = await strictCall<Squad>(client, 'start_squad_members', {
      members: Array.from({ length: 300 }, () => ({ roleId: 'coder', task })),
    });
    const list = await strictCall<{ agents: unknown[]; count: number; note?: string }>(
      client,
      'list_running',
    );
    expect(list.count).toBe(300);
    expect(list.agents.length).toBeGreaterThan(20);
    expect(list.note).toBe(`${300 - list.agents.length} more are not shown.`);
    const answer = await strictCall<{ runs: { was_running: boolean }[]; note?: string }>(
      client,
      'cancel_run',
      { squad_id: started.squadId },
    );
    expect(answer.runs.every(run => run.was_running)).toBe(true);
    expect(answer.note).toBe(`${300 - answer.runs.length} more are not shown`);
    const ended = await allMembers(client, started.squadId);
    expect(new Set(ended.map(member => member.status))).toEqual(new Set(['cancelled']));
  } finally {
    await squad.json(['config', 'set', 'limits.concurrency', '16']);
  }
});

test('a member whose engine nobody is logged in to says how to log in, in every shape of its result', async () => {
  const says = { type: 'result', subtype: 'success', is_error: true, result: 'Invalid API key' };
  const program = squad.script(
    'bin/claude',
    `case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit;; esac\nread -r prompt\necho '${JSON.stringify(says)}'\nexit 1`,
  );
  const client = await squad.client({ env: { ENGINE_COMMAND: program } });
  const note = expect.stringMatching(/^For the user: .*set ANTHROPIC_API_KEY/);
  const started = await startAndWait(client, { members: members(1) });
  expect(started).toMatchObject({ members: [{ error: { code: 'ENGINE_NOT_LOGGED_IN' }, note }] });
  expect(await callTool(client, 'get_result', { squad_id: started.squadId })).toMatchObject({
    members: [{ note }],
  });
  expect(await callTool(client, 'spawn_parallel', { agents: [{ prompt: 'x' }] })).toMatchObject({
    results: [{ error: { code: 'ENGINE_NOT_LOGGED_IN' }, note }],
  });
});
