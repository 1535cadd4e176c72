import type { ClusterReport, HubReport } from '../../schema/machines/cluster.ts';

/** Difference between a hub's clock and that of the database from which times in lists are misleading. */
const MAX_CLOCK_DIFFERENCE_MS = 2_000;
/** Time of an answer from which hubs hear of cancels and settings noticeably late. */
const MAX_ANSWER_MS = 1_000;

export interface ClusterProblem {
  /** Id of the hub. Null if the problem concerns several. */
  hub: string | null;
  message: string;
  /** Next step for the user. */
  next: string;
}

/** Name of a hub in messages. */
export const hubName = ({ host, home }: Pick<HubReport, 'host' | 'home'>): string => `${host}:${home}`;

/** Problems of hubs that share a database. A hub that is stopped and has no open runs is no problem. */
export function clusterProblems({ hubs }: Pick<ClusterReport, 'hubs'>): ClusterProblem[] {
  return [...hubs.flatMap(hub => problemsOf(hub)), ...versionProblems(hubs)];
}

function problemsOf(hub: HubReport): ClusterProblem[] {
  const { id, answer, isConnected, running, queued, silentMs, leaseMs } = hub;
  const problem = (message: string, next: string) => ({ hub: id, message, next });
  const name = hubName(hub);
  if (answer === null && isConnected)
    return [
      problem(
        `${name} is connected to the database and does not answer`,
        'Look at its `squad hub log`. If it hangs: `squad hub stop --force` there; its agents keep running.',
      ),
    ];
  if (answer === null && running + queued > 0)
    return [
      problem(
        `${name} is not running, and ${running + queued} of its runs have not ended`,
        hub.leaseMs === null
          ? 'Run `squad hub start` there: it finds its agents.'
          : 'Another hub takes them over half a minute after its last heartbeat. Runs whose files no other hub can read need `squad hub start` there.',
      ),
    ];
  if (answer === null) return [];
  const clock = Math.abs(answer.clockAheadMs);
  const isSlow = answer.tookMs > MAX_ANSWER_MS;
  const isLate = leaseMs !== null && silentMs !== null && silentMs > leaseMs / 2;
  return [
    ...(clock > MAX_CLOCK_DIFFERENCE_MS + answer.tookMs / 2
      ? [
          problem(
            `The clock of ${name} is ${(clock / 1000).toFixed(1)} s ${answer.clockAheadMs > 0 ? 'ahead of' : 'behind'} that of the database`,
            'Synchronise it (for example with chrony), or times in lists and costs of a day are wrong.',
          ),
        ]
      : []),
    ...(isLate
      ? [
          problem(
            `The last heartbeat of ${name} is ${(silentMs / 1000).toFixed(0)} s old; its agents end after ${(leaseMs / 1000).toFixed(0)} s`,
            'Check the load of its machine, and whether it can write to the database: `squad hub log` there.',
          ),
        ]
      : []),
    ...(isSlow
      ? [
          problem(
            `${name} answered after ${(answer.tookMs / 1000).toFixed(1)} s`,
            'Check the load of its machine and the network to the database.',
          ),
        ]
      : []),
  ];
}

function versionProblems(hubs: HubReport[]): ClusterProblem[] {
  const versions = [...new Set(hubs.flatMap(({ answer }) => answer?.version ?? []))];
  if (versions.length < 2) return [];
  const list = versions
    .map(version => {
      const having = hubs.filter(({ answer }) => answer?.version === version);
      return `${version} (${having.map(hubName).join(', ')})`;
    })
    .join(' and ');
  return [
    {
      hub: null,
      message: `The hubs run different versions of Squad: ${list}`,
      next: 'Install the newest version everywhere. An older hub is refused once a newer one has changed the tables.',
    },
  ];
}
