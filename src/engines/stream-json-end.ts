import type { EngineEnd, EngineFailure } from '../core/ports/engine.ts';
import { failureKind } from './failure-kind.ts';
import { type Fields, fields, number, text } from './json-line.ts';

/** Recognises failures that only this CLI has. Null for failures that all CLIs have. */
export type OwnFailure = (message: string) => EngineFailure | null;

interface EndDialect {
  ownFailure?: OwnFailure;
  isOwnText?(text: string): boolean;
}

/** Claude Code reports `subtype` "success" even for a failed login, so only `is_error` counts. */
export function streamJsonEnd(line: Fields, { ownFailure, isOwnText }: EndDialect = {}): EngineEnd {
  const answer = text(line.result) ?? '';
  if (line.is_error === false && !isOwnText?.(answer))
    return {
      type: 'end',
      ok: true,
      answer,
      error: null,
      ...(line.structured_output === undefined ? {} : { structured: line.structured_output }),
    };
  const message = errorText(line, answer);
  return {
    type: 'end',
    ok: false,
    answer: '',
    error: message,
    code: ownFailure?.(message) ?? codeOf(line, message),
  };
}

function errorText(line: Fields, answer: string): string {
  const errors = Array.isArray(line.errors) ? line.errors.flatMap(error => text(error) ?? []) : [];
  if (line.subtype === 'error_max_budget_usd') return 'It reached its budget and stopped.';
  return (
    answer ||
    errors.join('\n') ||
    text(fields(line.error).message) ||
    `It failed: ${text(line.subtype) ?? 'no reason given'}`
  );
}

function codeOf(line: Fields, message: string): EngineFailure {
  if (line.subtype === 'error_max_budget_usd') return 'BUDGET_EXCEEDED';
  return failureKind(message, number(line.api_error_status) ?? undefined);
}
