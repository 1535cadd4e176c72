import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { homeId } from '../link/home-id.ts';
import { canReadHome } from './take-over.ts';

test('files are taken only from a home of this machine, even if machines share the folder', {
  tags: ['H6'],
}, () => {
  const home = mkdtempSync(join(tmpdir(), 'squad-home-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const hub = { home, id: homeId(home), host: hostname() };
  expect(canReadHome(hub)).toBe(true);
  expect(canReadHome({ ...hub, host: `other-${hostname()}` })).toBe(false);
  expect(canReadHome({ ...hub, id: 'home_of_another' })).toBe(false);
});
