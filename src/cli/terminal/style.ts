export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  /** Colour of a role, the same in every run and on every machine. */
  role(name: string, text?: string): string;
}

/**
 * Colours of the 256-colour palette that are readable on black and on white, and differ from the red and green of
 * statuses.
 */
export const ROLE_COLORS = [30, 132, 66, 134, 130, 67, 63, 163, 97, 95, 33, 100];

export function createStyle(color: boolean): Style {
  const paint = (open: string, close: string) => (text: string) =>
    color && text !== '' ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    bold: paint('1', '22'),
    dim: paint('2', '22'),
    red: paint('31', '39'),
    green: paint('32', '39'),
    yellow: paint('33', '39'),
    role: (name, text = name) => paint(`38;5;${ROLE_COLORS[hash(name) % ROLE_COLORS.length]}`, '39')(text),
  };
}

/** Computes the FNV-1a hash of a name. */
function hash(name: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(name)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}
