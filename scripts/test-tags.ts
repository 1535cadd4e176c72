/**
 * Tests name the rows of docs/coverage.md and docs/security-tests.md that they prove: `test('…', { tags: ['A1'] }, …)`.
 * `npm run docs` writes the last column of both tables from these tags, and `npx vitest --tags-filter A1` runs the tests of one row.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
export const TAGGED_DOCUMENTS = ['docs/coverage.md', 'docs/security-tests.md'];

export interface TableRow {
  tag: string;
  name: string;
  state: string;
}

export interface TaggedTest {
  file: string;
  title: string;
  tags: string[];
}

const ROW = /^\| (?!(?:Item|Attack|What|---) \|)([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$/gm;

export const tableRows = (document: string): TableRow[] =>
  [...document.matchAll(ROW)].map(([, name, , state]) => ({ tag: tagOf(name!), name: name!, state: state! }));

/** Tag of a row: its number such as `A1`, or its name such as `shell-and-command-injection` if it has no number. */
function tagOf(name: string): string {
  const number = /^[A-Z]\d+\b/.exec(name)?.[0];
  return number ?? name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

export const readDocument = (path: string): string => readFileSync(join(root, path), 'utf8');

export const tagNames = (): string[] =>
  TAGGED_DOCUMENTS.flatMap(path => tableRows(readDocument(path)).map(({ tag }) => tag));

const TAGGED = /('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`),\s*(?:\{\s*)?tags: \[([^\]]*)\]/g;

/** Reads the tags from the sources. Loading every test file only to list its tests would take minutes. */
export function taggedTests(): TaggedTest[] {
  const files = globSync('{src,test,web}/**/*.test.{ts,tsx}', { cwd: root }).sort();
  return files.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(TAGGED)].map(([, title, tags]) => ({
      file,
      title: title!.slice(1, -1).replaceAll(/\\(.)/g, '$1'),
      tags: [...tags!.matchAll(/'([^']+)'/g)].map(([, tag]) => tag!),
    })),
  );
}

/** The document with the tests of each row in its last column. */
export function withTests(document: string, tests = taggedTests()): string {
  return document.replaceAll(ROW, (_, name: string, what: string, state: string) => {
    const proofs = tests.filter(({ tags }) => tags.includes(tagOf(name)));
    const column = proofs.map(({ file, title }) => `\`${file} › ${title}\``).join('<br>');
    return `| ${name} | ${what} | ${state} | ${column || '–'} |`;
  });
}
