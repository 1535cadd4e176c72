import type { EngineEvent } from '../core/ports/engine.ts';

/** More than anyone reads in one event. */
const ENOUGH = 400;
/** An answer longer than this is kept up to here; all of it is in the output. */
const LONGEST_ANSWER = 8 * 1024 * 1024;

/** What an agent says in small pieces: shown line by line, and kept since it last used a tool, which is its answer. */
export class Speech {
  #shown = '';
  #answer = '';

  add(piece: string): EngineEvent[] {
    if (this.#answer.length < LONGEST_ANSWER) this.#answer += piece;
    this.#shown += piece;
    return piece.endsWith('\n') || this.#shown.length >= ENOUGH ? this.pause() : [];
  }

  /** It does something else now: what was said so far is shown. */
  pause(): EngineEvent[] {
    const words = this.#shown.trim();
    this.#shown = '';
    return words ? [{ type: 'text', text: words }] : [];
  }

  /** What comes next is a new answer. */
  restart(): EngineEvent[] {
    this.#answer = '';
    return this.pause();
  }

  get answer(): string {
    return this.#answer.slice(0, LONGEST_ANSWER).trim();
  }
}
