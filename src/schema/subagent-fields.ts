import { z } from 'zod';

/** What begins with a variable can be any. */
export const ADDRESS = /^(https?:\/\/|\$).+$/;
export const ADDRESS_OR_NONE = /^((https?:\/\/|\$).+)?$/;
export const ADDRESS_SAID = 'is not an http or https URL';
/** What HTTP takes. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export const text = z.string();
/** As YAML reads them: `PORT: 8080` is a number there and text for whoever gets it. */
export const plain = z.union([z.string(), z.number(), z.boolean()], 'must be text').transform(String);
export const upTo = (most: number) => z.number().int().min(1).max(most);
/** More than any model takes, and far less than what a slip of the finger writes. */
export const whole = upTo(10_000_000);
export const money = z.number().min(0).max(100_000);
export const names = z.array(z.string().min(1));
export const headers = z.record(z.string().regex(HEADER_NAME, 'is not a name that a header can have'), plain);
