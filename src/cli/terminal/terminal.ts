/** An output stream. `columns` is Infinity for a pipe or a file, where nothing is cut. */
export interface Terminal {
  write(text: string): void;
  /** True for an interactive terminal, where lines may be redrawn. */
  readonly isTTY: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
}

interface Stream {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

type Env = Record<string, string | undefined>;

/** Reads the size each time, because the window may have been resized. */
export function openTerminal(stream: Stream, env: Env): Terminal {
  const isTTY = stream.isTTY === true && env.TERM !== 'dumb' && !isSet(env.CI);
  return {
    write: text => void stream.write(text),
    isTTY,
    get columns() {
      return stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY;
    },
    get rows() {
      return stream.rows || 24;
    },
    color: wantsColor(stream.isTTY === true, env),
  };
}

function wantsColor(isTTY: boolean, env: Env): boolean {
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR === '' || isSet(env.FORCE_COLOR);
  return isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
}

const isSet = (value: string | undefined) => value !== undefined && !['', '0', 'false'].includes(value);
