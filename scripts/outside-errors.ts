import { writeFileSync } from 'node:fs';

/** Variable with the path of the file to which this reporter writes errors. */
export const OUTSIDE_ERRORS = 'SQUAD_TESTS_OUTSIDE_ERRORS';

/**
 * Reports errors that belong to no test, because Vitest's JSON report leaves them out. Vitest requires a reporter to be
 * a default export.
 */
export default class OutsideErrors {
  onTestRunEnd(_files: unknown, errors: readonly { message?: string; stack?: string }[]): void {
    const file = process.env[OUTSIDE_ERRORS];
    if (file && errors.length > 0)
      writeFileSync(file, JSON.stringify(errors.map(error => error.stack ?? error.message ?? String(error))));
  }
}
