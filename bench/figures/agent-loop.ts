import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, paired, type Row, single } from '../figure.ts';
import { interleave } from '../measure.ts';
import { canReadMemory, memoryOf } from '../process-memory.ts';

const MAX_RATIO = 8;
const MAX_MB = 150;
const PAIRS = 30;
const TYPES = ['anthropic', 'openai', 'responses', 'google'];
/** Maximum total size of the files in one prompt, in MiB. */
const MAX_INPUT = 32;

/**
 * Time from the start of the agent's process to its first request to a model, compared with a Node process that does
 * nothing.
 */
export const agentLoop: Figure = {
  name: 'agent-loop',
  title: "Squad's own agent: from its start to the first request to a model",
  async measure() {
    await using squad = new BenchSquad();
    const agent = join(squad.program, 'dist', 'agent.cjs');
    // Start the agent as the hub does.
    const env = squad.env({ NODE_COMPILE_CACHE: join(squad.home, 'cache') });
    const model = await busyModel();
    const rows: Row[] = [];
    let peak = 0;
    for (const type of TYPES) {
      const pair = await interleave(
        async () => {
          const asked = model.nextRequest();
          // Each start needs its own request file, because the agent deletes it.
          const file = requestFile(squad.root, type, model.url);
          const start = performance.now();
          const child = spawn(process.execPath, [agent, file], { env, stdio: ['pipe', 'ignore', 'inherit'] });
          const exit = once(child, 'exit');
          child.stdin.end('Begin.');
          const { at, refuse } = await asked;
          if (canReadMemory) peak = Math.max(peak, memoryOf(child.pid!).peak);
          refuse();
          await exit;
          return at - start;
        },
        async () => {
          const start = performance.now();
          await once(spawn(process.execPath, ['-e', '0'], { env, stdio: 'ignore' }), 'exit');
          return performance.now() - start;
        },
        { pairs: PAIRS, warmUps: 3 },
      );
      rows.push(
        paired(`${type}, against node -e 0`, 'ms', pair, {
          target: `≤ ${MAX_RATIO} × floor`,
          isMet: ({ ratio }) => ratio! <= MAX_RATIO,
        }),
      );
    }
    if (canReadMemory) rows.push(await withInput(squad.root, agent, env, model));
    model.close();
    if (canReadMemory)
      rows.push(
        single('peak memory by then, the largest of all', 'MB', peak, {
          target: `≤ ${MAX_MB} MB`,
          isMet: ({ value }) => value <= MAX_MB,
        }),
      );
    return rows;
  },
};

/** Measures the time until the request with the whole file was sent. */
async function withInput(
  root: string,
  agent: string,
  env: Record<string, string>,
  model: Awaited<ReturnType<typeof busyModel>>,
): Promise<Row> {
  const input = join(root, 'large.pdf');
  writeFileSync(input, Buffer.alloc(MAX_INPUT * 1024 * 1024, '%PDF-1.4\n'));
  const asked = model.nextRequest();
  const file = requestFile(root, 'anthropic', model.url, [input]);
  const child = spawn(process.execPath, [agent, file], { env, stdio: ['pipe', 'ignore', 'inherit'] });
  const exit = once(child, 'exit');
  child.stdin.end('Read it.');
  const { refuse, whole } = await asked;
  await whole;
  const { peak } = memoryOf(child.pid!);
  refuse();
  await exit;
  return single(`peak memory with a file of ${MAX_INPUT} MiB`, 'MB', peak, {
    target: `≤ ${MAX_MB} MB`,
    isMet: ({ value }) => value <= MAX_MB,
  });
}

function requestFile(folder: string, type: string, baseUrl: string, inputs: string[] = []): string {
  const file = join(folder, `${type}.json`);
  const request = {
    model: { type, id: 'model-1', baseUrl, apiKeyEnv: null },
    systemPrompt: 'You are measured.',
    inputs,
    outputSchema: null,
    codeMode: null,
    maxTurns: 1,
    secrets: [],
    endpoint: null,
    endsWithHub: false,
    chatFile: join(folder, 'chat', 'chat.jsonl'),
    continues: false,
  };
  writeFileSync(file, JSON.stringify(request));
  return file;
}

interface Asked {
  at: number;
  /** Settles when the whole request has arrived. */
  whole: Promise<unknown>;
  refuse(): void;
}

/** Holds each request open until the test calls `refuse`. */
async function busyModel() {
  let heard: (asked: Asked) => void = () => {};
  const server = createServer((request, response) =>
    heard({
      at: performance.now(),
      whole: once(request.resume(), 'end'),
      refuse: () => void response.writeHead(503).end(),
    }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextRequest: () =>
      new Promise<Asked>(resolve => {
        heard = resolve;
      }),
    close: () => void server.close(),
  };
}
