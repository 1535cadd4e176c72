import { readMarkdown } from '../../base/markdown-lines.ts';
import type { FoundFile } from './context.ts';
import { howOf } from './context-digest.ts';

/** The files that are not to be sent at all, each with the reason. */
export function whyLeftOut(
  files: readonly FoundFile[],
  loadedByEngine: readonly string[],
): Map<string, string> {
  const loaded = loadedFiles(files, loadedByEngine);
  const isLast = (found: FoundFile) => (loaded.has(found.file) ? 0 : 1);
  const reasons = new Map<string, string>();
  const wholeFiles = new Map<string, string>();
  // What the engine reads comes first, so that its twin is known for one.
  for (const found of [...files].sort((a, b) => isLast(a) - isLast(b))) {
    const { file } = found;
    const twin =
      'text' in found && howOf(file) === 'whole' ? wholeFiles.get(contentOf(found.text)) : undefined;
    const reason = loaded.get(file) ?? ('fault' in found ? `it ${found.fault}` : faultOf(found.text, twin));
    if (reason !== null) reasons.set(file, reason);
    if ('text' in found && twin === undefined && howOf(file) === 'whole')
      wholeFiles.set(contentOf(found.text), file);
  }
  return reasons;
}

function faultOf(text: string, twin: string | undefined): string | null {
  if (text.trim() === '') return 'it has no text';
  return twin === undefined ? null : `it says the same as ${twin}`;
}

function loadedFiles(files: readonly FoundFile[], loadedByEngine: readonly string[]): Map<string, string> {
  const loaded = new Map(loadedByEngine.map(file => [file, 'the engine reads it by itself']));
  const guide = files.find(({ file }) => file === 'CLAUDE.md');
  if (guide && 'text' in guide && loaded.has(guide.file))
    for (const file of importsOf(guide.text))
      if (!loaded.has(file)) loaded.set(file, `the engine reads it by itself: ${guide.file} brings it in`);
  return loaded;
}

/** A line `@AGENTS.md` in CLAUDE.md stands for that file. */
function importsOf(text: string): string[] {
  return readMarkdown(text)
    .filter(({ kind }) => kind === 'text')
    .flatMap(line => /^@(?:\.\/)?(\S+)$/.exec(line.text.trim())?.[1] ?? []);
}

const contentOf = (text: string): string => text.replace(/\r\n?/g, '\n').trim();
