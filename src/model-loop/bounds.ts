const MIB = 1024 * 1024;

/** What a model may say in one turn, thoughts and arguments of calls included: several times what the longest of today say. */
export const MOST_SAID = 4 * MIB;
/** What an answer of a provider may take in all, and in how many events: they come for each word or two. */
export const MOST_ANSWERED = 64 * MIB;
export const MOST_EVENTS = 250_000;
/** One event. The largest are those at the end, in which some providers say everything once more. */
export const LONGEST_EVENT = 8 * MIB;
/** What is read of an answer that is none: it is only quoted. */
export const MOST_REFUSED = 64 * 1024;
