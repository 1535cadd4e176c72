import { type ChildProcess, spawn } from 'node:child_process';

/** From TERM to KILL. Git, for one, removes its lock files on TERM; left behind, they would block the repository. */
const GRACE_MS = 1_000;

/**
 * Reads `+ PID` and `- PID`. Its input ends when this process does, however that happens; then it ends the groups that are
 * still in its list: TERM, and KILL for those that are still there after the grace time.
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
 * Makes a process group end with this process, even when this process is killed: Node cannot set PR_SET_PDEATHSIG, and a group in a session
 * of its own would live on. Call the returned function when the leader of the group has ended: whatever it left in its group is killed.
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

/** Ends a group of `endWithUs`: TERM, and KILL if its leader is still there after the grace time. */
export function endGroup(leader: number): void {
  signalGroup(leader, 'SIGTERM');
  setTimeout(() => groups.has(leader) && signalGroup(leader, 'SIGKILL'), GRACE_MS).unref();
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // Nobody is left in it.
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
  // Neither the reaper nor its input keeps this process alive.
  child.unref();
  (child.stdin as typeof child.stdin & { unref?(): void }).unref?.();
  child.stdin.write([...groups].map(leader => `+ ${leader}\n`).join(''));
}

// A reaper does the rest. It may be missing: it could not be started, or somebody killed it.
process.on('exit', () => {
  for (const leader of groups) signalGroup(leader, reaper ? 'SIGTERM' : 'SIGKILL');
});
