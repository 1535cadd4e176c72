import { isMap, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import type { z } from 'zod';
import { nearest } from '../../base/text.ts';
import { offThread } from '../../core/off-thread.ts';
import { type ErrorCode, SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { ConfigFinding } from '../../schema/subagent.ts';
import { describeZodIssue } from '../../schema/zod-issue-text.ts';
import { parseBoundedYaml, type YamlFault } from '../files/bounded-yaml.ts';
import { describedAt, keysAt } from '../files/json-file.ts';

/** A finding with what it is called and what to do about it. */
export interface SubagentFinding extends ConfigFinding {
  code: ErrorCode;
  suggestion: string | null;
  /** How many it stands for, which are not told one by one. */
  more?: number;
}

interface Remark {
  code?: ErrorCode;
  suggestion?: string;
}

/** Of errors, and of warnings: more is not read by anybody, and each costs a search through the file. */
const MAX_FINDINGS = 100;

/** Collects what is the matter with one file, so that whoever wrote it hears of everything at once. */
export class Findings {
  readonly #found: SubagentFinding[] = [];
  readonly #counts = { error: 0, warning: 0 };
  readonly #isLint: boolean;
  place: (path: Path) => Place = () => ({ line: null, column: null });

  constructor({ isLint = false } = {}) {
    this.#isLint = isLint;
  }

  error(path: Path, message: string, remark: Remark = {}): void {
    this.add('error', path, message, remark);
  }

  warn(path: Path, message: string, remark: Remark = {}): void {
    this.add('warning', path, message, remark);
  }

  /** What is no fault of the file, and keeps it from being used here and now: whoever only checks files need not have it. */
  lacking(path: Path, message: string, remark: Remark = {}): void {
    this.add(this.#isLint ? 'warning' : 'error', path, message, remark);
  }

  add(
    severity: ConfigFinding['severity'],
    path: Path,
    message: string,
    { code = 'CONFIG_INVALID', suggestion }: Remark,
    place?: Place,
  ): void {
    if (++this.#counts[severity] > MAX_FINDINGS) return;
    this.#found.push({
      ...{ severity, path: path.join('.'), ...(place ?? this.place(path)), message },
      code,
      suggestion: suggestion ?? null,
    });
  }

  get hasErrors(): boolean {
    return this.#counts.error > 0;
  }

  /** In the order of the file; last, how many there are that are not told one by one. */
  get all(): SubagentFinding[] {
    return [
      ...this.#found.toSorted(
        (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
      ),
      ...(['error', 'warning'] as const).flatMap(severity => this.#moreOf(severity)),
    ];
  }

  #moreOf(severity: ConfigFinding['severity']): SubagentFinding[] {
    const more = this.#counts[severity] - MAX_FINDINGS;
    if (more <= 0) return [];
    const message = `${more} more ${severity}${more === 1 ? '' : 's'}`;
    return [
      {
        ...{ severity, path: '', line: null, column: null, message },
        ...{ code: 'CONFIG_INVALID', suggestion: null, more },
      },
    ];
  }
}

/** All that is wrong, as the one error that keeps the file from being used. It is named after the first. */
export function errorOf(file: string, findings: readonly SubagentFinding[]): SquadError {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const suggestions = errors.flatMap(({ suggestion }) => suggestion ?? []);
  return new SquadError(
    errors[0]!.code,
    errors.map(({ message, ...place }) => `${placeText(file, place)}: ${message}`).join('; '),
    {
      suggestions: [...new Set(suggestions), `Check it with: squad config lint ${shellWord(file)}`],
      details: { findings: errors },
    },
  );
}

export const placeText = (file: string, { line, column }: Place): string =>
  line === null ? file : `${file}:${line}:${column}`;

export type Path = readonly (string | number)[];

interface Place {
  line: number | null;
  column: number | null;
}

/** A YAML file as values, with the place of each of them. */
interface YamlSource {
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

type Issue = z.core.$ZodIssue;

/** What of a part has its form. Whatever is made of the rest is never used: there is an error then. */
export interface CheckedPart<T> {
  part: Partial<T>;
  /** Its keys that something is wrong with or in, which is said already; also of those that are missing. */
  wrong: ReadonlySet<string>;
}

/**
 * Parts are checked one by one, and a mistake in one hides none of the others: what is sound is gone on with. A key that nobody
 * knows is passed over and said. Null: it is nothing of that kind at all.
 */
export function checkPart<T>(
  schema: z.ZodObject & z.ZodType<T>,
  value: unknown,
  path: Path,
  findings: Findings,
): CheckedPart<T> | null {
  const unknown = (schema.safeParse(value).error?.issues ?? []).filter(
    issue => issue.code === 'unrecognized_keys',
  );
  for (const issue of unknown) warnOfKeys(issue, keysAt(schema, stepsOf(issue)), path, findings);
  const known = without(value, unknown.flatMap(pathsOfKeys));
  const checked = schema.safeParse(known, { error: describeZodIssue });
  if (checked.success) return { part: checked.data as Partial<T>, wrong: new Set() };
  const { issues } = checked.error;
  for (const issue of issues) tell(issue, schema, known, path, findings);
  if (issues.some(issue => issue.path.length === 0)) return null;
  const sound = schema.partial().safeParse(without(known, issues.map(pathOfWrong)));
  return {
    part: (sound.data ?? {}) as Partial<T>,
    wrong: new Set(issues.map(issue => String(issue.path[0]))),
  };
}

function tell(issue: Issue, schema: z.ZodType, value: unknown, path: Path, findings: Findings): void {
  const steps = stepsOf(issue);
  const at = [...path, ...steps];
  const given = valueAt(value, steps);
  const isMissing = given === undefined && issue.code !== 'invalid_key';
  const words = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  const near =
    issue.code === 'invalid_value' && typeof given === 'string'
      ? nearest(given, issue.values.map(String))
      : [];
  const about = describedAt(schema, steps);
  findings.error(at, `"${at.join('.')}" ${isMissing ? 'is missing' : words}`, {
    suggestion:
      near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : about && `${isMissing ? 'Add it' : steps.at(-1)}: ${about}`,
  });
}

export function warnOfKeys(
  { path, keys }: { path: readonly PropertyKey[]; keys: readonly string[] },
  known: readonly string[],
  base: Path,
  findings: Findings,
): void {
  const inside = [...base, ...stepsOf({ path })];
  for (const key of keys) {
    const near = nearest(key, known);
    const where = inside.length > 0 ? ` in "${inside.join('.')}"` : '';
    findings.warn([...inside, key], `the key "${key}" is not known${where} and has no effect`, {
      suggestion: near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The keys are: ${known.join(', ')}.`,
    });
  }
}

const stepsOf = ({ path }: { path: readonly PropertyKey[] }): (string | number)[] =>
  path.filter(step => typeof step !== 'symbol');

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, step) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, step)
        ? (inner as Record<string, unknown>)[step]
        : undefined,
    value,
  );

const pathsOfKeys = (issue: Issue & { code: 'unrecognized_keys' }): Path[] =>
  issue.keys.map(key => [...stepsOf(issue), key]);

/** An element that is wrong takes its list with it: what comes after it would move up. */
function pathOfWrong(issue: Issue): Path {
  const steps = stepsOf(issue);
  const inList = steps.findIndex(step => typeof step === 'number');
  return inList < 0 ? steps : steps.slice(0, inList);
}

/** One copy for all of them: there may be thousands. */
function without(value: unknown, paths: readonly Path[]): unknown {
  if (paths.length === 0) return value;
  const copy = structuredClone(value);
  for (const path of paths) {
    const holder = valueAt(copy, path.slice(0, -1)) as Record<string, unknown> | undefined;
    if (holder) delete holder[path.at(-1)!];
  }
  return copy;
}
