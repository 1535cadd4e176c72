import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

export function launchChromium(args: string[] = []): Promise<Browser> {
  return chromium.launch(chromiumOptions(args));
}

/**
 * The system's own Chromium. Only root has to do without its sandbox. Where there is no GPU, the processor would be one for it,
 * which costs more than to draw without.
 */
export const chromiumOptions = (args: string[] = []): { executablePath: string; args: string[] } => ({
  executablePath: chromiumOnPath(),
  args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...args],
});

function chromiumOnPath(): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, 'chromium');
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  throw new Error('There is no chromium on the PATH: install it and run this again.');
}
