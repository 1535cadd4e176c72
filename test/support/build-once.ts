import { spawnSync } from 'node:child_process';

/** As `scripts/build.ts` says it. */
const WEB_FAILED = 3;

/** End-to-end tests run what ships: the bundles, as `npm run build` makes them. Without its page, only tests of that fail. */
export function setup(): void {
  const script = new URL('../../scripts/build.ts', import.meta.url).pathname;
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' });
  if (status !== 0 && status !== WEB_FAILED) throw new Error('The programs could not be built');
}
