import { SquadError } from '../schema/error.ts';

/** The value of an option that counts something. */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SquadError('INVALID_INPUT', `${option} cannot be ${JSON.stringify(text)}`, {
    suggestions: [`Give a whole number from ${least} to ${most}.`],
  });
}
