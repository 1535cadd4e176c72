import type { Run } from '../../schema/run.ts';

/** Its only reason is whoever called. One that somebody took up again is like any other run. */
export const isSubagentCall = ({ options }: Pick<Run, 'options'>): boolean =>
  options.subagent !== null && options.takesUp === null;
