import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import type { EngineBlock } from '../../schema/config.ts';
import type { CliContext } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { wrap } from '../terminal/width.ts';

export type Inspected = Output<'inspect_workspace'>;

export const settingOf = ({ settings }: Inspected, key: string): Inspected['settings'][number] | undefined =>
  settings.find(setting => setting.key === key);

/** Inspects the workspace with the environment of this terminal. */
export async function inspect({ workspace }: CliContext): Promise<Inspected> {
  return HubClient.ask({ workspace }, 'inspect_workspace');
}

type EngineReport = Output<'inspect_engines'>['engines'][number];

export async function engineReports({ workspace }: CliContext): Promise<EngineReport[]> {
  const { engines } = await HubClient.ask({ workspace }, 'inspect_engines');
  return engines;
}

/** Says where the engine was configured. Empty if it was found automatically. */
export function whyThisEngine(inspected: Inspected): string {
  const key = inspected.engine.id === 'template' ? 'runTemplate' : 'engine';
  const setting = settingOf(inspected, key);
  if (!setting || setting.value === null) return '';
  return `, set by ${key} in ${setting.source}`;
}

const INDENT = 12;

/**
 * Lines for every agent CLI: version and path, problems, rules that it does not enforce, how to install it and log in.
 */
export function engineLines(engines: EngineReport[], { style, out }: CliContext): string[] {
  if (engines.length === 0) return [];
  const folded = (text: string, paint: (line: string) => string) =>
    wrap(visibleLine(text), out.columns - INDENT).map(line => `${' '.repeat(INDENT)}${paint(line)}`);
  const linesOf = ({ id, program, version, warning, install, login, advisory }: EngineReport) => {
    const name = `  ${id.padEnd(INDENT - 4)}  `;
    if (program === null) return [`${style.dim(name)}${style.dim(`not found: ${install}`)}`];
    return [
      `${name}${version ?? 'version unknown'} at ${visibleLine(program)}`,
      ...(warning === null ? [] : folded(warning, style.yellow)),
      ...(advisory.length === 0 ? [] : folded(`Not enforced by this CLI: ${advisory.join('; ')}`, style.dim)),
      ...folded(`To log in: ${login}`, style.dim),
    ];
  };
  return ['', style.bold('Agent CLIs'), ...engines.flatMap(linesOf)];
}

/** The engines of the `engines` setting, with their output formats and commands. */
export function ownEngineLines(
  setting: Inspected['settings'][number] | undefined,
  { style, out }: CliContext,
): string[] {
  const engines = Object.entries((setting?.value ?? {}) as Record<string, EngineBlock>);
  if (!setting || engines.length === 0) return [];
  const linesOf = ([name, block]: [string, EngineBlock]) => {
    const [parser, command] =
      'acp' in block ? ['acp', block.acp.join(' ')] : [block.parser, block.runTemplate];
    return [
      `  ${name}, ${parser === 'text' ? 'plain text output' : `with events in the format of ${parser}`}`,
      ...wrap(visibleLine(command), out.columns - INDENT).map(
        line => `${' '.repeat(INDENT)}${style.dim(line)}`,
      ),
    ];
  };
  return [
    '',
    `${style.bold('Custom engines')} ${style.dim(`(${visibleLine(setting.source)})`)}`,
    ...engines.flatMap(linesOf),
  ];
}
