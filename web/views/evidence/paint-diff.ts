import { diffWordsWithSpace } from 'diff';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import css from 'highlight.js/lib/languages/css';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import type { DiffHunk, DiffLine } from './parse-diff.ts';

const LANGUAGES = {
  ...{ bash, c, css, go, ini, java, javascript, json, markdown, python, ruby },
  ...{ rust, sql, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** File extensions that the highlighter does not know as an alias of their language. */
const ENDINGS: Record<string, string> = {
  ...{ mts: 'typescript', cts: 'typescript', cjs: 'javascript', scss: 'css', less: 'css', vue: 'xml' },
  ...{ h: 'c', hpp: 'c', cpp: 'c', cc: 'c', toml: 'ini', jsonc: 'json', zsh: 'bash' },
};

/** Part of a line. `kind` is its syntax class. `isChanged` is true if the words differ from the other side. */
export interface Paint {
  text: string;
  kind: string | null;
  isChanged: boolean;
}

/** Limits above which lines stay plain, because painting would take too long. */
const MAX_LINES = 3_000;
const MAX_LINE_LENGTH = 1_000;

/**
 * Splits the lines of a hunk into parts with syntax colours. Marks words that differ between a removed line and its
 * replacement.
 */
export function paintHunk(path: string, hunk: DiffHunk): Map<DiffLine, Paint[]> {
  const painted = new Map<DiffLine, Paint[]>();
  const { lines } = hunk;
  if (lines.length > MAX_LINES || lines.some(({ text }) => text.length > MAX_LINE_LENGTH)) return painted;
  const language = languageOf(path);
  for (const side of ['removed', 'added'] as const) {
    const own = lines.filter(({ kind }) => kind === side || kind === 'same');
    const parts = syntaxOf(own.map(({ text }) => text.replace(/\r$/, '')).join('\n'), language);
    for (const [at, line] of own.entries())
      painted.set(
        line,
        (parts[at] ?? []).map(part => ({ ...part, isChanged: false })),
      );
  }
  for (const [removed, added] of pairsOf(lines)) {
    const parts = diffWordsWithSpace(removed.text, added.text);
    const kept = parts.filter(part => !part.added && !part.removed && part.value.trim() !== '');
    // A pair of lines without common words is not marked, because the lines are not versions of each other.
    if (kept.length === 0) continue;
    painted.set(
      removed,
      withChanges(
        painted.get(removed) ?? [],
        parts.filter(part => !part.added),
      ),
    );
    painted.set(
      added,
      withChanges(
        painted.get(added) ?? [],
        parts.filter(part => !part.removed),
      ),
    );
  }
  return painted;
}

const languageOf = (path: string): string | null => {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const ending = name.slice(name.lastIndexOf('.') + 1);
  const language = ENDINGS[ending] ?? ending;
  return hljs.getLanguage(language) ? language : null;
};

/** Pairs each removed line with the added line that replaced it. */
export function pairsOf(lines: readonly DiffLine[]): [DiffLine, DiffLine][] {
  const pairs: [DiffLine, DiffLine][] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const close = () => {
    for (let at = 0; at < Math.min(removed.length, added.length); at++)
      pairs.push([removed[at]!, added[at]!]);
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) close();
      removed.push(line);
    } else if (line.kind === 'added') added.push(line);
    else if (line.kind === 'same') close();
  }
  close();
  return pairs;
}

type Part = Pick<Paint, 'text' | 'kind'>;

/** Splits the highlighter's HTML into lines. The HTML contains only spans, text and these escapes. */
function syntaxOf(code: string, language: string | null): Part[][] {
  if (language === null) return code.split('\n').map(text => [{ text, kind: null }]);
  const { value } = hljs.highlight(code, { language, ignoreIllegals: true });
  const kinds: string[] = [];
  const lines: Part[][] = [[]];
  for (const [, name, end, text] of value.matchAll(/<span class="hljs-([\w-]+)[^"]*">|(<\/span>)|([^<]+)/g)) {
    if (name !== undefined) kinds.push(name);
    else if (end !== undefined) kinds.pop();
    else
      for (const [at, piece] of unescaped(text!).split('\n').entries()) {
        if (at > 0) lines.push([]);
        if (piece !== '') lines.at(-1)!.push({ text: piece, kind: kinds.at(-1) ?? null });
      }
  }
  return lines;
}

const ESCAPES: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
};
const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#x27);/g, entity => ESCAPES[entity]!);

/** Splits the coloured parts of a line where marked words begin and end. */
function withChanges(
  line: Paint[],
  words: readonly { value: string; added?: boolean; removed?: boolean }[],
): Paint[] {
  const cut: Paint[] = [];
  const left = line.map(part => ({ ...part }));
  for (const { value, added, removed } of words) {
    for (let room = value.length; room > 0; ) {
      const next = left[0];
      if (!next) return cut;
      const text = next.text.slice(0, room);
      cut.push({ text, kind: next.kind, isChanged: Boolean(added || removed) });
      room -= text.length;
      if (text.length === next.text.length) left.shift();
      else next.text = next.text.slice(text.length);
    }
  }
  return [...cut, ...left];
}
