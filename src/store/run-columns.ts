import { sql } from 'kysely';

/** The subagent that a run is a call of: it is among the options of its row. */
export const subagentColumn = sql<string | null>`json_extract(runs.options, '$.subagent')`;
