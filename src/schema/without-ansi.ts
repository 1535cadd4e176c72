/**
 * Colours and moves of a terminal mean nothing in prose. They hold figures only, so that taking them out hides no words; what can
 * hold words stays, to be seen.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const FIGURES_ONLY = /(?:\u001b\[|\u009b)[\d;:?<=>]*[ -/]*[@-~]|\u001b\([A-Z0-9]/g;

export const withoutAnsi = (text: string): string => text.replace(FIGURES_ONLY, '');
