import { visibleLine } from '../../base/text.ts';
import type { Evidence, Verdict } from '../../schema/evidence.ts';
import type { Style } from '../terminal/style.ts';

const PAINT: Record<Verdict, 'green' | 'dim' | 'yellow' | 'red'> = {
  verified: 'green',
  claimed: 'dim',
  empty: 'yellow',
  contradicted: 'red',
};

const paintVerdict = (verdict: Verdict, style: Style): string => style[PAINT[verdict]](verdict);

/** Short form, for example `verified, 2 files`. Empty without evidence. */
export function evidenceInBrief(evidence: Evidence | null, style: Style): string {
  if (!evidence) return '';
  const files = evidence.filesChanged?.count ?? 0;
  return paintVerdict(evidence.verdict, style) + (files > 0 ? `, ${count(files, 'file')}` : '');
}

/** All evidence, with the verdict first. */
export function evidenceLines(evidence: Evidence, style: Style): string[] {
  const { filesChanged, commits, diff, toolCalls, toolFailures, note } = evidence;
  const figures = [
    filesChanged && `${count(filesChanged.count, 'file')} changed`,
    diff && (diff.insertions > 0 || diff.deletions > 0) && `+${diff.insertions} −${diff.deletions} lines`,
    commits && commits.count > 0 && count(commits.count, 'commit'),
    toolCalls !== null &&
      `${count(toolCalls, 'tool call')}${toolFailures ? ` (${toolFailures} failed)` : ''}`,
  ].filter(figure => typeof figure === 'string');
  const named = filesChanged?.files ?? [];
  const unnamed = (filesChanged?.count ?? 0) - named.length;
  return [
    [paintVerdict(evidence.verdict, style), figures.join(' · ')].filter(Boolean).join(': '),
    ...named.map(visibleLine),
    ...(unnamed > 0 ? [style.dim(`and ${unnamed} more`)] : []),
    ...(commits?.newest ?? []).map(({ id, subject }) => `${id.slice(0, 10)} ${visibleLine(subject)}`),
    ...(note === null ? [] : [style.dim(visibleLine(note))]),
  ];
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;
