import type { EngineEvent } from '../core/ports/engine.ts';
import { type Fields, text } from './json-line.ts';

type Describe = (name: string, input: Fields) => { detail: string; edits: boolean };

/** Maximum number of open calls. No agent runs so many at once, so the oldest call beyond it will never end. */
const MAX_OPEN = 1_000;

/** Tool calls that have not ended. A tool result has only the id of its call, so the names are kept here. */
export class ToolCalls {
  readonly #open = new Map<string, { name: string; denied: boolean }>();
  readonly #describe: Describe;

  constructor(describe: Describe) {
    this.#describe = describe;
  }

  begin(id: string | null, name: string | null, input: Fields): EngineEvent[] {
    if (name === null || (id !== null && this.#open.has(id))) return [];
    if (id !== null) this.#open.set(id, { name, denied: false });
    if (this.#open.size > MAX_OPEN) this.#open.delete(this.#open.keys().next().value ?? '');
    const { detail, edits } = this.#describe(name, input);
    return [{ type: 'tool', name, detail: shortened(detail), ...(edits ? { edits } : {}) }];
  }

  deny(id: string | null): void {
    const call = this.#open.get(id ?? '');
    if (call) call.denied = true;
  }

  end(id: string | null, ok: boolean): EngineEvent[] {
    const call = this.#open.get(id ?? '');
    if (!call) return [];
    this.#open.delete(id ?? '');
    return [
      { type: 'tool_end', name: call.name, ok: ok && !call.denied, ...(call.denied ? { denied: true } : {}) },
    ];
  }
}

const MAX_DETAIL_LENGTH = 500;

const shortened = (detail: string): string =>
  detail.length > MAX_DETAIL_LENGTH ? `${detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed()}…` : detail;

/** Argument names that describe a call best, in order of preference. */
const TELLING = ['command', 'cmd', 'file_path', 'filePath', 'path', 'pattern', 'query', 'url', 'description'];

/** Short description of a tool call, taken from its arguments. */
export function toolDetail(input: Fields): string {
  const telling = TELLING.map(name => text(input[name])).find(Boolean);
  return telling ?? (Object.keys(input).length > 0 ? JSON.stringify(input) : '');
}
