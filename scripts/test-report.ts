import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** Result of one file in the JSON report of Vitest. */
export interface FileReport {
  file: string;
  passed: number;
  seconds: number;
  /** Failed tests with their messages. They are repeated at the end, because few people read a long log. */
  failures: string[];
}

interface Report {
  testResults: {
    name: string;
    status: string;
    message?: string;
    startTime: number;
    endTime: number;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}

/**
 * Reads the report. A skipped test, or a file that could not be loaded, counts as failed. With `-t` the caller chose
 * tests by title, so skipped tests are ignored.
 */
export function readReport(file: string, isByTitle = false): FileReport[] {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
  return report.testResults.map(({ name, status, message = '', startTime, endTime, assertionResults }) => {
    const file = relative('.', name);
    const failures = assertionResults
      .filter(({ status }) => status !== 'passed' && !(isByTitle && status === 'skipped'))
      .map(({ fullName, status, failureMessages = [] }) => {
        const how = status === 'failed' ? failureMessages : ['It did not run.'];
        return [`${file} › ${fullName}`, ...how.map(beginning)].join('\n');
      });
    if (status === 'failed' && failures.length === 0) failures.push([file, beginning(message)].join('\n'));
    const passed = assertionResults.filter(test => test.status === 'passed').length;
    return { file, passed, seconds: (endTime - startTime) / 1000, failures };
  });
}

/** Errors that belong to no test. */
export function readOutside(file: string): string[] {
  if (!existsSync(file)) return [];
  const errors: string[] = JSON.parse(readFileSync(file, 'utf8'));
  return errors.map(error => ['outside of a test', beginning(error)].join('\n'));
}

const LINES_SHOWN = 12;

const beginning = (message: string): string =>
  message
    .split('\n')
    .slice(0, LINES_SHOWN)
    .map(line => `    ${line}`)
    .join('\n');
