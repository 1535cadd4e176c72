import { execFileSync } from 'node:child_process';

/** End-to-end tests run what ships: the bundles, as `npm run build` makes them. */
export function setup(): void {
  execFileSync(process.execPath, [new URL('../../scripts/build.ts', import.meta.url).pathname], {
    stdio: 'inherit',
  });
}
