import type { ErrorCode } from '../../schema/error.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { ConfigFinding } from '../../schema/subagent.ts';
import type { Path, Place } from './yaml-source.ts';

/** A finding with what it is called and what to do about it. */
export interface SubagentFinding extends ConfigFinding {
  code: ErrorCode;
  suggestion: string | null;
  /** How many it stands for, which are not told one by one. */
  more?: number;
}

export interface Remark {
  code?: ErrorCode;
  suggestion?: string;
}

/** Of errors, and of warnings: more is not read by anybody, and each costs a search through the file. */
const MOST = 100;

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
    if (++this.#counts[severity] > MOST) return;
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
    const more = this.#counts[severity] - MOST;
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
