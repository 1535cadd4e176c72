import { keyAsUser, looksSecretValue } from '../../core/gateway/secrets.ts';
import { looksSecretHeader, malformedVariable, namesIn, substitute } from '../../core/gateway/variables.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import { type ErrorCode, SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { ConfigFinding, SubagentModel } from '../../schema/subagent.ts';

export interface SubagentFinding extends ConfigFinding {
  code: ErrorCode;
  suggestion: string | null;
  /**
   * Number of further findings of this severity that were left out. Only the last finding of a severity has this
   * field.
   */
  more?: number;
}

/** Path of a value in the YAML file: the keys and list indexes that lead to it from the top. */
export type Path = readonly (string | number)[];

export interface Place {
  line: number | null;
  column: number | null;
}

interface Details {
  code?: ErrorCode;
  suggestion?: string;
}

/** Limit for each severity. Finding the place of each one costs a search through the file. */
const MAX_FINDINGS = 100;

/** Collects all errors and warnings of a file, so that its author sees them at once. */
export class Findings {
  readonly #found: SubagentFinding[] = [];
  readonly #counts = { error: 0, warning: 0 };
  readonly #wrongPaths = new Set<string>();
  readonly #isLint: boolean;
  /** Finds the place of a path in the file. Replaced once the file is parsed. */
  place: (path: Path) => Place = () => ({ line: null, column: null });

  constructor({ isLint = false } = {}) {
    this.#isLint = isLint;
  }

  error(path: Path, message: string, details: Details = {}): void {
    this.#wrongPaths.add(path.join('.'));
    this.add('error', path, message, details);
  }

  warn(path: Path, message: string, details: Details = {}): void {
    this.add('warning', path, message, details);
  }

  /** Reports something that this machine lacks: an error when the file is used, a warning when it is only checked. */
  lacking(path: Path, message: string, details: Details = {}): void {
    this.add(this.#isLint ? 'warning' : 'error', path, message, details);
  }

  add(
    severity: ConfigFinding['severity'],
    path: Path,
    message: string,
    { code = 'CONFIG_INVALID', suggestion }: Details = {},
    place?: Place,
  ): void {
    if (++this.#counts[severity] > MAX_FINDINGS) return;
    this.#found.push({
      ...{ severity, path: path.join('.'), ...(place ?? this.place(path)), message },
      ...{ code, suggestion: suggestion ?? null },
    });
  }

  get hasErrors(): boolean {
    return this.#counts.error > 0;
  }

  /** Whether an error at exactly this path was reported. */
  isWrong(...path: Path): boolean {
    return this.#wrongPaths.has(path.join('.'));
  }

  /** Findings in the order of the file. The last entries say how many were left out because of the limit. */
  get all(): SubagentFinding[] {
    const inOrder = this.#found.toSorted(
      (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
    );
    const beyondLimit = (['error', 'warning'] as const).flatMap((severity): SubagentFinding[] => {
      const more = this.#counts[severity] - MAX_FINDINGS;
      if (more <= 0) return [];
      const message = `${more} more ${severity}${more === 1 ? '' : 's'}`;
      const nowhere = { path: '', line: null, column: null, suggestion: null };
      return [{ severity, message, more, code: 'CONFIG_INVALID', ...nowhere }];
    });
    return [...inOrder, ...beyondLimit];
  }
}

/** Combines all errors of a file into one, with the code of the first. */
export function errorOf(file: string, findings: readonly SubagentFinding[]): SquadError {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const suggestions = errors.flatMap(({ suggestion }) => suggestion ?? []);
  return new SquadError(
    errors[0]!.code,
    errors.map(({ message, ...place }) => `${placeText(file, place)}: ${message}`).join('; '),
    {
      suggestions: [...new Set(suggestions), `Check the file with \`squad config lint ${shellWord(file)}\`.`],
      details: { findings: errors },
    },
  );
}

export const placeText = (file: string, { line, column }: Place): string =>
  line === null ? file : `${file}:${line}:${column}`;

/** Context for reading every part of a file. */
export interface FileContext {
  env: Readonly<Record<string, string>>;
  /** Folder of the subagent file, the value of `${SUBAGENT_DIR}`. */
  folder: string;
  findings: Findings;
}

/** Writes `$NAME` as `${NAME}`, and replaces `${SUBAGENT_DIR}`. Values of other variables are not filled in. */
export const normalizeVariables = (text: string, folder: string): string =>
  text
    .replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (_, name: string) => `\${${name}}`)
    .replaceAll(`\${SUBAGENT_DIR}`, () => folder);

/**
 * Fills in the values of variables, for texts that are not secret. Null, with an error in the findings, if a variable is
 * not set.
 */
export function fillVariables(text: string, path: Path, context: FileContext): string | null {
  const form = normalizeVariables(text, context.folder);
  if (!areVariablesSet(form, path, context)) return null;
  return substitute(form, name => context.env[name] ?? '');
}

/**
 * Whether every variable has a value. An empty value does not count, because `Bearer ${TOKEN}` would become `Bearer
 * `.
 */
export function areVariablesSet(form: string, path: Path, { env, findings }: FileContext): boolean {
  const malformed = malformedVariable(form);
  if (malformed !== null)
    findings.error(path, `"${malformed}" is not a variable`, {
      suggestion: `A variable is \${NAME}, of letters, digits and _; there are no defaults.`,
    });
  const missing = [...new Set(namesIn(form))].filter(name => !env[name]);
  for (const name of missing)
    findings.lacking(path, `the variable ${name} is not set`, {
      suggestion: `Set ${name} in the environment of the program that starts Squad.`,
    });
  return malformed === null && missing.length === 0;
}

/** Warns about secrets in every model, used or not, because others can read the file. */
export function warnOfSecrets(model: Partial<SubagentModel>, path: Path, findings: Findings): void {
  const warn = (at: Path, variable: string) =>
    findings.warn(at, 'this looks like a secret in a file that others read', {
      suggestion: `Put it into a variable and write \${${variable}}.`,
    });
  const address = normalizeVariables(model.base_url ?? '', '');
  const isKey = keyAsUser(address).some(({ value }) => namesIn(value).length === 0);
  if (isKey || looksSecretValue(address)) warn([...path, 'base_url'], 'API_KEY');
  for (const [name, text] of Object.entries(model.patchRequest?.includeHeaders ?? {})) {
    const value = normalizeVariables(text, '');
    const isNamed = looksSecretHeader(name) && value.length >= MIN_SECRET_LENGTH;
    if (looksSecretValue(value) || (isNamed && namesIn(value).length === 0))
      warn([...path, 'patchRequest', 'includeHeaders', name], name.toUpperCase().replace(/[^A-Z0-9_]/g, '_'));
  }
}
