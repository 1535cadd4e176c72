import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { homeFolder } from '../../link/home.ts';
import { isRunning } from '../../link/is-running.ts';
import type { HubStatus } from '../../operations/operation.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDuration } from '../output/duration.ts';
import { printJson } from '../output/json.ts';
import { wholeNumber } from '../whole-number.ts';

type Status = HubStatus & { runsActive: number; runsQueued: number };

export async function hubStart(context: CliContext): Promise<number> {
  const client = await HubClient.start();
  return show(await client.call<Status>('hub_status').finally(() => client.close()), context);
}

/** Exit code 1 when no hub runs: a script can ask. */
export async function hubStatus(context: CliContext): Promise<number> {
  const client = await HubClient.find();
  if (client) return show(await client.call<Status>('hub_status').finally(() => client.close()), context);
  if (context.json) printJson(context.out, { running: false, home: homeFolder(process.env) });
  else
    print(context, [
      `No hub runs for ${homeFolder(process.env)}. It starts by itself when something needs it.`,
    ]);
  return EXIT.failed;
}

export async function hubStop(context: CliContext): Promise<number> {
  const client = await HubClient.find();
  if (!client) {
    if (context.json) printJson(context.out, { stopped: false });
    else print(context, ['No hub runs.']);
    return EXIT.done;
  }
  const { pid, runsGoOn } = await client
    .call<{ pid: number; runsGoOn: number }>('stop_hub')
    .finally(() => client.close());
  await gone(pid);
  if (context.json) printJson(context.out, { stopped: true, pid, runsGoOn });
  else
    print(context, [
      `Stopped the hub (pid ${pid}).`,
      ...(runsGoOn > 0 ? [`${runsGoOn} runs go on without it; the next command finds them again.`] : []),
    ]);
  return EXIT.done;
}

/** The end of the hub's log. */
export async function hubLog({ lines = '50' }: { lines?: string }, context: CliContext): Promise<number> {
  const count = wholeNumber('--lines', lines, 0, 100_000);
  const file = join(homeFolder(process.env), 'hub.log');
  const all = existsSync(file) ? (await tail(file)).split('\n').filter(Boolean) : [];
  const last = all.slice(Math.max(0, all.length - count));
  if (context.json) printJson(context.out, { file, lines: last });
  else print(context, last.length > 0 ? last : [`Nothing in ${file} yet.`]);
  return EXIT.done;
}

function show(status: Status, context: CliContext): number {
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

/** Waits, within reason, until the process is no more: then a next command starts a fresh hub. */
async function gone(pid: number): Promise<void> {
  const until = Date.now() + 5_000;
  while (isRunning(pid) && Date.now() < until) await new Promise(wake => setTimeout(wake, 10));
}
