import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import type { EngineBlock } from '../../schema/config.ts';
import type { CliContext } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { type Inspected, settingOf } from '../settings/inspect.ts';
import { wrap } from '../terminal/width.ts';

type EngineReport = Output<'inspect_engines'>['engines'][number];

export async function engineReports({ workspace }: CliContext): Promise<EngineReport[]> {
  const { engines } = await HubClient.ask({ workspace }, 'inspect_engines');
  return engines;
}

/** Where the choice of the engine comes from; empty when its notes say so. */
export function whyThisEngine(inspected: Inspected): string {
  const key = inspected.engine.id === 'template' ? 'runTemplate' : 'engine';
  const setting = settingOf(inspected, key);
  if (!setting || setting.value === null) return '';
  return `, because of ${key === 'engine' ? 'the engine set' : 'the run template'} in ${setting.source}`;
}

const INDENT = 12;

/** Every agent CLI, found or not: version and place, what is wrong with it, what it only advises, how to get and enter it. */
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
      ...(advisory.length === 0
        ? []
        : folded(`Not enforced, only asked for: ${advisory.join('; ')}`, style.dim)),
      ...folded(`If it is not logged in: ${login}`, style.dim),
    ];
  };
  return ['', style.bold('Agent CLIs'), ...engines.flatMap(linesOf)];
}

/** The engines under `engines`, by name: whose lines each prints, and its command. */
export function ownEngineLines(
  setting: Inspected['settings'][number] | undefined,
  { style, out }: CliContext,
): string[] {
  const engines = Object.entries((setting?.value ?? {}) as Record<string, EngineBlock>);
  if (!setting || engines.length === 0) return [];
  const linesOf = ([name, { parser, runTemplate }]: [string, EngineBlock]) => [
    `  ${name}, ${parser === 'text' ? 'output as it is' : `with events like those of ${parser}`}`,
    ...wrap(visibleLine(runTemplate), out.columns - INDENT).map(
      line => `${' '.repeat(INDENT)}${style.dim(line)}`,
    ),
  ];
  return [
    '',
    `${style.bold('Engines of your own')} ${style.dim(`(${visibleLine(setting.source)})`)}`,
    ...engines.flatMap(linesOf),
  ];
}
