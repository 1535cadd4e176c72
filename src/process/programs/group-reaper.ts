import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Time from TERM to KILL. Git, for example, removes its lock files on TERM. Lock files left behind would block the
 * repository.
 */
const GRACE_MS = 1_000;

/**
 * Reads lines `+ PID` and `- PID`, which add a group to a list and remove it. The input ends when this process ends
 * for any reason. Then the script ends the groups that are still listed: TERM, and KILL for those that remain after
 * the grace time.
 */
const SCRIPT = `groups=' '
while read -r what pid; do
  case $what in
    +) groups="$groups$pid " ;;
    -) case $groups in *" $pid "*) groups="\${groups%%" $pid "*} \${groups#*" $pid "}" ;; esac ;;
  esac
done
for pid in $groups; do kill -s TERM -- "-$pid" 2>/dev/null; done
tries=${GRACE_MS / 100}
while [ -n "\${groups# }" ] && [ $tries -gt 0 ]; do
  sleep 0.1
  tries=$((tries - 1))
  left=' '
  for pid in $groups; do kill -s 0 -- "-$pid" 2>/dev/null && left="$left$pid "; done
  groups=$left
done
for pid in $groups; do kill -s KILL -- "-$pid" 2>/dev/null; done`;

const groups = new Set<number>();
let reaper: ChildProcess | null = null;

/**
 * Makes a process group end with this process, even when this process is killed. Node cannot set PR_SET_PDEATHSIG, so
 * a group in its own session would otherwise survive. Call the returned function when the leader of the group has
 * ended: it kills whatever remains in the group.
 */
export function endWithUs(leader: number): () => void {
  groups.add(leader);
  if (reaper) reaper.stdin?.write(`+ ${leader}\n`);
  else start();
  return () => {
    if (!groups.delete(leader)) return;
    signalGroup(leader, 'SIGKILL');
    reaper?.stdin?.write(`- ${leader}\n`);
  };
}

/** Ends a group that was registered with `endWithUs`: TERM, and KILL if the leader still runs after the grace time. */
export function endGroup(leader: number): void {
  signalGroup(leader, 'SIGTERM');
  setTimeout(() => groups.has(leader) && signalGroup(leader, 'SIGKILL'), GRACE_MS).unref();
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // No process is left in the group.
  }
}

function start(): void {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'squad-reaper'], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper = child;
  const lost = () => {
    if (reaper === child) reaper = null;
  };
  child.once('error', lost);
  child.once('exit', lost);
  child.stdin.on('error', lost);
  // Neither the reaper process nor the pipe to it keeps this process alive.
  child.unref();
  (child.stdin as typeof child.stdin & { unref?(): void }).unref?.();
  child.stdin.write([...groups].map(leader => `+ ${leader}\n`).join(''));
}

// Normally the reaper ends the groups. This covers a reaper that could not be started or was killed.
process.on('exit', () => {
  for (const leader of groups) signalGroup(leader, reaper ? 'SIGTERM' : 'SIGKILL');
});
