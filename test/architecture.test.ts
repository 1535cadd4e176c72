import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** A folder may import from those named, and from itself: the same table as in ARCHITECTURE.md. */
const MAY_IMPORT: Record<string, string[]> = {
  schema: [],
  redaction: ['schema'],
  core: ['schema', 'redaction'],
  process: [],
  engines: ['schema', 'core', 'process'],
  workspace: ['schema', 'core', 'redaction', 'process'],
  store: ['schema', 'core'],
  wire: ['schema'],
  operations: ['schema', 'core'],
  gateway: ['schema', 'core', 'redaction', 'process', 'wire'],
  github: ['schema', 'core', 'redaction', 'process'],
  mcp: ['schema', 'core', 'operations', 'wire'],
  http: ['schema', 'operations', 'wire'],
  page: ['schema', 'core', 'operations'],
  control: ['schema', 'core', 'operations'],
  'code-mode': ['schema', 'process'],
  'model-loop': ['schema', 'redaction', 'code-mode', 'process'],
  link: [],
  hub: ['schema', 'link'],
  relay: ['link'],
  cli: ['schema', 'operations', 'control', 'code-mode', 'link', 'workspace'],
};

/** `app.ts`, its parts, and the entry points put everything together. */
const KNOWS_ALL = ['', 'app', 'bin'];

/** Packages that only one folder may know. */
const ONLY_IN: [RegExp, string][] = [
  [/^@modelcontextprotocol\//, 'wire'],
  [/^(kysely|better-sqlite3)/, 'store'],
  [/^eta(\/|$)/, 'engines'],
  [/^commander$/, 'cli'],
  [/^@octokit\//, 'github'],
  [/^(ai$|@ai-sdk\/)/, 'model-loop'],
  [/^(hono|@hono\/node-server|ws)(\/|$)/, 'page'],
];

const root = resolve(import.meta.dirname, '..');
const src = join(root, 'src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));

interface Import {
  file: string;
  specifier: string;
}

const imports: Import[] = files.flatMap(file =>
  [...readFileSync(join(src, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
    ([, specifier]) => ({ file, specifier: specifier! }),
  ),
);
const IMPORT =
  /^(?:import|export)\s+(type\s+)?(\{[^}]*\}|\*(?:\s+as\s+\w+)?|\w+(?:\s*,\s*\{[^}]*\})?)\s+from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm;

/** A type: with `import type`, or with `type` at every name. */
const importsOfText = (text: string) =>
  [...text.matchAll(IMPORT)].map(([, type, names = '', named, bare, called]) => ({
    specifier: (named ?? bare ?? called)!,
    isType: type !== undefined || /^\{(\s*type\s[^,}]+,?)+\s*\}$/.test(names),
  }));

const importsIn = (root: string, pattern: RegExp) =>
  (existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [])
    .filter(file => pattern.test(file))
    .flatMap(file =>
      importsOfText(readFileSync(join(root, file), 'utf8')).map(found => ({ file, ...found })),
    );

const web = join(root, 'web');
const webImports = importsIn(web, /\.tsx?$/);

/** Imports of other folders of ours that are there when the code runs. */
const valuesFrom = (base: string, folder: string) =>
  importsIn(base, /\.ts$/)
    .filter(({ file, specifier, isType }) => {
      if (folderOf(file) !== folder || isTest(file) || isType || !specifier.startsWith('.')) return false;
      return folderOf(relative(base, resolve(base, dirname(file), specifier))) !== folder;
    })
    .map(({ file, specifier }) => `${file} → ${specifier}`);

/** Itself or by what it imports. */
function bringsZod(file: string): boolean {
  return importsOfText(readFileSync(join(src, file), 'utf8')).some(
    ({ specifier, isType }) =>
      !isType &&
      (specifier === 'zod' || (specifier.startsWith('.') && bringsZod(join(dirname(file), specifier)))),
  );
}

const folderOf = (file: string) => (file.includes('/') ? file.split('/')[0]! : '');
const isTest = (file: string) => /\.test\.ts$|\/(testing|fixtures)\//.test(file);

describe('the import directions hold', () => {
  test('there are imports to look at', () => {
    expect(imports.length).toBeGreaterThan(100);
  });

  test('every folder is in the table', () => {
    const folders = new Set(files.map(folderOf).filter(folder => !KNOWS_ALL.includes(folder)));
    expect([...folders].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  test('no folder imports one it may not', () => {
    const wrong = imports.flatMap(({ file, specifier }) => {
      if (!specifier.startsWith('.') || isTest(file)) return [];
      const from = folderOf(file);
      const to = folderOf(relative(src, resolve(src, dirname(file), specifier)));
      if (KNOWS_ALL.includes(from) || from === to || MAY_IMPORT[from]?.includes(to)) return [];
      return [`${file} → ${specifier}`];
    });
    expect(wrong).toEqual([]);
  });

  test('a package known to one folder is imported nowhere else', () => {
    const wrong = imports.flatMap(({ file, specifier }) => {
      const rule = ONLY_IN.find(([pattern]) => pattern.test(specifier));
      return rule && folderOf(file) !== rule[1] && !isTest(file) ? [`${file} → ${specifier}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('what few hubs need is not loaded with the hub', () => {
    const atOnce = files.filter(file =>
      /^import (?!type ).*from '[^']*(octokit-client|serve-page)\.ts'/m.test(
        readFileSync(join(src, file), 'utf8'),
      ),
    );
    expect(atOnce.filter(file => !isTest(file))).toEqual([]);
  });

  test('the page has nothing of ours but types and the paths of views: it is a bundle of its own', () => {
    expect(valuesFrom(src, 'page')).toEqual(['page/page-files.ts → ../schema/page-paths.ts']);
  });

  test('the page in the browser has types of schema and operations, and values of schema that bring no zod', () => {
    const wrong = webImports.filter(({ file, specifier, isType }) => {
      const target = relative(src, resolve(web, dirname(file), specifier));
      if (!specifier.startsWith('.') || isTest(file) || !relative(web, join(src, target)).startsWith('..'))
        return false;
      return (
        !(isType ? /^(schema|operations)\// : /^schema\//).test(target) || (!isType && bringsZod(target))
      );
    });
    expect(wrong).toEqual([]);
  });

  test('what shows the page is known to the page alone', () => {
    const shows = /^(preact|preact-iso|@preact\/signals)(\/|$)/;
    expect(imports.filter(({ specifier }) => shows.test(specifier))).toEqual([]);
    const others = webImports.filter(
      ({ file, specifier, isType }) =>
        !specifier.startsWith('.') && !isType && !shows.test(specifier) && !isTest(file),
    );
    expect(others).toEqual([]);
  });

  test('only the one spawner, the hub and the command line start processes', () => {
    const mayStart =
      /^(process\/|link\/start-hub|app\.ts|cli\/(at-terminal|open-browser|commands\/(doctor|demo))|engines\/scripted\/agent)/;
    const wrong = imports.filter(
      ({ file, specifier }) => specifier === 'node:child_process' && !mayStart.test(file) && !isTest(file),
    );
    expect(wrong).toEqual([]);
  });

  test('the table in ARCHITECTURE.md is this one', () => {
    const rows = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').matchAll(
      /^\| `src\/([a-z-]+)\/` \|[^|]*\| ([^|]*) \|$/gm,
    );
    const written = Object.fromEntries(
      [...rows].map(([, folder, list]) => [
        folder,
        list!
          .split(',')
          .map(name => name.trim())
          .filter(name => name !== '–'),
      ]),
    );
    expect(written).toEqual(MAY_IMPORT);
  });
});
