import { visibleLine } from '../../base/text.ts';
import type { EndedRun } from '../../operations/runs/wait.ts';
import type { RunId } from '../../schema/ids.ts';
import type { ShownRun } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type ShownStatus, shownStatus } from '../../schema/shown-status.ts';
import { type CliContext, print } from '../context.ts';
import { evidenceInBrief } from '../evidence/evidence-text.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDuration } from '../terminal/duration.ts';
import { eventLine, plainLine } from '../terminal/json.ts';
import { isFailure, paintStatus, statusText } from '../terminal/status-text.ts';
import { displayWidth, truncate, wrap } from '../terminal/width.ts';
import { untilAnswered } from './follow.ts';
import { type Logins, loginHints, nextStep, whyCommand } from './next-step.ts';
import { reasonOf } from './run-lines.ts';

const MAX_NAMED = 5;

interface WaitOptions {
  any?: boolean;
  timeout?: number;
}

/** `squad wait ID…`: prints a line for each run as it ends. The exit code reports whether all completed. */
export async function waitCommand(
  ids: string[],
  { any = false, timeout }: WaitOptions,
  context: CliContext,
): Promise<number> {
  const endAt = performance.now() + (timeout ?? Number.POSITIVE_INFINITY);
  const { runs } = await HubClient.ask({}, 'find_runs', { ids });
  const open = new Set<RunId>(runs.map(run => run.id));
  const statuses: ShownStatus[] = [];
  const failed: ShownRun[] = [];
  await untilAnswered(async hub => {
    const waitMs = timeout === undefined ? undefined : Math.max(0, Math.ceil(endAt - performance.now()));
    const onItem = (item: unknown) => {
      const ended = item as EndedRun;
      open.delete(ended.run.id);
      statuses.push(shownStatus(ended.run));
      if (isFailure(ended.run.status) || ended.run.error) failed.push(ended.run);
      show(ended, context);
    };
    // With `--any`, the first run that ends is enough.
    if (open.size > 0 && !(any && statuses.length > 0))
      await hub.call('wait_for_runs', { runs: [...open], any }, { waitMs, onItem });
  });
  if (failed.length > 0 && !context.json) await printNextSteps(failed, context);
  if (any ? statuses.length > 0 : open.size === 0) return exitFor(statuses);
  printTimeout([...open], timeout ?? 0, context);
  return EXIT.timeUp;
}

function show({ run, event }: EndedRun, context: CliContext): void {
  const { out, style, json } = context;
  if (json) {
    const { id: runId, squadId, status } = run;
    out.write(event ? eventLine(event) : plainLine({ type: 'run.ended', runId, squadId, status }));
    return;
  }
  const took =
    run.startedAt === null || run.endedAt === null ? null : formatDuration(run.endedAt - run.startedAt);
  const parts = [
    run.id,
    paintStatus(shownStatus(run), style, statusText(shownStatus(run)).padEnd(9)),
    style.role(runName(run), visibleLine(runName(run))),
    took,
  ];
  const facts = parts.filter(Boolean).join('  ');
  const room = out.columns - displayWidth(facts) - 2;
  const rest = run.error
    ? reasonOf({ exitCode: null, error: run.error }, room)
    : evidenceInBrief(run.evidence, style);
  print(context, [truncate([facts, rest].filter(Boolean).join('  '), out.columns)]);
}

/** Prints to standard error, so that a script gets exactly one line per run on standard output. */
async function printNextSteps(failed: ShownRun[], { err, style }: CliContext): Promise<void> {
  const logins = await untilAnswered<Logins>(client =>
    loginHints(
      client,
      failed.map(run => run.error),
    ),
  );
  for (const run of failed) {
    const step = nextStep(run, logins) ?? `${whyCommand(run.engine)} ${shellWord(run.id)}   shows why`;
    for (const line of wrap(step, err.columns - 2)) err.write(`  ${style.dim(line)}\n`);
  }
}

function printTimeout(open: RunId[], timeout: number, { json, out, err, style }: CliContext): void {
  if (json) {
    out.write(plainLine({ type: 'wait.timeout', open }));
    return;
  }
  const named = open.slice(0, MAX_NAMED).map(shellWord).join(' ');
  const more = open.length > MAX_NAMED ? ` and ${open.length - MAX_NAMED} more` : '';
  err.write(
    `${style.yellow(`Still running after ${timeout < 1000 ? `${timeout}ms` : formatDuration(timeout)}:`)} ${named}${more}\n  ${withOwnCommand(`They continue. Wait again: squad wait ${named}`)}\n`,
  );
}
