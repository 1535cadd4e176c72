import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { McpClient } from './mcp-client.ts';
import { copyPackage } from './package-copy.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * A Squad to measure, with its own package, home and workspace in one temporary folder. Nothing comes from the
 * environment of this shell.
 */
export class BenchSquad {
  readonly root = temporaryFolder();
  readonly program = copyPackage(join(this.root, 'package'));
  readonly workspace = join(this.root, 'work');
  home = join(this.root, 'home-1');
  private readonly homes = new Set([this.home]);
  private readonly clients: McpClient[] = [];

  constructor() {
    for (const folder of ['work', 'user']) mkdirSync(join(this.root, folder));
  }

  env(more: Record<string, string> = {}): Record<string, string> {
    return {
      HOME: join(this.root, 'user'),
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      LANG: 'C.UTF-8',
      SQUAD_HOME: this.home,
      ...more,
    };
  }

  /** Switches to a home that no hub has used. */
  freshHome(): void {
    this.home = join(this.root, `home-${this.homes.size + 1}`);
    this.homes.add(this.home);
  }

  /** Creates a program for the template engine. Returns the environment that makes every role run the program. */
  agent(lines: string[]): { script: string; env: Record<string, string> } {
    const script = join(this.root, `agent-${Math.random().toString(36).slice(2)}.sh`);
    writeFileSync(script, `${lines.join('\n')}\n`);
    return { script, env: { RUN_TEMPLATE: `/bin/sh ${script}` } };
  }

  client(env: Record<string, string> = {}, ...args: string[]): McpClient {
    const client = new McpClient(process.execPath, [join(this.program, 'bin', 'squad.cjs'), 'mcp', ...args], {
      cwd: this.workspace,
      env: this.env(env),
    });
    this.clients.push(client);
    return client;
  }

  /** Runs `squad … --json` to its end. */
  async squad<T = unknown>(...args: string[]): Promise<T> {
    const child = spawn(process.execPath, [join(this.program, 'bin', 'squad.cjs'), ...args, '--json'], {
      cwd: this.workspace,
      env: this.env(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', chunk => {
      text += chunk;
    });
    await once(child, 'close');
    return JSON.parse(text) as T;
  }

  async hubPid(): Promise<number> {
    return (await this.squad<{ pid: number }>('hub', 'start')).pid;
  }

  stopHub(): Promise<unknown> {
    return this.squad('hub', 'stop');
  }

  /** Ends the agents before the hub stops, because a stopped hub leaves them running. */
  private async endAgents(): Promise<void> {
    await this.squad('cancel', '--all');
    for (
      const giveUpAt = Date.now() + 30_000;
      Date.now() < giveUpAt;
      await new Promise(wake => setTimeout(wake, 50))
    ) {
      const status = await this.squad<{ runsActive?: number; runsQueued?: number }>('hub', 'status');
      if (!status.runsActive && !status.runsQueued) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) await client.close();
    for (const home of this.homes) {
      this.home = home;
      await this.endAgents();
      await this.stopHub();
    }
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}
