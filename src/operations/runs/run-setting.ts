import { z } from 'zod';
import { keptCommand } from '../../core/runs/kept-command.ts';
import { keptPlan } from '../../core/runs/kept-plan.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import type { Call } from '../operation.ts';

/** What a run was started with, as far as that is known. */
export const RunSetting = z.object({
  /** The program its engine is, and the version it said it has; null: not known, or no program of its own. */
  program: z.string().nullable(),
  version: z.string().nullable(),
  /** The file of the subagent it is a call of. */
  subagentFile: z.string().nullable(),
  /** Names of the environment variables it was given, never their values; null: not kept after its end, or not for who asks. */
  variables: z.array(z.string()).nullable(),
  /** The program and arguments its last turn was started with, without secrets and prompt; null: not known, or not for who asks. */
  command: z.array(z.string()).nullable(),
});
export type RunSetting = z.infer<typeof RunSetting>;

export async function settingOf({ services, caller }: Call, run: Run): Promise<RunSetting> {
  const spec = (await keptPlan(services.files, run))?.spec;
  const cli = spec?.kind === 'cli' ? spec : null;
  const isKept = !isEnd(run.status) && caller.parent === null;
  const names = isKept ? Object.keys(await services.files.environment(run.id)).sort() : [];
  return {
    program: cli?.program ?? null,
    version: cli?.version ?? null,
    subagentFile: spec?.kind === 'native' ? (spec.subagent?.file ?? null) : null,
    variables: names.length > 0 ? names : null,
    command: caller.parent === null ? await keptCommand(services.files, run) : null,
  };
}
