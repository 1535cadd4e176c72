import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchSquad } from './bench-squad.ts';
import type { McpClient, ToolReply } from './mcp-client.ts';
import type { Samples } from './measure.ts';
import { canReadMemory, forgetPeak, memoryOf } from './process-memory.ts';

export const FINAL_TEXT = 'These are the final words.';

export interface FloodAgent {
  /** Environment that makes Squad start this agent. */
  env: Record<string, string>;
  task: string;
  /** Command and input of the same program without Squad. */
  argv: [string, ...string[]];
  input: string;
}

interface Member {
  memberId: string;
  status: string;
  rawStdout: string;
}

/**
 * One agent with very much output, run by Squad or directly with its output sent to a file. Both return milliseconds.
 */
export class Flood {
  readonly client: McpClient;
  readonly growth: Samples = [];
  longestReply = 0;
  withoutFinalText = 0;
  /** Id and output of the last flood. */
  runId = '';
  output = '';
  readonly floorOutput: string;
  private readonly squad: BenchSquad;
  private readonly agent: FloodAgent;
  private readonly hub: number;
  private readonly inputFile: string;

  static async start(squad: BenchSquad, agent: FloodAgent): Promise<Flood> {
    const hub = await squad.hubPid();
    await squad.squad('config', 'set', 'limits.spawns_per_minute', '10000');
    const flood = new Flood(squad, agent, hub);
    await flood.client.initialize();
    // Runs an agent once before measuring, because memory that every run needs does not count.
    const quiet = squad.client({ RUN_TEMPLATE: '/bin/echo' });
    await quiet.initialize();
    await quiet.tool('start_squad_members', { members: [{ roleId: 'coder', task: 'x' }] });
    await quiet.close();
    return flood;
  }

  private constructor(squad: BenchSquad, agent: FloodAgent, hub: number) {
    this.squad = squad;
    this.agent = agent;
    this.hub = hub;
    this.client = squad.client(agent.env);
    this.floorOutput = join(squad.root, 'floor-output');
    this.inputFile = join(squad.root, 'floor-input');
    writeFileSync(this.inputFile, agent.input);
  }

  async bySquad(): Promise<number> {
    this.removeOutputs();
    const before = canReadMemory ? memoryOf(this.hub).now : 0;
    if (canReadMemory) forgetPeak(this.hub);
    const start = performance.now();
    const reply = await this.untilEnded(
      await this.client.tool('start_squad_members', {
        members: [{ roleId: 'coder', task: this.agent.task }],
      }),
    );
    const took = performance.now() - start;
    if (canReadMemory) this.growth.push(memoryOf(this.hub).peak - before);
    const [member] = reply.structuredContent.members as Member[];
    if (member?.status !== 'completed') throw new Error(`The flood did not complete: ${member?.status}`);
    this.longestReply = Math.max(this.longestReply, reply.content[0]!.text.length);
    if (!member.rawStdout.includes(FINAL_TEXT)) this.withoutFinalText++;
    this.runId = member.memberId;
    this.output = join(this.squad.home, 'runs', member.memberId, 'turn-1', 'stdout');
    return took;
  }

  async toFile(): Promise<number> {
    this.removeOutputs();
    return this.writeFloor();
  }

  async writeFloor(): Promise<number> {
    const [program, ...args] = this.agent.argv;
    const files = [openSync(this.inputFile, 'r'), openSync(this.floorOutput, 'a')];
    const start = performance.now();
    const child = spawn(program, args, {
      cwd: this.squad.workspace,
      env: this.squad.env(),
      stdio: [...files, 'ignore'],
    });
    for (const fd of files) closeSync(fd);
    await once(child, 'exit');
    return performance.now() - start;
  }

  /** Removes outputs of both sides, so that neither has to wait until the other's data is written to disk. */
  private removeOutputs(): void {
    for (const file of [this.output, this.floorOutput]) if (file !== '') rmSync(file, { force: true });
  }

  /** On a slow disk a flood may take longer than one call waits. */
  private async untilEnded(reply: ToolReply): Promise<ToolReply> {
    let current = reply;
    for (let tries = 0; tries < 20 && current.structuredContent.note !== undefined; tries++)
      current = await this.client.tool('get_result', {
        squad_id: current.structuredContent.squadId,
        wait_seconds: 40,
      });
    return current;
  }
}
