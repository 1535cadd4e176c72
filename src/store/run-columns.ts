import { sql } from 'kysely';
import { isEnd, RunStatus } from '../schema/run.ts';

export const LIVE = RunStatus.options.filter(status => !isEnd(status));

/** The subagent that a run is a call of: it is among the options of its row. */
export const subagentColumn = sql<string | null>`json_extract(runs.options, '$.subagent')`;
