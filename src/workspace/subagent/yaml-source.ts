import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';

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

/** The text of a file, or everything that keeps it from being one YAML document. */
export function readYaml(text: string): YamlSource | { faults: { place: Place; message: string }[] } {
  const counter = new LineCounter();
  const at = (offset: number | undefined): Place => {
    if (offset === undefined) return { line: null, column: null };
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false, merge: true });
  if (document.errors.length > 0)
    return { faults: document.errors.map(error => ({ place: at(error.pos[0]), message: wordsOf(error) })) };
  try {
    const root = document.contents as Node | null;
    return {
      value: withoutNulls(document.toJS()),
      place: path => at(offsetOf(root, path)),
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

const wordsOf = ({ code, message }: { code?: string; message: string }): string =>
  code === 'MULTIPLE_DOCS'
    ? 'the file holds several documents, parted by "---"; a subagent is one'
    : `this is not YAML: ${firstLine(message)}`;

function offsetOf(root: Node | null, path: Path): number | undefined {
  let node: unknown = root;
  let offset = root?.range?.[0];
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : null) === String(step));
      if (!pair) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else break;
  }
  return offset;
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
