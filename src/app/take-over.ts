import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { HubState, TakenOver } from '../core/ports/store.ts';
import { recoverRuns } from '../core/runs/recovery.ts';
import { isSubagentCall } from '../core/subagents/plan-subagent.ts';
import { isOwnFolder } from '../link/home.ts';
import { HOME_ID_FILE } from '../link/home-id.ts';
import { createRunFiles } from '../process/output/run-files.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type Run } from '../schema/run.ts';
import type { HubHome } from './open-home.ts';
import type { RunParts } from './wire-runs.ts';

/**
 * Whether the home of that hub is here, as a folder of the same user. Another machine may have a home with the same
 * path, so the folder must also have the id of that hub. Machines may also share the folder itself, but only the machine
 * of the hub can see whether its agents are gone.
 */
export function canReadHome({ home, host, id }: Pick<HubState, 'home' | 'host' | 'id'>): boolean {
  try {
    return (
      host === hostname() && isOwnFolder(home) && readFileSync(join(home, HOME_ID_FILE), 'utf8').trim() === id
    );
  } catch {
    return false; // there is no such folder, or it has no id
  }
}

/**
 * Takes over the runs of a hub whose lease is over, and whose agents are therefore gone. If this hub can read the other
 * home, it moves the files of the runs here and recovers them like its own: ended turns are judged by their true end,
 * queued runs start here, waiting runs go on waiting. Otherwise runs that had an agent are lost, and all others wait for
 * the next hub of their home, because only that one has their input.
 */
export class Takeovers {
  private readonly parts: HubHome;
  private readonly runs: RunParts;
  /** Runs that this hub owns since a takeover, and has not recovered because of an error. */
  private readonly unfinished = new Map<string, TakenOver & { all: boolean }>();

  constructor(parts: HubHome, runs: RunParts) {
    this.parts = parts;
    this.runs = runs;
  }

  async takeOver(hub: HubState, of: { silentMs: number; all: boolean }): Promise<boolean> {
    const left = this.unfinished.get(hub.id);
    if (!left) {
      const taken = await this.parts.store.hubLeases!.takeOver(hub.id, of);
      if (!taken?.runs.length) return taken !== null;
      this.unfinished.set(hub.id, { ...taken, all: of.all });
    }
    await recoverTaken(hub, left ?? this.unfinished.get(hub.id)!, this.parts, this.runs);
    this.unfinished.delete(hub.id);
    return true;
  }
}

async function recoverTaken(
  hub: HubState,
  taken: TakenOver & { all: boolean },
  parts: HubHome,
  runs: RunParts,
): Promise<void> {
  const { store, clock, files, settings, log } = parts;
  const { runner, executor, engines, inbox, reviews, proposals, integrator } = runs;
  const ids = new Set(taken.runs);
  const from = `${hub.home} on ${hub.host}`;
  log.write('warning', `The hub of ${from} is gone: taking over ${ids.size} runs`);
  const live = (await store.liveRuns()).filter(({ id }) => ids.has(id));
  const found = live.filter(({ id }) => !runner.current(id));
  const counts = { watched: 0, ended: 0, requeued: 0, lost: 0 };
  if (taken.all) {
    for (const run of found) await moveFiles(run, hub.home, parts);
    await reviews.finishIntents(taken.intents);
    const ports = { clock, store, files, executor, engines, settings: () => settings.all() };
    Object.assign(counts, await recoverRuns(found, runner, ports));
    const canceller = { name: 'the next hub', folder: null };
    const calls = found.filter(run => isSubagentCall(run) && runner.current(run.id));
    await Promise.all(calls.map(({ id }) => runner.stop(id, 'cancel', canceller)));
  } else
    for (const run of found) {
      await runner.lose(run, { code: 'LOST', message: lostWith(hub) });
      counts.lost++;
    }
  await inbox.recover(ids);
  if (taken.all && taken.intents.length > 0) {
    await proposals.recover();
    await integrator.recover();
  }
  await reviews.recoverRuns(live);
  // The files of these runs are still there, for the next hub of that home.
  if (!taken.all) await store.hubLeases!.giveBack(await endedOf(taken.runs, store), hub.id);
  await parts.record({ type: 'hub.recovered', ...counts, from });
  runner.pump();
}

const lostWith = ({ home, host }: HubState): string =>
  `The hub of ${home} on ${host} is gone, and its agent ended with it. Its output is in that home.`;

async function endedOf(ids: readonly RunId[], store: HubHome['store']): Promise<RunId[]> {
  const now = await Promise.all(ids.map(id => store.run(id)));
  return now.flatMap(run => (run && isEnd(run.status) ? [run.id] : []));
}

/** Moves the folder of a run, and of its chats, from another home to this one. */
async function moveFiles({ id, engine, chatId }: Run, home: string, parts: HubHome): Promise<void> {
  const there = createRunFiles<RunId>({ runsDir: join(home, 'runs'), chatsDir: join(home, 'chats') });
  await move(join(home, 'runs', id), join(parts.runsDir, id), parts);
  // Until an engine has reported its chat, the chat's folder has the name of the run.
  for (const chat of chatId === null ? [id] : [id, chatId])
    await move(there.chatFolder(engine, chat), parts.files.chatFolder(engine, chat), parts);
}

/** A folder that cannot be moved is missing for its run, whose recovery reports that. */
async function move(from: string, to: string, { warn }: HubHome): Promise<void> {
  if (!existsSync(from)) return;
  try {
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await rename(from, to).catch(async thrown => {
      // The homes are on two file systems.
      if ((thrown as NodeJS.ErrnoException).code !== 'EXDEV') throw thrown;
      await cp(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
      await rm(from, { recursive: true, force: true });
    });
  } catch (thrown) {
    warn(`${from} could not be moved to ${to}`, thrown);
  }
}
