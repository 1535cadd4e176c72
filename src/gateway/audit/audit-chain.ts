import { hash } from 'node:crypto';
import type { AuditEntry } from '../../core/ports/gateway.ts';

/** The end of the chain, which the next line refers to. */
export interface Link {
  seq: number;
  hash: string;
}

export const START: Link = { seq: 0, hash: '0'.repeat(64) };

const MAX_NAME_LENGTH = 200;
const MAX_SHAPE_LENGTH = 500;
const MAX_PATH_LENGTH = 4096;
/** More than the longest possible line with every character escaped. */
export const MAX_LINE_LENGTH = 64 * 1024;

/** The entry as the inside of a JSON object, cut to size. Made at once, so that later changes to the entry have no effect. */
export function fieldsOf(entry: AuditEntry): string {
  return oneLine(
    JSON.stringify({
      runId: entry.runId,
      roleId: entry.roleId === null ? null : cut(entry.roleId, MAX_NAME_LENGTH),
      subagent: entry.subagent === undefined ? undefined : cut(entry.subagent, MAX_NAME_LENGTH),
      workspace: cut(entry.workspace, MAX_PATH_LENGTH),
      server: entry.server === null ? null : cut(entry.server, MAX_NAME_LENGTH),
      kind: cut(entry.kind, MAX_NAME_LENGTH),
      name: cut(entry.name, MAX_NAME_LENGTH),
      decision: entry.decision,
      outcome: cut(entry.outcome, MAX_NAME_LENGTH),
      argumentShape:
        entry.argumentShape === undefined ? undefined : cut(entry.argumentShape, MAX_SHAPE_LENGTH),
      argumentHash: entry.argumentHash,
      resultBytes: entry.resultBytes,
      resultHash: entry.resultHash,
      durationMs: entry.durationMs,
      count: entry.count,
    }).slice(1, -1),
  );
}

/** The line after `before`, with its newline. */
export function lineAfter(before: Link, at: number, fields: string): { line: string; link: Link } {
  const seq = before.seq + 1;
  const open = `{"seq":${seq},"at":"${new Date(at).toISOString()}",${fields},"prev":"${before.hash}"`;
  const own = hash('sha256', `${open}}`);
  return { line: `${open},"hash":"${own}"}\n`, link: { seq, hash: own } };
}

export type CheckedLine = Link & { prev: string };

/**
 * Checks one line, given without its newline. The hash covers its bytes, not the parsed value, so that two spellings of the same
 * JSON have different hashes.
 */
export function checkLine(bytes: Buffer): CheckedLine | 'edited' | 'unreadable' {
  const text = bytes.toString();
  const ends = /,"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}$/.exec(text);
  const seq = /^\{"seq":([1-9][0-9]{0,15}),"at":/.exec(text);
  if (!isJson(text)) return 'unreadable';
  if (!ends || !seq) return 'edited';
  const own = hash('sha256', Buffer.concat([bytes.subarray(0, bytes.length - HASH_PART), CLOSING]));
  if (own !== ends[2]) return 'edited';
  return { seq: Number(seq[1]), prev: ends[1]!, hash: own };
}

const CLOSING = Buffer.from('}');
const HASH_PART = `,"hash":"${START.hash}"}`.length;

/**
 * Escapes the characters that JSON leaves alone and that some readers take for a line end, or a terminal obeys. Tests first,
 * because such a character is rare.
 */
const oneLine = (json: string) => (UNSAFE.test(json) ? json.replace(EVERY_UNSAFE, escaped) : json);
const UNSAFE = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const EVERY_UNSAFE = new RegExp(UNSAFE, 'g');
const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
