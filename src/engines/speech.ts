import type { EngineEnd, EngineEvent } from '../core/ports/engine.ts';
import { answerTooLong } from './long-line.ts';

/** Longer texts are split into several events. */
const MAX_EVENT_LENGTH = 400;
/** A longer answer is not reported, but stays in the run's output. */
const MAX_ANSWER_LENGTH = 8 * 1024 * 1024;

/** Collects streamed text and reports it line by line. The text since the last tool call is the answer. */
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

  /** Reports the text so far, because an event of another kind follows. */
  pause(): EngineEvent[] {
    const text = this.#shown.trim();
    this.#shown = '';
    return text ? [{ type: 'text', text }] : [];
  }

  /** Call this when a part of the answer was too long to read. The answer then counts as incomplete. */
  miss(): void {
    this.#isWhole = false;
  }

  /** Starts a new answer. */
  restart(): EngineEvent[] {
    this.#answer = '';
    this.#isWhole = true;
    return this.pause();
  }

  /** End event of a successful turn. */
  end(): EngineEnd {
    return this.#isWhole
      ? { type: 'end', ok: true, answer: this.#answer.trim(), error: null }
      : answerTooLong();
  }
}
