/** Values as text, for somebody who reads: nothing is lost without a word where plain JSON would lose it. */
export interface Show {
  /** Undefined for what is nothing in JSON: undefined, a function. */
  json(value: unknown): string | undefined;
  /** For the console: strings as they are. */
  value(value: unknown): string;
  /** What was thrown, with the lines of the program it came through. */
  error(thrown: unknown): string;
}

export function createShow(): Show {
  const { stringify } = JSON;

  function json(value: unknown): string | undefined {
    const above: unknown[] = [];
    return stringify(value, function (this: unknown, _key, each: unknown) {
      if (typeof each === 'bigint') return `${each}n`;
      if (typeof each !== 'object' || each === null) return each;
      // `this` holds the value: what is below it in the list is no longer above it.
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (above.includes(each)) return '[circular]';
      const plain = plainOf(each);
      above.push(plain);
      return plain;
    });
  }

  function plainOf(value: object): object | string {
    if (value instanceof Map || value instanceof Set) return [...value];
    if (isError(value)) return `${value.name}: ${value.message}`;
    return value;
  }

  function showValue(value: unknown): string {
    if (typeof value === 'string') return value;
    if (isError(value)) return showError(value);
    try {
      if (typeof value === 'function') return `[function ${value.name}]`;
      return json(value) ?? String(value);
    } catch (thrown) {
      return `[cannot be shown: ${showError(thrown)}]`;
    }
  }

  function showError(thrown: unknown): string {
    try {
      if (!isError(thrown)) return `Thrown: ${showValue(thrown)}`;
      const { name, message, stack, cause } = thrown;
      const frames = typeof stack === 'string' ? stack.split('\n').filter(isOfProgram) : [];
      const because = cause === undefined ? '' : `\ncaused by ${showError(cause)}`;
      return `${[`${name}: ${message}`, ...frames].join('\n')}${because}`;
    } catch {
      return 'Thrown: something that cannot be shown';
    }
  }

  return { json, value: showValue, error: showError };
}

/** Also those of Node's own realm. */
const isError = (value: unknown): value is Error =>
  typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Error]';

/** Its own text is the only one with this name. */
const isOfProgram = (line: string): boolean => /^\s+at .*program\.ts:\d+/.test(line);
