import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning, recordedPid } from '../../link/hub-record.ts';
import { DEMO_MEMBERS } from '../../operations/setup/demo.ts';
import { SquadError } from '../../schema/error.ts';
import { demoEnvironment, makeDemoRepository } from '../../workspace/setup/demo-repository.ts';
import { type CliContext, print, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { withOwnCommand } from '../own-command.ts';
import { shippedRoles, squadScript } from '../package-files.ts';
import { wrap } from '../terminal/width.ts';
import { startDemoDatabase } from './demo-database.ts';

const HUBS = ['hub-1', 'hub-2', 'hub-3'];
const COMMAND_TIMEOUT_MS = 120_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Variables that would lead the hubs of the demo elsewhere. */
const UNSET = ['SQUAD_DATABASE_URL', 'MCP_DATABASE_PATH', 'MCP_SERVER_PORT', 'SQUAD_RUN_ID', 'SQUAD_TURN'];

/** `squad cluster demo`: three hubs on one PostgreSQL database, on this machine, in a temporary folder. */
export async function clusterDemoCommand(context: CliContext): Promise<number> {
  const interrupted = new AbortController();
  const onSignal = () => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  const demo = new ClusterDemo(context, interrupted.signal);
  try {
    const result = await demo.run();
    return printResult(context, result, () => demo.end());
  } catch (thrown) {
    if (!interrupted.signal.aborted) throw thrown;
    return EXIT.interrupted;
  } finally {
    await demo.remove();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
  }
}

class ClusterDemo {
  readonly #context: CliContext;
  readonly #signal: AbortSignal;
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-cluster-')));
  /** Steps that `remove` carries out, in reverse order. */
  readonly #cleanUp: (() => Promise<void>)[] = [];

  constructor(context: CliContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
    this.#cleanUp.push(async () => rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 }));
  }

  async run(): Promise<object> {
    const [one, two, three] = HUBS as [string, string, string];
    const { SQUAD_DATABASE_URL: given } = process.env;
    this.#say('Three hubs share one PostgreSQL database, on this machine.', this.#folder);
    const database = await startDemoDatabase(this.#folder, given, this.#signal);
    this.#cleanUp.push(() => database.remove());
    const workspace = await makeDemoRepository();
    this.#cleanUp.push(async () => rmSync(workspace, { recursive: true, force: true, maxRetries: 3 }));
    this.#cleanUp.push(() => this.#stopHubs(workspace));
    this.#say(`The database is ${database.source}. Each hub has a home of its own and joins it.`);
    for (const hub of HUBS) await this.#squad(hub, ['hub', 'join', '-'], workspace, { input: database.url });

    const [architect, backend, frontend] = DEMO_MEMBERS;
    const finish = join(this.#folder, 'finish');
    const wait = `Test slug(title).\n\n\`\`\`script\nsay Waiting for a sign.\nawait ${finish}\nreport Tested.\n\`\`\`\n`;
    const started = [
      await this.#start(one, [architect!, backend!], workspace),
      await this.#start(two, [frontend!], workspace),
      await this.#start(three, [{ roleId: 'qa-engineer', task: wait }], workspace),
    ].flat();
    const waiting = started.at(-1)!;
    this.#say('hub-1 started two agents, hub-2 one, hub-3 one that waits. Each hub lists the runs of all:');
    for (const hub of HUBS) await this.#show(hub, ['ls', '--all'], workspace);

    await this.#squad(one, ['wait', ...started.slice(0, -1)], workspace);
    const pid = recordedPid(this.#home(three));
    if (pid !== null) process.kill(pid, 'SIGKILL');
    // The agent ends while no hub of its home runs.
    writeFileSync(finish, '');
    this.#say('Now hub-3 is killed, and its agent ends without it. The other hubs see that the hub is gone:');
    const killed = await this.#show(one, ['doctor', '--cluster'], workspace);
    this.#say(
      'Half a minute after the last heartbeat of hub-3, another hub takes over its runs. It finds how the agent ended:',
    );
    await this.#squad(one, ['wait', waiting], workspace);
    const runs = await this.#show(two, ['ls', '--all'], workspace);
    const repaired = await this.#show(two, ['doctor', '--cluster'], workspace);
    return { folder: this.#folder, database: database.source, killed, repaired, ...runs };
  }

  end(): string[] {
    return [
      '',
      this.#context.style.bold('Now with your own machines'),
      withOwnCommand('  squad hub join URL       lets the hub of this home use your database'),
      withOwnCommand('  squad doctor --cluster   checks all hubs of the database'),
    ];
  }

  /** Also after an error or Ctrl-C. Each step is tried, whatever became of the others. */
  async remove(): Promise<void> {
    for (const step of this.#cleanUp.splice(0).reverse())
      await step().catch(thrown =>
        this.#context.err.write(`${thrown instanceof Error ? thrown.message : thrown}\n`),
      );
  }

  #home(hub: string): string {
    return join(this.#folder, hub);
  }

  #say(...lines: string[]): void {
    const { style, out, json } = this.#context;
    if (json || this.#signal.aborted) return;
    const [first = '', ...rest] = lines;
    print(this.#context, [
      '',
      ...wrap(first, out.columns).map(line => style.bold(line)),
      ...rest.map(line => style.dim(line)),
    ]);
  }

  /** Runs a command at a hub and prints what it says. With --json returns that as data. */
  async #show(hub: string, args: string[], workspace: string): Promise<object | null> {
    if (this.#context.json) return JSON.parse(await this.#squad(hub, [...args, '--json'], workspace));
    const lines = (await this.#squad(hub, args, workspace)).trimEnd().split('\n');
    print(this.#context, [this.#context.style.dim(`${hub}$ squad ${args.join(' ')}`), ...lines]);
    return null;
  }

  async #start(
    hub: string,
    members: readonly { roleId: string; task: string }[],
    workspace: string,
  ): Promise<string[]> {
    const pairs = members.flatMap(({ roleId, task }) => [roleId, task]);
    const args = ['run', '--detach', '--json', '--engine', 'scripted', '--no-worktree', ...pairs];
    return JSON.parse(await this.#squad(hub, args, workspace)).runIds;
  }

  /** Runs a command of Squad in the home of a hub. Returns its output. */
  #squad(
    hub: string,
    args: string[],
    workspace: string,
    { input = '', signal = this.#signal }: { input?: string; signal?: AbortSignal } = {},
  ): Promise<string> {
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      ...demoEnvironment(shippedRoles),
      SQUAD_HOME: this.#home(hub),
    };
    for (const name of UNSET) delete env[name];
    return new Promise((resolve, reject) => {
      const options = { cwd: workspace, env, signal, timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_BYTES };
      const child = execFile(process.execPath, [squadScript, ...args], options, (error, stdout, stderr) => {
        // The doctor exits with 1 when it finds what the demo shows.
        if (!error || (args[0] === 'doctor' && stdout !== '')) resolve(stdout);
        else reject(commandFailed(hub, args, stdout + stderr));
      });
      child.stdin?.end(input);
    });
  }

  async #stopHubs(workspace: string): Promise<void> {
    const { signal } = new AbortController();
    for (const hub of HUBS) {
      const pid = recordedPid(this.#home(hub));
      if (pid === null) continue;
      // A command for a killed hub starts the next one, which ends the agents.
      await this.#squad(hub, ['cancel', '--all', '--everywhere'], workspace, { signal }).catch(() => {});
      await this.#squad(hub, ['hub', 'stop', '--force'], workspace, { signal }).catch(() => {
        if (isRunning(pid)) process.kill(pid, 'SIGKILL');
      });
    }
  }
}

const commandFailed = (hub: string, args: string[], output: string): SquadError =>
  new SquadError(
    'HUB_UNREACHABLE',
    `\`squad ${args.slice(0, 2).join(' ')}\` failed at ${hub}: ${output.trim()}`,
  );
