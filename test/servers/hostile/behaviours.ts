import { ANSWERS } from './answers.ts';
import { ASKING } from './asking.ts';
import type { Behaviour } from './behaviour.ts';
import { CHANGING } from './changes.ts';
import { FRAMING } from './framing.ts';
import { LISTS } from './lists.ts';
import { PROCESSES } from './processes.ts';
import { SCHEMAS } from './schemas.ts';
import { SECRETS } from './secrets.ts';
import { STARTS } from './starts.ts';

/** Everything the hostile server can do to whoever talks to it, and one that does nothing. */
export const BEHAVIOURS: Record<string, Behaviour> = {
  honest: { what: 'behaves', comesUp: true, call: 'result' },
  ...STARTS,
  ...FRAMING,
  ...ANSWERS,
  ...ASKING,
  ...CHANGING,
  ...LISTS,
  ...SCHEMAS,
  ...SECRETS,
  ...PROCESSES,
};
