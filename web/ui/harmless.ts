import { visibleText } from '../../src/base/text.ts';

/** Agents' text as it can be shown: nothing in it is obeyed, and nothing of it is hidden. */
export const harmless = visibleText;
