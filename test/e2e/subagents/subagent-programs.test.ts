import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredMessage, TracePart } from '../../../src/schema/conversation.ts';
import { type Message, talkOf } from '../../../web/views/conversations/conversation-entries.ts';
import { mock } from '../../engines/model-server/script.ts';
import type { RawMcp } from '../../support/raw-mcp.ts';
import { until } from '../../support/squad.ts';
import { ownServer, Subagents, said } from '../../support/subagents.ts';

const HAS_SANDBOX = process.platform === 'linux' && existsSync('/usr/bin/bwrap');

const PROGRAM = `
for (const nonce of ['a', 'b']) await tools.echo__echo({ nonce });
await Promise.all(['c', 'd', 'e'].map(nonce => tools.echo__echo({ nonce })));
try { await tools.echo__count({ nonce: 'f' }); } catch (error) { console.log('caught'); }
return 'ok';
`;
const FAILED = 'COUNT_FILE is not set';
const LOOP = 'for (let n = 0; n < 700; n++) await tools.echo__echo({ nonce: String(n) })';

interface Log {
  level: string;
  data: { event: string; [field: string]: unknown };
}

type Call = Extract<TracePart, { type: 'tool_call' }>;
type Result = Extract<TracePart, { type: 'tool_result' }>;

describe.runIf(HAS_SANDBOX)('tools that a program of a subagent calls', () => {
  let subagents: Subagents;
  let run: string;
  let logs: Log[];
  let messages: StoredMessage[];
  beforeAll(async () => {
    subagents = await Subagents.start();
    await subagents.squad.unlimited();
    subagents.write('coder', {
      servers: { echo: ownServer('echo') },
      more: { defaults: { model: 'main', codeMode: { enabled: true } } },
    });
    ({ run, logs, messages } = await called(PROGRAM, 'all'));
  }, 120_000);
  afterAll(() => subagents[Symbol.asyncDispose]());

  /** Runs a program and waits until all of its conversation is stored. */
  async function called(program: string, tag: string) {
    const client = await subagents.client('coder');
    await client.ask('logging/setLevel', { level: 'debug' });
    const steps = [{ call: 'run_program', arguments: { program } }, { text: 'All done.' }];
    const id = client.call('coder', { prompt: mock(steps, tag) });
    expect(await said(client, id)).toMatchObject({ text: 'All done.', isError: false });
    const logs = logsOf(client);
    await client.close();
    const run = (await subagents.runs()).find(({ task }) => task.includes(`"${tag}"`))!.id;
    const { messages } = await until('all of it is stored', async () => {
      const found = await conversation(run);
      return JSON.stringify(found.messages.at(-1)?.content).includes('All done.') && found;
    });
    return { run, logs, messages };
  }

  const conversation = (of: string) =>
    subagents.squad.json<{ messages: StoredMessage[] }>(['conversation', 'print', of]);
  const partsOf = (of: readonly StoredMessage[]) =>
    of.filter(({ role }) => role === 'program').flatMap(({ content }) => content);
  const callsIn = (of: readonly StoredMessage[]) =>
    partsOf(of).filter((part): part is Call => part.type === 'tool_call');
  const resultsIn = (of: readonly StoredMessage[]) =>
    partsOf(of).filter((part): part is Result => part.type === 'tool_result');
  const programIn = (of: readonly StoredMessage[]) =>
    of.flatMap(({ content }) => content).find((part): part is Call => part.type === 'tool_call')!.id;

  test('is stored call by call, below the message that called for the program', { tags: ['E8'] }, () => {
    const main = messages.filter(({ role }) => role !== 'program');
    expect(main.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(main.map(({ parentId }) => parentId)).toEqual([null, ...main.slice(0, -1).map(({ id }) => id)]);
    const below = messages.filter(({ role }) => role === 'program');
    expect(new Set(below.map(({ parentId }) => parentId))).toEqual(new Set([main[1]!.id]));
    expect(new Set(messages.map(({ label }) => label))).toEqual(new Set([`subagent:coder:${run}`]));
    const within = programIn(messages);
    expect(callsIn(messages)).toMatchObject([
      ...['a', 'b', 'c', 'd', 'e'].map(nonce => ({ name: 'echo__echo', input: { nonce }, within })),
      { name: 'echo__count', input: { nonce: 'f' }, within },
    ]);
    const came = new Map(resultsIn(messages).map(result => [result.id, result]));
    for (const { id, name, input } of callsIn(messages)) {
      const { output, isError } = came.get(id)!;
      if (name === 'echo__echo')
        expect([output, isError]).toEqual([(input as { nonce: string }).nonce, false]);
      else expect([isError, output]).toEqual([true, expect.stringContaining(FAILED)]);
    }
    expect(came.size).toBe(6);
  });

  test('is not sent to the model', () => {
    const asked = subagents.model.requests.filter(({ tag }) => tag === 'all');
    expect(asked).toHaveLength(2);
    expect(asked[1]!.toolResults).toEqual(['caught\nreturned: "ok"']);
  });

  test('is printed indented below its program, each call with what came of it', async () => {
    const { stdout } = await subagents.squad.run(['conversation', 'print', run]);
    expect(stdout).toMatch(
      /\n {2}→ run_program .*\n {4}→ echo__echo \{"nonce":"a"\}\n {4}← echo__echo\n {6}a\n {4}→ echo__echo \{"nonce":"b"\}\n/,
    );
    expect(stdout).toMatch(
      new RegExp(
        `\\n {4}→ echo__count \\{"nonce":"f"\\}\\n {4}← echo__count {2}failed\\n {6}.*${FAILED}.*\\n\\ntool `,
      ),
    );
    expect(stdout).not.toContain('missing');
    expect(stdout).not.toMatch(/^program /m);
  });

  test('is exported, as it is stored and for reading', async () => {
    const lines = (await subagents.squad.run(['conversation', 'export', run])).stdout.trim().split('\n');
    expect(lines.map(line => JSON.parse(line))).toEqual(messages);
    const { stdout } = await subagents.squad.run(['conversation', 'export', run, '--format', 'md']);
    const id = callsIn(messages).at(-1)!.id;
    expect(stdout).toContain(`Calls \` echo__count \` (\` ${id} \`):`);
    expect(stdout).toContain(`\` echo__count \` (\` ${id} \`) failed:`);
  });

  test('is sent as log messages, with the call that ran the program', { tags: ['E9'] }, () => {
    const within = programIn(messages);
    const inside = logs.filter(({ data }) => data.within === within);
    const told = (event: string) => inside.filter(({ data }) => data.event === event);
    expect(told('tool_call').map(({ level, data }) => [level, data.id, data.name, data.input])).toEqual(
      callsIn(messages).map(({ id, name, input }) => ['info', id, name, input]),
    );
    expect(told('tool_result').map(({ level, data }) => [level, data.id, data.isError])).toEqual(
      resultsIn(messages).map(({ id, isError }) => [isError ? 'warning' : 'info', id, isError]),
    );
    const saved = logs.filter(({ data }) => data.event === 'message_saved' && data.role === 'program');
    expect(saved.map(({ data }) => data.messageId)).toEqual(
      messages.filter(({ role }) => role === 'program').map(({ id }) => id),
    );
  });

  test('is counted and logged as part of the run, like any other call', async () => {
    const { run: shown } = await subagents.squad.json<{
      run: { evidence: { toolCalls: number; toolFailures: number } };
    }>(['show', run]);
    expect(shown.evidence).toMatchObject({ toolCalls: 7, toolFailures: 1 });
    const { stdout } = await subagents.squad.run(['log', run]);
    expect(stdout.match(/» echo__echo/g)).toHaveLength(5);
    expect(stdout).toContain('» echo__count {"nonce":"f"}');
  });

  test('is shown in the web UI, with its program', async () => {
    const { url } = await subagents.squad.json<{ url: string }>(['hub', 'start']);
    const token = readFileSync(join(subagents.squad.home, 'token'), 'utf8').trim();
    const response = await fetch(`${new URL(url).origin}/api/runs/${run}/conversation`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(200);
    const { messages: shown } = (await response.json()) as { messages: Message[] };
    const rows = talkOf(shown, []);
    expect(rows.map(({ role, hasGap }) => [role, hasGap])).toEqual([
      ['user', false],
      ['assistant', false],
      ['assistant', false],
    ]);
    const [call] = rows[1]!.parts;
    if (call?.kind !== 'call' || !call.made) throw new Error('The program has no calls');
    expect(call.made.calls.map(({ call: { name }, answer }) => [name, answer?.result.isError])).toEqual([
      ...Array(5).fill(['echo__echo', false]),
      ['echo__count', true],
    ]);
  });

  test('of a loop the first are kept and the rest is counted, everywhere', {
    tags: ['E8'],
    timeout: 120_000,
  }, async () => {
    const long = await called(LOOP, 'loop');
    expect(callsIn(long.messages)).toHaveLength(500);
    expect(resultsIn(long.messages)).toHaveLength(500);
    expect(partsOf(long.messages).at(-1)).toMatchObject({ type: 'more_calls', calls: 200, failed: 0 });
    expect(long.logs.filter(({ data }) => data.moreCalls === 200)).toHaveLength(1);
    const { stdout } = await subagents.squad.run(['conversation', 'print', long.run]);
    expect(stdout).toMatch(/^ {4}… 200 more calls: not kept$/m);
    const { run: shown } = await subagents.squad.json<{ run: { evidence: { toolCalls: number } } }>([
      'show',
      long.run,
    ]);
    expect(shown.evidence.toolCalls).toBe(701);
  });
});

const logsOf = (client: RawMcp): Log[] =>
  client.notices('notifications/message').map(({ params }) => params as unknown as Log);
