import { join } from 'node:path';
import { isObject, tryParseJson } from '../../base/json.ts';
import { readRegular } from '../output/regular-file.ts';

/** In a turn's folder: hosts that its agent asked for and was refused, one JSON line each. */
export const REFUSED_HOSTS = 'refused-hosts.jsonl';
export const MAX_REFUSED_HOSTS = 200;

export interface RefusedHost {
  at: number;
  host: string;
  port: number;
  /** `private_address`: on the list by a pattern only, and its address belongs to the own network. */
  why: 'not_listed' | 'private_address';
}

/** Each host once. Empty when there are none, and for a turn without a sandbox. */
export function readRefusedHosts(turnFolder: string): RefusedHost[] {
  const lines = (readRegular(join(turnFolder, REFUSED_HOSTS)) ?? '').split('\n');
  return lines.map(tryParseJson).filter(isRefusedHost);
}

const isRefusedHost = (line: unknown): line is RefusedHost =>
  isObject(line) &&
  typeof line.host === 'string' &&
  typeof line.port === 'number' &&
  typeof line.at === 'number';
