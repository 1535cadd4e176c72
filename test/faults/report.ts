import type { RoundReport } from './round.ts';
import { PHASES } from './round-plan.ts';

/** One line a round; a round that failed says what, and how to play it again. */
export function roundLine({ plan, problems, moment, kills, ms }: RoundReport): string {
  const { round, phase, killAfterMs, killAgainAfterMs, face, starter, boxFaults, killsHub } = plan;
  const again = killAgainAfterMs.map(after => `, again ${after} ms into the next hub`).join('');
  const faults = boxFaults.map(({ kind, afterMs, forMs }) => `${kind} at ${afterMs} ms for ${forMs} ms`);
  const kill = `killed ${killAfterMs} ms after the request (${phase}: ${moment})${again}`;
  const line = `round ${round}: ${[...faults, ...(killsHub ? [kill] : [])].join(', ')}; by ${face}, back by squad ${starter.join(' ')}; ${kills} kills, ${(ms / 1000).toFixed(1)} s`;
  if (problems.length === 0) return `ok   ${line}`;
  const repeat = `repeat with: npm run faults -- ${boxFaults.length > 0 ? '--boxes ' : ''}--seed ${plan.seed} --first ${round} --rounds 1`;
  return [`FAIL ${line}`, ...problems.map(problem => `     ${problem}`), `     ${repeat}`].join('\n');
}

export function summaryLines(reports: RoundReport[]): string[] {
  const ends = new Map<string, number>();
  for (const report of reports)
    for (const [end, count] of report.ends) ends.set(end, (ends.get(end) ?? 0) + count);
  const sum = (of: (report: RoundReport) => number) => reports.reduce((total, each) => total + of(each), 0);
  const phases = PHASES.map(phase => `${phase} ${reports.filter(({ plan }) => plan.phase === phase).length}`);
  const faces = ['mcp', 'socket'].map(
    face => `${face} ${reports.filter(({ plan }) => plan.face === face).length}`,
  );
  const failed = reports.filter(({ problems }) => problems.length > 0).length;
  return [
    '',
    `${reports.length} rounds, ${failed} failed; ${[...ends.values()].reduce((a, b) => a + b, 0)} runs, ${sum(({ kills }) => kills)} hubs killed, ${(sum(({ ms }) => ms) / 1000).toFixed(0)} s`,
    `killed during: ${phases.join(', ')}; killed again while recovering: ${sum(({ plan }) => plan.killAgainAfterMs.length)}`,
    `asked for by: ${faces.join(', ')}`,
    'runs, by kind and end:',
    ...[...ends].sort().map(([end, count]) => `  ${String(count).padStart(5)}  ${end}`),
  ];
}
