import { z } from 'zod';

/** What GitHub takes. */
export const LONGEST = { title: 256, body: 65_536 };

/** One line that says something. */
export const filled = (name: string, longest: number) =>
  z
    .string()
    .max(longest)
    .regex(/\S/, `The ${name} is empty`)
    .refine(
      text => !/\p{Cc}/u.test(text) && text.isWellFormed(),
      `The ${name} must be one line of plain text`,
    );
