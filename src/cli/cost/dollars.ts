import { SquadError } from '../../schema/error.ts';

/** An amount of money given to an option. */
export function dollars(option: string, text: string): number {
  const amount = Number(text.replace(/^\$/, ''));
  if (text.trim() !== '' && Number.isFinite(amount) && amount > 0) return amount;
  throw new SquadError('INVALID_INPUT', `${option} ${text} is no amount above 0`, {
    suggestions: [`In US dollars: ${option} 0.50`],
  });
}
