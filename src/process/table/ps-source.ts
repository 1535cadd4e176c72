import { execFile } from 'node:child_process';
import { WRAPPER_PREFIX } from '../turns/wrapper.ts';
import { type ProcessInfo, type ProcessSource, type Tag, tagOf } from './process-info.ts';

const LISTED =
  /^\s*(?<pid>\d+)\s+(?<ppid>\d+)\s+(?<pgid>\d+)\s+(?<state>\S+)\s+(?<started>\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+(?<cpu>[\d:.-]+)\s+(?<name>.*)$/;

/**
 * Process source for macOS and other systems without `/proc`: the system's `ps`. Tags are best effort, because `ps`
 * hides the environment of protected programs.
 */
export function createPsSource(platform: string = process.platform): ProcessSource {
  async function list(): Promise<ProcessInfo[]> {
    const columns = ['pid', 'ppid', 'pgid', 'stat', 'lstart', 'time', 'comm'].flatMap(name => [
      '-o',
      `${name}=`,
    ]);
    return (await ps(['-A', ...columns])).flatMap(line => parse(line) ?? []);
  }

  return {
    list,

    async line(pid) {
      const all = new Map((await list()).map(each => [each.pid, each]));
      const found = new Set<ProcessInfo>();
      for (let each = all.get(pid); each && each.pid > 1 && !found.has(each); each = all.get(each.ppid))
        found.add(each);
      return [...found];
    },

    async tags(processes) {
      const ours = new Set(processes.map(({ pid }) => pid));
      const withEnvironment = platform === 'darwin' ? '-E' : 'e';
      const tags = new Map<number, Tag>();
      for (const line of await ps(['-A', withEnvironment, '-ww', '-o', 'pid=', '-o', 'command='])) {
        const pid = Number.parseInt(line, 10);
        if (!ours.has(pid)) continue;
        const runId = wrapped(line);
        // The command line of the wrapper names its run, even where the environment is hidden.
        const tag = tagOf(name => variable(line, name)) ?? (runId ? { runId, turn: null } : null);
        if (tag) tags.set(pid, tag);
      }
      return tags;
    },

    alive({ pid }) {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    },

    ioBytes: () => null,

    async command({ pid, name }) {
      return (await ps(['-ww', '-o', 'command=', '-p', String(pid)]))[0]?.trim() || name;
    },
  };
}

function parse(line: string): ProcessInfo | null {
  const fields = LISTED.exec(line)?.groups;
  if (!fields || fields.state?.startsWith('Z')) return null;
  const startTime = fields.started ?? '';
  return {
    pid: Number(fields.pid),
    ppid: Number(fields.ppid),
    pgid: Number(fields.pgid),
    sid: null,
    startTime,
    startedAt: Date.parse(startTime),
    name: fields.name ?? '',
    isStopped: /^[Tt]/.test(fields.state ?? ''),
    cpuMs: cpuTime(fields.cpu ?? ''),
  };
}

/** Parses `[[days-]hours:]minutes:seconds[.hundredths]`. The time of ended children is not included. */
export function cpuTime(text: string): number {
  const [clock = '', days = '0'] = text.split('-').reverse();
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round((Number(days) * 86_400 + seconds) * 1000);
}

const variable = (line: string, name: string): string | null =>
  new RegExp(`\\s${name}=(\\S+)`).exec(line)?.[1] ?? null;

const wrapped = (line: string): string | null =>
  new RegExp(`\\s${WRAPPER_PREFIX}(\\S+)\\s`).exec(line)?.[1] ?? null;

const PS_TIMEOUT_MS = 10_000;

/** Lines of the output. Empty when `ps` is missing or finds nothing. */
function ps(args: string[]): Promise<string[]> {
  return new Promise(resolve => {
    // LC_ALL makes `ps` print dates in English, whatever the user's language is.
    const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C' };
    const bounds = { maxBuffer: 256 * 1024 * 1024, timeout: PS_TIMEOUT_MS, killSignal: 'SIGKILL' as const };
    execFile('ps', args, { env, ...bounds }, (_error, stdout) =>
      resolve(stdout.split('\n').filter(line => line !== '')),
    );
  });
}
