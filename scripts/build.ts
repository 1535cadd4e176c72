/** Bundles what ships: one file per program, so that starting one is Node's own start and a single read. */
import { readFileSync } from 'node:fs';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const outdir = process.argv[2] ?? new URL('../dist', import.meta.url).pathname;

await build({
  entryPoints: ['relay', 'hub', 'hub-main', 'cli', 'scripted-agent'].map(name => ({
    in: new URL(`../src/bin/${name}.ts`, import.meta.url).pathname,
    out: name,
  })),
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
  external: ['better-sqlite3', './hub-main.cjs'],
  define: {
    SQUAD_VERSION: JSON.stringify(process.env.SQUAD_BUILD_VERSION ?? version),
    'import.meta.url': 'undefined',
  },
  logLevel: 'warning',
});
