import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { askHub } from '../hub-line.ts';
import type { McpClient } from '../mcp-client.ts';
import { until } from '../measure.ts';
import { HttpCaller } from './http-caller.ts';
import type { Caller } from './load.ts';

/**
 * A Squad whose agents have tools of other servers. The agents only wait, and the benchmark calls the tools in their
 * name.
 */
export class GatewaySquad extends BenchSquad {
  private readonly callers: HttpCaller[] = [];
  private url: string | null = null;

  /** Configures servers that all agents share. */
  async serve(servers: Record<string, object>): Promise<void> {
    const folder = join(this.workspace, '.squad');
    mkdirSync(folder, { recursive: true });
    const config = { servers, shared: Object.keys(servers) };
    writeFileSync(join(folder, 'mcp-config.json'), JSON.stringify(config));
    await this.squad('trust', '-y', '.squad/mcp-config.json');
  }

  /** Starts `count` agents and returns their identity files once all are running. */
  async agents(count: number): Promise<string[]> {
    await this.hubPid();
    await this.squad('config', 'set', 'limits.concurrency', String(count));
    await this.squad('config', 'set', 'limits.spawns_per_minute', '100000');
    const { script } = this.agent(['exec sleep 3600']);
    const env = { RUN_TEMPLATE: `/bin/sh ${script} <%= mcpConfigFile %>` };
    const members = Array.from({ length: count }, () => ({ roleId: 'coder', task: 'wait' }));
    const started = await askHub<{ members: { memberId: string }[] }>(this, 'start_squad_members', {
      input: { members },
      waitMs: 0,
      env,
    });
    await until('every agent is running', async () => {
      const status = await askHub<{ runsActive: number; runsQueued: number }>(this, 'hub_status');
      return status?.runsActive === count && status.runsQueued === 0;
    });
    return started!.members.map(({ memberId }) =>
      join(this.home, 'runs', memberId, 'turn-1', 'identity.json'),
    );
  }

  /** Waits until the tools of this many servers are listed. */
  async ready(caller: Caller, servers: number): Promise<void> {
    await until(`${servers} servers are up`, async () => {
      const { tools } = (await caller.request('tools/list', {})) as { tools: { name: string }[] };
      const ids = new Set(tools.flatMap(({ name }) => (name.includes('__') ? name.split('__', 1) : [])));
      return ids.size === servers;
    });
  }

  async overStdio(identity: string): Promise<McpClient> {
    const client = this.client({}, '--identity', identity);
    await client.initialize();
    return client;
  }

  async address(identity: string): Promise<{ url: string; token: string }> {
    const { token } = JSON.parse(readFileSync(identity, 'utf8')) as { token: string };
    this.url ??= (await this.squad<{ url: string }>('hub', 'start')).url;
    return { url: this.url, token };
  }

  async overHttp(identity: string): Promise<HttpCaller> {
    const { url, token } = await this.address(identity);
    const caller = new HttpCaller(url, token);
    this.callers.push(caller);
    return caller;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const caller of this.callers) caller.close();
    await super[Symbol.asyncDispose]();
  }
}
