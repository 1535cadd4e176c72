import type { ErrorCode } from '../../schema/error.ts';
import { SquadError } from '../../schema/error.ts';
import type { ConfigFinding } from '../../schema/subagent.ts';
import type { Path, Place } from './yaml-source.ts';

/** A finding with what it is called and what to do about it. */
export interface SubagentFinding extends ConfigFinding {
  code: ErrorCode;
  suggestion: string | null;
}

export interface Remark {
  code?: ErrorCode;
  suggestion?: string;
}

/** Collects what is the matter with one file, so that whoever wrote it hears of everything at once. */
export class Findings {
  readonly #found: SubagentFinding[] = [];
  readonly #isLint: boolean;
  place: (path: Path) => Place = () => ({ line: null, column: null });

  constructor({ isLint = false } = {}) {
    this.#isLint = isLint;
  }

  error(path: Path, message: string, remark: Remark = {}): void {
    this.add('error', path, message, remark, this.place(path));
  }

  warn(path: Path, message: string, remark: Remark = {}): void {
    this.add('warning', path, message, remark, this.place(path));
  }

  /** What is no fault of the file, and keeps it from being used here and now: whoever only checks files need not have it. */
  lacking(path: Path, message: string, remark: Remark = {}): void {
    this.add(this.#isLint ? 'warning' : 'error', path, message, remark, this.place(path));
  }

  add(
    severity: ConfigFinding['severity'],
    path: Path,
    message: string,
    { code = 'CONFIG_INVALID', suggestion }: Remark,
    { line, column }: Place,
  ): void {
    this.#found.push({
      ...{ severity, path: path.join('.'), line, column, message },
      code,
      suggestion: suggestion ?? null,
    });
  }

  get hasErrors(): boolean {
    return this.#found.some(({ severity }) => severity === 'error');
  }

  /** In the order of the file. */
  get all(): SubagentFinding[] {
    return this.#found.toSorted(
      (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
    );
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
      suggestions: [...new Set(suggestions), `Check it with: squad config lint ${file}`],
      details: { findings: errors },
    },
  );
}

export const placeText = (file: string, { line, column }: Place): string =>
  line === null ? file : `${file}:${line}:${column}`;
