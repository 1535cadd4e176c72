import type { EngineEnd, EngineEvent } from '../core/ports/engine.ts';
import { answerTooLong } from './long-line.ts';

/** More than anyone reads in one event. */
const MAX_EVENT_LENGTH = 400;
/** What is longer than this is not reported as an answer; all of it is in the output. */
const MAX_ANSWER_LENGTH = 8 * 1024 * 1024;

/** What an agent says in small pieces: shown line by line, and kept since it last used a tool, which is its answer. */
export class Speech {
  #shown = '';
  #answer = '';
  #isWhole = true;

  add(piece: string): EngineEvent[] {
    if (this.#answer.length + piece.length > MAX_ANSWER_LENGTH) this.miss();
    else this.#answer += piece;
    this.#shown += piece;
    return piece.endsWith('\n') || this.#shown.length >= MAX_EVENT_LENGTH ? this.pause() : [];
  }

  /** It does something else now: what was said so far is shown. */
  pause(): EngineEvent[] {
    const words = this.#shown.trim();
    this.#shown = '';
    return words ? [{ type: 'text', text: words }] : [];
  }

  /** A piece was too long to be read. */
  miss(): void {
    this.#isWhole = false;
  }

  /** What comes next is a new answer. */
  restart(): EngineEvent[] {
    this.#answer = '';
    this.#isWhole = true;
    return this.pause();
  }

  /** The end of a turn that succeeded. */
  end(): EngineEnd {
    return this.#isWhole
      ? { type: 'end', ok: true, answer: this.#answer.trim(), error: null }
      : answerTooLong();
  }
}
