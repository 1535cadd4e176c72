import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Every file below a folder that can be read. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(file => statSync(file, { throwIfNoEntry: false })?.isFile());
}

/** Files in the folder that contain one of the texts. */
export function holders(folder: string, texts: readonly string[]): string[] {
  return filesIn(folder).filter(file => {
    const bytes = readFileSync(file);
    return texts.some(text => bytes.includes(text));
  });
}
