import { readFileSync } from 'node:fs';

/** Empty where a CLI could not read it either. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
