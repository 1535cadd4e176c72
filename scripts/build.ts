/** Bundles what ships: one file per program, so that starting one is Node's own start and a single read. */
import { readFileSync } from 'node:fs';
import { build, type Plugin } from 'esbuild';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const outdir = process.argv[2] ?? new URL('../dist', import.meta.url).pathname;

const source = (file: string) => new URL(`../src/${file}`, import.meta.url).pathname;
const programs = ['relay', 'hub', 'hub-main', 'cli', 'scripted-agent'].map(name => ({
  in: source(`bin/${name}.ts`),
  out: name,
}));

/** Parts of the hub that few hubs ever need: files of their own, read when they are first asked for. */
const PARTS = [{ in: source('github/octokit-client.ts'), out: 'github' }];

const partsApart: Plugin = {
  name: 'parts-apart',
  setup({ onResolve }) {
    for (const part of PARTS) {
      const name = part.in.split('/').at(-1)!;
      onResolve({ filter: new RegExp(`/${name.replaceAll('.', '\\.')}$`) }, ({ kind }) =>
        kind === 'dynamic-import' ? { path: `./${part.out}.cjs`, external: true } : null,
      );
    }
  },
};

await build({
  entryPoints: [...programs, ...PARTS],
  plugins: [partsApart],
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
