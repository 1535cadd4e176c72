import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

/** A call of the one function in a file of bench/page, for the page to run: it is written for a browser, not for Node. */
export function inPage(file: string, name: string, ...given: string[]): string {
  const text = readFileSync(join(import.meta.dirname, 'page', `${file}.ts`), 'utf8');
  const { code } = transformSync(text.replace(/^export /m, ''), { loader: 'ts' });
  return `(() => { ${code}\nreturn ${name}(${given.map(value => JSON.stringify(value)).join(', ')}); })()`;
}
