import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

/** Script that calls the one function in a file of bench/browser. These files are written for a browser, not for Node. */
export function inBrowser(file: string, name: string, ...given: string[]): string {
  const text = readFileSync(join(import.meta.dirname, 'browser', `${file}.ts`), 'utf8');
  const { code } = transformSync(text.replace(/^export /m, ''), { loader: 'ts' });
  return `(() => { ${code}\nreturn ${name}(${given.map(value => JSON.stringify(value)).join(', ')}); })()`;
}
