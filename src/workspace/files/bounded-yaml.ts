import { type Document, isMap, isScalar, type LineCounter, parseDocument, visit } from 'yaml';

/** Limits of a YAML text, checked before it is parsed. Files that people write are far below them. */
export interface YamlBounds {
  chars: number;
  lines: number;
  /** Maximum depth of open brackets. The column limits the depth of indented blocks. */
  depth: number;
  /** Maximum number of anchors and aliases. */
  references: number;
}

const MAX_COLUMN = 200;

/** Limit of reported errors, because a text can have an error in each character. */
const MAX_FAULTS = 100;

export interface YamlFault {
  offset: number | undefined;
  code?: string;
  message: string;
}

/** Parses a text within its bounds, in time proportional to its length, whatever the text contains. */
export function parseBoundedYaml(
  text: string,
  bounds: YamlBounds,
  options: { lineCounter: LineCounter; merge?: boolean },
): { document: Document.Parsed; faults: YamlFault[] } | { faults: [YamlFault] } {
  const beyond = beyondBounds(text, bounds);
  if (beyond) {
    // Line starts are found here, because the parser, which would record them, does not run.
    for (let at = 0; at >= 0 && at <= beyond.offset!; at = text.indexOf('\n', at) + 1 || -1)
      options.lineCounter.addNewLine(at);
    return { faults: [beyond] };
  }
  const document = parse(text, options);
  if (!document) return { faults: [fault(0, 'nests values too deeply')] };
  const faults = document.errors
    .slice(0, MAX_FAULTS)
    .map(({ pos, code, message }) => ({ offset: pos[0], code, message }));
  return { document, faults: faults.length > 0 ? faults : repeatedKeys(document).slice(0, MAX_FAULTS) };
}

/** Null if the text is nested too deeply for the parser. */
function parse(text: string, options: { lineCounter: LineCounter; merge?: boolean }): Document.Parsed | null {
  // The parser creates an Error for each mistake, and capturing stack traces would take most of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    // With `uniqueKeys` the parser compares every key with every other key. Thousands of keys would take many
    // seconds.
    return parseDocument(text, { ...options, prettyErrors: false, uniqueKeys: false });
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function repeatedKeys(document: Document.Parsed): YamlFault[] {
  const faults: YamlFault[] = [];
  visit(document, {
    Map(_key, map) {
      if (!isMap(map)) return;
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) faults.push({ offset: key.range?.[0], message: 'Map keys must be unique' });
        seen.add(key.value);
      }
    },
  });
  return faults;
}

/** Counts characters without parsing. Brackets and marks inside strings count too, but ordinary files have few. */
function beyondBounds(text: string, { chars, lines, depth, references }: YamlBounds): YamlFault | null {
  if (text.length > chars) return fault(0, `has ${text.length} characters; at most ${chars} are read`);
  let line = 1;
  let open = 0;
  let marks = 0;
  let column = 0;
  let isIndent = true;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === '\n') {
      if (++line > lines) return fault(at, `has more than ${lines} lines`);
      column = 0;
      isIndent = true;
      continue;
    }
    column++;
    if (isIndent && column > MAX_COLUMN) return fault(at, `is indented by more than ${MAX_COLUMN} columns`);
    isIndent &&= ' -?\t'.includes(sign);
    if (sign === '[' || sign === '{') open++;
    else if ((sign === ']' || sign === '}') && open > 0) open--;
    // Anchors and aliases are counted only before a name: `* ` is a list item in Markdown, `**` bold text, `&&` a shell
    // operator.
    else if ((sign === '*' || sign === '&') && /\w/.test(text[at + 1] ?? '')) marks++;
    if (open > depth) return fault(at, `has more than ${depth} open brackets`);
    if (marks > references) return fault(at, `has more than ${references} anchors and aliases`);
  }
  return null;
}

const fault = (offset: number, message: string): YamlFault => ({
  offset,
  code: 'BOUND',
  message: `${message}. Make it shorter or simpler`,
});
