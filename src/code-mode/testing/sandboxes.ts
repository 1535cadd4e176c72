import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CodeModeLimits } from '../../schema/model-spec.ts';
import type { CallWatch, CodeResult, CodeTool } from '../code-mode.ts';
import { createCodeRunner } from '../code-runner.ts';
import { findSandbox, type Sandbox } from '../sandbox.ts';

const GUEST = join(import.meta.dirname, '..', '..', '..', 'dist', 'code-guest.cjs');

export const LIMITS: CodeModeLimits = { timeoutMs: 30_000, memoryMb: 256, outputChars: 10_000 };

export async function realSandbox(): Promise<Sandbox> {
  const found = await findSandbox(process.env, GUEST);
  if ('missing' in found) throw new Error(`${found.missing} ${found.suggestions.join(' ')}`);
  return found;
}

export interface TryOptions {
  tools?: readonly CodeTool[];
  limits?: Partial<CodeModeLimits>;
  signal?: AbortSignal;
  sandbox?: Sandbox;
  watch?: CallWatch;
}

/** Sandbox whose bubblewrap was found earlier and is missing now. */
export const GONE: Sandbox = { bubblewrap: '/not/there/bwrap', command: () => ['/not/there/bwrap'] };

/** Runs a program in the real sandbox. */
export async function run(program: string, options: TryOptions = {}): Promise<CodeResult> {
  const runner = createCodeRunner({
    tools: options.tools ?? [],
    limits: { ...LIMITS, ...options.limits },
    sandbox: options.sandbox ?? (await realSandbox()),
  });
  return runner.run(program, options.signal ?? new AbortController().signal, options.watch);
}

/** Creates a tool from a function. */
export const tool = (name: string, call: CodeTool['call']): CodeTool => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  call,
});

const PRELUDE = `
const { writeSync, readSync } = require('node:fs');
function sendBytes(bytes) { for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at); }
function send(message) {
  const body = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message));
  const header = Buffer.alloc(4);
  header.writeUInt32LE(body.length);
  sendBytes(Buffer.concat([header, body]));
}
const done = value => send({ type: 'done', returned: JSON.stringify(value), rejections: [] });
const attempt = async act => { try { return { got: String(await act()) }; } catch (error) { return { failed: error.code ?? error.name }; } };
`;

/** Sandbox whose guest is replaced by code with access to all of Node, as after a successful attack on the guest. */
export class TakenOver {
  private readonly folder = mkdtempSync(join(tmpdir(), 'squad-guest-'));
  private made = 0;

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  async sandbox(body: string, { permissions = true } = {}): Promise<Sandbox> {
    const file = join(this.folder, `guest-${this.made++}.cjs`);
    writeFileSync(file, `${PRELUDE}\n(async () => {\n${body}\n})();`);
    const args = (await realSandbox()).command(LIMITS.memoryMb).map(arg => (arg === GUEST ? file : arg));
    const isKept = (arg: string) => permissions || !/^--(permission$|allow-fs-read)/.test(arg);
    const [program, ...rest] = args.filter(isKept);
    return { bubblewrap: program!, command: () => [program!, ...rest] };
  }

  /** Runs code in the sandbox with all of Node, and returns the value that the code gives to `done`. */
  async finds<T>(body: string, options: { permissions?: boolean } = {}): Promise<T> {
    const result = await run('', { sandbox: await this.sandbox(body, options) });
    if (!result.ok) throw new Error(result.error ?? 'no reason');
    return JSON.parse(result.returned!) as T;
  }
}
