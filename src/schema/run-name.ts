/** What is to be known of a run to call it something: a row has its subagent among its options, what is made of rows beside its role. */
export type NamedRun = { roleId: string | null; engine: string } & (
  | { subagent: string | null }
  | { options: { subagent: string | null } }
);

/** Who a run is, wherever runs are shown: its role, the subagent it is a call of, or just its engine. */
export const runName = (run: NamedRun): string =>
  run.roleId ?? ('options' in run ? run.options : run).subagent ?? run.engine;
