export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'note';
  text: string;
  /** Line number on each side. Null where the line does not exist. */
  oldLine: number | null;
  newLine: number | null;
}

export interface DiffHunk {
  /** Text after the second `@@`: often the name of the function around the hunk. */
  context: string;
  oldStart: number;
  newStart: number;
  lines: DiffLine[];
}

export interface DiffFile {
  /** Current path of the file. For a deleted file its last path. */
  path: string;
  oldPath: string | null;
  change: 'changed' | 'added' | 'deleted' | 'renamed' | 'copied';
  isBinary: boolean;
  /** Change of the file mode. Null if it is unchanged. */
  modes: string | null;
  insertions: number;
  deletions: number;
  hunks: DiffHunk[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** Parses the output of `git diff`. The lines of a hunk are counted, so a line that looks like a header stays text. */
export function parseDiff(text: string): DiffFile[] {
  const lines = text.split('\n');
  const files: DiffFile[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    const file = files.at(-1);
    const hunk = HUNK.exec(line);
    if (line.startsWith('diff --git ')) files.push(newFile(line));
    else if (file && hunk) {
      at = addHunk(file, hunk, lines, at + 1);
      continue;
    } else if (file) readHeader(file, line);
    at++;
  }
  return files;
}

function addHunk(file: DiffFile, match: RegExpExecArray, lines: string[], from: number): number {
  let [oldLine, newLine] = [Number(match[1]), Number(match[3])];
  let [oldLeft, newLeft] = [Number(match[2] ?? 1), Number(match[4] ?? 1)];
  const hunk: DiffHunk = { context: match[5] ?? '', oldStart: oldLine, newStart: newLine, lines: [] };
  file.hunks.push(hunk);
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const text = line.slice(1);
    if (line.startsWith('\\'))
      hunk.lines.push({ kind: 'note', text: text.trim(), oldLine: null, newLine: null });
    else if (oldLeft <= 0 && newLeft <= 0) break;
    else if (line.startsWith('+')) {
      hunk.lines.push({ kind: 'added', text, oldLine: null, newLine: newLine++ });
      newLeft--;
      file.insertions++;
    } else if (line.startsWith('-')) {
      hunk.lines.push({ kind: 'removed', text, oldLine: oldLine++, newLine: null });
      oldLeft--;
      file.deletions++;
    } else if (line.startsWith(' ') || (line === '' && at < lines.length - 1)) {
      hunk.lines.push({ kind: 'same', text, oldLine: oldLine++, newLine: newLine++ });
      oldLeft--;
      newLeft--;
    } else break;
  }
  return at;
}

function newFile(line: string): DiffFile {
  const { oldPath, newPath } = pathsOf(line.slice('diff --git '.length));
  return {
    path: newPath,
    oldPath: oldPath === newPath ? null : oldPath,
    change: 'changed',
    isBinary: false,
    modes: null,
    insertions: 0,
    deletions: 0,
    hunks: [],
  };
}

function readHeader(file: DiffFile, line: string): void {
  const rest = (start: string) => (line.startsWith(start) ? line.slice(start.length) : null);
  const to = rest('+++ ');
  const from = rest('--- ');
  if (to !== null && to !== '/dev/null') file.path = unprefixed(to);
  else if (from !== null && from !== '/dev/null') {
    const path = unprefixed(from);
    if (file.change === 'deleted') file.path = path;
  } else if (rest('new file mode ') !== null) file.change = 'added';
  else if (rest('deleted file mode ') !== null) file.change = 'deleted';
  else if (rest('rename from ') !== null) {
    file.change = 'renamed';
    file.oldPath = unquoted(rest('rename from ')!);
  } else if (rest('rename to ') !== null) file.path = unquoted(rest('rename to ')!);
  else if (rest('copy from ') !== null) {
    file.change = 'copied';
    file.oldPath = unquoted(rest('copy from ')!);
  } else if (rest('copy to ') !== null) file.path = unquoted(rest('copy to ')!);
  else if (rest('old mode ') !== null) file.modes = rest('old mode ');
  else if (rest('new mode ') !== null) file.modes = `${file.modes} → ${rest('new mode ')}`;
  else if (line.startsWith('Binary files ') || line.startsWith('GIT binary patch')) file.isBinary = true;
}

/** Both names of `a/x b/x`. Names with spaces can be split only if both are the same; otherwise git prints them separately. */
function pathsOf(names: string): { oldPath: string; newPath: string } {
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*")$|^("(?:[^"\\]|\\.)*") (\S+)$/.exec(names);
  if (quoted)
    return { oldPath: unprefixed(quoted[1] ?? quoted[3]!), newPath: unprefixed(quoted[2] ?? quoted[4]!) };
  const half = names.slice(0, (names.length - 1) / 2);
  const other = names.slice((names.length + 1) / 2);
  if (names.length % 2 === 1 && unprefixed(half) === unprefixed(other))
    return { oldPath: unprefixed(half), newPath: unprefixed(other) };
  const cut = names.indexOf(' b/');
  return cut < 0
    ? { oldPath: unprefixed(names), newPath: unprefixed(names) }
    : { oldPath: unprefixed(names.slice(0, cut)), newPath: unprefixed(names.slice(cut + 1)) };
}

function unprefixed(name: string): string {
  return unquoted(name.endsWith('\t') ? name.slice(0, -1) : name).replace(/^[abciw]\//, '');
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', a: '\u0007' };

/** Unquotes a name: git quotes names with unusual bytes and writes these in octal. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [, octal, escaped, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gu)) {
    if (octal) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...encoder.encode(escaped === undefined ? plain : (ESCAPES[escaped] ?? escaped)));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
