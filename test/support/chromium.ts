import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/**
 * A headless shell where there is one: it draws the same pages with the same engine, without the browser's own window,
 * which costs more than our pages do.
 */
export function launchChromium(args: string[] = []): Promise<Browser> {
  const executablePath = onPath('chromium-headless-shell') ?? installedChromium();
  return chromium.launch({ ...chromiumOptions(args), executablePath });
}

/**
 * The system's own Chromium. Only root has to do without its sandbox. Where there is no GPU, the processor would be one for it,
 * which costs more than to draw without.
 */
export const chromiumOptions = (args: string[] = []): { executablePath: string; args: string[] } => ({
  executablePath: installedChromium(),
  args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...args],
});

function installedChromium(): string {
  const file = onPath('chromium');
  if (!file) throw new Error('There is no chromium on the PATH: install it and run this again.');
  return file;
}

function onPath(program: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, program))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
