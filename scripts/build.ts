/** Bundles what ships: one file per program, so that starting one is Node's own start and a single read. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const outdir = resolve(process.argv[2] ?? new URL('../dist', import.meta.url).pathname);

const source = (file: string) => new URL(`../src/${file}`, import.meta.url).pathname;
const programs = [
  ...[
    'relay',
    'hub',
    'hub-main',
    'cli',
    'overview',
    'help',
    'agent',
    'database',
    'reader',
    'runner',
    'sandbox-proxy',
    'scripted-agent',
  ].map(name => ({
    in: source(`bin/${name}.ts`),
    out: name,
  })),
  { in: source('store/sqlite/query-thread.ts'), out: 'query-thread' },
];

/** Parts that few hubs ever need, and of the providers one: files of their own, read when they are first asked for. */
const PARTS = [
  ...['anthropic', 'google', 'openai', 'openai-compatible'].map(name => ({
    in: `@ai-sdk/${name}`,
    out: `provider-${name}`,
  })),
  { in: 'pg', out: 'pg' },
  { in: source('github/octokit-client.ts'), out: 'github' },
  { in: source('web-server/serve-web.ts'), out: 'web-server' },
  { in: source('telemetry/telemetry.ts'), out: 'telemetry' },
];

const partsApart: Plugin = {
  name: 'parts-apart',
  setup({ onResolve }) {
    for (const part of PARTS) {
      const name = part.in.startsWith('/') ? `/${part.in.split('/').at(-1)}` : `^${part.in}`;
      onResolve({ filter: new RegExp(`${name.replaceAll('.', '\\.')}$`) }, ({ kind }) =>
        kind === 'dynamic-import' ? { path: `./${part.out}.cjs`, external: true } : null,
      );
    }
  },
};

/** Messages of zod in other languages are a tenth of the hub's code. */
const englishOnly: Plugin = {
  name: 'english-only',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/locales\/index\.js$/ }, ({ path }) => ({ path, namespace: 'english-only' }));
    onLoad({ filter: /.*/, namespace: 'english-only' }, () => ({ contents: 'export {};' }));
  },
};

/**
 * The SDK puts every schema of MCP and OAuth into a table for its callers. Nothing here reads that table. Without it, and with
 * calls of zod marked as pure, unused schemas are left out; otherwise each start of a hub creates them.
 */
const usedSchemas: Plugin = {
  name: 'used-schemas',
  setup({ onResolve, onLoad }) {
    onLoad({ filter: /@modelcontextprotocol\/server\/dist\/src-[^/]*\.mjs$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(/^for \(const .* register\(key, .*\);$/gm, '');
      return { contents, errors: contents === source ? [{ text: `${path} fills no table of schemas` }] : [] };
    });
    onLoad({ filter: /@modelcontextprotocol\/core\/dist\/[^/]*\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(
        /(?<![\w$.])(z|\w+Schema)\.(?=[a-z]\w*\()/g,
        '/* @__PURE__ */ $&',
      ),
    }));
    // Spreads a shape, which no mark can make pure.
    onResolve({ filter: /^\.\/auth-[\w-]+\.mjs$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path),
      sideEffects: false,
    }));
  },
};

/**
 * The SDK has its own copy of Ajv, of which each start of a hub would create all classes. Only answers to a question are checked
 * with it: it uses ours, when it is first needed.
 */
const oneAjv: Plugin = {
  name: 'one-ajv',
  setup({ onLoad }) {
    onLoad({ filter: /@modelcontextprotocol\/server\/dist\/ajvProvider-[^/]*\.mjs$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const imports = source.match(/^import .*;$/gm) ?? [];
      const [, provider = ''] = source.split(/^\/\/#region .*ajvProvider\.ts$/m);
      let replaced = 0;
      const contents = [
        ['var import_ajv = require_ajv();', ''],
        ['var import__2019 = require__2019();', ''],
        ['var import__2020 = require__2020();', ''],
        ['var import_dist = /* @__PURE__ */ __toESM(require_dist(), 1);', ''],
        ['const addFormats = import_dist.default;', ''],
        ['const Ajv = import_ajv.Ajv;', ''],
        ['addFormats(ajv);', "require('ajv-formats').default(ajv);"],
        ['(import_ajv.', "(require('ajv')."],
        ['(import__2019.', "(require('ajv/dist/2019.js')."],
        ['(import__2020.', "(require('ajv/dist/2020.js')."],
        [', addFormats as r, Ajv as t }', ' }'],
      ].reduce((text, [from, to]) => {
        if (text.includes(from!)) replaced++;
        return text.replace(from!, () => to!);
      }, provider);
      const errors = replaced === 11 ? [] : [{ text: `${path} has another form: see one-ajv` }];
      return { contents: [...imports, contents].join('\n'), errors };
    });
  },
};

/** V8 keeps a source with a single character outside ASCII in two bytes per character. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  setup({ onEnd, initialOptions }) {
    initialOptions.metafile = true;
    onEnd(({ metafile }) => ({
      errors: Object.keys(metafile!.outputs).flatMap(file => {
        const [found] = /.{0,60}[^\p{ASCII}].{0,20}/u.exec(readFileSync(file, 'utf8')) ?? [];
        return found === undefined ? [] : [{ text: `${file} is not ASCII, write \\u escapes: ${found}` }];
      }),
    }));
  },
};

/** The highlighter would be half of a saved run; without it a diff is plain. */
const withoutColours: Plugin = {
  name: 'without-colours',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/paint-diff\.ts$/ }, ({ path }) => ({ path, namespace: 'without-colours' }));
    onLoad({ filter: /.*/, namespace: 'without-colours' }, () => ({
      contents: 'export const paintHunk = null;',
    }));
  },
};

/** The programs are there all the same. */
const WEB_FAILED = 3;
const web = new URL('../web/index.html', import.meta.url).pathname;

await Promise.all([
  buildPrograms().then(saveHelp),
  buildGuest(),
  existsSync(web) && buildWebUi(),
  existsSync(web) && buildSavedPage(),
]);

/** A pipe is 80 columns wide; without PATH the program has its usual name. */
function saveHelp(): void {
  const help = execFileSync(process.execPath, [join(outdir, 'cli.cjs'), '--help'], {
    env: { NO_COLOR: '1' },
  });
  writeFileSync(join(outdir, 'help.txt'), help);
}

/** Page of a run that is saved as one file, so all its code is a single script. */
async function buildSavedPage(): Promise<void> {
  const root = new URL('../web/saved', import.meta.url).pathname;
  try {
    await build({
      entryPoints: [{ in: join(root, 'main.tsx'), out: 'saved' }],
      plugins: [withoutColours],
      inject: [join(root, 'location.ts')],
      outdir: join(outdir, 'web-saved'),
      bundle: true,
      format: 'iife',
      target: 'es2023',
      minify: true,
      legalComments: 'none',
      logLevel: 'warning',
    });
  } catch (error) {
    console.error(`The page for saved runs cannot be built: ${(error as Error).message}`);
    process.exitCode = WEB_FAILED;
  }
}

/** Made beside the old one, which a hub may be serving, and put in its place. */
async function buildWebUi(): Promise<void> {
  const { build: vite } = await import('vite');
  const configFile = new URL('../vite.config.ts', import.meta.url).pathname;
  const root = new URL('../web', import.meta.url).pathname;
  const made = join(outdir, `web.${process.pid}`);
  try {
    // `native`: Node reads the config. Bundled, it takes seconds, and rolldown warns about that.
    await vite({ configFile, configLoader: 'native', root, logLevel: 'warn', build: { outDir: made } });
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    console.error(`The web UI cannot be built: ${(error as Error).message}`);
    process.exitCode = WEB_FAILED;
    return;
  }
  compressAssets(join(made, 'assets'));
  rmSync(join(outdir, 'web'), { recursive: true, force: true });
  renameSync(made, join(outdir, 'web'));
}

/** Assets are kept only in gzip, which every browser accepts: compressed once here, and half as much in the package. */
function compressAssets(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
}

/** Builds the sandbox of code mode as one file that holds two scripts: the sandbox can read no other file. */
async function buildGuest(): Promise<void> {
  const common = {
    bundle: true,
    target: 'node22',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  } as const;
  const realm = await build({
    ...common,
    entryPoints: [source('code-mode/guest/realm.ts')],
    format: 'iife',
    globalName: 'realm',
    write: false,
  });
  await build({
    ...common,
    entryPoints: [{ in: source('code-mode/guest/guest.ts'), out: 'code-guest' }],
    outdir,
    outExtension: { '.js': '.cjs' },
    platform: 'node',
    format: 'cjs',
    define: { REALM_SOURCE: JSON.stringify(`(() => {${realm.outputFiles[0]!.text};return realm})()`) },
  });
}

function buildPrograms() {
  return build({
    entryPoints: [...programs, ...PARTS],
    plugins: [partsApart, englishOnly, usedSchemas, oneAjv, asciiOnly],
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    minify: true,
    // Some packages carry a CommonJS build that cannot be bundled.
    mainFields: ['module', 'main'],
    keepNames: false,
    legalComments: 'none',
    external: ['better-sqlite3', 'pg-native', 'pg-cloudflare'],
    // `hub-main` runs as a script, which has only `require`.
    supported: { 'dynamic-import': false },
    define: {
      SQUAD_VERSION: JSON.stringify(process.env.SQUAD_BUILD_VERSION ?? version),
      'import.meta.url': 'undefined',
    },
    logLevel: 'warning',
  });
}
