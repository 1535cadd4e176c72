/** A tool that programs call as an async function of one object. */
export interface CodeTool {
  /** Name of the tool. Programs may use a different name, see `declare`. */
  name: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
  outputSchema?: Readonly<Record<string, unknown>>;
  /** The program gets the returned value, or an exception with the message of the error that was thrown. */
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
}

/** How a program ended. Errors in the program are results too, so that the model can fix it. */
export interface CodeResult {
  ok: boolean;
  /** Output of the program, cut to the limit. */
  output: string;
  /** The program's return value as JSON. Null if the program returned nothing. */
  returned: string | null;
  /** The exception with line numbers of the program, or the limit that ended the program. Null if `ok` is true. */
  error: string | null;
}

/** The result of a call. `json` is the value as JSON. Absent for undefined. */
export type CallEnd = { ok: true; value: unknown; json?: string } | { ok: false; error: string };

/** Called when a program starts a call. The returned function is called once, when the call ends. Neither throws. */
export type CallWatch = (tool: CodeTool, args: Record<string, unknown>) => (end: CallEnd) => void;

/** Runs programs in a sandbox without files, network, environment or other processes. They have only the tools. */
export interface CodeRunner extends AsyncDisposable {
  /** TypeScript declarations of all tools, for the model to read. */
  readonly declarations: string;
  /**
   * Starts a process for the next program, unless there is one. Call it while waiting for the model. Nobody has to wait
   * for the result. Resolves when the process is ready. Never rejects.
   */
  prepare(): Promise<void>;
  /** Only a few programs run at once. A waiting program's timeout begins when the program starts. */
  run(program: string, signal: AbortSignal, watch?: CallWatch): Promise<CodeResult>;
  /** Ends all processes and prevents new ones. Resolves when none is left. */
  close(): Promise<void>;
}
