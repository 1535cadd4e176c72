import type { CodeModeLimits } from '../schema/model-spec.ts';

/** A tool as the model's program sees it: an async function of one object. */
export interface CodeTool {
  /** Its exposed name. What the program calls it by may differ; see `declarations`. */
  name: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
  outputSchema?: Readonly<Record<string, unknown>>;
  /** What it returns is handed to the program as a value; what it throws is thrown there, with its message. */
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
}

/** How a program of the model's ended. Its own mistakes are results: the model reads them and writes another. */
export interface CodeResult {
  ok: boolean;
  /** What it printed, in order, cut to the limit; and what it returned, as JSON, if anything. */
  output: string;
  returned: string | null;
  /** Why it is not ok: its exception with line numbers of its own text, or the limit that ended it. */
  error: string | null;
}

/** What a program got from a call: a value, with its JSON if it is not undefined; or why it failed. */
export type CallEnd = { ok: true; value: unknown; json?: string } | { ok: false; error: string };

/** Is told of a call of a program when it begins; what it returns is told how the call ended, once. Neither throws. */
export type CallWatch = (tool: CodeTool, args: Record<string, unknown>) => (end: CallEnd) => void;

export interface CodeModeOptions {
  tools: readonly CodeTool[];
  limits: CodeModeLimits;
}

/** A program in a sandbox: no file, network, environment or process but the tools. */
export interface CodeRunner extends AsyncDisposable {
  /** TypeScript declarations of every tool as the program can call them, for the model to read. */
  readonly declarations: string;
  /**
   * Starts ahead what the next program will run in, unless it is there: for a time when the model is waited for. Nobody has
   * to wait for it. Settles when it is up, never rejects.
   */
  prepare(): Promise<void>;
  /** Only a few run at once: others wait for their turn, and their time begins when they do. */
  run(program: string, signal: AbortSignal, watch?: CallWatch): Promise<CodeResult>;
  /** Ends all that runs and all that was started ahead. When it settles nothing of it is left, and nothing starts any more. */
  close(): Promise<void>;
}
