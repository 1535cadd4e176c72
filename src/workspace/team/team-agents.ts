import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TeamAgent } from '../../core/ports/team.ts';
import { realPlace } from '../files/real-place.ts';
import { stampOfFile } from './team-text.ts';

const MOST = 1_000;
/** A name that is one step of a path, whatever the system. Folders such as `_alumni` are no agents. */
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,62}[\p{L}\p{N}_-])?$/u;

/** Where the files of one agent are, inside the team's folder. */
export interface AgentPlaces extends TeamAgent {
  charter: string | null;
  history: string | null;
}

/** Everybody in `agents/`: a folder with a charter or a history, or a role in a file of its own. */
export async function agentsIn(folder: string): Promise<AgentPlaces[]> {
  const place = await realPlace(folder, join(folder, 'agents'));
  if (!('real' in place)) return [];
  const entries = await readdir(place.real, { withFileTypes: true }).catch((): Dirent[] => []);
  const found = new Map<string, AgentPlaces>();
  for (const entry of entries.slice(0, MOST)) {
    const isRole = entry.isFile() && entry.name.endsWith('.md');
    const name = isRole ? entry.name.slice(0, -3) : entry.name;
    if (!(isRole || entry.isDirectory()) || !NAME.test(name)) continue;
    const of = (file: string) => `agents/${name}/${file}`;
    const has = async (path: string) => (await stampOfFile(join(folder, path))) !== null;
    const charter = isRole ? `agents/${name}.md` : (await has(of('charter.md'))) ? of('charter.md') : null;
    const history = !isRole && (await has(of('history.md'))) ? of('history.md') : null;
    const known = found.get(name);
    const places = { charter: charter ?? known?.charter ?? null, history: history ?? known?.history ?? null };
    found.set(name, {
      ...{ name, hasCharter: places.charter !== null, hasHistory: places.history !== null },
      ...places,
    });
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** By its exact name, else by the only one that differs in capitals alone. The name is looked for, never made into a path. */
export function agentNamed<T extends { name: string }>(agents: readonly T[], name: string): T | null {
  const exact = agents.find(agent => agent.name === name);
  if (exact) return exact;
  const alike = agents.filter(agent => agent.name.toLowerCase() === name.toLowerCase());
  return alike.length === 1 ? alike[0]! : null;
}
