import type { AgentFailure } from '../schema/agent-line.ts';

/** Ends the conversation as failed, with the words for whoever asked. */
export class Ending extends Error {
  readonly code: AgentFailure;

  constructor(code: AgentFailure, message: string) {
    super(message);
    this.code = code;
  }
}
