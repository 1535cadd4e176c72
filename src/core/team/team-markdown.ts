import { type MarkdownLine, readMarkdown, titleOf } from '../../base/markdown-lines.ts';

export interface TeamSection {
  /** 0 for what stands above the first heading. */
  level: number;
  title: string;
  own: MarkdownLine[];
}

/** A rule right under a line of text would make that line a heading; in these files people mean the rule. */
const RULE_UNDER_TEXT = /(?<=[^\n])\n( {0,3}-{3,}[ \t]*)(?=[\r\n]|$)/g;

/** A team file as headings and what stands under each. Comments and the head of the file are for other programs. */
export const teamSections = (text: string): TeamSection[] => sectionsOf(teamLines(text));

export function sectionsOf(lines: readonly MarkdownLine[]): TeamSection[] {
  const sections: TeamSection[] = [{ level: 0, title: '', own: [] }];
  for (const line of lines) {
    if (line.kind === 'head' || line.kind === 'comment') continue;
    if (line.kind === 'heading') sections.push({ level: line.level, title: titleOf(line), own: [] });
    else sections.at(-1)!.own.push(line);
  }
  return sections;
}

export const teamLines = (text: string): MarkdownLine[] =>
  readMarkdown(text.replace(/\r\n?/g, '\n').replace(RULE_UNDER_TEXT, '\n\n$1'));

export const isCode = ({ kind }: MarkdownLine): boolean => kind === 'code' || kind === 'opens code';

/** Without the blank lines and rules around it. */
export function trimmedText(lines: readonly string[]): string {
  const isSomething = (line: string) => line.trim() !== '' && !/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line);
  const first = lines.findIndex(isSomething);
  return first < 0 ? '' : lines.slice(first, lines.findLastIndex(isSomething) + 1).join('\n');
}

/** Words as a reader sees them, without the marks for bold, code and links. */
export function plainWords(text: string): string {
  return text
    .replace(/!?\[([^\][]{0,500})\]\([^()\s]{0,2000}\)/g, '$1')
    .replace(/(\*\*|__|`+)/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
