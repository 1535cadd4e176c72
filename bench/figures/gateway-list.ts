import { join } from 'node:path';
import { type Figure, paired, single } from '../figure.ts';
import { type AnswerClock, overHttp, overLines } from '../gateway/answer-clock.ts';
import { GatewaySquad } from '../gateway/gateway-squad.ts';
import { modernRequest } from '../gateway/http-caller.ts';
import { interleave, timed } from '../measure.ts';

const TOOLS = 2_000;
const SCHEMA_BYTES = 5_000;
const MAX_TIMES = 2;

interface Tool {
  name: string;
}

/** Time until a long tool list of another server has arrived completely, compared with serializing the list once. */
export const gatewayList: Figure = {
  name: 'gateway-list',
  title: `A list of ${TOOLS.toLocaleString('en')} tools with ${SCHEMA_BYTES / 1000} kB of schema each, against JSON.stringify of it`,
  async measure() {
    await using squad = new GatewaySquad();
    const server = join(import.meta.dirname, '..', 'many-tools-server.cjs');
    const args = [server, String(TOOLS), String(SCHEMA_BYTES)];
    await squad.serve({ many: { command: process.execPath, args, tools: ['*'] } });
    const [identity] = await squad.agents(1);
    await squad.ready(await squad.overHttp(identity!), 1);

    const rows = [];
    for (const [name, { clock, question }] of Object.entries(await edges(squad, identity!))) {
      const { bytes } = await clock.ask(question);
      const { tools } = (JSON.parse(bytes.toString()) as { result: { tools: Tool[] } }).result;
      const theirs = tools.filter(tool => tool.name.startsWith('many__')).length;
      const pair = await interleave(
        async () => (await clock.ask(question)).ms,
        () => timed(async () => JSON.stringify(tools)),
      );
      await clock.close();
      rows.push(
        paired(`over ${name}, ${(bytes.length / 1e6).toFixed(1)} MB`, 'ms', pair, {
          target: `≤ ${MAX_TIMES} ×`,
          isMet: ({ ratio }) => ratio! <= MAX_TIMES,
        }),
        single(`over ${name}: missing`, 'tools', TOOLS - theirs, {
          target: 'none',
          isMet: ({ value }) => value === 0,
        }),
      );
    }
    return rows;
  },
};

interface Edge {
  clock: AnswerClock;
  question: object;
}

async function edges(squad: GatewaySquad, identity: string): Promise<Record<string, Edge>> {
  const { url, token } = await squad.address(identity);
  const { message, headers } = modernRequest(1, token, 'tools/list', {});
  const relay = [join(squad.program, 'bin', 'squad.cjs'), 'mcp', '--identity', identity];
  const stdio = overLines(process.execPath, relay, { cwd: squad.workspace, env: squad.env() });
  return {
    http: { clock: overHttp(url, headers), question: message },
    // A request of the current revision needs no handshake, so this is the only message.
    stdio: { clock: stdio, question: message },
  };
}
