import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { scrubber } from './scrub.ts';

const scrub = () =>
  scrubber({ home: '/cache/home-x1', url: 'http://127.0.0.1:34567', root: '/somewhere/squad' });

test('variables of the machine are removed', () => {
  const text = `/cache/home-x1/work ${process.execPath} /somewhere/squad/test http://127.0.0.1:34567/v1 ${hostname()}`;
  expect(scrub()(text)).toBe('/home/agent/work /usr/bin/node /repo/test http://127.0.0.1:4567/v1 machine');
});

test('an id keeps its stand-in, also in the next recording; another gets another', () => {
  const clean = scrub();
  const [one, two] = ['1ab37d26-f974-4594-8da5-847c33f96744', '06b1047a-c53e-4984-a966-0fd925b56ba9'];
  expect(clean(`${one} ${two} ${one}`)).toBe(
    '00000000-0000-4000-8000-000000000001 00000000-0000-4000-8000-000000000002 00000000-0000-4000-8000-000000000001',
  );
  expect(clean(two)).toBe('00000000-0000-4000-8000-000000000002');
});

test('ids keep what they begin with', () => {
  expect(scrub()('ses_e20db416affePFRAcup3ws5svc msg_short')).toBe(`ses_${'1'.padStart(26, '0')} msg_short`);
});

test('moments become one moment', () => {
  expect(scrub()('"2026-11-15T12:17:34.508Z" 1794745057499 "tokens":1794')).toBe(
    '"2026-01-01T00:00:00.000Z" 1767225600000 "tokens":1794',
  );
});
