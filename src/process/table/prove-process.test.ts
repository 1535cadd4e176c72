import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createProcessProofs } from './socket-holder.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-proofs-'));
const folder = join(root, 'proofs');
const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(root, { recursive: true });
});

/** A process that does this to the file, and stays. */
function shell(script: string, file: string): number {
  const child = spawn('/bin/sh', ['-c', script, 'client', file], { stdio: 'ignore' });
  started.push(child);
  return child.pid!;
}
const HOLDS = 'exec 3>>"$1"; echo . >&3; exec sleep 60';

// Other systems do not say who holds a file.
describe.runIf(process.platform === 'linux')('which process a client is', () => {
  test('is the one that holds the file, whatever it claims', async () => {
    const proofs = createProcessProofs(folder);
    let client = 0;
    const found = await proofs.processOf(process.pid, file => {
      client = shell(HOLDS, file);
    });
    expect(found).toBe(client);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is not known when nobody writes to the file', async () => {
    const proofs = createProcessProofs(folder, 50);
    expect(await proofs.processOf(process.pid, () => {})).toBeNull();
  });

  test('is not known when the file was written to and closed, or is held for reading only', async () => {
    const proofs = createProcessProofs(folder);
    expect(await proofs.processOf(process.ppid, file => void writeFileSync(file, '.'))).toBeNull();
    expect(
      await proofs.processOf(
        process.ppid,
        file => void shell('exec 3<"$1"; echo . >>"$1"; exec sleep 60', file),
      ),
    ).toBeNull();
  });

  test('files of a hub that was killed are removed', () => {
    createProcessProofs(folder);
    writeFileSync(join(folder, 'left'), '');
    createProcessProofs(folder);
    expect(readdirSync(folder)).toEqual([]);
  });
});
