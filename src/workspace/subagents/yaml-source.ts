import { isMap, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import { offThread } from '../../core/off-thread.ts';
import { parseBoundedYaml, type YamlFault } from '../files/bounded-yaml.ts';

export type Path = readonly (string | number)[];

export interface Place {
  line: number | null;
  column: number | null;
}

/** A YAML file as values, with the place of each of them. */
export interface YamlSource {
  value: unknown;
  /** Of the key or the list element; of what is not there, the nearest thing around it that is. */
  place(path: Path): Place;
  warnings: { place: Place; message: string }[];
}

type Faults = { faults: { place: Place; message: string }[] };

/** The text of a file, or everything that keeps it from being one YAML document. */
export async function readYaml(text: string): Promise<YamlSource | Faults> {
  const parsed = await offThread('yaml', parseYamlFile, text.length, text);
  if ('faults' in parsed) return parsed;
  const { marks, ...source } = parsed;
  return { ...source, place: path => placeIn(marks, path) };
}

/** A place in the file, and those of what is below it. */
interface Mark {
  place: Place;
  below: Map<string, Mark> | Mark[] | null;
}

const BOUNDS = { chars: 256 * 1024, lines: 10_000, depth: 200, references: 1_000 };

/** The same as plain data, for the thread that reads large files. */
export function parseYamlFile(
  text: string,
): (Pick<YamlSource, 'value' | 'warnings'> & { marks: Mark }) | Faults {
  const counter = new LineCounter();
  const at = (offset: number | undefined): Place => {
    if (offset === undefined) return { line: null, column: null };
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  const parsed = parseBoundedYaml(text, BOUNDS, { lineCounter: counter, merge: true });
  if (!('document' in parsed) || parsed.faults.length > 0)
    return { faults: parsed.faults.map(fault => ({ place: at(fault.offset), message: wordsOf(fault) })) };
  const { document } = parsed;
  try {
    return {
      value: withoutNulls(document.toJS()),
      marks: markOf(document.contents as Node | null, undefined, at),
      warnings: document.warnings.map(({ pos, message }) => ({
        place: at(pos[0]),
        message: firstLine(message),
      })),
    };
  } catch (thrown) {
    // Aliases that unfold to far more than the text is.
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return { faults: [{ place: at(0), message: wordsOf({ message }) }] };
  }
}

const wordsOf = ({ code, message }: Omit<YamlFault, 'offset'>): string => {
  if (code === 'BOUND') return `the file ${message}`;
  return code === 'MULTIPLE_DOCS'
    ? 'the file holds several documents, parted by "---"; a subagent is one'
    : `this is not YAML: ${firstLine(message)}`;
};

/** `offset`: of the key, for what stands under one. */
function markOf(node: Node | null, offset: number | undefined, at: (offset?: number) => Place): Mark {
  const place = at(offset ?? node?.range?.[0]);
  if (isMap(node)) {
    const below = new Map<string, Mark>();
    for (const { key, value } of node.items)
      if (isScalar(key) && !below.has(String(key.value)))
        below.set(String(key.value), markOf(value as Node | null, key.range?.[0], at));
    return { place, below };
  }
  if (isSeq(node)) return { place, below: node.items.map(item => markOf(item as Node, undefined, at)) };
  return { place, below: null };
}

function placeIn(marks: Mark, path: Path): Place {
  let mark = marks;
  for (const step of path) {
    const below: Mark | undefined = Array.isArray(mark.below)
      ? mark.below[Number(step)]
      : mark.below?.get(String(step));
    if (!below) break;
    mark = below;
  }
  return mark.place;
}

/** `mcpServers:` with nothing after it says nothing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner === null ? undefined : withoutNulls(inner)]),
  );
}

const firstLine = (message: string): string => message.split('\n')[0]!;
