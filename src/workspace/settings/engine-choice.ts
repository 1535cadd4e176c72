import { nearest } from '../../base/text.ts';
import type { EngineChoice, Engines } from '../../core/ports/engine.ts';
import type { IgnoredSetting } from '../../core/ports/workspace.ts';
import { engineNotTrusted, NOT_TRUSTED } from '../../core/settings/config.ts';
import type { Config } from '../../schema/config.ts';
import { CLI_IDS, type EngineSpec, type InstalledCli } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';

export interface ChoiceContext {
  config: Config;
  ignored: IgnoredSetting[];
  /** Engines of a workspace file that is not trusted. */
  untrustedEngines: readonly string[];
  engines: Pick<Engines, 'find' | 'installed'>;
}

/**
 * A name from a call or a role is a configured engine, a built-in one, or else a value for the run template. Without a name the template
 * runs with the configured name; without a template the configured name counts, then the first usable CLI. A named engine or
 * template that cannot be used is an error: nothing else runs in its place.
 */
export async function chooseEngine(
  asked: string | null,
  env: Record<string, string>,
  { config, ignored, untrustedEngines, engines }: ChoiceContext,
): Promise<EngineChoice> {
  const ignoredSetting = (key: keyof Config) => ignored.find(setting => setting.key === key);
  const refuse = (setting: IgnoredSetting | undefined) => {
    if (setting) throw unusable(setting);
  };
  const isTemplateSet = config.runTemplate.value !== null || ignoredSetting('runTemplate') !== undefined;
  const template = (engineCommand: string): EngineChoice => {
    refuse(ignoredSetting('runTemplate'));
    if (config.stateMode.value === 'stateful') refuse(ignoredSetting('createChatTemplate'));
    return plain({
      kind: 'template',
      id: 'template',
      runTemplate: config.runTemplate.value!,
      createChatTemplate: config.createChatTemplate.value,
      engineCommand,
      parser: 'text',
    });
  };
  if (asked === null) {
    refuse(ignoredSetting('engine'));
    if (isTemplateSet) return template(config.engine.value ?? '');
  }
  const name = asked ?? config.engine.value;
  if (name === null) return firstInstalled(env, engines);
  if (untrustedEngines.includes(name)) refuse(ignoredSetting('engines'));
  const own = config.engines.value[name];
  if (own)
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
  const cli = await engines.find(name, env);
  if (!cli && isTemplateSet) return template(name);
  if (!cli) throw unknown(name, asked === null ? config.engine.source : null, config);
  const { warning, cli: id, program, version } = cli;
  return { spec: { kind: 'cli', cli: id, program, version }, notes: warning === null ? [] : [warning] };
}

function unusable({ file, reason }: IgnoredSetting): SquadError {
  if (reason === NOT_TRUSTED) return engineNotTrusted(file);
  return new SquadError('CONFIG_INVALID', `The engine is set in ${file}, but ${reason}`, {
    suggestions: [
      'Fix or remove the file.',
      'Or choose an engine for this run: `engine` in the call, or `--engine claude` in a terminal.',
    ],
  });
}

async function firstInstalled(
  env: Record<string, string>,
  engines: ChoiceContext['engines'],
): Promise<EngineChoice> {
  const { first, tooOld } = await firstUsable(env, engines);
  if (!first && tooOld) throw tooOld;
  if (!first)
    throw new SquadError('ENGINE_NOT_SET', 'No engine is set and no agent CLI was found', {
      suggestions: [
        `Install one of ${CLI_IDS.join(', ')}, or set RUN_TEMPLATE to the command that runs an agent.`,
        'With an API key and no agent CLI: ENGINE_COMMAND=native and a model, as in --model anthropic/….',
        'For a dry run without any model: ENGINE_COMMAND=scripted.',
      ],
    });
  const { cli, program, version, warning } = first;
  return {
    spec: { kind: 'cli', cli, program, version },
    notes: [
      `No engine is set: using ${cli}${version === null ? '' : ` ${version}`}, the first one found (ENGINE_COMMAND sets another).`,
      ...(warning === null ? [] : [warning]),
    ],
  };
}

/** Skips CLIs that are too old. */
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

/** `source`: where the name is configured; null: a call or a role gave it. */
function unknown(name: string, source: string | null, config: Config): SquadError {
  const names = [...Object.keys(config.engines.value), ...CLI_IDS, 'native', 'scripted'];
  const near = nearest(name, names);
  const from = source === null ? '' : ` (set in ${source})`;
  return new SquadError(
    'ENGINE_UNKNOWN',
    `There is no engine "${name}"${from}, and no run template that could use it`,
    {
      suggestions: [
        ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
        `Known: ${names.join(', ')}. Any other command: RUN_TEMPLATE, or an entry under "engines" in the configuration.`,
      ],
    },
  );
}

const plain = (spec: EngineSpec): EngineChoice => ({ spec, notes: [] });
