import { SquadError } from '../schema/error.ts';

/** Longer than this the kernel takes no single argument. */
const MAX_ARGUMENT_LENGTH = 128 * 1024 - 1;

/** A value that stands alone as an argument: never a flag, never too long, never cut at a NUL. */
export function oneArgument(what: string, value: string): string {
  if (value.startsWith('-'))
    throw new SquadError('ARGUMENT_LOOKS_LIKE_FLAG', `${what} begins with "-": ${shortened(value)}`, {
      suggestions: [`Give a ${what} that does not begin with "-".`],
    });
  return partOfArgument(what, value);
}

/** A value that follows its flag in the same argument, or in a file's syntax. */
export function partOfArgument(what: string, value: string): string {
  if (value.includes('\0'))
    throw new SquadError('INVALID_TEXT', `${what} holds a NUL character: ${shortened(value)}`);
  if (Buffer.byteLength(value) > MAX_ARGUMENT_LENGTH)
    throw new SquadError(
      'ARGUMENT_TOO_LONG',
      `${what} is ${Buffer.byteLength(value)} bytes long; an argument ends at ${MAX_ARGUMENT_LENGTH}.`,
    );
  return value;
}

const shortened = (value: string): string => JSON.stringify(value.slice(0, 60).toWellFormed());
