import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { SquadResult } from '../../src/operations/runs/run-result.ts';
import type { Event } from '../../src/schema/event.ts';
import { isEnd, type Run, type Turn } from '../../src/schema/run.ts';
import { FaultHome } from './fault-home.ts';
import type { HubLink } from './hub-link.ts';
import { until } from './patience.ts';
import { processesOfRuns } from './processes.ts';

const PACKAGE = join(import.meta.dirname, '..', '..');

/** A home for one test. With it goes everything that was started in it, and nothing may be left by then. */
export async function openHome(env: Record<string, string> = {}): Promise<FaultHome> {
  const home = newHome(env);
  await home.set('stop.grace_ms', 300);
  return home;
}

/** The same, without a hub as yet. */
export function newHome(env: Record<string, string> = {}): FaultHome {
  const home = new FaultHome(PACKAGE, env);
  onTestFinished(async () => expect(await home.remove()).toEqual([]));
  return home;
}

export interface Shown {
  run: Run;
  turns: Turn[];
}

/** Asks for a squad of `[role, task]` pairs and leaves; gives the ids. */
export async function ask(
  home: FaultHome,
  members: [string, string][],
  isStateful = false,
): Promise<string[]> {
  const link = await home.hub(isStateful);
  const input = { members: members.map(([roleId, task]) => ({ roleId, task })) };
  const { members: started } = await link.call<SquadResult>('start_squad_members', input, { waitMs: 0 });
  link.close();
  return started.map(({ memberId }) => memberId);
}

/** One run as the hub shows it, once it has ended. Starts a hub if there is none. */
export async function endOf(home: FaultHome, id: string, patienceMs?: number): Promise<Shown> {
  const link = await home.hub();
  try {
    return await until(
      `the end of ${id}`,
      async () => {
        const shown = await show(link, id);
        return isEnd(shown.run.status) ? shown : null;
      },
      patienceMs,
    );
  } finally {
    link.close();
  }
}

export const show = (link: HubLink, id: string): Promise<Shown> => link.call<Shown>('show_run', { run: id });

export async function eventsOf(home: FaultHome, runId?: string): Promise<Event[]> {
  const link = await home.hub();
  const events: Event[] = [];
  const onItem = (event: unknown) => void events.push(event as Event);
  await link.call('follow_events', { runId, live: false }, { onItem });
  link.close();
  return events;
}

/** Lines that an agent wrote to its own file. */
export function sideOf(home: FaultHome, name: string): string[] {
  const file = join(home.side, name);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

export const started = (home: FaultHome, tag: string): Promise<string> =>
  until(`the start of ${tag}`, () => sideOf(home, tag).find(line => line.startsWith('start')));

export const processesOf = (...ids: string[]): string[] =>
  processesOfRuns(new Set(ids)).map(({ command }) => command);

export const turnFile = (home: FaultHome, id: string, name: string): string =>
  join(home.home, 'runs', id, 'turn-1', name);

/** The store has waited long enough once, rejected the change for this reason, and the runner tries it again. */
export function isRefused(home: FaultHome, why: string): boolean {
  const log = readFileSync(join(home.home, 'hub.log'), 'utf8');
  return log.includes('Could not write a change of state; trying again') && log.includes(why);
}

/** Locks it from another process; gives how to unlock it. */
export async function holdDatabase(file: string): Promise<() => void> {
  const fixture = join(PACKAGE, 'src', 'store', 'fixtures', 'hold-database.ts');
  const holder = spawn(process.execPath, [fixture, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  const [said] = await once(holder.stdout, 'data');
  expect(String(said)).toBe('held\n');
  return () => void holder.stdin.write('release\n');
}
