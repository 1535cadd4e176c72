import { mkdtempSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { visibleLine } from '../../../base/text.ts';
import { homeFolder, ownFolder } from '../../../link/home.ts';
import { SandboxLevel } from '../../../schema/sandbox.ts';
import { type CliContext, print, printNotes } from '../../context.ts';
import { EXIT } from '../../exit-codes.ts';
import { HubClient } from '../../hub-client.ts';
import { withOwnCommand } from '../../own-command.ts';
import { inspect, settingOf } from '../../settings/inspect.ts';
import { printJson } from '../../terminal/json.ts';
import { wrap } from '../../terminal/width.ts';
import {
  type EngineReport,
  type EngineRule,
  type LevelReport,
  type PolicyReport,
  policyReport,
  type RuleReport,
} from './report.ts';
import { ALL_PROBES, runProbes, type StageOptions, type StageReport } from './stage.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * `squad doctor --policy`: runs probes in a real run at each sandbox level, and reports what enforces each rule. Exit
 * code 1 if a probe succeeds that the sandbox must block, or if the settings request a level that is not available.
 */
export async function doctorPolicyCommand(context: CliContext): Promise<number> {
  const settings = await ownSettings(context);
  const { engines } = await HubClient.ask({ workspace: context.workspace }, 'inspect_engines', {});
  const home = homeFolder(process.env);
  ownFolder(home);
  // The folder of the decoys is inside the home, like the user's secrets.
  const folder = mkdtempSync(join(home, 'doctor-'));
  const ended = new AbortController();
  let isInterrupted = false;
  const stop = () => {
    isInterrupted = true;
    ended.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    if (!context.json)
      printNotes(context, [`Trying ${ALL_PROBES.length} things that a sandbox must refuse …`], 'dim');
    const [control, workspace, strict] = await allStages({ folder, read: settings.read }, ended);
    const report = policyReport(control, [workspace, strict], engines, settings.asked);
    if (context.json) printJson(context.out, report);
    else print(context, reportLines(report, context));
    return report.ok ? EXIT.done : EXIT.failed;
  } catch (thrown) {
    if (!isInterrupted) throw thrown;
    return EXIT.interrupted;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** Waits for all stages, so that each has cleaned up even if another one failed. */
async function allStages(
  stage: Pick<StageOptions, 'folder' | 'read'>,
  ended: AbortController,
): Promise<[StageReport, StageReport, StageReport]> {
  const run = (level: SandboxLevel) =>
    runProbes({ ...stage, level, signal: ended.signal }).catch(thrown => {
      ended.abort(thrown);
      throw thrown;
    });
  const stages = [run('off'), run('workspace'), run('strict')] as const;
  await Promise.allSettled(stages);
  ended.signal.throwIfAborted();
  return Promise.all(stages);
}

interface OwnSettings {
  /** Level that the settings request. Null if none. */
  asked: SandboxLevel | null;
  read: StageOptions['read'];
}

/** The user's settings about sandboxes. Empty outside a workspace. */
async function ownSettings(context: CliContext): Promise<OwnSettings> {
  const inspected = await inspect(context).catch(() => null);
  const level = SandboxLevel.safeParse(inspected && settingOf(inspected, 'sandbox')?.value).data;
  const paths = ((inspected && settingOf(inspected, 'sandboxRead')?.value) ?? []) as string[];
  const inHome = (path: string) => relative(homedir(), path);
  const isInHome = (path: string) => !inHome(path).startsWith('..');
  return {
    asked: level === undefined || level === 'off' ? null : level,
    read: {
      inHome: paths.filter(isInHome).map(inHome),
      others: paths.filter(path => !isInHome(path)),
    },
  };
}

const LABELS = { system: 'enforced by the system', engine: 'by the engine', advisory: 'advisory' } as const;
const LABEL_WIDTH = 24;
const NAME_WIDTH = 12;

function reportLines(report: PolicyReport, context: CliContext): string[] {
  const { style, out } = context;
  const { control, levels, notMeasured, problems, engines } = report;
  const folded = (text: string, indent: number) =>
    wrap(visibleLine(withOwnCommand(text)), out.columns - indent).map(line => `${' '.repeat(indent)}${line}`);
  return [
    ...(control.succeeded === 0
      ? []
      : folded(
          `Without a sandbox ${control.succeeded} of ${control.of} probes succeed. Only these count: one that fails anyway proves nothing.`,
          0,
        )),
    ...levels.flatMap(level => levelLines(level, context)),
    ...(notMeasured.length === 0
      ? []
      : [
          '',
          style.bold('Not measured'),
          ...folded(`fail without a sandbox too: ${notMeasured.join(', ')}`, 2),
        ]),
    '',
    `${style.bold('Rules of the agent CLIs')} ${style.dim("as Squad passes them on; tried by Squad's tests, not here")}`,
    ...engines.flatMap(engine => [
      `  ${engine.id} ${versionLine(engine, context)}`,
      ...engine.rules.flatMap(rule => engineLine(rule, context)),
    ]),
    '',
    ...(problems.length === 0
      ? [style.green('Nothing got through.')]
      : problems.flatMap(problem => folded(problem, 0)).map(style.red)),
  ];
}

function levelLines(
  { level, network, unavailable, fault, rules }: LevelReport,
  { style, out }: CliContext,
): string[] {
  const head = ['', `${style.bold(level)} ${style.dim(`network: ${network}`)}`];
  const folded = (text: string) =>
    wrap(visibleLine(withOwnCommand(text)), out.columns - 2).map(line => `  ${line}`);
  if (unavailable)
    return [
      ...head,
      ...folded(`advisory: ${unavailable.reason}`).map(style.yellow),
      ...unavailable.suggestions.flatMap(folded).map(style.dim),
    ];
  if (fault !== null) return [...head, ...folded(`not measured: ${fault}`).map(style.red)];
  return [...head, ...rules.flatMap(rule => ruleLines(rule, { style, out }))];
}

function ruleLines(
  { rule, means, heldBy, counted, gotThrough, note }: RuleReport,
  { style, out }: Pick<CliContext, 'style' | 'out'>,
): string[] {
  const label = (heldBy === null ? 'not measured' : LABELS[heldBy]).padEnd(LABEL_WIDTH);
  const paint = heldBy === 'system' ? style.green : gotThrough.length > 0 ? style.red : style.yellow;
  const indent = 2 + LABEL_WIDTH + NAME_WIDTH;
  const figure = note ?? `${counted - gotThrough.length} of ${counted} refused`;
  const text = [
    `${means}: ${figure}`,
    ...(gotThrough.length > 0 ? [`got through: ${gotThrough.join(', ')}`] : []),
  ];
  const [first = '', ...rest] = text.flatMap(line => wrap(line, out.columns - indent));
  return [
    `  ${paint(label)}${rule.padEnd(NAME_WIDTH)}${first}`,
    ...rest.map(line => `${' '.repeat(indent)}${line}`),
  ];
}

/** Says whether the installed version is the one with which the rules of the CLI were tried. */
function versionLine({ version, tested }: EngineReport, { style }: CliContext): string {
  if (tested === null) return style.yellow('never tried');
  if (version === null) return style.dim(`tried with ${tested}`);
  return version === tested
    ? style.dim(`tried with ${tested}, which is installed`)
    : style.yellow(`tried with ${tested}, not with the installed ${visibleLine(version)}`);
}

function engineLine({ rule, heldBy, inSandbox, note }: EngineRule, { style, out }: CliContext): string[] {
  const inside = inSandbox === heldBy ? '' : `; in a sandbox: ${LABELS[inSandbox]}`;
  const paint = heldBy === 'advisory' ? style.yellow : style.dim;
  const indent = 4 + LABEL_WIDTH;
  const text = `${rule}${note === null ? '' : ` (${note})`}${inside}`;
  const [first = '', ...rest] = wrap(visibleLine(text), out.columns - indent);
  return [
    `    ${paint(LABELS[heldBy].padEnd(LABEL_WIDTH))}${first}`,
    ...rest.map(line => `${' '.repeat(indent)}${line}`),
  ];
}
