import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { SquadError } from '../schema/error.ts';

/** Reads a file of the user. Empty if it is not readable, because the CLI could not read it either. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Size limit. Project settings usually have a few kilobytes. */
const MAX_PROJECT_BYTES = 256 * 1024;

/**
 * Reads a file that came with a repository. A file that cannot be checked is refused, because the CLI might be able
 * to read it. A pipe is refused too, because reading it would block forever.
 */
export function readProjectText(file: string): string {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return ''; // the CLI cannot read the file either
  }
  try {
    const found = fstatSync(fd);
    if (found.isDirectory()) return '';
    if (!found.isFile()) throw unchecked(file, 'is not a regular file');
    if (found.size > MAX_PROJECT_BYTES)
      throw unchecked(file, `is ${found.size} bytes; at most ${MAX_PROJECT_BYTES} are read`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

const unchecked = (file: string, why: string): SquadError =>
  new SquadError('NOT_ALLOWED', `${file} came with the repository and ${why}, so it cannot be checked.`, {
    suggestions: ['Make it a plain, shorter file, or let another engine do this task.'],
  });
