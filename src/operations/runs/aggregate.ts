import { z } from 'zod';
import { fitTexts, jsonLength, type Sample } from '../../core/output/digest.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { runName } from '../../schema/run-name.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { Tokens } from './run-result.ts';

/** Several runs as one. A sum of what only some reported says how many did not; of nothing at all it is null. */
export const Aggregate = z.object({
  ok: z.number(),
  failed: z.number(),
  running: z.number().optional().describe('Not ended yet'),
  duration_seconds: z.number().nullable().describe('From the first start to the last end'),
  cost_usd: z.number().nullable(),
  cost_unknown: z.number().optional().describe('Runs that reported none'),
  tokens: Tokens.nullable(),
  tokens_unknown: z.number().optional().describe('Runs that reported none'),
  text: z.string(),
});

export function aggregateOf(runs: Run[]): Omit<z.infer<typeof Aggregate>, 'text'> {
  const ended = runs.filter(({ status }) => isEnd(status));
  const ok = ended.filter(run => shownStatus(run) === 'completed').length;
  const starts = runs.flatMap(({ startedAt }) => startedAt ?? []);
  const ends = ended.flatMap(({ endedAt }) => endedAt ?? []);
  const isOver = ended.length === runs.length && starts.length > 0;
  const used = runs.flatMap(({ usage }) => usage ?? []);
  const costs = used.flatMap(({ costUsd }) => costUsd ?? []);
  const sum = (figure: 'input' | 'output' | 'cached') => total(used.flatMap(usage => usage[figure] ?? []));
  return {
    ok,
    failed: ended.length - ok,
    ...(ended.length < runs.length && { running: runs.length - ended.length }),
    duration_seconds: isOver ? (Math.max(...ends) - Math.min(...starts)) / 1000 : null,
    cost_usd: total(costs),
    ...(costs.length < runs.length && { cost_unknown: runs.length - costs.length }),
    tokens: used.length === 0 ? null : { input: sum('input'), output: sum('output'), cached: sum('cached') },
    ...(used.length < runs.length && { tokens_unknown: runs.length - used.length }),
  };
}

/** What each said under a heading, at most `room` characters of JSON in all. */
export function aggregateText(runs: Run[], samples: Sample[], room: number): string {
  const headings = runs.map(
    (run, i) => `## ${i + 1}. ${run.title ?? runName(run)} (${run.id}, ${shownStatus(run)})\n\n`,
  );
  const taken = headings.reduce((sum, heading) => sum + jsonLength(`${heading}\n\n`), 0);
  if (taken > room) return '';
  const texts = fitTexts(samples, room - taken);
  return headings.map((heading, i) => heading + texts[i]!.text.trim()).join('\n\n');
}

/** Money in floating point: 0.1 + 0.2 is not shown as 0.30000000000000004. */
const total = (values: number[]): number | null =>
  values.length === 0 ? null : Number(values.reduce((sum, value) => sum + value, 0).toFixed(6));
