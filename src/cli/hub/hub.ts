import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { visibleText } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { hubPid, isRunning } from '../../link/hub-record.ts';
import type { Output } from '../../operations/operations.ts';
import { asSquadError } from '../../schema/error.ts';
import { refuseAgents, wholeNumber, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { backOff, failedConnect, HubClient, MAX_FAILED_CONNECTS } from '../hub-client.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import { inProject, webAddress } from './web-address.ts';

/** A hub of an earlier version, which is still making way, has no warnings. */
type Status = Omit<Output<'hub_status'>, 'warnings'> & Partial<Pick<Output<'hub_status'>, 'warnings'>>;

export async function hubStart(context: CliContext): Promise<number> {
  const client = await HubClient.start();
  return showStatus(await client.call('hub_status').finally(() => client.close()), context);
}

/** Exit code 1 when no hub runs: a script can ask. */
export async function hubStatus(context: CliContext): Promise<number> {
  const client = await HubClient.find();
  if (client) return showStatus(await client.call('hub_status').finally(() => client.close()), context);
  if (context.json) printJson(context.out, { running: false, home: homeFolder(process.env) });
  else
    print(context, [
      `No hub runs for ${homeFolder(process.env)}. It starts by itself when something needs it.`,
    ]);
  return EXIT.failed;
}

/** A hub ends by itself within ten seconds of being asked to. */
const ORDERLY_MS = 11_000;
/** One that does not answer may not be able to end either: that shows sooner. */
const SILENT_MS = 4_000;

/** Exit code 1 when the hub is still there. Only `--force` kills it. */
export async function hubStop({ force = false }: { force?: boolean }, context: CliContext): Promise<number> {
  const asked = await askToStop();
  if (!asked) {
    if (context.json) printJson(context.out, { stopped: false });
    else print(context, ['No hub runs.']);
    return EXIT.done;
  }
  const { pid, runs } = asked;
  let isGone = await gone(pid, asked.patienceMs);
  const killed = !isGone && force;
  if (killed) {
    process.kill(pid, 'SIGKILL');
    isGone = await gone(pid, SILENT_MS);
  }
  if (context.json)
    printJson(context.out, {
      stopped: isGone,
      pid,
      ...runs,
      ...(killed && { killed }),
    });
  else print(context, stopLines(pid, isGone, killed, runs));
  return isGone ? EXIT.done : EXIT.failed;
}

function stopLines(pid: number, isGone: boolean, killed: boolean, runs: Runs | null): string[] {
  if (!isGone)
    return [
      `The hub (pid ${pid}) is still there: it was asked to end and has not.`,
      '`squad hub stop --force` kills it; agents go on, and the next command finds them again.',
    ];
  return [
    killed ? `Killed the hub (pid ${pid}): it did not end by itself.` : `Stopped the hub (pid ${pid}).`,
    ...(runs ? runLines(runs, killed) : []),
  ];
}

function runLines({ runsGoOn, callsEnd }: Runs, killed: boolean): string[] {
  const runs = `${runsGoOn} ${runsGoOn === 1 ? 'run goes' : 'runs go'} on without it; the next command finds ${runsGoOn === 1 ? 'it' : 'them'} again.`;
  const calls = callsEnd === 1 ? '1 call of a subagent was' : `${callsEnd} calls of subagents were`;
  const end = killed ? 'lost with it; the next command stops what is left' : 'stopped with it';
  return [...(runsGoOn > 0 ? [runs] : []), ...(callsEnd > 0 ? [`${calls} ${end}.`] : [])];
}

interface Runs {
  runsGoOn: number;
  /** Of subagents: nobody but their callers could hear the answer. */
  callsEnd: number;
}

interface Asked {
  pid: number;
  /** Not known of a hub that does not answer. */
  runs: Runs | null;
  patienceMs: number;
}

/** Through its socket, or by a signal if it does not answer there. Null when there is no hub. */
async function askToStop(): Promise<Asked | null> {
  const home = homeFolder(process.env);
  try {
    const client = await HubClient.find({}, SILENT_MS);
    if (!client) return null;
    const answer = client.call('stop_hub');
    const tooLate = setTimeout(() => client.close(), SILENT_MS);
    const { pid, ...runs } = await answer.finally(() => {
      clearTimeout(tooLate);
      client.close();
    });
    return { pid, runs, patienceMs: ORDERLY_MS };
  } catch (thrown) {
    const { code } = asSquadError(thrown);
    const pid = code === 'HUB_UNREACHABLE' || code === 'HUB_RESTARTED' ? hubPid(home) : null;
    if (pid === null) throw thrown;
    process.kill(pid, 'SIGTERM');
    return { pid, runs: null, patienceMs: SILENT_MS };
  }
}

/** The end of the hub's log. */
export async function hubLog({ lines = '50' }: { lines?: string }, context: CliContext): Promise<number> {
  const count = wholeNumber('--lines', lines, 0, 100_000);
  const file = join(homeFolder(process.env), 'hub.log');
  const all = existsSync(file) ? (await tail(file)).split('\n').filter(Boolean) : [];
  const last = all.slice(Math.max(0, all.length - count));
  if (context.json) printJson(context.out, { file, lines: last });
  // Servers and agents have a say in it.
  else print(context, last.length > 0 ? last.map(visibleText) : [`Nothing in ${file} yet.`]);
  return EXIT.done;
}

function showStatus(status: Status, context: CliContext): number {
  if (context.json) printJson(context.out, { running: true, ...status });
  else
    print(context, [
      `Hub ${status.version}, pid ${status.pid}, up ${formatDuration(Date.now() - status.startedAt)}, ${(status.memoryBytes / 1e6).toFixed(0)} MB`,
      `  runs      ${status.runsActive} at work, ${status.runsQueued} queued`,
      `  clients   ${status.clients - 1} besides this one, ${status.callsInFlight - 1} calls in flight`,
      `  home      ${status.home}`,
      `  database  ${status.database}`,
      `  socket    ${status.socket}`,
      `  http      ${status.url ?? 'not open'} (token in ${status.tokenFile})`,
      ...(status.warnings ?? []).map(warning => context.style.yellow(`  warning   ${warning}`)),
      ...(status.successor ? [`  making way for version ${status.successor} when no call is in flight`] : []),
    ]);
  return EXIT.done;
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

/** Waits until the process is no more: then a next command starts a fresh hub. False when it stays. */
async function gone(pid: number, patienceMs: number): Promise<boolean> {
  const until = performance.now() + patienceMs;
  while (isRunning(pid) && performance.now() < until) await new Promise(wake => setTimeout(wake, 10));
  return !isRunning(pid);
}

/** `squad up`: keeps the hub, and with it the page, there until Ctrl-C. */
export async function upCommand(context: CliContext): Promise<number> {
  await refuseAgents();
  const interrupted = new Promise<'interrupted'>(settle => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => settle('interrupted'));
  });
  let shown = '';
  for (let closedDoors = 0; closedDoors <= MAX_FAILED_CONNECTS; ) {
    const since = performance.now();
    const client = await HubClient.start();
    try {
      const path = await inProject(client, '/', workspaceRoot(context.workspace));
      const url = await webAddress(client, path);
      const { origin } = new URL(url);
      if (origin !== shown) showAddress(url, context);
      shown = origin;
      const end = await Promise.race([client.untilGone(), interrupted]);
      if (end === 'interrupted') return EXIT.done;
      if (end === 'stop') {
        context.err.write('The hub was stopped. Agents go on; the next command finds them.\n');
        return EXIT.done;
      }
    } finally {
      client.close();
    }
    closedDoors = performance.now() - since > STEADY_MS ? 0 : closedDoors + 1;
    if (closedDoors > 0) await backOff(closedDoors - 1);
  }
  throw failedConnect();
}

/** A hub that was there this long did not end because it was asked. */
const STEADY_MS = 5_000;

function showAddress(url: string, context: CliContext): void {
  if (context.json) printJson(context.out, { url });
  else print(context, [url]);
  context.err.write('The address opens one browser, within 10 minutes; `squad open` opens more.\n');
  context.err.write('The hub stays while this runs. Ctrl-C leaves; agents go on.\n');
}
