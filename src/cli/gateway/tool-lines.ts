import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import type { CliContext } from '../context.ts';
import { formatTable } from '../terminal/table.ts';

type FoundTools = Output<'inspect_subagent_tools'>;

/** The tools of other servers that somebody sees, then those that they do not, and the servers that could not be asked. */
export function toolLines({ tools, faults }: FoundTools, who: string, { out, style }: CliContext): string[] {
  const seen = tools.filter(({ isVisible }) => isVisible);
  const hidden = tools.filter(({ isVisible }) => !isVisible);
  const starting = faults
    .filter(({ isStarting }) => isStarting)
    .map(({ server }) => style.yellow(`${server} is still starting; run this again in a moment`));
  const broken = faults
    .filter(({ isStarting }) => !isStarting)
    .map(({ server, fault }) => style.red(`${server}: ${visibleLine(fault)}`));
  if (tools.length === 0)
    return [...(starting.length > 0 ? starting : [`${who} has no tools of other servers.`]), ...broken];
  return [
    `${who} sees ${seen.length} of ${tools.length} tools.`,
    '',
    ...formatTable(
      [{ title: 'tool' }, { title: 'sees it' }, { title: 'why not, or what it does', shrinkTo: 0 }],
      [
        ...seen.map(({ name, description }) => [
          visibleLine(name),
          style.green('yes'),
          visibleLine(description),
        ]),
        ...hidden.map(({ name, reason }) => [visibleLine(name), style.dim('no'), visibleLine(reason ?? '')]),
      ],
      out.columns,
      style,
    ),
    ...(faults.length > 0 ? ['', ...starting, ...broken] : []),
  ];
}
