/** What a server answered instead of a result, or what stands in for its answer: leaves as an error of the protocol. */
export class ForwardedError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'ForwardedError';
    this.code = code;
    this.data = data;
  }
}

/** The server could not be asked, or was lost while it was; the text is for the agent to read. */
export class OutOfOrder extends Error {}
