/** Stands where something of a conversation was not kept, whatever the reason. */
export const cutMark = (kept: number, all: number): string => `[${kept} of ${all} bytes kept]`;
