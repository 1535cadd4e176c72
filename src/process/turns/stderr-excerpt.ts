import { withoutColours } from '../../base/text.ts';

/**
 * Lines of a program's stderr that say why it failed, in their order. Stack frames are left out. Lines that name an
 * error are kept even when many others follow.
 */
export function stderrExcerpt(stderr: string, maxLines: number): string[] {
  const lines = withoutStack(withoutColours(stderr).split('\n'));
  const said = lines.filter(line => !LOGGED.test(line));
  const useful = said.length > 0 ? said : lines;
  if (useful.length <= maxLines) return useful;
  const causes = indexesOf(useful, line => CAUSE.test(line)).slice(-Math.ceil(maxLines / 2));
  const rest = indexesOf(useful, (_, index) => !causes.includes(index)).slice(causes.length - maxLines);
  return [...causes, ...rest].sort((a, b) => a - b).map(index => useful[index]!);
}

function indexesOf(lines: string[], fits: (line: string, index: number) => boolean): number[] {
  const seen = new Set<string>();
  return lines.flatMap((line, index) => {
    if (!fits(line, index) || (CAUSE.test(line) && seen.has(line))) return [];
    seen.add(line);
    return [index];
  });
}

/** Returns trimmed lines without empty ones. Python prints the source line of each stack frame on the line after it. */
function withoutStack(lines: string[]): string[] {
  return lines
    .filter((line, index) => !PYTHON_FRAME.test(lines[index - 1] ?? '') || !/^\s{4}/.test(line))
    .map(line => line.trim())
    .filter(line => line !== '' && !FRAME.test(line) && !PYTHON_FRAME.test(line) && !NOISE.test(line));
}

const FRAME = /^at .*(?:[:\d)]|<anonymous>|native code)\)?(?: \{)?$|^\S+\.go:\d+(?: \+0x[0-9a-f]+)?$/;
const PYTHON_FRAME = /^\s*File ".*", line \d+/;
const NOISE =
  /^(?:[\^~ ]+|[{}[\]();,]+|Node\.js v\d.*|Traceback \(most recent call last\):|node:internal\/.*|goroutine \d+ \[.*|note: run with `RUST_BACKTRACE=.*)$/;
/** Line that names the cause of a failure, like `TypeError: …`, `error: …`, `[cause]: Error: …`, `panic: …`, `thread 'main' panicked at …`. */
const CAUSE = /(?:^|[\s[(])(?:[\w.]*(?:Error|Exception)|error|fatal|panic)(?:\]?:|\s\[)|\bpanicked at\b/i;

/** Log lines with a timestamp. Lines that are meant for the user are preferred to them. */
const LOGGED = /^\d{4}-\d\d-\d\dT\S+\s+(?:ERROR|WARN|INFO|DEBUG)\b/;
