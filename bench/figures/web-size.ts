import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Figure, single } from '../figure.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const MAX_SCRIPT_KB = 40;
const MAX_STYLE_KB = 8;
const MAX_PACKAGE_KB = 300;
const BUILD = join(import.meta.dirname, '..', '..', 'scripts', 'build.ts');

/** Bytes that a browser loads before it shows anything, and bytes that the web UI adds to the package. */
export const webSize: Figure = {
  name: 'web-size',
  title: 'Size of the web UI',
  async measure() {
    const folder = temporaryFolder();
    try {
      execFileSync(process.execPath, [BUILD, join(folder, 'dist')], { stdio: 'inherit' });
      const web = join(folder, 'dist', 'web');
      const saved = join(folder, 'dist', 'web-saved');
      const loaded = loadedBy(readFileSync(join(web, 'index.html'), 'utf8'));
      return [
        single('script of the first load, gzip', 'kB', zipped(web, loaded, '.js'), {
          target: `≤ ${MAX_SCRIPT_KB} kB`,
          isMet: ({ value }) => value <= MAX_SCRIPT_KB,
          note: 'what index.html names: the shell and the list of runs; other views come when they are opened',
        }),
        single('style of the first load, gzip', 'kB', zipped(web, loaded, '.css'), {
          target: `≤ ${MAX_STYLE_KB} kB`,
          isMet: ({ value }) => value <= MAX_STYLE_KB,
        }),
        single('size that it adds to the package, packed', 'kB', kilobytes(packed(web) + packed(saved)), {
          target: `< ${MAX_PACKAGE_KB} kB`,
          isMet: ({ value }) => value < MAX_PACKAGE_KB,
          note: 'sum of the files in gzip, including the page of saved runs; packed together they take less',
        }),
        single('the same, unpacked', 'kB', kilobytes(sizeOf(web) + sizeOf(saved))),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

function loadedBy(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, file]) => file!);
}

function zipped(web: string, files: string[], ending: string): number {
  const wanted = files.filter(file => file.endsWith(ending));
  if (wanted.length === 0) throw new Error(`index.html loads no ${ending}: this would measure nothing`);
  return kilobytes(wanted.reduce((sum, file) => sum + statSync(join(web, `${file}.gz`)).size, 0));
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => join(folder, file))
    .filter(file => statSync(file).isFile());

const packed = (folder: string): number =>
  filesIn(folder).reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);

const sizeOf = (folder: string): number =>
  filesIn(folder).reduce((sum, file) => sum + statSync(file).size, 0);

const kilobytes = (bytes: number): number => Math.round(bytes / 10) / 100;
