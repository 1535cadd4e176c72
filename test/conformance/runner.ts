import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RUNNER = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));

export interface Scenario {
  name: string;
  ok: boolean;
  passed: number;
  failed: number;
}

/** Runs the official suite against a server. `unscored` lists scenarios that the revision does not require. */
export async function conformance(
  url: string,
  revision: string,
): Promise<{ exitCode: number; output: string; scored: Scenario[]; unscored: Scenario[] }> {
  const { exitCode, output } = await run(['server', '--url', url, '--requirements', revision]);
  return { exitCode, output, ...scenariosIn(output) };
}

export interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

/** Every check of one scenario. */
export async function scenarioChecks(url: string, name: string, revision: string): Promise<Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-conformance-'));
  try {
    const { output } = await run([
      ...['server', '--url', url, '--scenario', name, '--spec-version', revision, '--output-dir', folder],
    ]);
    const [file] = globSync(join(folder, '*', 'checks.json'));
    if (!file) throw new Error(`${name} left no result: ${output}`);
    return JSON.parse(readFileSync(file, 'utf8')) as Check[];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Server scenarios of the runner with their revisions; `extension` means no revision requires it. */
export async function serverScenarios(): Promise<Map<string, string[]>> {
  const { output } = await run(['list', '--server']);
  return new Map(
    Array.from(output.matchAll(/^ {2}- (\S+) \[(\S+)\]$/gm), ([, name, revisions]) => [
      name!,
      revisions!.split(','),
    ]),
  );
}

function run(args: string[]): Promise<{ exitCode: number; output: string }> {
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      [RUNNER, ...args],
      { maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}

/** Parses the summary. The runner marks the scenarios that it does not score. */
function scenariosIn(output: string): { scored: Scenario[]; unscored: Scenario[] } {
  const notCounted = new Set(Array.from(output.matchAll(/^ {2}[✓✗] (\S+) \(/gm), ([, name]) => name));
  const all = Array.from(
    output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm),
    ([, mark, name, passed, failed]) => ({
      name: name!,
      ok: mark === '✓',
      passed: Number(passed),
      failed: Number(failed),
    }),
  );
  return {
    scored: all.filter(({ name }) => !notCounted.has(name)),
    unscored: all.filter(({ name }) => notCounted.has(name)),
  };
}
