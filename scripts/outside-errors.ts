import { writeFileSync } from 'node:fs';

/** Where this reporter is to write, if there is anything. */
export const OUTSIDE_ERRORS = 'SQUAD_TESTS_OUTSIDE_ERRORS';

/** Vitest's JSON report says nothing of errors that belong to no test; a reporter of one's own is its default export. */
export default class OutsideErrors {
  onTestRunEnd(_files: unknown, errors: readonly { message?: string; stack?: string }[]): void {
    const file = process.env[OUTSIDE_ERRORS];
    if (file && errors.length > 0)
      writeFileSync(file, JSON.stringify(errors.map(error => error.stack ?? error.message ?? String(error))));
  }
}
