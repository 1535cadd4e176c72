import type { Output } from '../../../operations/operations.ts';
import type { PolicyRule } from '../../../schema/run.ts';
import type { SandboxLevel } from '../../../schema/sandbox.ts';
import { SANDBOX_RULES, type SandboxRule } from './probes.ts';
import { ALL_PROBES, type StageReport } from './stage.ts';

type Holder = PolicyRule['heldBy'];

/** One rule, and what enforced it at a sandbox level while probes ran. */
export interface RuleReport {
  rule: SandboxRule;
  means: string;
  /** Part that enforced the rule. `advisory` means that nothing did. Null if nothing was measured. */
  heldBy: Holder | null;
  /** Number of probes that succeed without a sandbox. Other probes prove nothing. */
  counted: number;
  gotThrough: string[];
  note: string | null;
}

export interface LevelReport {
  level: SandboxLevel;
  network: 'full' | 'models';
  unavailable: StageReport['unavailable'];
  /** Why the results of the probes prove nothing, although the probes ran. */
  fault: string | null;
  rules: RuleReport[];
}

export interface EngineRule {
  rule: string;
  heldBy: Holder;
  /** Part that enforces the rule in a sandbox, as the probes have shown. */
  inSandbox: Holder;
  note: string | null;
}

export interface PolicyReport {
  ok: boolean;
  /** Reasons why `ok` is false. */
  problems: string[];
  /** Probes that also fail without a sandbox, so their failure proves nothing. */
  notMeasured: string[];
  control: { succeeded: number; of: number; fault: string | null };
  levels: LevelReport[];
  probes: { id: string; rule: SandboxRule; tries: string; control: boolean; gotThrough: SandboxLevel[] }[];
  engines: EngineReport[];
}

export interface EngineReport {
  id: string;
  name: string;
  /** Version of the installed program. Null if there is none, or it does not say. */
  version: string | null;
  /** Version with which Squad's tests tried the rules that the CLI enforces. Null if none was. */
  tested: string | null;
  rules: EngineRule[];
}

/** `asked` is the level that the settings request. Null if none. */
export function policyReport(
  control: StageReport,
  confined: readonly StageReport[],
  engines: Output<'inspect_engines'>['engines'],
  asked: SandboxLevel | null,
): PolicyReport {
  const levels = confined.map(stage => levelReport(withTools(stage, control), control));
  const holds = (rule: SandboxRule) =>
    levels.some(({ rules }) => rules.some(each => each.rule === rule && each.heldBy === 'system'));
  const problems = [
    ...(control.fault === null ? [] : [`The control proves nothing: ${control.fault}.`]),
    ...levels.flatMap(level => problemsOf(level, asked)),
  ];
  return {
    ok: problems.length === 0,
    problems,
    notMeasured: ALL_PROBES.filter(({ id }) => !control.succeeded.has(id)).map(({ id }) => id),
    control: { succeeded: control.succeeded.size, of: ALL_PROBES.length, fault: control.fault },
    levels,
    probes: ALL_PROBES.map(({ id, rule, tries }) => ({
      ...{ id, rule, tries, control: control.succeeded.has(id) },
      gotThrough: levels
        .filter(({ rules }) => rules.some(({ gotThrough }) => gotThrough.includes(id)))
        .map(({ level }) => level),
    })),
    engines: engines.map(({ id, name, version, tested, rules }) => ({
      ...{ id, name, version, tested },
      rules: rules.map(rule => ({
        ...rule,
        inSandbox: rule.inSandbox === 'system' && !holds(probedBy(rule.rule)) ? rule.heldBy : rule.inSandbox,
      })),
    })),
  };
}

/**
 * Marks a stage as faulty if the sandbox hides a program that the probes need: otherwise its probes would count as
 * blocked.
 */
function withTools(stage: StageReport, control: StageReport): StageReport {
  const missing = control.tools.find(tool => !stage.tools.includes(tool));
  if (missing === undefined || stage.unavailable || stage.fault !== null) return stage;
  return { ...stage, fault: `${missing} was not found there` };
}

/** Rule of the sandbox that enforces a rule of an engine. */
const probedBy = (rule: string): SandboxRule => (rule === 'permission: read' ? 'permission' : 'writes');

function levelReport(
  { level, unavailable, fault, succeeded }: StageReport,
  control: StageReport,
): LevelReport {
  const network = level === 'strict' ? 'models' : 'full';
  const rules = (Object.keys(SANDBOX_RULES) as SandboxRule[]).map((rule): RuleReport => {
    const probes = ALL_PROBES.filter(probe => probe.rule === rule).map(({ id }) => id);
    const counted = probes.filter(id => control.succeeded.has(id)).length;
    const base = { rule, means: SANDBOX_RULES[rule], counted, gotThrough: [] as string[] };
    if (rule === 'network' && network === 'full')
      return { ...base, counted: 0, heldBy: 'advisory', note: 'not limited: network is full at this level' };
    if (unavailable) return { ...base, counted: 0, heldBy: 'advisory', note: 'no sandbox' };
    if (fault !== null || control.fault !== null) return { ...base, heldBy: null, note: 'not measured' };
    // A probe that fails without a sandbox and succeeds in one still shows a hole.
    const gotThrough = probes.filter(id => succeeded.has(id));
    if (gotThrough.length > 0) return { ...base, gotThrough, heldBy: 'advisory', note: null };
    return { ...base, heldBy: counted > 0 ? 'system' : null, note: counted > 0 ? null : 'not measured' };
  });
  return { level, network, unavailable, fault, rules };
}

function problemsOf({ level, unavailable, fault, rules }: LevelReport, asked: SandboxLevel | null): string[] {
  if (unavailable) return asked === level ? [`The settings ask for ${level}: ${unavailable.reason}`] : [];
  if (fault !== null) return [`${level} proves nothing: ${fault}.`];
  return rules.flatMap(({ gotThrough }) =>
    gotThrough.map(id => {
      const { tries } = ALL_PROBES.find(probe => probe.id === id)!;
      return `${level} does not hold: an agent can ${tries} (${id}).`;
    }),
  );
}
