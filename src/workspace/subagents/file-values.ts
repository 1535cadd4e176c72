import { isMap, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { nearest } from '../../base/text.ts';
import { offThread } from '../../core/off-thread.ts';
import {
  SubagentDefaults,
  SubagentFile,
  SubagentIdentity,
  SubagentModel,
  SubagentServer,
} from '../../schema/subagent.ts';
import { SUBAGENT_MODEL_TYPES } from '../../schema/subagent-names.ts';
import { describeZodIssue } from '../../schema/zod-issue-text.ts';
import { parseBoundedYaml, type YamlFault } from '../files/bounded-yaml.ts';
import { describedAt, keysAt } from '../files/json-file.ts';
import type { Findings, Path, Place } from './findings.ts';

type Values = Record<string, unknown>;
type Issue = z.core.$ZodIssue;

/** Place of a value in the file, with the places of the values inside it. */
interface Mark {
  place: Place;
  below: Map<string, Mark> | null;
}

interface LocatedMessage {
  place: Place;
  message: string;
}

type YamlFile = { value: unknown; marks: Mark; warnings: LocatedMessage[] } | { faults: LocatedMessage[] };

const BOUNDS = { chars: 256 * 1024, lines: 10_000, depth: 200, references: 1_000 };

/**
 * Parses the keys and values of the file, and gives their places to `findings`. Null, with an error in `findings`, if
 * the file is not a YAML map.
 */
export async function parseSubagentFile(text: string, findings: Findings): Promise<Values | null> {
  const parsed = await offThread('yaml', parseYamlFile, text.length, text);
  if ('faults' in parsed) {
    for (const { place, message } of parsed.faults) findings.add('error', [], message, {}, place);
    return null;
  }
  const { value, marks, warnings } = parsed;
  findings.place = path => placeIn(marks, path);
  for (const { place, message } of warnings) findings.add('warning', [], message, {}, place);
  if (value === undefined || value === null) {
    findings.error([], 'the file is empty', { suggestion: 'Create one with: squad init --subagent NAME' });
    return null;
  }
  if (isObject(value)) return value;
  findings.error([], 'the file is not a list of "key: value" lines');
  return null;
}

/** Parses a file to plain data, so that a worker thread can read large files and send the result. */
export function parseYamlFile(text: string): YamlFile {
  const counter = new LineCounter();
  const at = (offset: number | undefined): Place => {
    if (offset === undefined) return { line: null, column: null };
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  const parsed = parseBoundedYaml(text, BOUNDS, { lineCounter: counter, merge: true });
  if (!('document' in parsed) || parsed.faults.length > 0)
    return { faults: parsed.faults.map(fault => ({ place: at(fault.offset), message: faultText(fault) })) };
  const { contents, warnings } = parsed.document;
  try {
    return {
      value: withoutNulls(parsed.document.toJS()),
      marks: markOf(contents as Node | null, undefined, at),
      warnings: warnings.map(({ pos, message }) => ({ place: at(pos[0]), message: firstLine(message) })),
    };
  } catch (thrown) {
    // The YAML parser throws if aliases expand to far more than the text.
    return { faults: [{ place: at(0), message: faultText({ message: (thrown as Error).message }) }] };
  }
}

function faultText({ code, message }: Omit<YamlFault, 'offset'>): string {
  if (code === 'BOUND') return `the file ${message}`;
  return code === 'MULTIPLE_DOCS'
    ? 'the file holds several documents, separated by "---"; a subagent is one'
    : `this is not YAML: ${firstLine(message)}`;
}

/** `keyOffset` is the offset at which the key of this value begins. */
function markOf(node: Node | null, keyOffset: number | undefined, at: (offset?: number) => Place): Mark {
  const below = new Map<string, Mark>();
  if (isMap(node)) {
    for (const { key, value } of node.items)
      if (isScalar(key)) below.set(String(key.value), markOf(value as Node | null, key.range?.[0], at));
  } else if (isSeq(node))
    for (const [index, item] of node.items.entries())
      below.set(String(index), markOf(item as Node, undefined, at));
  return { place: at(keyOffset ?? node?.range?.[0]), below: below.size > 0 ? below : null };
}

/** Place of a key or list element in the file. If it is missing, place of the nearest value around it. */
function placeIn(marks: Mark, path: Path): Place {
  let mark = marks;
  for (const step of path) {
    const below = mark.below?.get(String(step));
    if (!below) break;
    mark = below;
  }
  return mark.place;
}

/** A key without a value, such as `mcpServers:`, counts as missing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner === null ? undefined : withoutNulls(inner)]),
  );
}

const firstLine = (message: string): string => message.split('\n')[0]!;

/** Missing values are accepted here. The code that needs a value reports a more helpful error. */
const LenientFile = SubagentFile.extend({
  subagent: SubagentIdentity.optional(),
  defaults: SubagentDefaults.optional(),
  models: z.array(SubagentModel).optional(),
  mcpServers: z.record(z.string(), SubagentServer).optional(),
});

const CheckedFile = z.object({
  subagent: SubagentIdentity.partial().optional(),
  defaults: SubagentDefaults.default({}),
  models: z.array(SubagentModel.partial()).default([]),
  mcpServers: z.record(z.string(), SubagentServer).default({}),
});
type CheckedFile = z.output<typeof CheckedFile>;

/**
 * Returns all parts of the file that are valid, so that an error in one part hides none in the others. Reports
 * errors, and also unknown keys, which have no effect.
 */
export function checkValues(values: Values, findings: Findings): CheckedFile {
  const given = {
    ...values,
    models: withKnownTypes(values.models, findings),
    mcpServers: withoutBadNames(values.mcpServers, findings),
  };
  const issues = LenientFile.safeParse(given, { error: describeZodIssue }).error?.issues ?? [];
  if (issues.length === 0) return CheckedFile.parse(given);
  // The value is copied once for all changes, because there may be thousands of them.
  const copy = structuredClone(given);
  for (const issue of issues) {
    const path = stepsOf(issue);
    if (issue.code === 'unrecognized_keys') {
      warnOfKeys(path, issue.keys, findings);
      for (const key of issue.keys) remove(copy, [...path, key]);
    } else {
      report(issue, path, given, findings);
      remove(copy, upToList(path));
    }
  }
  return CheckedFile.parse(copy);
}

/** Accepts `type: OpenAI` with a warning, because editors that use the schema would not accept it. */
function withKnownTypes(models: unknown, findings: Findings): unknown {
  if (!Array.isArray(models)) return models;
  return models.map((model: unknown, index) => {
    const type = isObject(model) ? model.type : undefined;
    if (typeof type !== 'string') return model;
    const lower = type.toLowerCase();
    if (lower === type || !(SUBAGENT_MODEL_TYPES as readonly string[]).includes(lower)) return model;
    const suggestion = `Write ${lower}.`;
    findings.warn(['models', index, 'type'], `"${type}" is read as "${lower}"`, { suggestion });
    return { ...(model as Values), type: lower };
  });
}

function withoutBadNames(servers: unknown, findings: Findings): unknown {
  if (!isObject(servers)) return servers;
  const named = Object.entries(servers).filter(([name]) => {
    // zod silently skips __proto__.
    const isBad = name === '' || name === '__proto__';
    if (isBad)
      findings.error(['mcpServers', name], `${JSON.stringify(name)} cannot be the name of a server`, {
        suggestion: 'Choose another name: the tools of the server are named after it.',
      });
    return !isBad;
  });
  return Object.fromEntries(named.map(([name, server]) => [name, server ?? {}]));
}

function report(issue: Issue, path: Path, values: unknown, findings: Findings): void {
  const given = valueAt(values, path);
  const isMissing = given === undefined && issue.code !== 'invalid_key';
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  const near =
    issue.code === 'invalid_value' && typeof given === 'string'
      ? nearest(given, issue.values.map(String))
      : [];
  const description = describedAt(LenientFile, [...path]);
  findings.error(path, `"${path.join('.')}" ${isMissing ? 'is missing' : message}`, {
    suggestion:
      near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : description && `${isMissing ? 'Add it' : path.at(-1)}: ${description}`,
  });
}

function warnOfKeys(path: Path, keys: readonly string[], findings: Findings): void {
  const known = keysAt(LenientFile, [...path]);
  const where = path.length > 0 ? ` in "${path.join('.')}"` : '';
  for (const key of keys) {
    const near = nearest(key, known);
    findings.warn([...path, key], `the key "${key}" is not known${where} and has no effect`, {
      suggestion: near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The keys are: ${known.join(', ')}.`,
    });
  }
}

const stepsOf = ({ path }: Issue): (string | number)[] => path.filter(step => typeof step !== 'symbol');

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, step) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, step)
        ? (inner as Values)[step]
        : undefined,
    value,
  );

/**
 * Path of the list around an invalid element. The whole list is invalid, because removing one element would renumber
 * the others. Only models are checked one by one.
 */
function upToList(path: Path): Path {
  const index = path.findIndex((step, depth) => depth > 1 && typeof step === 'number');
  return index < 0 ? path : path.slice(0, index);
}

function remove(values: unknown, path: Path): void {
  const holder = valueAt(values, path.slice(0, -1));
  const last = path.at(-1)!;
  if (Array.isArray(holder)) holder[Number(last)] = {};
  else if (isObject(holder)) delete holder[last];
}
