import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { changeBacklog, revisionOf } from './team-memory.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'squad-backlog-'));
  file = join(folder, 'backlog.md');
});
afterEach(() => rmSync(folder, { recursive: true }));
const text = () => readFileSync(file, 'utf8');

it('changes one line and keeps every other byte, the mark at its beginning and its mode', async () => {
  writeFileSync(file, '\ufeff## Now\r\n- [ ] a  \r\n- [ ] b');
  chmodSync(file, 0o640);
  expect(await changeBacklog(folder, { action: 'done', number: 1 }, null)).toEqual({ number: 1, title: 'a' });
  expect(text()).toBe('\ufeff## Now\r\n- [x] a  \r\n- [ ] b');
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

it('makes the file for a first item', async () => {
  await changeBacklog(folder, { action: 'add', title: 'a' }, revisionOf(null));
  expect(text()).toBe('# Backlog\n\n## Next\n\n- [ ] a\n');
});

it('is refused when the file is not what was seen', async () => {
  const seen = '- [ ] a\n';
  writeFileSync(file, `- [ ] new\n${seen}`);
  const change = changeBacklog(folder, { action: 'done', number: 1 }, revisionOf(seen));
  await expect(change).rejects.toMatchObject({ code: 'BACKLOG_CHANGED' });
  expect(text()).toBe(`- [ ] new\n${seen}`);
  await changeBacklog(folder, { action: 'done', number: 2 }, revisionOf(`- [ ] new\n${seen}`));
  expect(text()).toBe('- [ ] new\n- [x] a\n');
});

it('makes many at once one after the other', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      changeBacklog(folder, { action: 'add', title: `item ${at}` }, null),
    ),
  );
  expect(text().match(/- \[ \] item \d+$/gm)).toHaveLength(20);
});

it('touches no link, and nothing that it cannot write back as it was', async () => {
  const outside = join(folder, 'outside.md');
  writeFileSync(outside, '- [ ] a\n');
  symlinkSync(outside, file);
  const edit = { action: 'done', number: 1 } as const;
  await expect(changeBacklog(folder, edit, null)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(readFileSync(outside, 'utf8')).toBe('- [ ] a\n');
  rmSync(file);
  const latin1 = Buffer.from('- [ ] caf\xe9\n', 'latin1');
  writeFileSync(file, latin1);
  await expect(changeBacklog(folder, edit, null)).rejects.toMatchObject({ code: 'BACKLOG_CHANGED' });
  expect(readFileSync(file)).toEqual(latin1);
});
