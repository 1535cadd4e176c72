import type { GenerationOptions } from '../../schema/model-spec.ts';
import type { SubagentDefaults } from '../../schema/subagent-file.ts';
import type { GenerationParams } from '../../schema/subagent-model.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

/** What the model says comes before what `defaults` says, key by key. */
export function mergedGeneration(
  { model, path }: ListedModel,
  defaults: Partial<SubagentDefaults>,
  findings: Findings,
): GenerationOptions {
  const sources: [GenerationParams | undefined, Path][] = [
    [defaults.generationParams, ['defaults', 'generationParams']],
    [model.generationDefaults, [...path, 'generationDefaults']],
    [model.generationParams, [...path, 'generationParams']],
  ];
  for (const [params, at] of sources)
    for (const key of ['n', 'toolChoice'] as const)
      if (params?.[key] !== undefined) findings.warn([...at, key], `"${key}" has no effect: ${WHY[key]}`);
  const { maxGenerationTokens, thinkingBudget, n, toolChoice, ...rest } = Object.assign(
    {},
    ...sources.map(([params]) => params),
  ) as GenerationParams;
  const most = maxGenerationTokens ?? model.max_output;
  return {
    ...rest,
    ...(most !== undefined && { maxOutputTokens: most }),
    ...(thinkingBudget !== undefined && { thinking: thinkingOf(thinkingBudget) }),
  };
}

const WHY = { n: 'one answer is asked for', toolChoice: 'the model chooses' };

/** `"4000"` is a number of tokens, `high` a word. */
const thinkingOf = (budget: string | number): string | number =>
  /^[1-9]\d*$/.test(String(budget)) ? Number(budget) : budget;
