/** Bundles the programs that ship. Each program is one file, so that its start needs a single read. */
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
    'acp',
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

/**
 * Parts that few hubs need, and the providers, of which a run needs one. Each part is a separate file that is loaded on
 * first use.
 */
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

/** Leaves out zod's messages in other languages, which are a tenth of the hub's code. */
const englishOnly: Plugin = {
  name: 'english-only',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/locales\/index\.js$/ }, ({ path }) => ({ path, namespace: 'english-only' }));
    onLoad({ filter: /.*/, namespace: 'english-only' }, () => ({ contents: 'export {};' }));
  },
};

/**
 * The SDK exports every schema of MCP and OAuth in a table that Squad does not read. Without the table, and with zod's
 * calls marked as pure, unused schemas are left out. Otherwise each start of a hub would create them.
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
    // This expression spreads a shape, and no mark can make that pure.
    onResolve({ filter: /^\.\/auth-[\w-]+\.mjs$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path),
      sideEffects: false,
    }));
  },
};

/**
 * Zod gives each schema its own copy of every method that is read from it, bound to the schema, and its own set of the
 * names of its classes. Nothing here calls a method without its schema, so thousands of schemas share both: a hub starts
 * with less work and keeps less memory.
 */
const sharedMembers: Plugin = {
  name: 'shared-members',
  setup({ onLoad }) {
    const change = (filter: RegExp, from: string, to: string) =>
      onLoad({ filter }, ({ path }) => {
        const source = readFileSync(path, 'utf8');
        const contents = source.replace(from, () => to);
        const errors = contents === source ? [{ text: `${path} has another form: see shared-members` }] : [];
        return { contents, errors };
      });
    change(
      /\/zod\/v4\/core\/util\.js$/,
      'defineBound(proto, key, desc.value);',
      'Object.defineProperty(proto, key, { configurable: true, writable: true, value: desc.value });',
    );
    change(
      /\/zod\/v4\/core\/core\.js$/,
      'const pp = globalThis',
      `if (_.traits?.size === inst._zod.traits.size) inst._zod.traits = _.traits;
        else _.traits = inst._zod.traits;
        const pp = globalThis`,
    );
  },
};

/**
 * The JavaScript of better-sqlite3 is bundled, because a start would read a dozen small files of it. To find out which C
 * library there is, it has Node write a whole diagnostic report. Each installed musl has a loader in /lib, so without one
 * the answer is known.
 */
const bundledSqlite: Plugin = {
  name: 'bundled-sqlite',
  setup({ onLoad }) {
    onLoad({ filter: /\/better-sqlite3\/lib\/binding\.js$/ }, () => ({
      contents: `
        const { existsSync } = require('node:fs');
        const { createRequire } = require('node:module');
        const { dirname, join } = require('node:path');
        const MUSL = { x64: 'x86_64', arm64: 'aarch64' };
        let addon;
        exports.getBinding = () => (addon ??= load());
        function load() {
          const root = dirname(createRequire(__filename).resolve('better-sqlite3/package.json'));
          const file = join(root, 'prebuilds', 'linux-' + process.arch + '.node');
          const hasMusl = existsSync('/lib/ld-musl-' + MUSL[process.arch] + '.so.1');
          if (process.platform === 'linux' && !hasMusl && existsSync(file)) return require(file);
          return require(join(root, 'lib', 'binding.js')).getBinding();
        }`,
    }));
  },
};

/**
 * Replaces the SDK's own copy of Ajv, whose classes each start of a hub would create. The SDK checks only answers to
 * questions with Ajv, so it loads Squad's copy on first use.
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

/** Escapes characters outside ASCII: V8 keeps a source with a single such character in two bytes per character. */
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

/** Leaves the highlighter out of saved runs, of which it would be half. Diffs in saved runs have no colours. */
const withoutColours: Plugin = {
  name: 'without-colours',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/paint-diff\.ts$/ }, ({ path }) => ({ path, namespace: 'without-colours' }));
    onLoad({ filter: /.*/, namespace: 'without-colours' }, () => ({
      contents: 'export const paintHunk = null;',
    }));
  },
};

/** Exit code if only the web UI could not be built. The programs are usable without it. */
const WEB_FAILED = 3;
const web = new URL('../web/index.html', import.meta.url).pathname;

await Promise.all([
  buildPrograms().then(saveHelp),
  buildGuest(),
  existsSync(web) && buildWebUi(),
  existsSync(web) && buildSavedPage(),
]);

/** Saves the help texts. Through a pipe they are 80 columns wide, and without PATH the program has its usual name. */
function saveHelp(): void {
  const help = execFileSync(process.execPath, [join(outdir, 'cli.cjs'), '--help'], {
    env: { NO_COLOR: '1' },
  });
  writeFileSync(join(outdir, 'help.txt'), help);
}

/** Builds the page of a saved run. A saved run is one file, so all its code is a single script. */
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

/** Builds the web UI next to the old one, which a hub may be serving, and then replaces the old one. */
async function buildWebUi(): Promise<void> {
  const { build: vite } = await import('vite');
  const configFile = new URL('../vite.config.ts', import.meta.url).pathname;
  const root = new URL('../web', import.meta.url).pathname;
  const made = join(outdir, `web.${process.pid}`);
  try {
    // With `native` Node loads the config. Bundling the config takes seconds, and rolldown warns about that.
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

/**
 * Compresses the assets once, and removes the uncompressed files. Every browser accepts gzip, and the package gets half
 * as large.
 */
function compressAssets(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
}

/**
 * Builds the sandbox of code mode as one file that contains two scripts, because the sandbox can read no other file.
 */
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
    plugins: [partsApart, englishOnly, usedSchemas, sharedMembers, bundledSqlite, oneAjv, asciiOnly],
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    minify: true,
    // Some packages have a CommonJS build that cannot be bundled, so their ES modules are preferred.
    mainFields: ['module', 'main'],
    keepNames: false,
    legalComments: 'none',
    external: ['pg-native', 'pg-cloudflare'],
    // `hub-main` runs as a script, which has `require` but no `import()`.
    supported: { 'dynamic-import': false },
    define: {
      SQUAD_VERSION: JSON.stringify(process.env.SQUAD_BUILD_VERSION ?? version),
      'import.meta.url': 'undefined',
    },
    logLevel: 'warning',
  });
}
