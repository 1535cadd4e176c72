import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** A folder may import from those named, from itself and from `base`: the same table as in ARCHITECTURE.md. */
const MAY_IMPORT: Record<string, string[]> = {
  base: [],
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
  telemetry: ['schema', 'core'],
  mcp: ['schema', 'core', 'operations', 'wire'],
  http: ['schema', 'operations', 'wire'],
  'web-server': ['schema', 'core', 'operations'],
  control: ['schema', 'core', 'operations'],
  'code-mode': ['schema', 'process'],
  'model-loop': ['schema', 'redaction', 'code-mode', 'process'],
  link: [],
  hub: ['schema', 'link'],
  relay: ['link'],
  runner: ['process'],
  machines: ['schema', 'core', 'process', 'runner'],
  cli: ['schema', 'operations', 'control', 'code-mode', 'link', 'workspace'],
  acp: ['schema', 'core', 'operations', 'link', 'cli'],
};

/** `app.ts`, its parts, and the entry points put everything together. */
const KNOWS_ALL = ['', 'app', 'bin'];

/** One name for a feature in every layer, so that it is found in one guess. */
const FEATURES = [
  ...['runs', 'output', 'roles', 'cost', 'evidence', 'worktrees', 'review', 'integration', 'inbox', 'team'],
  ...['gateway', 'subagents', 'conversations', 'settings', 'setup', 'hub', 'machines'],
];

/** With the folders that are no features. */
const LAYERS_BY_FEATURE = new Map([
  ['src/core', ['ports', 'testing']],
  ['src/operations', ['testing']],
  ['src/workspace', ['files', 'git', 'testing', 'fixtures']],
  ['src/cli', ['terminal']],
  ['web/views', []],
  ['test/e2e', []],
]);

const MAX_FILES_IN_A_FOLDER = 30;

/** Packages that only these folders may know. */
const ONLY_IN: [RegExp, ...string[]][] = [
  [/^@modelcontextprotocol\//, 'wire'],
  [/^@agentclientprotocol\//, 'acp'],
  [/^kysely/, 'store'],
  // opencode records its chats in SQLite.
  [/^better-sqlite3/, 'store', 'engines'],
  [/^pg$/, 'store'],
  [/^eta(\/|$)/, 'engines'],
  [/^(commander|string-width)$/, 'cli'],
  [/^@octokit\//, 'github'],
  [/^@opentelemetry\//, 'telemetry'],
  [/^(ai$|@ai-sdk\/)/, 'model-loop'],
  [/^(hono|@hono\/node-server|ws)(\/|$)/, 'web-server'],
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
const webFiles = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter(file => /\.tsx?$/.test(file));
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
function bringsWhatBrowsersLack(file: string): boolean {
  return importsOfText(readFileSync(join(src, file), 'utf8')).some(
    ({ specifier, isType }) =>
      !isType &&
      (specifier === 'zod' ||
        specifier.startsWith('node:') ||
        (specifier.startsWith('.') && bringsWhatBrowsersLack(join(dirname(file), specifier)))),
  );
}

/** Files that import each other's values, directly or through others. */
function cyclesIn(top: 'src' | 'web'): string[] {
  const base = join(root, top);
  const importsOf = new Map<string, string[]>();
  for (const { file, specifier, isType } of importsIn(base, /\.tsx?$/)) {
    if (isType || isTest(file) || !specifier.startsWith('.')) continue;
    const target = relative(base, resolve(base, dirname(file), specifier));
    importsOf.set(file, [...(importsOf.get(file) ?? []), target]);
  }
  const isDone = new Set<string>();
  const found: string[] = [];
  const follow = (file: string, path: string[]): void => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (path.includes(file) || isDone.has(file)) return;
    for (const target of importsOf.get(file) ?? []) follow(target, [...path, file]);
    isDone.add(file);
  };
  for (const file of importsOf.keys()) follow(file, []);
  return found;
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
      if (KNOWS_ALL.includes(from) || from === to || to === 'base' || MAY_IMPORT[from]?.includes(to))
        return [];
      return [`${file} → ${specifier}`];
    });
    expect(wrong).toEqual([]);
  });

  test('a package known to one folder is imported nowhere else', () => {
    const wrong = imports.flatMap(({ file, specifier }) => {
      const rule = ONLY_IN.find(([pattern]) => pattern.test(specifier));
      return rule && !rule.includes(folderOf(file)) && !isTest(file) ? [`${file} → ${specifier}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('modules that few hubs need are not loaded with the hub', () => {
    const atOnce = files.filter(file =>
      /^import (?!type ).*from '[^']*(octokit-client|serve-web|telemetry)\.ts'/m.test(
        readFileSync(join(src, file), 'utf8'),
      ),
    );
    expect(atOnce.filter(file => !isTest(file))).toEqual([]);
  });

  test('the web server has nothing of ours but types and the paths of views: it is a bundle of its own', () => {
    expect(valuesFrom(src, 'web-server')).toEqual(['web-server/serve-web.ts → ../schema/web-ui.ts']);
  });

  test('the web UI has types of schema and operations, and values of base and schema that bring neither zod nor Node', () => {
    const wrong = webImports.filter(({ file, specifier, isType }) => {
      const target = relative(src, resolve(web, dirname(file), specifier));
      if (!specifier.startsWith('.') || isTest(file) || !relative(web, join(src, target)).startsWith('..'))
        return false;
      return (
        !(isType ? /^(base|schema|operations)\// : /^(base|schema)\//).test(target) ||
        (!isType && bringsWhatBrowsersLack(target))
      );
    });
    expect(wrong).toEqual([]);
  });

  test('only the web UI knows its rendering libraries', () => {
    const shows = /^(preact|preact-iso|@preact\/signals|marked|dompurify|highlight\.js)(\/|$)/;
    expect(imports.filter(({ specifier }) => shows.test(specifier))).toEqual([]);
    const others = webImports.filter(
      ({ file, specifier, isType }) =>
        !specifier.startsWith('.') &&
        !isType &&
        !shows.test(specifier) &&
        specifier !== 'diff' &&
        !isTest(file),
    );
    expect(others).toEqual([]);
  });

  test('only the one spawner, the hub and the command line start processes', {
    tags: ['shell-and-command-injection'],
  }, () => {
    const mayStart =
      /^(process\/|link\/start-hub|app\.ts|cli\/(runs\/attach|evidence\/diff|hub\/(open|database|demo-database|cluster-demo)|setup\/(doctor|demo|install\/running-client|policy\/(decoys|stage)))|engines\/scripted\/agent)/;
    const wrong = imports.filter(
      ({ file, specifier }) => specifier === 'node:child_process' && !mayStart.test(file) && !isTest(file),
    );
    expect(wrong).toEqual([]);
  });

  test('the paths of two calls are short, and each file of them exists', () => {
    const paths = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
      .split(/^\*\*.*\*\*$/m)
      .slice(-2);
    const listed = paths.map(path =>
      [...path.matchAll(/`([a-z-]+(?:\/[a-z-]+)+)`/g)].map(([, file]) => file!),
    );
    expect(listed.flat().filter(file => !existsSync(join(src, `${file}.ts`)))).toEqual([]);
    expect(listed.map(files => files.length > 20)).toEqual([true, true]);
    expect(listed[0]!.length).toBeLessThanOrEqual(45);
    expect(listed[1]!.length).toBeLessThanOrEqual(25);
  });

  test('every layer uses the same folder names', () => {
    const wrong = [...LAYERS_BY_FEATURE].flatMap(([layer, others]) =>
      readdirSync(join(root, layer), { withFileTypes: true })
        .filter(entry => entry.isDirectory() && ![...FEATURES, ...others].includes(entry.name))
        .map(entry => `${layer}/${entry.name}`),
    );
    expect(wrong).toEqual([]);
  });

  test('no folder holds more files than a reader can take in', () => {
    const counts = new Map<string, number>();
    for (const file of [...files.map(name => `src/${name}`), ...webFiles.map(name => `web/${name}`)])
      if (!isTest(file)) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > MAX_FILES_IN_A_FOLDER)).toEqual([]);
  });

  test('no file imports itself through others', () => {
    expect([...cyclesIn('src'), ...cyclesIn('web')]).toEqual([]);
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
