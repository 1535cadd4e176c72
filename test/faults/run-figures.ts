import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runVitest } from '../../scripts/run-vitest.ts';
import { FIGURES, type Figure, type FigureId, figureLine, type Reported } from './figures.ts';

export interface FigureResult {
  id: FigureId;
  goal: string;
  verdict: string;
  isFine: boolean;
  reported: Reported[];
  seconds: number;
}

/** Runs the tests of these figures with their whole amounts, one vitest process after the other, and prints a table. */
export async function runFigures(ids: FigureId[], seed: number): Promise<boolean> {
  const results: FigureResult[] = [];
  for (const id of ids) {
    results.push(await runFigure(id, seed));
    console.log(`\n${resultLines(results.at(-1)!, seed).join('\n')}`);
  }
  console.log(`\n${results.flatMap(result => resultLines(result, seed)).join('\n')}`);
  return results.every(({ isFine }) => isFine);
}

async function runFigure(id: FigureId, seed: number): Promise<FigureResult> {
  const figure: Figure = FIGURES[id];
  if ('blockedBy' in figure) return judge(id, [], [], 0);
  const folder = mkdtempSync(join(tmpdir(), 'squad-figures-'));
  const file = join(folder, 'reached.jsonl');
  writeFileSync(file, '');
  const startedAt = performance.now();
  const env = { SQUAD_FIGURES: 'whole', SQUAD_FIGURES_FILE: file, SQUAD_FAULT_SEED: String(seed) };
  const failures: string[] = [];
  for (const test of figure.tests)
    failures.push(...(await runVitest(vitestArguments(test), { env })).failures);
  const seconds = (performance.now() - startedAt) / 1000;
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  rmSync(folder, { recursive: true });
  const reported = lines.map(line => JSON.parse(line) as Reported).filter(each => each.id === id);
  return judge(id, reported, failures, seconds);
}

/** Of a test in the table: its file, and its title as the expression that vitest wants. */
export function vitestArguments(test: string): string[] {
  const [file, title] = test.split(' › ');
  return title ? [file!, '-t', title.replaceAll(/[^\w\s]/g, '\\$&')] : [file!];
}

/** A figure is met when its tests passed and reported, and nothing that they reported is less than the goal. */
export function judge(id: FigureId, reported: Reported[], failures: string[], seconds: number): FigureResult {
  const figure: Figure = FIGURES[id];
  const { goal } = figure;
  const base = { id, goal, reported, seconds };
  if ('blockedBy' in figure) return { ...base, verdict: `blocked by: ${figure.blockedBy}`, isFine: true };
  if (failures.length > 0)
    return { ...base, verdict: `NOT MET: ${failures.length} tests failed`, isFine: false };
  if (reported.length < figure.tests.length)
    return { ...base, verdict: 'NOT MET: not every test reported its figure', isFine: false };
  const isFine = reported.every(({ reached, of, isMet }) => reached >= of && isMet !== false);
  return { ...base, verdict: isFine ? 'met' : 'NOT MET', isFine };
}

function resultLines({ id, goal, verdict, reported, seconds }: FigureResult, seed: number): string[] {
  const head = `${id.padEnd(4)} ${verdict}${seconds > 0 ? `, ${seconds.toFixed(0)} s, seed ${seed}` : ''}`;
  return [head, `     goal: ${goal}`, ...reported.map(each => `     ${figureLine(each)}`)];
}
