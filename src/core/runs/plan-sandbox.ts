import type { Config } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import type { Role } from '../../schema/role.ts';
import {
  isWeaker,
  type NetworkAccess,
  NO_SANDBOX,
  type RunSandbox,
  type SandboxLevel,
  stronger,
} from '../../schema/sandbox.ts';
import type { RunIdentity } from '../policy.ts';
import type { Engine } from '../ports/engine.ts';
import type { SandboxProblem } from '../ports/turns.ts';
import type { RunRequest } from './run-request.ts';

export interface SandboxAsk {
  request: Pick<RunRequest, 'sandbox' | 'network' | 'keeps' | 'chatId' | 'forksChat'>;
  role: Pick<Role, 'meta' | 'ungranted' | 'isUntrusted'> | null;
  config: Pick<Config, 'sandbox' | 'network' | 'sandboxRead'>;
  parent: Pick<RunIdentity, 'id' | 'sandbox'> | null;
  /** True if a run is sandboxed by default, where sandboxes are available. */
  isDefault: boolean;
  engine: Pick<Engine, 'sandboxLimit'>;
  /** Whether the chat that the run continues has its files inside a sandbox or outside. Null for a new chat. */
  chat: 'inside' | 'outside' | null;
  /**
   * Returns the reason why a run cannot be sandboxed on this machine. Null if it can be. Called only when needed,
   * because the check starts programs.
   */
  problem(network: NetworkAccess): Promise<SandboxProblem | null>;
}

export interface PlannedSandbox {
  sandbox: RunSandbox;
  /** Reason why the run is not sandboxed although the default would sandbox it. */
  note: string | null;
}

/**
 * Chooses the sandbox of a run. The call has the highest precedence, then the role, then the settings. If none of them
 * names a sandbox, the run gets `workspace` where sandboxes are on by default and available, and `off` elsewhere. A run
 * is never confined less than the run that started it. Throws SANDBOX_UNAVAILABLE, NOT_ALLOWED or INVALID_INPUT.
 */
export async function planSandbox(ask: SandboxAsk): Promise<PlannedSandbox> {
  const { request, parent, chat } = ask;
  refuseWeakerThanParent(ask);
  // A reply keeps the sandbox of its chat, even if the role has changed.
  const keepsChat = request.keeps !== undefined && request.chatId !== undefined;
  const asked = keepsChat ? request.keeps! : chosen(ask);
  const floors = [parent?.sandbox, request.keeps].filter(floor => floor && floor.level !== 'off');
  const needsOne = floors.length > 0 || chat === 'inside';
  if (asked !== null || needsOne) {
    const least = asked ?? withNetwork('workspace', ask);
    return insisted(
      floors.reduce<RunSandbox>((high, each) => confinedBy(high, each!), least),
      ask,
    );
  }
  if (!ask.isDefault) return { sandbox: NO_SANDBOX, note: null };
  const sandbox = withNetwork('workspace', ask);
  const reason = ask.engine.sandboxLimit?.reason ?? (await problemOf(sandbox, ask))?.reason;
  return reason === undefined
    ? { sandbox, note: null }
    : { sandbox: NO_SANDBOX, note: `Not sandboxed: ${reason}.` };
}

/** The requested sandbox, or the one that the chat or the parent run requires. */
async function insisted(sandbox: RunSandbox, ask: SandboxAsk): Promise<PlannedSandbox> {
  if (sandbox.level === 'off') {
    if (ask.chat !== 'inside') return { sandbox: NO_SANDBOX, note: null };
    throw new SquadError(
      'INVALID_INPUT',
      `Chat ${ask.request.chatId} began in a sandbox, and its files exist only there`,
      {
        suggestions: [
          'Leave out `sandbox: off` to continue the chat in its sandbox, or leave out the chat to open a new one.',
        ],
      },
    );
  }
  const problem = await problemOf(sandbox, ask);
  if (problem === null) return { sandbox, note: null };
  throw new SquadError(
    'SANDBOX_UNAVAILABLE',
    `The run asks for the sandbox "${sandbox.level}", which is not available: ${problem.reason}`,
    { suggestions: problem.suggestions },
  );
}

async function problemOf(
  { network }: RunSandbox,
  { chat, request, engine, problem }: SandboxAsk,
): Promise<SandboxProblem | null> {
  const { sandboxLimit } = engine;
  if (sandboxLimit?.kind === 'never') return { reason: sandboxLimit.reason, suggestions: [USE_OFF] };
  if (chat !== 'outside') return problem(network);
  return {
    reason: `chat ${request.chatId ?? request.forksChat} does not exist or began outside a sandbox, where its files cannot be seen from inside`,
    suggestions: ['Leave the chat out to open a new one, or ask for `sandbox: off`.'],
  };
}

const USE_OFF = 'Ask for `sandbox: off` in the call (`squad run --sandbox off`) or in the role.';

interface Choice {
  level?: SandboxLevel | undefined;
  network?: NetworkAccess | undefined;
}

/**
 * The first of call, role and settings that requests a sandbox. Null if none of them names a level or limits the
 * network.
 */
function chosen(ask: SandboxAsk): RunSandbox | null {
  const choices = choicesOf(ask);
  const levelAt = choices.findIndex(({ level }) => level !== undefined);
  const networkAt = choices.findIndex(({ network }) => network !== undefined);
  const level = choices[levelAt]?.level;
  const network = choices[networkAt]?.network;
  const isLimited = network !== undefined && network !== 'full';
  if (level === 'off' && isLimited && networkAt === levelAt) throw limitWithoutSandbox(network);
  // Only a sandbox can limit the network.
  if (isLimited && (level === undefined || (level === 'off' && networkAt < levelAt)))
    return withNetwork('workspace', ask);
  if (level === undefined) return null;
  return level === 'off' ? NO_SANDBOX : withNetwork(level, ask);
}

function withNetwork(level: SandboxLevel, ask: SandboxAsk): RunSandbox {
  const choices = choicesOf(ask);
  const levelAt = choices.findIndex(choice => choice.level !== undefined);
  const networkAt = choices.findIndex(choice => choice.network !== undefined);
  const asked = choices[networkAt]?.network;
  const wantsHosts = ask.role?.meta.hosts !== undefined || ask.role?.ungranted.includes('hosts') === true;
  const usual = level === 'strict' || wantsHosts ? 'models' : 'full';
  if (level !== 'strict' || asked !== 'full') return hostsOf(level, asked ?? usual, ask);
  // The level was set with a higher precedence than `network: full`, so `network: full` is ignored.
  if (levelAt >= 0 && levelAt < networkAt) return hostsOf(level, usual, ask);
  throw new SquadError('INVALID_INPUT', 'A sandbox "strict" cannot have `network: full`', {
    suggestions: ['Use `network: models` with a list of `hosts`, or `sandbox: workspace`.'],
  });
}

const hostsOf = (level: SandboxLevel, network: NetworkAccess, { role, config }: SandboxAsk): RunSandbox => ({
  ...{ level, network, read: config.sandboxRead.value },
  hosts: network === 'full' ? [] : (role?.meta.hosts ?? []),
});

/** Choices in order of precedence. A role that is not trusted can only make the settings stricter. */
function choicesOf({ request, role, config }: SandboxAsk): Choice[] {
  const settings = {
    level: config.sandbox.value ?? undefined,
    network: config.network.value ?? undefined,
  };
  const ofRole = { level: role?.meta.sandbox, network: role?.meta.network };
  return [
    { level: request.sandbox, network: request.network },
    role?.isUntrusted
      ? {
          level: ofRole.level && stronger(ofRole.level, settings.level ?? ofRole.level),
          network: ofRole.network && stronger(ofRole.network, settings.network ?? ofRole.network),
        }
      : ofRole,
    settings,
  ];
}

const limitWithoutSandbox = (network: NetworkAccess) =>
  new SquadError('INVALID_INPUT', `\`network: ${network}\` needs a sandbox, and \`sandbox: off\` is set`, {
    suggestions: ['Leave one of them out.'],
  });

/** Combines two sandboxes into one that is at least as strict as both. */
function confinedBy(sandbox: RunSandbox, floor: RunSandbox): RunSandbox {
  const level = stronger(sandbox.level, floor.level);
  if (level === 'off') return NO_SANDBOX;
  const network = stronger(sandbox.network, floor.network);
  // Host lists count only if the network is limited. A sandbox with the full network allows every host.
  const hosts =
    floor.network === 'full'
      ? sandbox.hosts
      : sandbox.network === 'full'
        ? floor.hosts
        : sandbox.hosts.filter(host => floor.hosts.some(pattern => covers(pattern, host)));
  return { level, network, hosts, read: sandbox.read };
}

/** `*.example.com` covers `a.example.com` and `*.a.example.com`, with the same port. */
const covers = (pattern: string, host: string): boolean =>
  pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));

/**
 * Refuses a call that asks for a weaker sandbox than the parent run has. A weaker role or setting is not refused, but
 * made as strict as the parent.
 */
function refuseWeakerThanParent({ request: { sandbox, network }, parent }: SandboxAsk): void {
  if (parent === null || parent.sandbox.level === 'off') return;
  const weaker =
    sandbox && isWeaker(sandbox, parent.sandbox.level)
      ? `sandbox: ${sandbox}`
      : network && isWeaker(network, parent.sandbox.network)
        ? `network: ${network}`
        : null;
  if (weaker === null) return;
  throw new SquadError(
    'NOT_ALLOWED',
    `Run ${parent.id} runs in a sandbox (${parent.sandbox.level}, network: ${parent.sandbox.network}) and cannot start a run with ${weaker}`,
    { suggestions: [`Leave ${weaker.split(':')[0]} out: the run is confined like the one that starts it.`] },
  );
}
