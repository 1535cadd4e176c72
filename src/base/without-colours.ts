/** SGR: colours and styles. It holds figures only, so leaving it out hides no words. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
const COLOURS = /\u001b\[[\d;:]*m/g;

/**
 * Output of programs without its colours, which are no part of what it says. Only for views of output, where nobody decides
 * about the text; every other sequence stays, to be shown by `visibleText`.
 */
export const withoutColours = (text: string): string => text.replace(COLOURS, '');
