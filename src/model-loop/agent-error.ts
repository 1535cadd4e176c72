import { visibleLine } from '../base/text.ts';
import type { AgentFailure } from '../schema/agent-protocol.ts';

/** Error that ends the conversation as failed. The message is for the user. */
export class AgentError extends Error {
  readonly code: AgentFailure;

  constructor(code: AgentFailure, message: string) {
    super(message);
    this.code = code;
  }
}

/** A failure of the model or its provider. The message continues the name of the model: `answered 401: …`. */
export class ModelError extends AgentError {}

/** The provider's response ended before the answer was complete. */
export class ResponseInterrupted extends Error {}

/** Prepares foreign text for a message of Squad: one line, shortened, secrets redacted. */
export type Quote = (text: string, most?: number) => string;

const MAX_QUOTE_LENGTH = 300;

export const createQuote =
  (withoutSecrets: (text: string) => string): Quote =>
  (text, most = MAX_QUOTE_LENGTH) => {
    // The text is redacted before it is cut, because half a secret would not be recognised.
    const clean = withoutSecrets(text);
    const line = visibleLine(clean.slice(0, most * 2));
    const isWhole = line.length <= most && clean.length <= most * 2;
    return isWhole ? line : `${line.slice(0, most).toWellFormed()}…`;
  };
