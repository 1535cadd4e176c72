import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Figure, single } from '../figure.ts';
import { GatewaySquad } from '../gateway/gateway-squad.ts';
import { callEcho } from '../gateway/load.ts';

const AGENTS = 100;
const SERVERS = 10;

/**
 * Servers that do not depend on a run are shared by all runs. Linux only, because the kernel's process list is counted.
 */
export const gatewayFanIn: Figure = {
  name: 'gateway-fan-in',
  title: `${AGENTS} agents that each call ${SERVERS} servers`,
  async measure() {
    await using squad = new GatewaySquad();
    const echo = join(import.meta.dirname, '..', '..', 'test', 'servers', 'echo.ts');
    const ids = Array.from({ length: SERVERS }, (_, i) => `echo-${i}`);
    const blockOf = (id: string) => ({ command: process.execPath, args: [echo, id], tools: ['echo'] });
    await squad.serve(Object.fromEntries(ids.map(id => [id, blockOf(id)])));
    const identities = await squad.agents(AGENTS);
    const callers = [];
    for (const identity of identities) callers.push(await squad.overHttp(identity));
    let failed = 0;
    const start = performance.now();
    await Promise.all(
      callers.map(async (caller, at) => {
        const calls = ids.map(id => callEcho(caller, `${id}__echo`, `${at} ${id}`));
        failed += (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected').length;
      }),
    );
    const ms = performance.now() - start;
    return [
      single('server processes', 'processes', upstreamsIn(squad.workspace), {
        target: `exactly ${SERVERS}`,
        isMet: ({ value }) => value === SERVERS,
      }),
      single('failed', 'calls', failed, { target: 'none', isMet: ({ value }) => value === 0 }),
      single('first call to last answer', 'ms', ms),
    ];
  },
};

/** Counts the processes that work in this folder and are marked as MCP servers. */
function upstreamsIn(workspace: string): number {
  return readdirSync('/proc').filter(name => {
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      const isMarked = environment.some(entry => entry.startsWith('SQUAD_UPSTREAM='));
      return isMarked && readlinkSync(`/proc/${name}/cwd`) === workspace;
    } catch {
      return false; // not a process, or it has just ended
    }
  }).length;
}
