import { nearest } from '../../base/text.ts';
import { type McpConfig, SQUAD_ITSELF } from '../../schema/mcp-config.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { PendingChange } from '../ports/gateway.ts';
import { hashOf } from './definitions.ts';
import { matchesWildcard } from './tool-names.ts';

/** A restriction or argument rule for a server or role that does not exist. */
export interface DanglingReference {
  server: string;
  /** `*` means every role. A rule may also have a pattern with `*` here. */
  role: string;
  /** The entry without the name of its server, in the form that the user confirms: `toolRestrictions.tester`. */
  place: string;
  /** Path of the unknown name in the configuration file: `toolRestrictions.tester.githup`. */
  where: string;
  isServerKnown: boolean;
  isRoleKnown: boolean;
  /** Existing names that may have been meant, best match first. */
  nearServers: readonly string[];
  nearRoles: readonly string[];
}

/**
 * Facts that are not in the configuration and decide whether a reference dangles (names something that does not exist).
 */
export interface ReferenceFacts {
  /** Ids of the existing roles. Null if they are unknown, so that no role counts as missing. */
  roles: readonly string[] | null;
  /** Whether the user has confirmed the entry as written. */
  isConfirmed(reference: DanglingReference): boolean;
}

/** The strict default: nothing is confirmed. */
export const NO_FACTS: ReferenceFacts = { roles: null, isConfirmed: () => false };

/** Name that means every run, including runs without a role. */
export const EVERYBODY = '*';

/** Whether an entry is a name rather than a pattern. */
export const isExact = (entry: string): boolean => !entry.includes('*');

/** Dangling references that the user has not confirmed. */
export function danglingReferences(
  config: McpConfig,
  { roles, isConfirmed }: ReferenceFacts,
): DanglingReference[] {
  const { servers, disabled = {} } = config;
  const isServer = (id: string) =>
    Object.hasOwn(servers, id) || Object.hasOwn(disabled, id) || id === SQUAD_ITSELF;
  const isRole = (role: string) => roles === null || !isExact(role) || roles.includes(role);
  return references(config).flatMap(reference => {
    const { server, role } = reference;
    const [isServerKnown, isRoleKnown] = [isServer(server), isRole(role)];
    if (isServerKnown && isRoleKnown) return [];
    const dangling = {
      ...{ ...reference, isServerKnown, isRoleKnown },
      nearServers: isServerKnown ? [] : nearest(server, Object.keys(servers)),
      nearRoles: isRoleKnown ? [] : nearest(role, roles ?? []),
    };
    return isConfirmed(dangling) ? [] : [dangling];
  });
}

/**
 * Whether the reference hides the tools of this server from this role. A restriction for an unknown server may be meant for any
 * server of the role, so all are hidden. A restriction for an unknown role hides its server only from roles with a similar name:
 * the role file may simply not be in this workspace.
 */
export function hidesFrom(
  { isServerKnown, isRoleKnown, role, nearRoles, server }: DanglingReference,
  roleId: string | null,
  of: string,
): boolean {
  const isMeant = isRoleKnown
    ? matchesWildcard(role, roleId ?? '')
    : roleId !== null && nearRoles.includes(roleId);
  return isMeant && (!isServerKnown || server === of);
}

/** Note for the result of a run. */
export function danglingNote(reference: DanglingReference, roleId: string | null): string {
  return [fault(reference), ...effect(reference, roleId)].join(' ');
}

/** Dangling references as changes that the user can confirm. */
export function danglingChanges(references: readonly DanglingReference[], now: number): PendingChange[] {
  const groups = Map.groupBy(references, ({ server, place }) => JSON.stringify([server, place]));
  return [...groups.values()].map(group => {
    const [{ server, place, role, isServerKnown, isRoleKnown, nearRoles }] = group as [DanglingReference];
    const from = isRoleKnown ? [role] : nearRoles;
    const hidden = isServerKnown ? `The tools of ${server} are` : 'The tools of all servers are';
    return {
      server,
      tool: place,
      kind: 'dangling',
      hash: hashOf({ name: place, server }),
      seenAt: now,
      diff: [
        ...new Set(group.map(each => ` ${fault(each)}`)),
        from.length > 0 ? ` ${hidden} hidden from ${someRoles(from)}.` : ' It restricts nobody.',
      ],
    };
  });
}

function fault({ server, role, where, isServerKnown, nearServers, nearRoles }: DanglingReference): string {
  const [what, name, near] = isServerKnown ? ['role', role, nearRoles] : ['MCP server', server, nearServers];
  const meant = near.length > 0 ? ` Did you mean ${near.map(each => `"${each}"`).join(' or ')}?` : '';
  return `There is no ${what} "${name}", which ${where} names.${meant}`;
}

function effect(reference: DanglingReference, roleId: string | null): string[] {
  const { server, place, isServerKnown } = reference;
  const confirm = `confirm it with \`squad mcp approve ${shellWord(`${server}/${place}`)}\``;
  if (!hidesFrom(reference, roleId, server)) return [`It restricts nobody. Correct the name, or ${confirm}.`];
  const hidden = isServerKnown ? `The tools of ${server}` : 'The tools of all MCP servers';
  return [
    `${hidden} stay hidden from ${runsOf(roleId)} until you correct the name in .squad/mcp-config.json, or ${confirm}.`,
  ];
}

/** Describes the runs of one role, for messages. */
export const runsOf = (roleId: string | null): string =>
  roleId === null ? 'runs without a role' : `the role ${roleId}`;

const someRoles = (roles: readonly string[]): string =>
  roles.includes(EVERYBODY) ? 'every role' : `the role ${roles.join(' and the role ')}`;

function references({
  toolRestrictions,
  argumentRules,
}: McpConfig): Pick<DanglingReference, 'server' | 'role' | 'place' | 'where'>[] {
  return [
    ...Object.entries(toolRestrictions).flatMap(([role, servers]) =>
      Object.keys(servers).map(server => {
        const place = `toolRestrictions.${role}`;
        return { server, role, place, where: `${place}.${server}` };
      }),
    ),
    ...argumentRules.flatMap(({ server, role: roles }, index) =>
      roles.map(role => ({
        ...{ server, role },
        ...{ place: `argumentRules.${role}`, where: `argumentRules[${index}]` },
      })),
    ),
  ];
}
