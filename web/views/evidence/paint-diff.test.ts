import { expect, test } from 'vitest';
import { paintHunk } from './paint-diff.ts';
import { parseDiff } from './parse-diff.ts';

const DIFF = `diff --git a/a.ts b/a.ts
--- a/a.ts
+++ b/a.ts
@@ -1,3 +1,3 @@
 const a = "<b>&amp;";
-return one(two, 3);
+return one(other, 3);
-x
+completely different
`;

test('a line keeps its text, has syntax colours, and names the words that differ', () => {
  const [file] = parseDiff(DIFF);
  const hunk = file!.hunks[0]!;
  const painted = paintHunk('a.ts', hunk);
  for (const line of hunk.lines)
    expect(
      painted
        .get(line)!
        .map(({ text }) => text)
        .join(''),
    ).toBe(line.text);
  const [same, removed, added] = hunk.lines;
  expect(painted.get(same!)).toContainEqual({ text: 'const', kind: 'keyword', isChanged: false });
  const changed = (line: typeof same) =>
    painted
      .get(line!)!
      .filter(({ isChanged }) => isChanged)
      .map(({ text }) => text)
      .join('');
  expect([changed(removed), changed(added)]).toEqual(['two', 'other']);
});

test('a file in an unknown language, and lines without anything in common, stay plain', () => {
  const [file] = parseDiff(DIFF.replaceAll('a.ts', 'a.unknown'));
  const hunk = file!.hunks[0]!;
  const painted = paintHunk('a.unknown', hunk);
  expect(painted.get(hunk.lines[0]!)).toEqual([{ text: hunk.lines[0]!.text, kind: null, isChanged: false }]);
  expect(painted.get(hunk.lines[3]!)?.some(({ isChanged }) => isChanged)).toBe(false);
});
