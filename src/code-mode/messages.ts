/** From the guest. It runs what a model wrote, so the host believes none of it without looking. */
export type GuestMessage =
  /** To `prepare`: it is up, with all that a program may need. */
  | { type: 'prepared' }
  /** To `run`: it has the program and is about to begin. */
  | { type: 'begun' }
  | { type: 'call'; id: number; tool: string; args: Record<string, unknown> }
  | { type: 'print'; text: string }
  | {
      type: 'done';
      /** JSON, as much of it as fits; absent when nothing was returned. */
      returned?: string;
      /** How much was left out of it. */
      omitted?: number;
      /** Of promises that nobody caught. */
      rejections: string[];
    }
  | { type: 'failed'; error: string };

export type HostMessage =
  | { type: 'prepare' }
  | { type: 'run'; program: string; tools: string[]; mostChars: number }
  /** `json` is absent for undefined. */
  | { type: 'result'; id: number; json?: string }
  | { type: 'error'; id: number; message: string };

/** How many calls of one program are in flight at most, and how much they may carry. The guest keeps to it; more than that says no honest one. */
export const MOST_CALLS = 64;
export const MOST_CALL_BYTES = 32 * 1024 * 1024;

/** Null for what is no message. */
export function readGuestMessage(body: Buffer): GuestMessage | null {
  const message = parsed(body);
  if (!isObject(message)) return null;
  const { type } = message;
  if (type === 'prepared' || type === 'begun') return { type };
  if (type === 'print' && typeof message.text === 'string') return { type, text: message.text };
  if (type === 'failed' && typeof message.error === 'string') return { type, error: message.error };
  if (type === 'call') return readCall(message);
  return type === 'done' ? readDone(message) : null;
}

function readCall({ id, tool, args }: Record<string, unknown>): GuestMessage | null {
  const isWhole = Number.isSafeInteger(id) && typeof tool === 'string' && isObject(args);
  return isWhole ? { type: 'call', id: id as number, tool, args } : null;
}

function readDone({ returned, omitted, rejections }: Record<string, unknown>): GuestMessage | null {
  if (returned !== undefined && typeof returned !== 'string') return null;
  if (omitted !== undefined && !Number.isSafeInteger(omitted)) return null;
  if (!Array.isArray(rejections) || !rejections.every(each => typeof each === 'string')) return null;
  return { type: 'done', returned, omitted: omitted as number | undefined, rejections };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
