/** Takes out of a recording what belongs to this machine or this moment; what was equal stays equal. */
import { hostname } from 'node:os';
import { engineCache } from '../../scripts/engine-clis.ts';

interface Place {
  home: string;
  url: string;
  root: string;
}

/** One for all recordings of a chat: an id keeps its stand-in from one to the next. */
export function scrubber({ home, url, root }: Place): (text: string) => string {
  const known = new Map<string, string>();
  const standIn = (found: string, make: (number: number) => string) => {
    if (!known.has(found)) known.set(found, make(known.size + 1));
    return known.get(found)!;
  };
  const words: [string, string][] = [
    [home, '/home/agent'],
    [process.execPath, '/usr/bin/node'],
    [engineCache(), '/opt/engines'],
    [root, '/repo'],
    [url, 'http://127.0.0.1:4567'],
    [url.replace('http://', ''), '127.0.0.1:4567'],
    [hostname(), 'machine'],
  ];
  return text => {
    const named = words.reduce((result, [from, to]) => result.replaceAll(from, to), text);
    return named
      .replace(UUID, found =>
        standIn(found, number => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`),
      )
      .replace(ID, (found, kind: string) =>
        standIn(found, number => `${kind}${String(number).padStart(26, '0')}`),
      )
      .replace(ISO_TIME, '2026-01-01T00:00:00.000$1')
      .replace(EPOCH_MS, '1767225600000')
      .replace(PID_SOCKET, '/1.sock');
  };
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Ids of messages, calls and sessions that begin with what they name. */
const ID = /\b((?:msg|toolu|call|resp|fc|ses|prt|chatcmpl)[_-])[A-Za-z0-9]{20,}/g;
const ISO_TIME = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|\+00:00)/g;
const EPOCH_MS = /(?<!\d)1[789]\d{11}(?!\d)/g;
const PID_SOCKET = /\/\d+\.sock/g;
