import { readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, tryParseJson } from '../../base/json.ts';
import { readRegular } from '../output/regular-file.ts';

/** File in a turn's folder. It lists the hosts that the proxy refused to the agent, one JSON line each. */
export const REFUSED_HOSTS = 'refused-hosts.jsonl';
export const MAX_REFUSED_HOSTS = 200;

export interface RefusedHost {
  at: number;
  host: string;
  port: number;
  /** `private_address`: only a pattern allows the host, and the host's address is in a private network. */
  why: 'not_listed' | 'private_address';
}

/** Reads the refused hosts of a turn, each host once. Empty if no host was refused or the turn has no sandbox. */
export function readRefusedHosts(turnFolder: string): RefusedHost[] {
  const lines = (readRegular(join(turnFolder, REFUSED_HOSTS)) ?? '').split('\n');
  return lines.map(tryParseJson).filter(isRefusedHost);
}

const isRefusedHost = (line: unknown): line is RefusedHost =>
  isObject(line) &&
  typeof line.host === 'string' &&
  typeof line.port === 'number' &&
  typeof line.at === 'number';

/**
 * File in a turn's folder while the turn's room is open. It holds the path and the id of the room's network namespace.
 */
const OPEN_ROOM = 'room';

export function recordRoom(turnFolder: string, net: string): void {
  writeFileSync(join(turnFolder, OPEN_ROOM), `${net}\n${readlinkSync(net)}\n`, { mode: 0o600 });
}

/** Deletes the record of a room. Call this before the room of an ended turn is closed. */
export function forgetRoom(turnFolder: string): void {
  try {
    rmSync(join(turnFolder, OPEN_ROOM), { force: true });
  } catch {
    // A record that cannot be deleted must not keep the room open.
  }
}

/** True if the turn lost its room because the proxy process was killed. */
export function isCutOff(turnFolder: string): boolean {
  const [net, name] = (readRegular(join(turnFolder, OPEN_ROOM)) ?? '').split('\n');
  if (!net || !name) return false;
  try {
    return readlinkSync(net) !== name;
  } catch {
    return true; // the proxy process no longer exists
  }
}
