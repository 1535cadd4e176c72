import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Figure, paired, type Row, sampled } from '../figure.ts';
import { GatewaySquad } from '../gateway/gateway-squad.ts';
import { HttpCaller } from '../gateway/http-caller.ts';
import { type Caller, load, percentile } from '../gateway/load.ts';
import { McpClient } from '../mcp-client.ts';
import { PAIRS, ratioOf, type Samples, timed } from '../measure.ts';

const MAX_P50_MS = 1.2;
const MAX_P99_MS = 8;
const LEAST_RATE = 0.1;
const ONE = { calls: 300, inFlight: 1 };
const EIGHT = { calls: 1200, inFlight: 8 };
const WARM_UPS = 2;

const SERVERS = { lean: 'echo.ts', sdk: 'sdk-echo.ts' };
type Server = keyof typeof SERVERS;
const program = (server: Server) => join(import.meta.dirname, '..', '..', 'test', 'servers', SERVERS[server]);

/** Overhead of a tool call through Squad. Both sides get the same load. */
export const gatewayCall: Figure = {
  name: 'gateway-call',
  title: 'A call of another server through the hub, against the server itself',
  async measure() {
    await using squad = new GatewaySquad();
    const servers = Object.keys(SERVERS) as Server[];
    await squad.serve(
      Object.fromEntries(
        servers.map(server => [
          server,
          { command: process.execPath, args: [program(server)], tools: ['echo'] },
        ]),
      ),
    );
    const [identity] = await squad.agents(1);
    const stdio = await squad.overStdio(identity!);
    const http = await squad.overHttp(identity!);
    await squad.ready(http, servers.length);
    const rows: Row[] = [];
    for (const server of servers) {
      const direct = new McpClient(process.execPath, [program(server)], {
        cwd: squad.workspace,
        env: squad.env(),
      });
      await direct.initialize();
      const legs: Leg[] = [
        { name: 'direct', caller: direct, tool: 'echo' },
        { name: 'stdio', caller: stdio, tool: `${server}__echo` },
        { name: 'http', caller: http, tool: `${server}__echo` },
      ];
      rows.push(...(await compared(server, legs)));
      await direct.close();
    }
    return [...rows, ...(await httpFloor())];
  },
};

interface Leg {
  name: string;
  caller: Caller;
  tool: string;
}

interface Measured {
  p50: Samples;
  p99: Samples;
  rate: Samples;
}

/** Measures the callers in turn and rotates the order, so that other load on the machine affects all alike. */
async function compared(server: Server, legs: Leg[]): Promise<Row[]> {
  const measured = new Map<string, Measured>(legs.map(({ name }) => [name, { p50: [], p99: [], rate: [] }]));
  for (let round = -WARM_UPS; round < PAIRS; round++)
    for (let i = 0; i < legs.length; i++) {
      const { name, caller, tool } = legs[(i + round + WARM_UPS) % legs.length]!;
      const took = await load(caller, tool, ONE);
      const eight = await timed(() => load(caller, tool, EIGHT));
      if (round < 0) continue;
      const of = measured.get(name)!;
      of.p50.push(percentile(took, 0.5));
      of.p99.push(percentile(took, 0.99));
      of.rate.push((EIGHT.calls / eight) * 1000);
    }
  const floor = measured.get('direct')!;
  return legs.slice(1).flatMap(({ name }) => {
    const ours = measured.get(name)!;
    const pair = (what: keyof Measured) => ({ ours: ours[what], floor: floor[what] });
    return [
      paired(`${server} over ${name}: p50, 1 in flight`, 'ms', pair('p50'), {
        target: `≤ floor + ${MAX_P50_MS} ms`,
        isMet: ({ over }) => over! <= MAX_P50_MS,
      }),
      paired(`${server} over ${name}: p99, 1 in flight`, 'ms', pair('p99'), {
        target: `≤ floor + ${MAX_P99_MS} ms`,
        isMet: ({ over }) => over! <= MAX_P99_MS,
      }),
      paired(`${server} over ${name}: rate, 8 in flight`, 'calls/s', pair('rate'), {
        // Even an HTTP server that does nothing reaches only a quarter of the rate of a server without an SDK over a
        // pipe.
        ...(server === 'lean' && name === 'http'
          ? { note: 'not the same way in as the floor, so not held to it' }
          : { target: `≥ ${LEAST_RATE} ×`, isMet: () => ratioOf(pair('rate')) >= LEAST_RATE }),
      }),
    ];
  });
}

/** Cost of HTTP alone, to compare with the rows above. */
async function httpFloor(): Promise<Row[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'floor-http.cjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  const caller = new HttpCaller(url, 'none');
  const p50: Samples = [];
  const rate: Samples = [];
  for (let round = -WARM_UPS; round < PAIRS; round++) {
    const took = await load(caller, 'nothing', ONE);
    const eight = await timed(() => load(caller, 'nothing', EIGHT));
    if (round < 0) continue;
    p50.push(percentile(took, 0.5));
    rate.push((EIGHT.calls / eight) * 1000);
  }
  caller.close();
  child.stdin.end();
  await gone;
  return [
    sampled('http that does nothing: p50, 1 in flight', 'ms', p50, {
      note: 'the same client and a server of node:http that says the nonce again: so much of "over http" is HTTP',
    }),
    sampled('http that does nothing: rate, 8 in flight', 'calls/s', rate),
  ];
}
