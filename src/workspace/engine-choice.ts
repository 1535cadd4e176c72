import { nearest } from '../core/nearest.ts';
import type { Engines } from '../core/ports/engine.ts';
import type { EngineChoice, IgnoredSetting } from '../core/ports/workspace.ts';
import type { Config } from '../schema/config.ts';
import { CLI_IDS, type EngineSpec, type InstalledCli } from '../schema/engine-spec.ts';
import { SquadError } from '../schema/error.ts';

export interface ChoiceContext {
  config: Config;
  ignored: IgnoredSetting[];
  engines: Pick<Engines, 'find' | 'installed'>;
}

/**
 * A name is the user's own engine, a built-in one, or with a template the template's variable. No name is the configured
 * one, else the template alone, else the first agent CLI there is.
 */
export async function chooseEngine(
  asked: string | null,
  env: Record<string, string>,
  { config, ignored, engines }: ChoiceContext,
): Promise<EngineChoice> {
  const name = asked ?? config.engine.value;
  const own = name === null ? undefined : config.engines.value[name];
  if (name !== null && own)
    return plain({
      kind: 'template',
      id: name,
      runTemplate: own.runTemplate,
      createChatTemplate: own.createChatTemplate ?? null,
      engineCommand: name,
      parser: own.parser,
    });
  if (name === 'scripted') return plain({ kind: 'scripted' });
  if (name === 'native') return plain({ kind: 'native', subagent: null, inputs: [] });
  // A role or a call that names an agent CLI means it; the configured name is a template's variable where there is one.
  const isCli = asked !== null && (CLI_IDS as readonly string[]).includes(asked);
  if (config.runTemplate.value !== null && !isCli)
    return plain({
      kind: 'template',
      id: 'template',
      runTemplate: config.runTemplate.value,
      createChatTemplate: config.createChatTemplate.value,
      engineCommand: name ?? '',
      parser: 'text',
    });
  const waiting = ignored
    .filter(({ key }) => key === 'engine' || key === 'runTemplate' || key === 'engines')
    .map(
      ({ file, key }) =>
        `${key} is set in ${file}, which came with the repository: read it, then run \`squad trust\`.`,
    );
  if (name === null) return firstInstalled(env, engines, waiting);
  const cli = await engines.find(name, env);
  if (!cli) throw unknown(name, asked === null ? config.engine.source : null, config, waiting);
  const { warning, cli: id, program, version } = cli;
  return { spec: { kind: 'cli', cli: id, program, version }, notes: warning === null ? [] : [warning] };
}

async function firstInstalled(
  env: Record<string, string>,
  engines: ChoiceContext['engines'],
  waiting: string[],
): Promise<EngineChoice> {
  const { first, tooOld } = await firstUsable(env, engines);
  if (!first && tooOld) throw tooOld;
  if (!first)
    throw new SquadError(
      'ENGINE_NOT_SET',
      'No engine is set and no agent CLI is installed, so there is nothing to run an agent with',
      {
        suggestions: [
          ...waiting,
          `Install one of ${CLI_IDS.join(', ')}, or set RUN_TEMPLATE to the command that runs an agent.`,
          'With an API key and no agent CLI: ENGINE_COMMAND=native and a model, as in --model anthropic/….',
          'For a dry run without any model: ENGINE_COMMAND=scripted.',
        ],
      },
    );
  const { cli, program, version, warning } = first;
  return {
    spec: { kind: 'cli', cli, program, version },
    notes: [
      `No engine is set: using ${cli}${version === null ? '' : ` ${version}`}, the first one found (ENGINE_COMMAND sets another).`,
      ...(warning === null ? [] : [warning]),
    ],
  };
}

/** One that is too old to be run must not stand in the way of one that can. */
async function firstUsable(
  env: Record<string, string>,
  engines: ChoiceContext['engines'],
): Promise<{ first: InstalledCli | null; tooOld: SquadError | null }> {
  let tooOld: SquadError | null = null;
  for (const first of await engines.installed(env)) {
    try {
      await engines.find(first.cli, env);
      return { first, tooOld };
    } catch (thrown) {
      if (!(thrown instanceof SquadError && thrown.code === 'ENGINE_TOO_OLD')) throw thrown;
      tooOld ??= thrown;
    }
  }
  return { first: null, tooOld };
}

/** `source`: where the configured name stands; null when a call or a role gave it. */
function unknown(name: string, source: string | null, config: Config, waiting: string[]): SquadError {
  const names = [...Object.keys(config.engines.value), ...CLI_IDS, 'native', 'scripted'];
  const near = nearest(name, names);
  const from = source === null ? '' : ` (set in ${source})`;
  return new SquadError(
    'ENGINE_UNKNOWN',
    `There is no engine "${name}"${from}, and no run template to use it in`,
    {
      suggestions: [
        ...waiting,
        ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
        `Known: ${names.join(', ')}. Any other command: RUN_TEMPLATE, or an entry under "engines" in the configuration.`,
      ],
    },
  );
}

const plain = (spec: EngineSpec): EngineChoice => ({ spec, notes: [] });
