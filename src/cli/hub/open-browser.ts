import { spawn } from 'node:child_process';

/** Shows an address in the user's browser, which goes on without us. False when there is none to start. */
export function openBrowser(
  url: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): Promise<boolean> {
  const program = browserOf(env, platform);
  if (program === null) return Promise.resolve(false);
  return new Promise(resolve => {
    const child = spawn(program, [url], { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => resolve(true));
    child.unref();
  });
}

/** Without a screen `xdg-open` would start a browser in this terminal. */
function browserOf(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | null {
  if (env.BROWSER) return env.BROWSER.split(':')[0]!;
  if (platform === 'darwin') return 'open';
  return env.DISPLAY || env.WAYLAND_DISPLAY ? 'xdg-open' : null;
}
