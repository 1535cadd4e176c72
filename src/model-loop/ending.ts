import type { AgentFailure } from '../schema/agent-line.ts';

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
