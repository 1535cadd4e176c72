import { visibleLine } from '../base/text.ts';
import type { AgentFailure } from '../schema/agent-protocol.ts';

/** Ends the conversation as failed, with the words for whoever asked. */
export class Ending extends Error {
  readonly code: AgentFailure;

  constructor(code: AgentFailure, message: string) {
    super(message);
    this.code = code;
  }
}

/** The model, or whoever serves it, is why. Its message goes on from the name of that model: `answered 401: …`. */
export class ModelFailure extends Ending {}

/** The answer ended before it was whole. */
export class CutOff extends Error {}

/** Somebody else's words within a message of ours: on one line, not too many, and never with a secret in them. */
export type Quote = (text: string, most?: number) => string;

const MAX_QUOTE_LENGTH = 300;

export const createQuote =
  (withoutSecrets: (text: string) => string): Quote =>
  (text, most = MAX_QUOTE_LENGTH) => {
    // First, since a cut may leave the half of one.
    const clean = withoutSecrets(text);
    const line = visibleLine(clean.slice(0, most * 2));
    const isWhole = line.length <= most && clean.length <= most * 2;
    return isWhole ? line : `${line.slice(0, most).toWellFormed()}…`;
  };
