import { oneLine } from '../../base/one-line.ts';
import { type Run, runSummary } from '../../schema/run.ts';
import { type NamedRun, runName } from '../../schema/run-name.ts';

const LONGEST_SUMMARY = 60;

type Named = NamedRun & Pick<Run, 'id' | 'title' | 'task'>;

/** Of the commit that brings a run's branch in: what it was about, and where to look for more. */
export const mergeMessage = (run: Named): string =>
  `${runName(run)}: ${aboutOf(run)}\n\nRun: ${run.id}\nRole: ${run.roleId ?? 'none'}\nEngine: ${run.engine}\n`;

/** Of the commit that holds what an ended run left uncommitted. */
export const leftWorkMessage = (run: Named): string =>
  `Work of ${run.id}: ${aboutOf(run)}\n\nIt had ended without committing this.\n`;

const aboutOf = (run: Named): string => oneLine(runSummary(run), LONGEST_SUMMARY);
