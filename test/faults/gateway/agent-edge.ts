/** The outcome of an agent's call. */
export type Outcome =
  /** The server's own words. */
  | { kind: 'said'; text: string }
  /** Squad's or the protocol's words: the call failed, and it says so. */
  | { kind: 'refused'; text: string }
  /** The connection is gone, or its end. */
  | { kind: 'broken'; text: string }
  | { kind: 'cancelled' }
  /** Nothing came, for as long as anybody would wait. */
  | { kind: 'hung' };

export interface EdgeCall {
  name: string;
  args: Record<string, unknown>;
  onProgress?: (message: string) => void;
  /** Taken back by the agent. */
  signal?: AbortSignal;
}

/** One agent's way to its tools. Each counts its requests from 1, so their ids and progress tokens are those of every other agent. */
export interface AgentEdge {
  call(call: EdgeCall): Promise<Outcome>;
  /** Names of the tools it is shown; null when that could not be had. */
  tools(): Promise<string[] | null>;
  /** Answers nobody waited for. */
  strays(): number;
  close(): Promise<void>;
}

/** Far more than any call here may take. */
export const HANG_MS = 60_000;

export interface Answer {
  id?: number;
  method?: string;
  params?: { progressToken?: number; message?: string };
  result?: { content?: { text?: string }[]; isError?: boolean; tools?: { name: string }[] };
  error?: { code: number; message: string };
}

export function outcomeOf({ result, error }: Answer): Outcome {
  if (error) return { kind: 'refused', text: `${error.code} ${error.message}` };
  const text = result?.content?.[0]?.text;
  if (text === undefined)
    return { kind: 'broken', text: `an answer without words: ${JSON.stringify(result)}` };
  return { kind: result?.isError ? 'refused' : 'said', text };
}
