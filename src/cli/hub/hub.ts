import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { formatBytes, visibleLine, visibleText } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { hubPid, isRunning } from '../../link/hub-record.ts';
import type { Output } from '../../operations/operations.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { refuseAgents, workspaceRoot } from '../arguments.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient, ReconnectLimit } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { webAddress, withProject } from './open.ts';

/** A hub of an earlier version that has not handed over yet reports no warnings. */
type Status = Omit<Output<'hub_status'>, 'warnings'> & Partial<Pick<Output<'hub_status'>, 'warnings'>>;

export async function hubStart(context: CliContext): Promise<number> {
  return showStatus(await HubClient.ask({}, 'hub_status'), context);
}

/** Exit code 1 tells scripts that no hub is running. */
export async function hubStatus(context: CliContext): Promise<number> {
  using client = await HubClient.find();
  if (client) return showStatus(await client.call('hub_status'), context);
  const home = homeFolder(process.env);
  printResult(context, { running: false, home }, () => [
    `No hub is running for ${home}. It starts automatically when needed.`,
  ]);
  return EXIT.failed;
}

/** Time that a stopping hub gets. A hub needs at most ten seconds. */
const STOP_TIMEOUT_MS = 11_000;
/**
 * Time that a hub that does not answer gets to stop. It is short, because such a hub may not be able to stop at all.
 */
const UNRESPONSIVE_TIMEOUT_MS = 4_000;

/** Exit code 1 when the hub is still running. Only `--force` kills it. */
export async function hubStop({ force = false }: { force?: boolean }, context: CliContext): Promise<number> {
  const asked = await askToStop();
  if (!asked) return printResult(context, { stopped: false }, () => ['No hub is running.']);
  const { pid, runs } = asked;
  let stopped = await untilExit(pid, asked.timeoutMs);
  const killed = !stopped && force;
  if (killed) {
    process.kill(pid, 'SIGKILL');
    stopped = await untilExit(pid, UNRESPONSIVE_TIMEOUT_MS);
  }
  printResult(context, { stopped, pid, ...runs, ...(killed && { killed }) }, () =>
    stopLines(pid, stopped, killed, runs),
  );
  return stopped ? EXIT.done : EXIT.failed;
}

/** Stops the hub if one is running. Agents keep running. Throws HUB_UNREACHABLE if it does not stop. */
export async function stopRunningHub(): Promise<void> {
  const asked = await askToStop();
  if (!asked || (await untilExit(asked.pid, asked.timeoutMs))) return;
  throw new SquadError('HUB_UNREACHABLE', `The hub (pid ${asked.pid}) did not stop when asked.`, {
    suggestions: ['Stop it with `squad hub stop --force`, then try again. Agents keep running.'],
  });
}

function stopLines(pid: number, stopped: boolean, killed: boolean, runs: Runs | null): string[] {
  if (!stopped)
    return [
      `The hub (pid ${pid}) is still running: it did not stop when asked.`,
      withOwnCommand(
        '`squad hub stop --force` kills it; agents keep running, and the next command reconnects to them.',
      ),
    ];
  return [
    killed ? `Killed the hub (pid ${pid}): it did not stop by itself.` : `Stopped the hub (pid ${pid}).`,
    ...(runs ? runLines(runs, killed) : []),
  ];
}

function runLines({ runsGoOn, callsEnd }: Runs, killed: boolean): string[] {
  const runs = `${runsGoOn} ${runsGoOn === 1 ? 'run continues' : 'runs continue'} without it; the next command reconnects to ${runsGoOn === 1 ? 'it' : 'them'}.`;
  const calls = callsEnd === 1 ? '1 subagent call was' : `${callsEnd} subagent calls were`;
  const end = killed ? 'lost; the next command stops what is left' : 'stopped with it';
  return [...(runsGoOn > 0 ? [runs] : []), ...(callsEnd > 0 ? [`${calls} ${end}.`] : [])];
}

interface Runs {
  runsGoOn: number;
  /** Number of subagent calls that end with the hub, because only their callers could receive the answers. */
  callsEnd: number;
}

interface StopRequest {
  pid: number;
  /** Null if the hub does not answer. */
  runs: Runs | null;
  timeoutMs: number;
}

/** Asks the hub to stop through the socket, or with a signal if it does not answer there. Null if no hub is running. */
async function askToStop(): Promise<StopRequest | null> {
  const home = homeFolder(process.env);
  try {
    using client = await HubClient.find({}, UNRESPONSIVE_TIMEOUT_MS);
    if (!client) return null;
    const timeout = setTimeout(() => client.close(), UNRESPONSIVE_TIMEOUT_MS);
    const { pid, ...runs } = await client.call('stop_hub').finally(() => clearTimeout(timeout));
    return { pid, runs, timeoutMs: STOP_TIMEOUT_MS };
  } catch (thrown) {
    const { code } = asSquadError(thrown);
    const pid = code === 'HUB_UNREACHABLE' || code === 'HUB_RESTARTED' ? hubPid(home) : null;
    if (pid === null) throw thrown;
    process.kill(pid, 'SIGTERM');
    return { pid, runs: null, timeoutMs: UNRESPONSIVE_TIMEOUT_MS };
  }
}

export async function hubLog({ lines }: { lines: number }, context: CliContext): Promise<number> {
  const file = join(homeFolder(process.env), 'hub.log');
  const all = existsSync(file) ? (await tail(file)).split('\n').filter(Boolean) : [];
  const last = all.slice(Math.max(0, all.length - lines));
  // Control characters are escaped, because the log quotes texts of servers and agents.
  const text = () => (last.length > 0 ? last.map(visibleText) : [`${file} is empty.`]);
  return printResult(context, { file, lines: last }, text);
}

function showStatus(status: Status, context: CliContext): number {
  return printResult(context, { running: true, ...status }, () => [
    `Hub ${status.version}, pid ${status.pid}, up ${formatDuration(Date.now() - status.startedAt)}, ${(status.memoryBytes / 1e6).toFixed(0)} MB`,
    `  runs      ${status.runsActive} running, ${status.runsQueued} queued`,
    `  clients   ${status.clients - 1} besides this one, ${status.callsInFlight - 1} calls in flight`,
    `  home      ${status.home}`,
    `  database  ${status.database}`,
    `  socket    ${status.socket}`,
    `  http      ${status.url ?? 'not open'} (token in ${status.tokenFile})`,
    ...(status.warnings ?? []).map(warning => context.style.yellow(`  warning   ${warning}`)),
    ...(status.successor ? [`  hands over to version ${status.successor} when no call is in flight`] : []),
  ]);
}

async function tail(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, 256 * 1024);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8');
  } finally {
    await handle.close();
  }
}

/** Waits for the process to exit, so that the next command starts a new hub. False if it does not exit. */
async function untilExit(pid: number, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (isRunning(pid) && performance.now() < until) await new Promise(wake => setTimeout(wake, 10));
  return !isRunning(pid);
}

/** `squad up`: keeps the hub and the web UI running until Ctrl-C. */
export async function upCommand(context: CliContext): Promise<number> {
  await refuseAgents();
  const interrupted = new Promise<'interrupted'>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve('interrupted'));
  });
  let shown = '';
  for (const limit = new ReconnectLimit(); ; await limit.lost()) {
    limit.connected();
    using client = await HubClient.start();
    const path = await withProject(client, '/', workspaceRoot(context.workspace));
    const url = await webAddress(client, path);
    const { origin } = new URL(url);
    if (origin !== shown) showAddress(url, context);
    shown = origin;
    const end = await Promise.race([client.untilGone(), interrupted]);
    if (end === 'interrupted') return EXIT.done;
    if (end === 'stop') {
      context.err.write('The hub was stopped. Agents keep running; the next command reconnects to them.\n');
      return EXIT.done;
    }
  }
}

function showAddress(url: string, context: CliContext): void {
  printResult(context, { url }, () => [url]);
  context.err.write(
    withOwnCommand('The address works in one browser, for 10 minutes; `squad open` opens another.\n'),
  );
  context.err.write('The hub keeps running while this command does. Ctrl-C exits; agents keep running.\n');
}

export interface PruneOptions {
  days?: string;
  dryRun?: boolean;
}

/** `squad prune`: deletes old runs and their output. */
export async function pruneCommand({ days, dryRun }: PruneOptions, context: CliContext): Promise<number> {
  if (days !== undefined && !(Number(days) >= 0))
    throw new SquadError('INVALID_INPUT', `Invalid value for --days: ${JSON.stringify(days)}`, {
      suggestions: ['Use a number of days, for example `squad prune --days 7`.'],
    });
  const pruned = await HubClient.ask({}, 'prune', {
    ...(days !== undefined && { days: Number(days) }),
    dryRun: dryRun === true,
  });
  const { runs, days: age, bytes, kept, saved } = pruned;
  return printResult(context, pruned, () =>
    dryRun
      ? [`${runs} runs ended more than ${age} days ago and would be deleted.`]
      : [
          `Deleted ${runs} runs that ended more than ${age} days ago, ${formatBytes(bytes ?? 0)}.`,
          ...(kept > 0
            ? [
                withOwnCommand(
                  `Kept ${kept} runs because they still have work trees (see \`squad worktrees --all\`).`,
                ),
              ]
            : []),
          ...(saved.length > 0 ? ['Uncommitted changes of their work trees are saved as:'] : []),
          ...saved.map(({ repository, ref }) => `  ${visibleLine(ref)} in ${visibleLine(repository)}`),
        ],
  );
}
