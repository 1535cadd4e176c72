import { SquadError } from '../schema/error.ts';

/** The kernel's limit for a single argument. */
const MAX_ARGUMENT_LENGTH = 128 * 1024 - 1;

/** Checks a value that is passed as a separate argument: it must not look like a flag, be too long or contain a NUL. */
export function oneArgument(what: string, value: string): string {
  if (value.startsWith('-'))
    throw new SquadError('ARGUMENT_LOOKS_LIKE_FLAG', `${what} begins with "-": ${shortened(value)}`, {
      suggestions: [`Give a ${what} that does not begin with "-".`],
    });
  return partOfArgument(what, value);
}

/** Checks a value that follows its flag in the same argument, as in `--flag=value`. */
export function partOfArgument(what: string, value: string): string {
  if (value.includes('\0'))
    throw new SquadError('INVALID_TEXT', `${what} contains a NUL character: ${shortened(value)}`, {
      suggestions: ['Remove the NUL character.'],
    });
  if (Buffer.byteLength(value) > MAX_ARGUMENT_LENGTH)
    throw new SquadError(
      'ARGUMENT_TOO_LONG',
      `${what} is ${Buffer.byteLength(value)} bytes long; the limit for an argument is ${MAX_ARGUMENT_LENGTH} bytes.`,
    );
  return value;
}

const shortened = (value: string): string => JSON.stringify(value.slice(0, 60).toWellFormed());
