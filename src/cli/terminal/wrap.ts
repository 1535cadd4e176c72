import { displayWidth } from './width.ts';

/** Lines of at most `width` columns, broken between words; a longer word stands alone. Its own line breaks stay. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => {
    const lines = [''];
    for (const word of line.split(' ')) {
      const last = lines.at(-1)!;
      const longer = last === '' ? word : `${last} ${word}`;
      if (last === '' || displayWidth(longer) <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  });
}
